"""These tests run on the local S3."""

from tests.integration.outputs_s3.local_s3 import bucket, keys, root, s3, uploads

__all__ = ["bucket", "keys", "root", "s3", "uploads"]
