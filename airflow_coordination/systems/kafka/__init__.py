"""Kafka: topics as standing partitions, their next range, and the offsets of a consumer group."""
