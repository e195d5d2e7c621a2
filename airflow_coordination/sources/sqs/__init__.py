"""Queues of SQS: what is said of new objects in S3 becomes partitions."""
