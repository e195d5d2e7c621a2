"""A driver that is stopped past its lease at every point of its way, overtaken there, and continued."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.leases import Outcome, PartitionStatus, SourceCoordinator
from airflow_coordination.spark.tenure import DriverContext, run_tenure
from tests.integration.spark.drivers import Driver, Task, eventually
from tests.integration.spark_faults.checks import check_collection, rows
from tests.integration.spark_faults.jobs.blocks import ROWS, work
from tests.integration.spark_faults.processes import signal_session, stop_between_writes

JOB = str(Path(__file__).parent / "jobs" / "stopped.py")
LEASE = timedelta(seconds=3)
L, C, D = Outcome.LOST, Outcome.CLOSED, Outcome.COMPLETED


@dataclass(frozen=True)
class Point:
    """A point where the first driver is stopped, in a partition of that name.

    :param tokens: which tenure's rows are read, block by block.
    :param endings: how the partition's tenures end, in their order.
    :param ended: how the first driver's own tenure ends, as that driver tells it.
    """

    name: str
    tokens: tuple[int, int, int]
    endings: tuple[Outcome, ...] = (L, D)
    ended: Outcome = L


POINTS = (
    Point("began", (2, 2, 2)),
    Point("tasks running", (1, 2, 2)),
    Point("files written", (1, 2, 2)),
    Point("manifest written", (1, 2, 2)),
    Point("save to be sent", (1, 2, 2)),
    Point("save applied", (1, 1, 2)),
    Point("between saves", (1, 1, 2)),
    Point("close to be sent", (1, 2, 3), (L, C, D)),
    Point("close applied", (1, 1, 2), (C, D), C),
    Point("heads to be read", (1, 1, 3), (C, L, D)),
    Point("completion to be sent", (1, 1, 2)),
    Point("completion applied", (1, 1, 1), (D,), D),
    Point("fused completion to be sent", (1, 1, 2)),
    Point("fused completion applied", (1, 1, 1), (D,), D),
)
BY_THE_WAY = Point("acquired by the fused completion", (2, 2, 2))
"""The last point's step acquires this one, too, and its driver learns that when the lease is over."""


@dataclass
class Scene:
    """The first driver, a process, and the second, a session of the test."""

    task: Task
    spark: Any
    driver: Driver | None = None

    @property
    def coordinator(self) -> SourceCoordinator:
        return self.task.coordinator("the second driver")

    def prepare(self, point: Point) -> None:
        """Create the point's partition, with an earlier pass where its first driver is to find one."""
        (self.task.signs / f"{point.name}.hold").touch()
        self.coordinator.create_partitions([point.name])
        if point.endings[0] is C and point.ended is not C:
            self.hold(point)

    def start(self, point: Point) -> None:
        self.prepare(point)
        coordinator = self.task.coordinator()
        with coordinator.heartbeat(lease := coordinator.get_next_partition()):
            self.driver = self.task.start(JOB, lease, max_leases=None)
            eventually(lambda: self.driver.reports("began") or self.driver.process.poll() is not None)

    def stop(self, point: Point) -> None:
        self.driver.reached(point.name)
        stop_between_writes(self.driver.process.pid, self.task.store_url)
        (self.task.signs / f"{point.name}.hold").unlink()

    def go_on(self) -> None:
        signal_session(self.driver.process.pid, signal.SIGCONT)

    def overtake(self, point: Point) -> None:
        """Complete the point's partition as the second driver, once the first one's lease has ended."""
        while self.partition(point).status is not PartitionStatus.COMPLETED:
            self.hold(point)

    def hold(self, point: Point) -> None:
        coordinator = self.coordinator
        lease = eventually(lambda: coordinator.acquire_partition(point.name))
        driver = DriverContext(spark=self.spark, coordinator=coordinator, output_root=self.task.output_root)
        ended = run_tenure(work, lease, driver)
        assert ended.outcome in (C, D), ended

    def partition(self, point: Point):
        return self.coordinator.partition(point.name)

    def ended(self, point: Point) -> str:
        """Return how the first driver says that its tenure has ended."""

        def told():
            return [report for report in self.driver.reports("ended") if report["key"] == point.name]

        eventually(lambda: told() or self.driver.process.poll() is not None)
        [report] = told() or pytest.fail(self.driver.text())
        return report["outcome"]

    def expected(self, point: Point) -> list[tuple[str, str, int]]:
        fences = {ending.fence.token: str(ending.fence) for ending in self.partition(point).endings}
        numbers = range(ROWS * len(point.tokens))
        return [(point.name, fences[point.tokens[number // ROWS]], number) for number in numbers]


@pytest.mark.timed
@pytest.mark.long
def test_s12_a_driver_stopped_past_its_lease_at_any_point_changes_nothing(spark, task: Task) -> None:
    task.ownership_timeout = LEASE
    scene = Scene(task, spark)
    scene.start(POINTS[0])
    for point, following in pairwise(POINTS):
        scene.stop(point)
        scene.overtake(point)
        scene.prepare(following)
        scene.go_on()
        assert scene.ended(point) == point.ended, point
    scene.coordinator.create_partitions([BY_THE_WAY.name])
    scene.stop(POINTS[-1])
    scene.overtake(BY_THE_WAY)
    scene.go_on()
    assert scene.ended(POINTS[-1]) == POINTS[-1].ended
    assert scene.ended(BY_THE_WAY) == BY_THE_WAY.ended
    assert scene.driver.wait() == 3, scene.driver.text()
    check_endings(scene)
    check_output(scene)


def check_endings(scene: Scene) -> None:
    for point in (*POINTS, BY_THE_WAY):
        partition = scene.partition(point)
        assert tuple(ending.outcome for ending in partition.endings) == point.endings, point
        assert partition.closed_count == point.endings.count(C), point
        [head] = scene.task.store.heads("flights|PARTITION", key=point.name)
        assert (head.rows, head.op) == (3 * ROWS, partition.endings[-1].op), point
    told = [point.ended for point in (*POINTS, BY_THE_WAY)]
    assert scene.driver.counted("partitionsCompleted") == told.count(D)
    assert scene.driver.counted("partitionsClosed") == told.count(C)


def check_output(scene: Scene) -> None:
    expected = sorted(row for point in (*POINTS, BY_THE_WAY) for row in scene.expected(point))
    assert rows(scene.spark, scene.task) == expected
    losers = check_collection(scene.task)
    assert losers >= {"files_written", "manifest_written", "save_to_be_sent", "completion_to_be_sent"}
    assert rows(scene.spark, scene.task) == expected
