"""The sensor that waits for partitions."""
