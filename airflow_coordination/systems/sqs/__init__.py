"""SQS: what is said of new objects in S3 becomes partitions, and messages are deleted afterwards."""
