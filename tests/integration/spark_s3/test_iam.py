"""The policies on S3: moto enforces their actions and their resources, and each action is asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest
import s3fs
from moto.core.authorization import enable_iam_authentication
from moto.iam.access_control import IAMRequestBase

from airflow_coordination.leases import Settings, SourceCoordinator
from airflow_coordination.outputs import Attempt, collect
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark import Complete, drain, read_completed
from airflow_coordination.stores import open_store
from airflow_coordination.stores.dynamodb.setup.iam import Role, TableAddress, policy
from airflow_coordination.systems.objects.storage import join, write_bytes

SETTINGS = Settings(retry_delay=timedelta(0))


@pytest.fixture
def store() -> PartitionStore:
    return open_store("memory://")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The actions that moto was asked for."""
    seen: set[str] = set()
    check = IAMRequestBase.check_action_permitted

    def noted(self: Any, resource: str) -> None:
        seen.add(self._action)
        check(self, resource)

    monkeypatch.setattr(IAMRequestBase, "check_action_permitted", noted)
    return seen


@pytest.fixture
def become(spark, bucket: str, moto_server: str, monkeypatch: pytest.MonkeyPatch):
    """Make Spark and this process a user who has one policy."""
    iam = boto3.client("iam", region_name="us-east-1", endpoint_url=moto_server)
    iam.create_user(UserName=bucket)
    key = iam.create_access_key(UserName=bucket)["AccessKey"]
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    for name, kind in (("access.key", "AccessKeyId"), ("secret.key", "SecretAccessKey")):
        hadoop.set(f"fs.s3a.bucket.{bucket}.{name}", key[kind])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
    s3fs.S3FileSystem.clear_instance_cache()

    def become(document: dict[str, Any]) -> Any:
        # moto asks for a batch of deletes on the bucket; S3 asks for each object
        batches = {"Effect": "Allow", "Action": ["s3:DeleteObject"], "Resource": f"arn:aws:s3:::{bucket}"}
        allowed = {**document, "Statement": [*document["Statement"], batches]}
        iam.put_user_policy(UserName=bucket, PolicyName="only", PolicyDocument=json.dumps(allowed))
        return enable_iam_authentication()

    return become


def on_s3(document: dict[str, Any]) -> Iterator[str]:
    for statement in document["Statement"]:
        yield from (action for action in statement["Action"] if action.startswith("s3:"))


def test_x7_policies_are_enough_on_s3_and_each_action_is_asked_for(
    spark, s3, bucket: str, root: str, store: PartitionStore, become, asked, uploads
) -> None:
    coordinator = SourceCoordinator(store, source="s", owner="a person", settings=SETTINGS)
    coordinator.create_partitions(["p"])
    worker, reader = (
        policy(role, TableAddress("any", "us-east-1", "123456789012"), root) for role in (Role.WORKER, Role.READER)
    )

    def main(spark, lease):
        with lease.publish("d") as block:
            spark.range(20).coalesce(1).write.parquet(block.path)
        return Complete()

    with become(worker):
        lost = begin_and_fail(coordinator, root)
    s3.create_multipart_upload(Bucket=bucket, Key=f"{lost.removeprefix(f's3a://{bucket}/')}/part-1.parquet")
    with become(worker):
        assert drain(main, store=store, source="s", spark=spark, output_root=root).completed == 1
        assert collect(store, "s", root, older_than=timedelta(0), dry_run=False).uploads == 1
    assert uploads() == []
    assert asked == set(on_s3(worker))
    asked.clear()
    with become(reader):
        assert read_completed(spark, store=store, source="s", dataset="d").count() == 20
    assert asked == set(on_s3(reader))


def begin_and_fail(coordinator: SourceCoordinator, root: str) -> str:
    """Leave a file of a tenure that fails; return its directory."""
    lease = coordinator.get_next_partition()
    opened = Attempt(root, lease.partition.source, lease.key, lease.fence, coordinator.store.store_id).open("d")
    write_bytes(join(opened.path, "part-0.parquet"), b"half of it")
    coordinator.fail(lease, "killed", retry_after=timedelta(0))
    return opened.path
