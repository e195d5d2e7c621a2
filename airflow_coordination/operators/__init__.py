"""Operators that create and process partitions."""
