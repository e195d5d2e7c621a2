"""What a branch allows: *locked*, *same*, nothing for a branch that was rolled back, nothing back that was retired."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.duties.branches.beginning import begin
from airflow_coordination.duties.branches.retiring import retire
from airflow_coordination.duties.branches.selection import Selection
from airflow_coordination.duties.branches.showing import finalize, publish, roll_back
from airflow_coordination.leases import BranchError, InvalidInputError, PartitionStatus
from airflow_coordination.protocol.writes import Action
from airflow_coordination.stores import open_store
from airflow_coordination.testing.crash import FaultyStore
from tests.backfills import Month
from tests.unit.typed import understood
from tests.upkeep import DATASET

ALL = Selection(everything=True)
WHO = ("ana", "late data")
COMPLETED = PartitionStatus.COMPLETED


@pytest.fixture(params=["memory", "sqlite"])
def month(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Month]:
    store = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'c.db'}")
    store.setup()
    yield Month(store, tmp_path)
    store.close()


def commands(error: BaseException) -> list[str]:
    """Return the commands that an error names, each of which the command line understands."""
    found = [understood(each).command.name for each in re.findall(r"`((?:airflow|python) [^`]*)`", str(error))]
    assert found
    return found


def test_s22_locked_a_reset_outside_of_a_branch_that_has_begun_is_refused(month: Month) -> None:
    key, *_ = month.filled(1)
    number = begin(month.c, ALL, *WHO).number
    for refused in (
        lambda: month.c.people.reset(key, *WHO),
        lambda: month.c.people.check_action(Action.RESET, month.c.partition(key)),
    ):
        with pytest.raises(BranchError, match=f"--branch {number}") as error:
            refused()
        assert commands(error.value) == ["roll-back"]
    month.work(key, ["new"])
    again = month.c.people.reset(key, *WHO, branch=number)
    assert (again.branch, again.status) == (number, PartitionStatus.UNASSIGNED)
    roll_back(month.c, number, *WHO)
    assert month.c.people.reset(key, *WHO).branch is None


def test_s22_one_a_partition_runs_in_one_branch_at_a_time(month: Month) -> None:
    key, other = month.filled(1, 2)
    first = begin(month.c, Selection(keys=(key,)), *WHO).number
    second = begin(month.c, Selection(keys=(other,)), *WHO).number
    with pytest.raises(BranchError, match=f"in branch {first}, which has begun, too"):
        month.c.people.reset(key, *WHO, branch=second)


@pytest.mark.parametrize("branch", [7, True, "1"])
def test_a_partition_comes_into_a_branch_that_is_begun_only(month: Month, branch: object) -> None:
    (key,) = month.filled(1)
    for refused in (
        lambda: month.c.people.reset(key, *WHO, branch=branch),
        lambda: month.c.create_partitions(["new"], branch=branch),
    ):
        with pytest.raises(InvalidInputError, match="branch"):
            refused()
    assert month.c.partition("new") is None


def test_a_partition_that_is_created_in_a_branch_shows_with_it(month: Month) -> None:
    number = begin(month.c, Selection(nothing=True), *WHO).number
    month.create("a", branch=number)
    month.work("a", ["new"])
    assert (month.read(), month.read(number)) == ({}, {"new": 1})
    publish(month.c, number, *WHO)
    assert month.read() == {"new": 1}
    with pytest.raises(InvalidInputError, match="is published, not begun"):
        month.create("b", branch=number)


def test_s22_same_an_addition_to_what_readers_do_not_see_is_refused(month: Month) -> None:
    (key,) = month.filled(1)
    number = begin(month.c, ALL, *WHO).number
    month.work(key, ["new"])
    publish(month.c, number, *WHO)
    month.c.people.reset(key, *WHO)
    lease = month.held(key)
    with pytest.raises(BranchError, match="it has in the base, and readers see branch 1 of dataset 'clean'") as error:
        month.c.complete(lease, [month.block(lease, ["late"], "append")])
    assert commands(error.value) == ["roll-back"]
    with pytest.raises(BranchError, match="publish to"):
        month.c.branches.check_block(lease.partition, DATASET, "append")
    assert lease.ending is None
    month.c.complete(lease, [month.block(lease, ["newest"])])
    assert month.read() == {"newest": 1}
    month.c.people.reset(key, *WHO)
    month.work(key, ["and late"], "append")
    assert month.read() == {"newest": 1, "and late": 1}


def test_s22_same_is_asked_of_what_is_not_there_yet_too(month: Month) -> None:
    """Created in a branch, it has nothing in the base: what it "adds" there would take the place of what shows."""
    number = begin(month.c, Selection(nothing=True), *WHO).number
    month.create("a", branch=number)
    month.work("a", ["new"])
    publish(month.c, number, *WHO)
    month.c.people.reset("a", *WHO)
    with pytest.raises(BranchError, match="which that would hide"):
        month.work("a", ["late"], "append")


def test_in_a_branch_that_has_begun_a_partition_adds_to_what_it_has_there(month: Month) -> None:
    (key,) = month.filled(1)
    number = begin(month.c, ALL, *WHO).number
    month.work(key, ["new"], "append")
    month.c.people.reset(key, *WHO, branch=number)
    month.c.branches.check_block(month.c.partition(key), DATASET, "append")
    month.work(key, ["more"], "append")
    assert (month.read(), month.read(number)) == ({f"{key} old": 1}, {"new": 1, "more": 1})


def test_an_ending_in_a_branch_that_was_rolled_back_is_refused(month: Month) -> None:
    first, second = month.filled(1, 2)
    number = begin(month.c, ALL, *WHO).number
    lease, other = month.held(first), month.held(second)
    roll_back(month.c, number, *WHO)
    for refused in (
        lambda: month.c.complete(lease),
        lambda: month.c.close(lease, month.c.store.now()),
        lambda: month.c.complete_and_get_next(lease),
        lambda: month.c.branches.check_block(lease.partition, DATASET, "replace"),
    ):
        with pytest.raises(BranchError, match="branch 1, which was rolled back") as error:
            refused()
        assert commands(error.value) == ["reset", "finish"]
    month.c.fail(lease, str(error.value), park=True)
    assert month.c.partition(first).parked
    assert "rolled back" in month.c.partition(first).last_error
    month.c.give_up(other)
    assert month.c.partition(second).status is PartitionStatus.UNASSIGNED
    month.c.people.reset(first, *WHO)
    month.work(first, ["again"])
    assert month.read() == {"again": 1, f"{second} old": 1}


def test_what_was_retired_comes_back_only_when_a_person_says_so(month: Month) -> None:
    hours = month.filled(1, 2)
    number = begin(month.c, Selection(nothing=True), *WHO).number
    month.create("days", branch=number)
    retire(month.c, number, Selection(keys=tuple(hours)), *WHO)
    month.work("days", ["both"])
    publish(month.c, number, *WHO)
    assert month.read() == {"both": 1}
    with pytest.raises(BranchError, match="--out-of-branch"):
        month.c.people.reset(hours[0], *WHO)
    with pytest.raises(InvalidInputError, match=r"1 partition.* that stand for others, .*: 'days'") as error:
        begin(month.c, ALL, *WHO)
    assert commands(error.value) == ["finalize"]
    assert month.c.documents.view().branch(2) is None, "begun by halves"
    finalize(month.c, number, *WHO)
    begun = begin(month.c, Selection(keys=("days",)), *WHO)
    assert (begun.partitions, begun.retired) == (1, 0)
    with pytest.raises(BranchError, match="--out-of-branch"):
        month.c.people.reset(hours[0], *WHO, branch=begun.number)
    month.c.people.reset(hours[0], *WHO, out_of_branch=True)
    month.work(hours[0], ["back"])
    assert month.read() == {"both": 1, "back": 1}


def test_notes_of_what_follows_are_left_out_while_a_branch_is_begun(month: Month) -> None:
    first, second = month.filled(1, 2)
    begin(month.c, Selection(keys=(first,)), *WHO)
    begin(month.c, Selection(keys=(second,)), *WHO, then=True)
    for key in (first, second):
        month.work(key, ["new"], then='{"do": "it"}')
    assert [note.key for note in month.c.follow_ups.follow_ups()] == [second]


def test_an_ending_and_what_follows_it_are_judged_by_one_view(month: Month, tmp_path: Path) -> None:
    """Read twice, it might show the branch in between: what publishes into it would be followed as if it did not."""
    store = FaultyStore(month.store)
    month = Month(store, tmp_path)
    [key] = month.filled(1)
    begin(month.c, ALL, *WHO)
    lease = month.held(key)
    block = month.counted(lease, ["new"])
    store.calls.clear()
    month.c.complete(lease, [block], then='{"do": "it"}')
    assert store.calls == ["document", "write"], "the view, the ending"


def retired(month: Month) -> tuple[str, int]:
    """Retire an hour for a day, and return its key and the branch's number."""
    month.create("2013-01-01T00")
    month.work("2013-01-01T00", ["hour"])
    number = begin(month.c, Selection(nothing=True), *WHO).number
    month.create("2013-01-01", branch=number)
    month.work("2013-01-01", ["day"])
    retire(month.c, number, Selection(prefix="2013-01-01T"), *WHO)
    return "2013-01-01T00", number


