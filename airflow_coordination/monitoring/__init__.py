"""People's view of a source, and their actions on it: values over the store's port, for commands and board."""
