"""Hours that become days: the old ones are retired where the new ones run, and all of it shows together."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.duties.branches import emptying
from airflow_coordination.duties.branches.beginning import begin
from airflow_coordination.duties.branches.retiring import retire
from airflow_coordination.duties.branches.selection import Selection
from airflow_coordination.duties.branches.showing import finalize, preview, publish, roll_back, status
from airflow_coordination.leases import (
    BranchError,
    InvalidInputError,
    Lease,
    PartitionIdentifier,
    PartitionNotFoundError,
    PartitionNotOwnedError,
    PartitionUpdateError,
    SourceCoordinator,
)
from airflow_coordination.stores import open_store
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from tests.backfills import Month
from tests.unit.typed import understood

WHO = ("ana", "days are enough")
HOURS = Selection(prefix="2013-01-01T")
NONE = Selection(nothing=True)


@pytest.fixture
def month(tmp_path: Path) -> Month:
    return hourly(Month(open_store("memory://"), tmp_path))


def hourly(month: Month) -> Month:
    """Fill three hours."""
    keys = [f"2013-01-01T{hour:02}" for hour in range(3)]
    month.create(*keys)
    for key in keys:
        month.work(key, [key])
    return month


OLD = Counter(f"2013-01-01T{hour:02}" for hour in range(3))
NEW = Counter(["day"])


def daily(month: Month, number: int) -> None:
    month.create("2013-01-01", branch=number)
    month.work("2013-01-01", ["day"])


def test_s22_no_row_is_there_twice_or_missing_at_any_moment(month: Month) -> None:
    number = begin(month.c, NONE, *WHO).number
    daily(month, number)
    assert month.read() == OLD
    done = retire(month.c, number, HOURS, *WHO)
    assert (done.partitions, done.retired) == (3, 3)
    assert (month.read(), month.read(number)) == (OLD, NEW)
    assert preview(month.c, number).missing == ()
    assert retire(month.c, number, HOURS, *WHO).retired == 0
    publish(month.c, number, *WHO)
    assert month.read() == NEW
    roll_back(month.c, number, *WHO)
    assert month.read() == OLD


@pytest.mark.parametrize("call", range(1, 30))
@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
def test_s11_killed_anywhere_it_goes_on_and_half_of_it_is_never_shown(tmp_path: Path, call: int, fault: Fault) -> None:
    month = hourly(Month(open_store("memory://"), tmp_path))
    number = begin(month.c, NONE, *WHO).number
    daily(month, number)
    killed = SourceCoordinator(FaultyStore(month.store, {call: fault}), "flights", "killed")
    try:
        retire(killed, number, HOURS, *WHO)
    except Crash:
        if status(month.c)[0].branch.retiring is not None:
            with pytest.raises(InvalidInputError, match="retired"):
                publish(month.c, number, *WHO)
            with pytest.raises(InvalidInputError, match="has not all retired yet"):
                retire(month.c, number, Selection(prefix="2013-01-01T00"), *WHO)
            with pytest.raises(InvalidInputError, match="has not all retired yet"):
                begin(month.c, None, *WHO, branch=number)
    retire(month.c, number, HOURS, *WHO)
    publish(month.c, number, *WHO)
    assert month.read() == NEW


def test_a_worker_that_takes_one_meanwhile_publishes_nothing(month: Month) -> None:
    number = begin(month.c, NONE, *WHO).number
    daily(month, number)
    month.c.people.reset("2013-01-01T00", *WHO, branch=number)
    lease = month.held("2013-01-01T00")
    retire(month.c, number, HOURS, *WHO)
    with pytest.raises(PartitionNotOwnedError):
        month.c.complete(lease, [month.block(lease, ["a row for nobody"])])
    publish(month.c, number, *WHO)
    assert month.read() == NEW


def test_one_that_has_never_published_is_retired_too(month: Month) -> None:
    """Otherwise it would publish its hour beside the day."""
    month.create("2013-01-01T23")
    number = begin(month.c, NONE, *WHO).number
    daily(month, number)
    assert retire(month.c, number, HOURS, *WHO).retired == 4
    publish(month.c, number, *WHO)
    assert month.c.get_next_partition() is None
    assert month.read() == NEW


def test_what_cannot_be_taken_is_named_with_the_way_out(month: Month) -> None:
    month.create("parent")
    month.c.create_partitions([PartitionIdentifier("2013-01-01T24", parents=("parent",))])
    number = begin(month.c, NONE, *WHO).number
    with pytest.raises(PartitionUpdateError, match=r"not done yet.*waits for 1 parent.*Repeat"):
        retire(month.c, number, HOURS, *WHO)
    month.c.people.finish("parent", *WHO)
    month.c.pausing.pause(*WHO)
    with pytest.raises(PartitionUpdateError, match="the source is paused"):
        retire(month.c, number, HOURS, *WHO)
    month.c.pausing.resume(*WHO)
    assert retire(month.c, number, HOURS, *WHO).partitions == 4


def test_nothing_is_retired_where_there_is_nothing_or_no_branch(month: Month) -> None:
    with pytest.raises(InvalidInputError, match="branch"):
        retire(month.c, 1, HOURS, *WHO)
    number = begin(month.c, NONE, *WHO).number
    with pytest.raises(InvalidInputError, match="means no partition"):
        retire(month.c, number, Selection(prefix="2014"), *WHO)


def test_s22_what_stands_for_others_runs_outside_of_its_branch_only_when_that_is_final(month: Month) -> None:
    """A roll back would show both."""
    number = begin(month.c, NONE, *WHO).number
    daily(month, number)
    retire(month.c, number, HOURS, *WHO)
    publish(month.c, number, *WHO)
    with pytest.raises(BranchError, match="branches finalize"):
        month.c.people.reset("2013-01-01", *WHO)
    finalize(month.c, number, *WHO)
    month.c.people.reset("2013-01-01", *WHO)
    month.work("2013-01-01", ["day again"])
    assert month.read() == Counter(["day again"])


def test_s22_what_was_new_in_a_branch_that_was_rolled_back_stays_out(month: Month) -> None:
    """Readers see its rows in what was retired for it."""
    number = begin(month.c, NONE, *WHO).number
    daily(month, number)
    retire(month.c, number, HOURS, *WHO)
    publish(month.c, number, *WHO)
    roll_back(month.c, number, *WHO)
    with pytest.raises(BranchError, match="was new in branch 1"):
        month.c.people.reset("2013-01-01", *WHO)
    month.c.people.reset("2013-01-01T00", *WHO)
    month.work("2013-01-01T00", ["2013-01-01T00"])
    assert month.read() == OLD
    month.c.people.reset("2013-01-01", *WHO, out_of_branch=True)
    month.work("2013-01-01", ["day"])
    assert month.read() == OLD + NEW, "as was meant"


def test_s22_what_is_published_just_before_it_is_taken_is_emptied_too(month: Month, monkeypatch) -> None:
    """Its first output, which nobody could see when the partitions were chosen."""
    month.create("2013-01-01T23")
    lease = month.held("2013-01-01T23")
    number = begin(month.c, NONE, *WHO).number
    daily(month, number)
    taken = emptying._taken

    def late(coordinator: SourceCoordinator, key: str, *told: Any) -> Lease:
        if key == "2013-01-01T23":
            month.c.complete(lease, [month.counted(lease, [key])])
        return taken(coordinator, key, *told)

    monkeypatch.setattr(emptying, "_taken", late)
    retire(month.c, number, HOURS, *WHO)
    publish(month.c, number, *WHO)
    assert month.read() == NEW


def test_s22_what_a_worker_published_while_it_was_interrupted_is_emptied(month: Month, monkeypatch) -> None:
    number = begin(month.c, NONE, *WHO).number
    daily(month, number)

    def crash(*_: Any, **__: Any) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(SourceCoordinator, "complete", crash)
        with pytest.raises(Crash):
            retire(month.c, number, HOURS, *WHO)
    month.c.people.release("2013-01-01T00", *WHO)
    month.work("2013-01-01T00", ["beside the day"])
    retire(month.c, number, HOURS, *WHO)
    publish(month.c, number, *WHO)
    assert month.read() == NEW


def test_what_is_still_to_follow_an_ending_is_named_at_once(month: Month) -> None:
    month.create("2013-01-01T05")
    month.work("2013-01-01T05", ["row"], then='{"delete": ["s3://bucket/object"]}')
    number = begin(month.c, NONE, *WHO).number
    daily(month, number)
    with pytest.raises(PartitionUpdateError, match="finish-actions"):
        retire(month.c, number, HOURS, *WHO)


def test_s22_a_pending_one_that_was_retired_is_named_when_that_is_rolled_back(month: Month) -> None:
    """It never ran, and nobody stands for its rows any more; the day, which stood for them, stays out."""
    month.create("2013-01-01T23")
    number = begin(month.c, NONE, *WHO).number
    daily(month, number)
    retire(month.c, number, HOURS, *WHO)
    publish(month.c, number, *WHO)
    assert roll_back(month.c, number, *WHO).unseen == ("2013-01-01T23",)
    month.c.people.reset("2013-01-01T23", *WHO)
    month.work("2013-01-01T23", ["last hour"])
    assert month.read() == OLD + Counter(["last hour"])
    with pytest.raises(BranchError, match=r"was new in branch 1.*Leave it"):
        month.c.people.reset("2013-01-01", *WHO)
    assert begin(month.c, Selection(everything=True), *WHO).retired == 1


def test_what_is_deleted_while_it_is_interrupted_is_left_out(month: Month) -> None:
    number = begin(month.c, NONE, *WHO).number
    daily(month, number)
    hours = Selection(keys=tuple(OLD))
    month.c.pausing.pause(*WHO)
    with pytest.raises(PartitionUpdateError, match="not done yet") as error:
        retire(month.c, number, hours, *WHO)
    [repeat] = re.findall(r"Repeat `([^`]*)`", str(error.value))
    assert understood(repeat).number == number
    month.c.pausing.resume(*WHO)
    month.c.people.delete("2013-01-01T02", *WHO)
    assert retire(month.c, number, hours, *WHO).retired == 2
    with pytest.raises(PartitionNotFoundError):
        retire(month.c, number, hours, *WHO)
    publish(month.c, number, *WHO)


def test_all_that_was_to_be_retired_may_be_gone(month: Month) -> None:
    number = begin(month.c, NONE, *WHO).number
    daily(month, number)
    month.c.pausing.pause(*WHO)
    one = Selection(keys=("2013-01-01T00",))
    with pytest.raises(PartitionUpdateError, match="not done yet"):
        retire(month.c, number, one, *WHO)
    month.c.people.delete("2013-01-01T00", *WHO)
    assert retire(month.c, number, one, *WHO).partitions == 0
    publish(month.c, number, *WHO)
