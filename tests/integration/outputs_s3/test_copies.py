"""Copies on S3: made from a disk and from S3, read there, lost with their marker, and collected."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.outputs.copies.collecting import collect_copies
from airflow_coordination.outputs.copies.locations import MARKER, set_locations
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.storage import OutputError, join
from tests.copying import DAYS, Copying, Duties


@pytest.mark.parametrize("published", ["on a disk", "on S3"])
def test_a_tier_on_s3_is_read_lost_found_and_collected(
    published: str, s3: Any, bucket: str, root: str, tmp_path
) -> None:
    days = Copying(open_store("memory://"), tmp_path / "out" if published == "on a disk" else join(root, "out"))
    said = [{"name": "cold", "root": join(root, "cold"), "tier": "archive", "capacity": "1GB"}]
    set_locations(days.ingest(), json.dumps(said), "ana", "a bucket")
    days.publish(*DAYS)
    days.want(archive=1)
    duties = Duties(days)
    duties.settle()
    assert days.rows_in("archive") == days.rows()
    assert sum(days.rows().values()) == 6

    key = join(root, "cold", MARKER).removeprefix(f"s3a://{bucket}/")
    marker = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    s3.delete_object(Bucket=bucket, Key=key)
    with pytest.raises(OutputError, match="location cold cannot be read"):
        days.rows_in("archive")
    duties.run()
    s3.put_object(Bucket=bucket, Key=key, Body=marker)
    duties.settle()
    assert days.rows_in("archive") == days.rows()

    days.want(archive=0)
    duties.settle()
    found, unread = collect_copies(days.ingest(), timedelta(0), dry_run=False)
    assert (found["cold"].files > len(DAYS), unread) == (True, {})
    listed = s3.list_objects_v2(Bucket=bucket, Prefix=key.removesuffix(MARKER)).get("Contents", [])
    assert [each["Key"] for each in listed] == [key]
    assert sum(days.rows().values()) == 6
