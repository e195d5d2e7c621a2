"""Streams of shards that split and merge: lineage, coverage, and which shards get a lease next."""