def test_s22_what_was_retired_runs_again_in_its_branch_only_if_that_is_meant(month: Month) -> None:
    key, number = retired(month)
    with pytest.raises(BranchError, match=r"retired in branch 1, in which others stand.*--out-of-branch"):
        month.c.people.reset(key, *WHO, branch=number)
    with pytest.raises(BranchError, match=r"retired in branch 1, which has begun.*Leave it") as error:
        month.c.people.reset(key, *WHO)
    assert "--branch" not in str(error.value)
    publish(month.c, number, *WHO)
    assert month.read() == {"day": 1}


def test_what_was_retired_runs_again_in_its_branch_if_that_is_meant(month: Month) -> None:
    key, number = retired(month)
    month.c.people.reset(key, *WHO, branch=number, out_of_branch=True)
    month.work(key, ["hour"])
    assert month.read(number) == {"day": 1, "hour": 1}


@pytest.mark.parametrize("then", [[], [publish], [publish, finalize]])
def test_s22_what_was_retired_is_not_deleted_and_created_anew(month: Month, then: list[Any]) -> None:
    key, number = retired(month)
    for step in then:
        step(month.c, number, *WHO)
    for action in (Action.DELETE, Action.CLEAN_UP):
        with pytest.raises(BranchError, match=r"bring them back.*--out-of-branch.*`, and delete it then") as error:
            month.c.people.act(action, key, *WHO)
        assert commands(error.value) == ["reset"]
    for dry_run in (True, False):
        after = month.c.store.now() + timedelta(seconds=5)
        done = month.c.cleaning.purge(after, *WHO, dry_run=dry_run)
        assert (done.deleted, done.changed, done.kept) == ((1, 0, 1) if then else (0, 0, 2))
        assert month.c.cleaning.clean_up(gone=[key], dry_run=dry_run).keys == ()
    month.create(key)
    assert month.c.get_next_partition() is None


def test_what_was_retired_is_deleted_when_its_branch_was_rolled_back(month: Month) -> None:
    key, number = retired(month)
    roll_back(month.c, number, *WHO)
    month.c.people.delete(key, *WHO)
    assert month.read() == {"hour": 1}


def test_what_was_retired_is_deleted_after_the_reset_that_says_so(month: Month) -> None:
    key, number = retired(month)
    month.c.people.reset(key, *WHO, branch=number, out_of_branch=True)
    month.c.people.delete(key, *WHO)
    assert month.c.partition(key) is None


def test_retention_leaves_what_runs_in_a_branch_that_has_begun(month: Month) -> None:
    """It is published only whole."""
    month.filled(1, 2)
    number = begin(month.c, ALL, *WHO).number
    for key in ("2013-01-01", "2013-01-02"):
        month.work(key, [f"{key} new"])
    after = month.c.store.now() + timedelta(seconds=5)
    assert month.c.cleaning.purge(after, *WHO).kept == 2
    publish(month.c, number, *WHO)
    assert month.c.cleaning.purge(after, *WHO).deleted == 2
    assert month.read() == {"2013-01-01 new": 1, "2013-01-02 new": 1}
