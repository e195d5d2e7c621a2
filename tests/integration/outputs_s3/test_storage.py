"""What goes wrong with object stores, and what the user is told."""

from __future__ import annotations

import subprocess
import sys

import pytest

from airflow_coordination.outputs import OutputError
from airflow_coordination.systems.objects.storage import delete, list_files, read_bytes, unfinished_uploads, write_bytes
from tests.integration.outputs_s3.local_s3 import deny


def test_a_bucket_that_is_not_there_is_named_and_not_created(s3) -> None:
    address = "s3a://no-such-bucket/out/_attempt.json"
    remedy = "Create the bucket or directory, or correct the address; a bucket is never created here"
    with pytest.raises(OutputError) as refused:
        write_bytes(address, b"x")
    problem = "does not exist (The specified bucket does not exist)"
    assert str(refused.value) == f"Cannot write a file: {address} {problem}. {remedy}"
    for action in (list_files, unfinished_uploads, delete):
        with pytest.raises(OutputError, match=r"no-such-bucket.*does not exist"):
            action(address)
    assert "no-such-bucket" not in [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]


def test_a_denied_request_names_the_address_and_the_remedy(s3, bucket, root) -> None:
    write_bytes(f"{root}/readable", b"x")
    deny(s3, bucket, "s3:PutObject", "s3:ListBucket")
    with pytest.raises(OutputError) as refused:
        write_bytes(f"{root}/x", b"x")
    assert str(refused.value) == (
        f"Cannot write a file: {root}/x denies access (Forbidden). Give this process's credentials the right to it "
        "(for S3: docs/how-to/s3.md lists the actions)"
    )
    assert read_bytes(f"{root}/readable") == b"x"


def test_a_missing_library_is_named() -> None:
    program = (
        "import sys; sys.modules['s3fs'] = None\n"
        "from airflow_coordination.systems.objects.storage import write_bytes\n"
        "write_bytes('s3a://bucket/x', b'x')"
    )
    finished = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, check=False)
    assert finished.stderr.endswith(
        "Cannot use this storage: s3a://bucket/x needs a library that is not here (Install s3fs to access S3). "
        "Run `pip install s3fs` where this runs\n"
    )
