"""``then=`` on real Spark: what follows is done after the ending, by whoever lives to do it (promise S27)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_coordination.follow_ups import FollowUpRights, follow_up_all
from airflow_coordination.leases import PartitionIdentifier, PartitionStatus, Settings, SourceCoordinator
from airflow_coordination.spark import Close, Complete, DeleteObjects, GiveUp, Publish, drain, read_completed
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock

pytestmark = pytest.mark.spark
ROWS = '{"id": 1, "x": 1}\n{"id": 2, "x": 2}\n'


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "in"
    folder.mkdir()
    made = [folder / f"{name}.json" for name in "abc"]
    for file in made:
        file.write_text(ROWS)
    return made


@pytest.fixture
def one(files) -> SourceCoordinator:
    coordinator = SourceCoordinator(open_store("memory://"), "s", "a person")
    coordinator.create_partitions([PartitionIdentifier(file.stem, payload={"path": str(file)}) for file in files])
    return coordinator


@pytest.fixture
def run(spark, one, output_root):
    return lambda main, **more: drain(
        main, store=one.store, source="s", spark=spark, output_root=output_root, max_leases=None, **more
    )


def deliver(spark, lease):
    records = spark.read.json(lease.partition.payload["path"], schema="id long, x long")
    assert lease.deliver(records, "id", {"clean": Publish("clean")}).positive
    return Complete(then=DeleteObjects(lease.partition.payload["path"]))


def test_objects_go_after_their_records_are_published(spark, run, one, files, output_root) -> None:
    drained = run(deliver)
    assert drained.completed == 3
    assert not any(file.exists() for file in files)
    assert list(one.follow_ups.follow_ups()) == []
    assert read_completed(spark, store=one.store, source="s", dataset="clean").count() == 6


def test_nothing_goes_when_a_partition_does_not_end_well(run, one, files) -> None:
    def main(spark, lease):
        then = DeleteObjects(lease.partition.payload["path"])
        if lease.key == "a":
            return GiveUp("not now")
        if lease.key == "b":
            raise ValueError("boom")
        with lease.publish("clean") as block:
            spark.read.json(lease.partition.payload["path"]).write.parquet(block.path)
        Path(block.path, "_manifest.json").unlink()
        return Complete(then=then)

    run(main)
    assert all(file.exists() for file in files)
    assert list(one.follow_ups.follow_ups()) == []
    assert one.counts()[PartitionStatus.COMPLETED] == 0


def test_what_cannot_be_done_now_does_not_undo_the_ending(run, one, files, monkeypatch, caplog) -> None:
    from airflow_coordination.systems.objects import deletion

    denied = lambda *_: deletion.Carried(1) / 0  # noqa: E731
    monkeypatch.setattr(DeleteObjects, "carry_out", denied)
    assert run(deliver).completed == 3
    assert [note.key for note in one.follow_ups.follow_ups()] == ["a", "b", "c"]
    assert "Partition 'a' has ended, and what follows is left for later" in caplog.text
    monkeypatch.undo()
    assert follow_up_all(one, rights=FollowUpRights.of_a_person()).done == 3
    assert not any(file.exists() for file in files)


def test_a_close_deletes_what_its_pass_has_read(run, one, files) -> None:
    from datetime import timedelta

    path = str(files[0])

    def main(spark, lease):
        return Close(timedelta(days=1), {"read": 1}, then=DeleteObjects(path))

    run(main)
    assert not files[0].exists()
    assert one.counts()[PartitionStatus.CLOSED] == 3


DRIVER = """
import os, signal, sys
from airflow_coordination.systems.objects import deletion, file_marks
from tests.integration.spark.test_then import deliver_all
at = int(sys.argv[4])
done = 0
def die_at(address, meant, delete=file_marks.delete_marked):
    global done
    if done == at:
        os.kill(os.getpid(), signal.SIGKILL)
    done += 1
    return delete(address, meant)
