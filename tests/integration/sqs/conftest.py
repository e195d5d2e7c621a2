"""These tests run on the local S3 and SQS."""

from tests.integration.outputs_s3.local_s3 import bucket, s3

__all__ = ["bucket", "s3"]
