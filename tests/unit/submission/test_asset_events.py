"""What the asset events of a task that works under leases carry, where partitions run in branches."""

from __future__ import annotations

import json
from collections import defaultdict
from types import SimpleNamespace

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.planning.view import changing
from airflow_coordination.stores import open_store
from airflow_coordination.submission.driver_reports import DriverReports
from airflow_coordination.submission.in_process import InProcessReports
from airflow_coordination.submission.task_instance import TaskMemory, tell_of_done
from airflow_coordination.submission.watch import Watch
from airflow_coordination.values.times import EPOCH

WHO = "ana", "late data"


class Source:
    """A task with one outlet, on partitions of a source with one branch."""

    def __init__(self) -> None:
        self.store = open_store("memory://")
        self.store.enable_branches()
        self.c = SourceCoordinator(self.store, "flights", "task")
        self.c.create_partitions(["a", "b"])
        self.context = {
            "ti": SimpleNamespace(map_index=-1),
            "task": SimpleNamespace(outlets=["asset"]),
            "outlet_events": defaultdict(lambda: SimpleNamespace(extra={})),
        }

    def change(self, step) -> None:
        self.c.documents.change_view(step, *WHO)

    def begin(self, *keys: str) -> None:
        """Begin branch 1 with some partitions."""
        self.change(lambda view: changing.begun(view, {"keys": list(keys)}, None, *WHO, EPOCH)[0])
        for key in keys:
            self.c.people.reset(key, *WHO, branch=1)
        self.change(lambda view: changing.complete(view, 1, len(keys), None))

    def work(self, key: str, reports: InProcessReports | None = None) -> InProcessReports:
        """Work on a partition, as a driver in the task's process reports it."""
        lease = self.c.acquire_partition(key)
        reports = reports or InProcessReports(self.context, TaskMemory({}), lease)
        said = {} if lease.partition.branch is None else {"branch": lease.partition.branch}
        reports("began", key=key, fence=str(lease.fence), **said)
        self.c.complete(lease)
        reports("ended", key=key, fence=str(lease.fence), outcome="completed")
        return reports

    def told(self, tenures) -> list[str] | None:
        """Return what the event carries, ``None`` where there is none."""
        tell_of_done(self.context, tenures, self.c)
        if not self.context["task"].outlets:
            return None
        return self.context["outlet_events"]["asset"].extra["partitions"]


@pytest.fixture
def source() -> Source:
    return Source()


def test_what_was_published_in_the_base_is_told_although_its_partition_runs_in_a_branch_by_now(source: Source) -> None:
    reports = source.work("a")
    source.begin("a", "b")
    assert source.told(reports.tenures) == ["a"]


def test_what_ended_in_a_branch_is_told_when_that_shows(source: Source) -> None:
    source.begin("a")
    reports = source.work("b", source.work("a"))
    assert source.told(reports.tenures) == ["b"]
    source.change(lambda view: changing.published(view, 1, EPOCH))
    assert source.told(reports.tenures) == ["a", "b"]


def test_a_task_that_has_worked_in_a_branch_alone_emits_no_event(source: Source) -> None:
    source.begin("a")
    assert source.told(source.work("a").tenures) is None


def test_what_ended_in_a_branch_that_was_rolled_back_is_told_never(source: Source) -> None:
    source.begin("a")
    reports = source.work("a")
    source.change(lambda view: changing.rolled_back(view, 1, EPOCH))
    source.c.people.reset("a", *WHO)
    assert source.told(reports.tenures) is None, "not by where its partition runs now"


def test_of_a_driver_of_its_own_the_branch_is_known_too(source: Source) -> None:
    source.begin("a", "b")
    lease = source.c.acquire_partition("a")
    watch = Watch(source.c, lease, lambda: None)
    take = DriverReports(source.context, watch, source.c, several=True)
    source.c.complete(source.c.begin("a", lease.fence))
    take(json.dumps({"event": "ended", "key": "a", "fence": str(lease.fence), "outcome": "completed"}))
    quick = source.c.acquire_partition("b")
    source.c.complete(quick)
    take(json.dumps({"event": "began", "key": "b", "fence": str(quick.fence), "branch": 1}))
    take(json.dumps({"event": "ended", "key": "b", "fence": str(quick.fence), "outcome": "completed"}))
    assert watch.tenures.done == ("a", "b")
    assert source.told(watch.tenures) is None


def test_what_was_only_counted_is_told_as_a_number_even_if_all_that_is_named_does_not_show(source: Source) -> None:
    source.begin("a")
    tenures = source.work("a").tenures
    tenures.passed(7)
    assert source.told(tenures) == []
    assert source.context["outlet_events"]["asset"].extra["more_partitions"] == 7
