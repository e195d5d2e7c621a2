"""What readers see of a source: its documents, and partitions that run in a branch."""
