"""What people see of a source at work: values over the store's port, for the command line, the board and notebooks."""
