"""What a lease lets its function publish, by the partition's own past; no Spark is needed to see it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.leases import InvalidInputError, SourceCoordinator
from airflow_coordination.outputs import collect, published_manifests
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.spark.lease import PartitionLease
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.storage import join, normal_root, write_bytes
from airflow_coordination.values.blocks import Mode


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> PartitionStore:
    store = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'coordination.db'}")
    store.setup()
    return store


class Job:
    """Publishes one small file, and so often."""

    def __init__(self, store: PartitionStore, root: object) -> None:
        self.store, self.root = store, normal_root(root)
        self.coordinator = SourceCoordinator(store, source="s", owner="a test", max_failures=100)

    def run(self, *datasets: str, mode: Mode = "append", close: object = False) -> None:
        self.coordinator.create_partitions(["k"])
        found = self.coordinator.get_next_partition()
        assert found is not None
        heartbeat = self.coordinator.heartbeat(found, lambda reason: None)
        lease = PartitionLease(self.coordinator, found, heartbeat, self.root, None, lambda *_, **__: None)
        try:
            for dataset in datasets:
                with lease.publish(dataset, mode=mode, format="text") as block:
                    write_bytes(join(block.path, "part-0.txt"), b"a row")
        except InvalidInputError as error:
            self.coordinator.fail(found, str(error), retry_after=timedelta(0))
            raise
        if close is False:
            self.coordinator.complete(found, lease.blocks)
        else:
            self.coordinator.close(found, timedelta(0), close, blocks=lease.blocks)

    def head(self, dataset: str = "d") -> HeadRecord:
        [found] = self.store.heads("s|PARTITION", dataset)
        return found

    def blocks(self, dataset: str = "d") -> int:
        return len(published_manifests(self.store, "s", dataset))


@pytest.fixture
def job(store: PartitionStore, tmp_path: Path) -> Job:
    return Job(store, tmp_path / "out")


def forget(job: Job, how: str) -> None:
    if how == "purge":
        job.coordinator.cleaning.purge(job.store.now() + timedelta(days=1), "me", "old")
    else:
        job.coordinator.people.delete("k", by="me", why="old")


@pytest.mark.parametrize("how", ["purge", "delete"])
def test_a11_a_partition_that_is_created_again_does_not_add_to_what_it_published_before(job: Job, how: str) -> None:
    """A11: purged and named again by its supplier, its work is done once more, and its rows were there twice."""
    job.run("d", close={"row": 1})
    job.run("d", "d", close=None)
    assert job.blocks() == 3
    job.run("d")
    forget(job, how)
    with pytest.raises(InvalidInputError) as caught:
        job.run("d")
    assert str(caught.value) == (
        "mode='append': would add to 'd' of partition 'k' of source 's|PARTITION' what may be in it already, from "
        "before it was created again. Publish with mode='replace' to take the place of what is there, or take it back "
        f"by `{typed(job.coordinator, 'retract', 'k')}`; to add to it all the same, run "
        f"`{typed(job.coordinator, 'reset', 'k')}`"
    )
    assert job.blocks() == 4
    job.run("other")
    assert (job.blocks(), job.blocks("other")) == (4, 1)


@pytest.mark.parametrize("how", ["purge", "delete"])
def test_a11_each_remedy_works(job: Job, how: str) -> None:
    """A11: to take the place of what was published before, to take it back, or to add to it all the same."""
    job.run("d", "d")
    forget(job, how)
    with pytest.raises(InvalidInputError, match="mode='append'"):
        job.run("d")
    job.coordinator.people.reset("k", "me", "its rows are others now")
    job.run("d")
    assert job.blocks() == 3
    forget(job, how)
    job.run("d", mode="replace", close={"row": 1})
    job.run("d")
    assert job.blocks() == 2
    forget(job, how)
    job.coordinator.create_partitions(["k"])
    job.coordinator.people.retract("k", "me", "it is made once more")
    job.run("d", "d", "d")
    assert job.blocks() == 3


@pytest.mark.parametrize("mode", ["append", "replace"])
def test_b8_output_that_moves_to_another_storage_stays_readable(
    store: PartitionStore, tmp_path: Path, mode: Mode
) -> None:
    """B8: a chain may not lead to another kind of storage, and yet one was published that did."""
    places = [Job(store, tmp_path / "out"), Job(store, f"memory://{tmp_path.name}/out"), Job(store, tmp_path / "again")]
    for number, job in enumerate(places, start=1):
        job.run("d", "d", mode=mode, close={"n": number})
        job.run("d", mode=mode, close={"n": number})
        assert job.blocks() == 3 * number
    [head] = store.heads("s|PARTITION", "d")
    assert len(head.blocks) == 3, "a chain in each storage"
    for job in places:
        assert collect(store, "s", job.root, older_than=timedelta(0), dry_run=False).blocks == 0


def test_e16_what_is_added_after_a_retract_follows_nothing_of_before(job: Job) -> None:
    """E16: neither the next pass of the same generation, nor ``"append"``, nor a partition that is created again."""
    job.run("d", "d", close={"row": 1})
    job.coordinator.people.retract("k", "me", "wrong")
    assert (job.blocks(), job.head().rows) == (0, 0)
    job.run("d", mode="replace", close={"row": 2})
    job.run("d", mode="replace")
    assert (job.blocks(), [block.follows for block in job.head().blocks]) == (2, [None])
    job.coordinator.people.retract("k", "me", "wrong")
    job.coordinator.people.reset("k", "me", "again")
    job.run("d")
    assert job.blocks() == 1
    forget(job, "purge")
    job.coordinator.create_partitions(["k"])
    job.coordinator.people.retract("k", "me", "wrong")
    job.run("d")
    assert job.blocks() == 1
