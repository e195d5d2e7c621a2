"""What runs by itself, on the command line."""
