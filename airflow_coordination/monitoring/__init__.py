"""What people see of a source and do to it, the same on the command line and on the board: values over the store port.

No query, no terminal, no HTTP: those belong to whoever shows it.
"""