deletion.delete_marked = die_at
deletion.side_by_side = lambda ask, each: [ask(one) for one in each]
deliver_all(*sys.argv[1:4])
"""


def deliver_all(store: str, folder: str, root: str) -> None:
    """Complete one partition of all files, in a driver of its own."""
    from pyspark.sql import SparkSession

    def main(spark, lease):
        paths = sorted(str(path) for path in Path(folder).iterdir())
        with lease.publish("clean") as block:
            spark.read.json(paths).write.parquet(block.path)
        return Complete(then=DeleteObjects(paths))

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    drain(main, store=store, source="s", spark=spark, output_root=root)


def test_a_driver_killed_in_the_middle_leaves_the_rest_to_others(tmp_path, files) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = open_store(url)
    store.setup()
    one = SourceCoordinator(store, "s", "a person")
    one.create_partitions(["k"])
    arguments = [url, str(files[0].parent), str(tmp_path / "out"), "1"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    died = subprocess.run([sys.executable, "-c", DRIVER, *arguments], env=environment, capture_output=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()[-3000:]
    assert [file.exists() for file in files] == [False, True, True]
    [partition] = one.partitions()
    assert partition.status is PartitionStatus.COMPLETED
    assert follow_up_all(one, rights=FollowUpRights.of_a_person()).done == 1
    assert not any(file.exists() for file in files)
    assert list(one.follow_ups.follow_ups()) == []


def test_z11_what_follows_a_parking_is_done_by_the_driver_whose_failure_parks_it(spark, run, one, files) -> None:
    """Only what has failed for good, of its own: ``a`` is parked, ``b`` fails and waits, ``c`` completes."""
    path = {file.stem: str(file) for file in files}

    def main(spark, lease):
        lease.on_parked([DeleteObjects(path[lease.partition.key]), None])
        lease.save({"row": 1})
        if lease.partition.key == "c":
            return Complete()
        raise ValueError("boom")

    once = Settings(max_failures=1)
    drain(main, store=one.store, source="s", spark=spark, settings=once, max_leases=1)
    assert [file.exists() for file in files] == [False, True, True]
    assert one.partition("a").parked
    assert (one.partition("a").on_parked, list(one.follow_ups.follow_ups())) == (None, [])
    run(main)
    assert [file.exists() for file in files] == [False, True, True]
    assert [one.partition(key).on_parked is not None for key in "bc"] == [True, True]
    assert list(one.follow_ups.follow_ups()) == []


PARKED = """
import os, signal, sys
from airflow_coordination.spark import DeleteObjects
from tests.integration.spark.test_then import drained_by
def main(spark, lease):
    lease.on_parked(DeleteObjects(sys.argv[2]))
    os.kill(os.getpid(), signal.SIGKILL)
drained_by(main, sys.argv[1])
"""


def drained_by(main, url: str) -> None:
    """Run a function in a driver of its own."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    drain(main, store=url, source="s", spark=spark, settings=Settings(max_lost_leases=1))


@pytest.mark.parametrize("parks", ["its task", "a sweep"])
def test_z11_what_follows_the_parking_of_a_killed_driver_is_done_by_others(tmp_path, files, parks) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = open_store(url)
    store.setup()
    one = SourceCoordinator(store, "s", "a person", max_failures=1)
    one.create_partitions(["k"])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    died = subprocess.run(
        [sys.executable, "-c", PARKED, url, str(files[0])], env=environment, capture_output=True, check=False
    )
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()[-3000:]
    held = one.partition("k")
    assert held.status is PartitionStatus.ASSIGNED
    assert list(one.follow_ups.follow_ups()) == []
    if parks == "its task":
        assert one.tries.fail_for_dead_owner("k", held.fence, "its driver was killed")
    else:
        later = open_store(url, clock=FakeClock(held.ownership_timeout))
        assert SourceCoordinator(later, "s", "a sensor").sweep().parked == 1
    assert one.partition("k").parked
    assert [note.key for note in one.follow_ups.follow_ups()] == ["k"]
    assert follow_up_all(one).waiting != []
    assert follow_up_all(one, rights=FollowUpRights(objects=str(files[0].parent))).done == 1
    assert [file.exists() for file in files] == [False, True, True]
    assert list(one.follow_ups.follow_ups()) == []
