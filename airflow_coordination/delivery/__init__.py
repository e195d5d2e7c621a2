"""``lease.deliver``: records to blocks, sinks and dead letters in one pass, and what became of each."""
