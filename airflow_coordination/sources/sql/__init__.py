"""Rows of an SQL table: ranges of a key become partitions."""
