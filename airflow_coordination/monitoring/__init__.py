"""What people see of a source and do to it: values over the store's port, for command line, board and notebooks."""
