"""What runs in a branch, without Spark: refused endings are parked at once, and nothing follows them at the source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_coordination.duties.branches.beginning import begin
from airflow_coordination.duties.branches.selection import Selection
from airflow_coordination.duties.branches.showing import publish, roll_back
from airflow_coordination.follow_ups import DeleteObjects
from airflow_coordination.leases import Block
from airflow_coordination.spark import Complete
from airflow_coordination.spark.draining import drain
from airflow_coordination.stores import open_store
from airflow_coordination.testing.crash import FaultyStore
from tests.backfills import Month

WHO = ("ana", "late data")
ALL = Selection(everything=True)


@pytest.fixture
def month(monkeypatch, tmp_path):
    month = Month(open_store("memory://"), tmp_path / "out")
    month.filled(1)
    return month


def run(month: Month, function: Callable[[Any, Any], Any]) -> Any:
    drain(function, store=month.store, source="flights", output_root=str(month.root), spark=None)
    return month.c.partition("2013-01-01")


def test_an_ending_in_a_branch_that_was_rolled_back_is_parked_at_once(month) -> None:
    begin(month.c, ALL, *WHO)

    def work(_: Any, lease: Any) -> Complete:
        roll_back(month.c, 1, *WHO)
        return Complete()

    after = run(month, work)
    assert (after.parked, after.failures) == (True, 1)
    assert "branch 1, which was rolled back" in after.last_error


@pytest.mark.parametrize("mode", ["replace", "append"])
def test_no_work_is_done_in_a_branch_that_was_rolled_back(month, mode) -> None:
    begin(month.c, ALL, *WHO)
    roll_back(month.c, 1, *WHO)

    def work(_: Any, lease: Any) -> Complete:
        with lease.publish("clean", mode, format="json"):
            pytest.fail("worked for nobody")
        return Complete()

    after = run(month, work)
    assert (after.parked, after.failures) == (True, 1)


def test_s22_no_work_is_done_for_an_addition_that_would_hide_what_shows(month) -> None:
    begin(month.c, ALL, *WHO)
    month.work("2013-01-01", ["new"])
    publish(month.c, 1, *WHO)
    month.c.people.reset("2013-01-01", *WHO)

    def work(_: Any, lease: Any) -> Complete:
        with lease.publish("clean", "append", format="json"):
            pytest.fail("worked for nothing")
        return Complete()

    after = run(month, work)
    assert after.parked
    assert "readers see branch 1 of dataset 'clean'" in after.last_error
    assert month.read() == {"new": 1}


@pytest.mark.parametrize(
    ("aside", "mode", "asked"), [(False, "replace", 0), (False, "append", 2), (True, "replace", 2)]
)
def test_nothing_is_asked_for_a_partition_that_is_in_no_branch_and_adds_to_nothing(
    tmp_path, aside, mode, asked
) -> None:
    store = FaultyStore(open_store("memory://"), only=("document",))
    month = Month(store, tmp_path / "out")
    (key,) = month.filled(1)
    number = begin(month.c, ALL, *WHO).number
    if not aside:
        month.work(key, ["new"])
        publish(month.c, number, *WHO)
        month.c.people.reset(key, *WHO)
        month.work(key, ["newer"])
        month.c.people.reset(key, *WHO)
    store.calls.clear()

    def work(_: Any, lease: Any) -> Complete:
        with lease.publish("clean", mode, format="json", allow_empty=True):
            pass
        return Complete()

    assert run(month, work).status == "COMPLETED"
    assert len(store.calls) == asked


@pytest.mark.parametrize("then", [False, True])
def test_nothing_follows_at_the_source_unless_the_branch_says_so(month, tmp_path, then) -> None:
    done = tmp_path / "in/done.csv"
    done.parent.mkdir()
    done.write_text("1")
    begin(month.c, ALL, *WHO, then=then)

    def work(_: Any, lease: Any) -> Complete:
        lease.on_parked(DeleteObjects([str(done)]))
        return Complete(then=DeleteObjects([str(done)]))

    after = run(month, work)
    assert (after.status, after.branch) == ("COMPLETED", 1)
    assert done.exists() is not then
    assert (after.on_parked_text is not None) is then
    assert list(month.c.follow_ups.follow_ups()) == []


def test_what_stands_for_files_is_published_aside(month) -> None:
    begin(month.c, ALL, *WHO)

    def work(_: Any, lease: Any) -> Complete:
        assert lease.partition.branch == 1
        return Complete(interval="2013-01-01/P1D")

    lease = month.held("2013-01-01")
    month.c.give_up(month.c.save_progress_state(lease, 1, [Block("other", "/a", "d", rows=1)]))
    run(month, work)
    assert {head.dataset for head in month.store.heads("flights|PARTITION")} == {"clean", "~1~other"}
