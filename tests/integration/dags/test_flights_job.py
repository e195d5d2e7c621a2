"""The Spark side of the example, without Airflow: rows are exact, whatever happened on the way."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination import (
    PartitionIdentifier,
    PartitionStatus,
    SourceCoordinator,
    drain,
    open_store,
    read_completed,
)
from airflow_coordination.leases import Settings
from airflow_coordination.outputs.published import published_manifests

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]
AT_ONCE = Settings(retry_delay=timedelta(0))


class Source:
    """One month as a source of its own."""

    def __init__(self, folder, lines, newest):
        self.store = open_store(f"sqlite:///{folder / 'coordination.db'}")
        self.store.setup()
        self.coordinator = SourceCoordinator(self.store, source="flights", owner="test")
        self.output = str(folder / "output")
        path = folder / "2013-02.csv"
        path.write_bytes(b"\n".join(lines) + b"\n")
        self.coordinator.create_partitions(
            [PartitionIdentifier("2013-02", payload={"path": str(path), "newest": newest})]
        )

    def drain(self, function, spark):
        return drain(
            function, store=self.store, source="flights", spark=spark, output_root=self.output, settings=AT_ONCE
        )

    @property
    def month(self):
        return self.coordinator.partition("2013-02")

    def tenures(self):
        """Return the token of each published block's tenure."""
        return [int(m.fence.split("-")[0]) for m in published_manifests(self.store, "flights", "flights")]


@pytest.fixture
def source(tmp_path, small_month):
    return Source(tmp_path, small_month, newest=False)


@pytest.fixture
def newest(tmp_path, small_month):
    return Source(tmp_path, small_month, newest=True)


def digests(spark, source):
    from demo.published import published_digests

    return published_digests(spark, source.store)


def digest_of(lines):
    from demo.data import Digest, row_checksum

    digest = Digest()
    for line in lines[1:]:
        digest.add(1, row_checksum(line))
    return [digest.rows, digest.checksum]


def crashing_after_its_first_save(job):
    """Return the job as a driver runs it that dies right after it has saved the first half."""

    class CrashingLease:
        def __init__(self, lease):
            self._lease = lease

        def __getattr__(self, name):
            return getattr(self._lease, name)

        def save(self, state):
            self._lease.save(state)
            raise MemoryError("killed half way")

    return lambda spark, lease: job(spark, CrashingLease(lease))


def test_a_month_is_published_exactly(job, spark, source, small_month):
    """Every column of every row."""
    assert source.drain(job, spark).completed == 1
    assert digests(spark, source) == {"2013-02": digest_of(small_month)}
    assert len(read_completed(spark, store=source.store, source="flights", dataset="flights").columns) == 19


def test_an_attempt_after_a_crash_resumes_after_the_saved_half(job, spark, source, small_month):
    """One block of each tenure, each row once."""
    assert source.drain(crashing_after_its_first_save(job), spark).failed == 1
    assert source.month.progress_state == {"day": 15}
    assert source.drain(job, spark).completed == 1
    assert source.tenures() == [1, 2]
    assert digests(spark, source) == {"2013-02": digest_of(small_month)}


def test_the_newest_month_publishes_what_is_there_and_comes_back_for_the_rest(job, spark, newest, small_month):
    """Closed once; the second pass adds to the first one's output."""
    assert newest.drain(job, spark).closed == 1
    assert newest.month.status is PartitionStatus.CLOSED
    first_half = [small_month[0], *[line for line in small_month[1:] if int(line.split(b",")[2]) <= 15]]
    assert digests(spark, newest) == {"2013-02": digest_of(first_half)}
    newest.coordinator.people.reopen("2013-02", by="test", why="not to wait for it")
    assert newest.drain(job, spark).completed == 1
    assert digests(spark, newest) == {"2013-02": digest_of(small_month)}
