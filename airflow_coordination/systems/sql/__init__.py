"""SQL databases: ranges of a table as partitions, and a table in PostgreSQL as a sink."""
