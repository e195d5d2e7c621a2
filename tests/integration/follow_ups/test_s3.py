"""Deleting objects of S3: exactly those that are meant, and what a service says to it (promise S27)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_coordination.duties.follow_ups import note_of
from airflow_coordination.follow_ups import Carried, DeleteObjects, FollowUpRights, follow_up_all
from airflow_coordination.leases import Partition, PartitionStatus, SourceCoordinator
from airflow_coordination.sources import object_listing
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects import s3 as requests
from airflow_coordination.systems.objects.storage import OutputError
from tests.integration.outputs_s3.local_s3 import deny
from tests.share import SHARE

NAMES = ("in/a.json", "in//b c.json", "in/é+?.json")


@pytest.fixture
def objects(s3: Any, bucket: str) -> list[str]:
    """The addresses of three objects."""
    for name in NAMES:
        s3.put_object(Bucket=bucket, Key=name, Body=b"first")
    return [f"s3a://{bucket}/{name}" for name in NAMES]


@pytest.fixture
def left(s3: Any, bucket: str):
    """The names of the objects that are there now."""
    return lambda: {each["Key"] for each in s3.list_objects_v2(Bucket=bucket).get("Contents", [])}


def noted(action: DeleteObjects, payload: str | None = None) -> DeleteObjects:
    partition = Partition(source="s|PARTITION", key="k", status=PartitionStatus.ASSIGNED, payload_text=payload)
    return DeleteObjects.from_json(json.loads(json.dumps(action.pinned(partition).to_json())))


def test_what_is_meant_is_deleted_whatever_it_is_called(objects, left) -> None:
    assert noted(DeleteObjects(objects)).carry_out() == Carried(3)
    assert left() == set()
    assert noted(DeleteObjects(objects[0])).carry_out() == Carried()


def test_what_was_written_again_is_left_alone(s3, bucket, objects, left) -> None:
    action = noted(DeleteObjects(objects))
    s3.put_object(Bucket=bucket, Key=NAMES[1], Body=b"other")
    assert action.carry_out() == Carried(2, (f"{objects[1]} was written again",))
    assert left() == {NAMES[1]}
    assert action.carry_out().left_alone


def test_the_version_is_that_of_the_listing(s3, bucket, objects, left) -> None:
    listing = object_listing(f"s3://{bucket}/in/", scan="once", client=s3)
    listed = [each for each in listing({}) if hasattr(each, "key")]
    s3.put_object(Bucket=bucket, Key=NAMES[0], Body=b"other")
    found = [noted(DeleteObjects(each.payload["path"]), each.payload_text).carry_out() for each in listed]
    assert sorted(each.done for each in found) == [0, 1, 1]
    assert left() == {NAMES[0]}


def test_a_versioned_bucket_keeps_what_is_deleted(s3, bucket, objects, left) -> None:
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    s3.put_object(Bucket=bucket, Key=NAMES[0], Body=b"second")
    assert noted(DeleteObjects(objects[0])).carry_out() == Carried(1)
    assert NAMES[0] not in left()
    versions = s3.list_object_versions(Bucket=bucket, Prefix=NAMES[0])
    assert (len(versions["Versions"]), len(versions["DeleteMarkers"])) == (2, 1)


def test_a_versioned_object_that_has_changed_since_is_left_alone(s3, bucket, objects, left) -> None:
    """Not even a delete marker is put upon it; nor is the version deleted that was meant."""
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    action = noted(DeleteObjects(objects[0]))
    s3.put_object(Bucket=bucket, Key=NAMES[0], Body=b"other")
    assert action.carry_out() == Carried(0, (f"{objects[0]} was written again",))
    assert NAMES[0] in left()
    versions = s3.list_object_versions(Bucket=bucket, Prefix=NAMES[0])
    assert (len(versions["Versions"]), len(versions.get("DeleteMarkers", []))) == (2, 0)


def test_the_request_itself_names_the_version(s3, bucket, objects, monkeypatch) -> None:
    """Moto knows of no conditional deletion, so that what is sent is looked at."""
    from airflow_coordination.systems.objects import file_marks

    asked: list[dict[str, Any]] = []
    delete = file_marks.s3.delete_version

    def watched(filesystem: Any, path: str, etag: str | None) -> bool:
        call = filesystem.call_s3

        def send(method: str, **arguments: Any) -> Any:
            asked.append(arguments)
            return call(method, **arguments)

        filesystem.call_s3 = send
        try:
            return delete(filesystem, path, etag)
        finally:
            filesystem.call_s3 = call

    monkeypatch.setattr(file_marks.s3, "delete_version", watched)
    etag = s3.head_object(Bucket=bucket, Key=NAMES[1])["ETag"]
    noted(DeleteObjects(objects[1])).carry_out()
    assert asked == [{"Bucket": bucket, "Key": NAMES[1], "IfMatch": etag}]


def test_what_is_denied_names_the_object_and_the_right(s3, bucket, objects, left) -> None:
    action = noted(DeleteObjects(objects))
    deny(s3, bucket, "s3:DeleteObject", objects="in/a*")
    with pytest.raises(OutputError, match=r"Cannot delete a file: s3a://.*/in/a.json denies access"):
        action.carry_out()
    assert left() == {NAMES[0]}


def test_a_list_of_more_than_a_request_takes_is_an_object_below_the_output_root(
    s3, bucket, left, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service takes 1,000 at a time. In CI 100 are as many as it may take: ``tests/left_out.py``."""
    monkeypatch.setattr(requests, "BATCH", round(requests.BATCH * SHARE))
    names = [f"many/{number:04}" for number in range(round(1200 * SHARE) + 80)]
    for name in names:
        s3.put_object(Bucket=bucket, Key=name, Body=b"x")
    one = SourceCoordinator(open_store("memory://"), "s", "me")
    one.create_partitions(["k"])
    lease = one.acquire_partition("k")
    assert lease is not None
    action = DeleteObjects([f"s3://{bucket}/{name}" for name in names])
    one.complete(lease, then=note_of(action, lease.partition, lease.fence, f"s3a://{bucket}/out"))
    assert sum(name.startswith("out/_follow_ups/") for name in _all(s3, bucket)) == 1
    assert follow_up_all(one, rights=FollowUpRights.of_a_person()).done == 1
    assert left() == set()


def _all(s3: Any, bucket: str) -> list[str]:
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    return [each["Key"] for page in pages for each in page.get("Contents", [])]
