"""Kinesis: a partition for each shard, read from a checkpoint on."""
