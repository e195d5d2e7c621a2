"""Compaction beside Delta's and Iceberg's: the same month, each system in a Spark process of its own."""
