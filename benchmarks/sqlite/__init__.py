"""SQLite: the systems that are compared there, and the benchmark."""
