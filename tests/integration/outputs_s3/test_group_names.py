"""A group's names in a file on S3: listed there, written there, read there, and collected."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases import InvalidInputError, SourceCoordinator
from airflow_coordination.outputs import OutputError, collect
from airflow_coordination.sources import object_listing, object_paths
from airflow_coordination.stores import open_store
from tests.integration.outputs_s3.local_s3 import deny

FILES = 400
NOW = timedelta(0)


@pytest.fixture
def one() -> SourceCoordinator:
    return SourceCoordinator(open_store("memory://"), source="flights", owner="a test")


@pytest.fixture
def listed(s3: Any, bucket: str) -> list[str]:
    names = [f"in/day=1/{number:05}-ü.json" for number in range(FILES)]
    for name in names:
        s3.put_object(Bucket=bucket, Key=name, Body=b"1")
    return names


@pytest.fixture
def supplier(s3: Any, bucket: str, root: str, listed: list[str]) -> Any:
    return object_listing(f"s3a://{bucket}/in/", scan="once", max_objects=FILES, output_root=root, client=s3)


def files_of_names(keys: Callable[[], list[str]]) -> list[str]:
    return [key for key in keys() if "/_names/" in key]


def test_all_names_of_a_group_are_read_from_its_file(
    one: SourceCoordinator, supplier: Any, bucket: str, root: str, listed: list[str], keys: Any
) -> None:
    one.run_supplier(supplier)
    [partition] = one.partitions()
    [file] = files_of_names(keys)
    assert partition.payload["names_file"]["address"] == f"s3a://{bucket}/{file}"
    assert partition.payload["names_file"]["address"].startswith(f"{root}/_names/")
    assert object_paths(partition.payload) == [f"s3a://{bucket}/{name}" for name in listed]


def test_it_is_collected_with_its_partition_and_not_before(
    one: SourceCoordinator, supplier: Any, root: str, keys: Any
) -> None:
    one.run_supplier(supplier)
    [partition] = one.partitions()
    assert collect(one.store, "flights", root, older_than=NOW, dry_run=False).names == 0
    assert len(files_of_names(keys)) == 1
    one.people.delete(partition.key, by="ana", why="test")
    assert collect(one.store, "flights", root, older_than=NOW, dry_run=False).names == 1
    assert files_of_names(keys) == []


def test_one_that_is_missing_or_changed_is_an_error(
    one: SourceCoordinator, supplier: Any, s3: Any, bucket: str, keys: Any
) -> None:
    one.run_supplier(supplier)
    [partition] = one.partitions()
    [file] = files_of_names(keys)
    s3.put_object(Bucket=bucket, Key=file, Body=b"[]")
    with pytest.raises(InvalidInputError, match="somebody has changed the group's names"):
        object_paths(partition.payload)
    s3.delete_object(Bucket=bucket, Key=file)
    with pytest.raises(InvalidInputError, match=r"is missing\. Put that file back"):
        object_paths(partition.payload)


def test_a_supplier_that_may_not_write_creates_nothing(
    one: SourceCoordinator, supplier: Any, s3: Any, bucket: str
) -> None:
    deny(s3, bucket, "s3:PutObject", objects="*/_names/*")
    with pytest.raises(OutputError, match="denies access"):
        one.run_supplier(supplier)
    assert one.partitions() == []


def test_one_that_may_not_be_deleted_is_told_and_stays(
    one: SourceCoordinator, supplier: Any, s3: Any, bucket: str, root: str, keys: Any
) -> None:
    one.run_supplier(supplier)
    [partition] = one.partitions()
    one.people.delete(partition.key, by="ana", why="test")
    deny(s3, bucket, "s3:DeleteObject")
    with pytest.raises(OutputError, match="denies access"):
        collect(one.store, "flights", root, older_than=NOW, dry_run=False)
    assert len(files_of_names(keys)) == 1
