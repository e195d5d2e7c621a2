"""The collector on S3: no directories, batches of deletes, and uploads that nobody finished."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases import Lease, SourceCoordinator
from airflow_coordination.outputs import Attempt, Block, OutputError, Reference, collect, published_manifests
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.storage import join, write_bytes
from tests.integration.outputs_s3.local_s3 import deny

NOW = timedelta(0)


@pytest.fixture
def coordinator() -> SourceCoordinator:
    coordinator = SourceCoordinator(open_store("memory://"), source="flights", owner="a test", max_failures=100)
    coordinator.create_partitions(["k"])
    return coordinator


@pytest.fixture
def run(coordinator: SourceCoordinator, root: str):
    def run(*, older_than: timedelta = NOW, dry_run: bool = False):
        return collect(coordinator.store, "flights", root, older_than=older_than, dry_run=dry_run)

    return run


@pytest.fixture
def begin_upload(s3: Any, bucket: str):
    """Begin an upload into a directory, send a part, and never finish it."""

    def begin(directory: str, name: str = "part-9.parquet") -> str:
        key = join(directory.removeprefix(f"s3a://{bucket}/"), name)
        upload = s3.create_multipart_upload(Bucket=bucket, Key=key)
        s3.upload_part(Bucket=bucket, Key=key, UploadId=upload["UploadId"], PartNumber=1, Body=b"half a file")
        return key

    return begin


def acquired(coordinator: SourceCoordinator) -> Lease:
    lease = coordinator.get_next_partition()
    assert lease is not None
    return lease


def attempt_of(coordinator: SourceCoordinator, lease: Lease, root: str) -> Attempt:
    return Attempt(root, lease.partition.source, lease.key, lease.fence, coordinator.store.store_id)


def block_of(attempt: Attempt, follows: Block | None = None, files: int = 1) -> Block:
    opened = attempt.open("clean")
    for number in range(files):
        write_bytes(join(opened.path, f"month={number % 3}", f"part-{number}.txt"), b"12345")
    reference = Reference(follows.address, follows.digest) if follows else None
    return attempt.finish(opened, follows=reference, file_format="text")


def directory_of(block: Block) -> str:
    return block.address.rpartition("/")[0]


def test_only_the_uploads_of_losers_are_aborted(coordinator, root, run, begin_upload, uploads, keys) -> None:
    dead = acquired(coordinator)
    attempt = attempt_of(coordinator, dead, root)
    saved = block_of(attempt)
    dead = coordinator.save_progress_state(dead, {"n": 1}, [saved])
    into_saved = begin_upload(directory_of(saved))
    into_lost = begin_upload(attempt.open("clean").path)  # a block with no file yet, only an upload
    coordinator.fail(dead, "killed", retry_after=NOW)
    living = acquired(coordinator)
    into_living = begin_upload(attempt_of(coordinator, living, root).open("clean").path)
    assert uploads() == sorted([into_saved, into_lost, into_living])

    counted = run(dry_run=True)
    assert (counted.blocks, counted.files, counted.uploads) == (1, 0, 1)
    assert len(uploads()) == 3
    assert run() == counted.__class__(blocks=1, uploads=1, sample=counted.sample, kept=2, dry_run=False)
    assert uploads() == sorted([into_saved, into_living])
    assert saved.address.endswith(tuple(keys()))

    following = block_of(attempt_of(coordinator, living, root), follows=saved)
    coordinator.complete(living, [following])
    run()
    assert into_saved in uploads()
    assert len(published_manifests(coordinator.store, "flights", "clean")) == 2


def test_a_young_upload_keeps_its_attempt(coordinator, root, run, begin_upload, uploads) -> None:
    lease = acquired(coordinator)
    begin_upload(attempt_of(coordinator, lease, root).open("clean").path)
    coordinator.fail(lease, "killed", retry_after=NOW)
    assert run(older_than=timedelta(hours=1)).uploads == 0
    assert len(uploads()) == 1
    assert run().uploads == 1
    assert uploads() == []


def test_nothing_remains_of_a_loser_and_neighbours_do(
    coordinator, root, run, keys, s3, bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_coordination.systems.objects.s3.BATCH", 2)
    lease = acquired(coordinator)
    lost = block_of(attempt_of(coordinator, lease, root), files=3)
    inside = directory_of(lost).removeprefix(f"s3a://{bucket}/")
    neighbours = ["deep/out/_attempts/strange.txt", f"{inside.replace('_partition=', '_partition=0')}/part-0.txt"]
    for key in (f"{inside}/", f"{inside}/__magic_job-1/part-7.pending", *neighbours):  # Hadoop marks a directory so
        s3.put_object(Bucket=bucket, Key=key)
    coordinator.fail(lease, "killed", retry_after=NOW)
    found = run()
    assert (found.blocks, found.files) == (1, 5)
    assert sorted(keys()) == sorted(neighbours)


def test_uploads_of_nobody_are_told_and_left(coordinator, root, run, begin_upload, uploads) -> None:
    lease = acquired(coordinator)
    coordinator.fail(lease, "killed", retry_after=NOW)
    unmarked = attempt_of(coordinator, lease, root).directory
    left = [begin_upload(f"{unmarked}/_block=clean-1"), begin_upload(f"{root}-other/_attempts/_partition=1/_attempt=2")]
    found = run()
    assert (found.uploads, found.unknown) == (0, (unmarked,))
    assert uploads() == sorted(left)


def test_a_delete_that_is_denied_is_no_success(coordinator, root, run, keys, s3, bucket) -> None:
    lease = acquired(coordinator)
    lost = block_of(attempt_of(coordinator, lease, root))
    coordinator.fail(lease, "killed", retry_after=NOW)
    deny(s3, bucket, "s3:DeleteObject")
    with pytest.raises(OutputError, match=r"Cannot delete: s3a://.* denies access \(deep/out/.*: AccessDenied"):
        run()
    assert lost.address.endswith(tuple(keys()))


def test_e16_a_trail_that_s3_denies_is_not_needed(coordinator, root, run, s3, bucket) -> None:
    """E16: to whoever may not list, S3 denies what does not exist; the local S3 denies only what is there."""
    last = None
    for _ in range(10):
        lease = acquired(coordinator)
        last = block_of(attempt_of(coordinator, lease, root), follows=last)
        coordinator.close(lease, NOW, {"n": 1}, [last])
    deny(s3, bucket, "s3:GetObject", objects="*/_trail.json")
    assert len(published_manifests(coordinator.store, "flights", "clean")) == 10
    assert run().kept == 10
    deny(s3, bucket, "s3:GetObject")
    with pytest.raises(
        OutputError, match=r"_manifest.json denies access .* without s3:ListBucket, a file that does not"
    ):
        published_manifests(coordinator.store, "flights", "clean")


@pytest.mark.parametrize("other", ["s3://{}/deep/out", "s3n://{}/deep/out/", "s3a://{}//deep/./out"])
def test_e2_published_output_survives_whatever_its_root_is_called(coordinator, root, bucket, keys, other: str) -> None:
    """E2: s3 and s3a are one place, but other addresses, and the collector took what was published for a loser."""
    lost = acquired(coordinator)
    loser = block_of(attempt_of(coordinator, lost, root))
    coordinator.fail(lost, "no", retry_after=NOW)
    won = acquired(coordinator)
    coordinator.complete(won, [block_of(attempt_of(coordinator, won, root))])
    found = collect(coordinator.store, "flights", other.format(bucket), older_than=NOW, dry_run=False)
    assert found.blocks == 1
    assert len(published_manifests(coordinator.store, "flights", "clean")) == 1
    assert not [key for key in keys() if directory_of(loser).endswith(key.rpartition("/")[0])]


def test_what_may_not_be_deleted_does_not_keep_the_rest(coordinator, root, run, s3, bucket, keys) -> None:
    """One directory that another user wrote, and nothing behind it was ever collected."""
    coordinator.create_partitions(["a", "b"])
    attempts = []
    for _ in range(3):
        lease = acquired(coordinator)
        attempts.append(attempt := attempt_of(coordinator, lease, root))
        block_of(attempt)
        coordinator.fail(lease, "no", retry_after=timedelta(hours=1))
    denied = sorted(attempt.directory.removeprefix(f"s3a://{bucket}/") for attempt in attempts)[0]
    deny(s3, bucket, "s3:DeleteObject", objects=f"{denied}/*")
    with pytest.raises(OutputError, match=r"Cannot delete: .* denies access"):
        run()
    assert {key.partition("/_block=")[0].removesuffix("/_attempt.json") for key in keys()} == {denied}
    assert f"{denied}/_attempt.json" in keys()
    s3.delete_bucket_policy(Bucket=bucket)
    assert (run().blocks, keys()) == (1, [])
