"""Streams of Kinesis: a partition for each of their shards, children after their parents."""
