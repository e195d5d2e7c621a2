"""Branches from beginning to end: what is begun, shown, rolled back, and what each of them refuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.duties.branches import beginning, showing
from airflow_coordination.duties.branches.beginning import begin, look
from airflow_coordination.duties.branches.running import partitions_of
from airflow_coordination.duties.branches.selection import Selection
from airflow_coordination.duties.branches.showing import (
    finalize,
    foresee_roll_back,
    preview,
    publish,
    roll_back,
    status,
)
from airflow_coordination.leases import (
    InvalidInputError,
    PartitionIdentifier,
    PartitionNotFoundError,
    PartitionStatus,
    PartitionUpdateError,
    SettingsError,
    SourceCoordinator,
)
from airflow_coordination.planning.intervals import interval_of
from airflow_coordination.planning.view.view import BranchState
from airflow_coordination.stores import open_store
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from airflow_coordination.values.blocks import Block
from tests.backfills import Month
from tests.unit.duties.compaction.made import config, planner

ALL = Selection(everything=True)
WHO = ("ana", "late data")


@pytest.fixture(params=["memory", "sqlite"])
def month(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Month]:
    store = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'c.db'}")
    store.setup()
    yield Month(store, tmp_path)
    store.close()


def rows(*said: str) -> Counter[str]:
    return Counter(said)


def test_s22_a_branch_shows_at_one_instant_and_goes_whole(month: Month) -> None:
    keys = month.filled(1, 2, 3)
    old = rows(*(f"{key} old" for key in keys))
    begun = begin(month.c, ALL, *WHO)
    assert (begun.number, begun.partitions, begun.reset) == (1, 3, 3)
    assert begun.interval == interval_of("interval", "2013-01-01/2013-01-04")
    for key in keys:
        month.work(key, [f"{key} new"], interval=f"{key}/P1D")
        assert month.read() == old
    new = rows(*(f"{key} new" for key in keys))
    assert month.read(1) == new
    assert publish(month.c, 1, *WHO).state is BranchState.PUBLISHED
    assert month.read() == new
    assert roll_back(month.c, 1, *WHO) == showing.RolledBack(number=1)
    assert month.read() == old


def test_s22_what_has_published_since_is_named_and_keeps_that(month: Month) -> None:
    first, second = month.filled(1, 2)
    begin(month.c, ALL, *WHO)
    month.work(first, ["first new"])
    month.work(second, ["second new"])
    publish(month.c, 1, *WHO)
    month.c.people.reset(second, *WHO)
    month.work(second, ["second late"])
    assert month.read() == rows("first new", "second late")
    assert showing.foresee_roll_back(month.c, 1).kept == (second,)
    assert month.read() == rows("first new", "second late")
    assert roll_back(month.c, 1, *WHO).kept == (second,)
    assert month.read() == rows(f"{first} old", "second late")


def test_half_a_backfill_is_not_published(month: Month) -> None:
    first, second, third = month.filled(1, 2, 3)
    begin(month.c, ALL, *WHO)
    month.work(first, ["new"])
    month.c.fail(month.held(second), "no memory", park=True)
    assert status(month.c)[0].waits_for == "1 partition(s) to complete and a person, because of 1 parked"
    with pytest.raises(
        InvalidInputError, match=f"'{second}', '{third}'. Wait for them; reopen or finish what is parked"
    ):
        publish(month.c, 1, *WHO)
    month.c.people.finish(second, *WHO)
    month.work(third, ["new 3"])
    assert status(month.c)[0].waits_for == ""
    publish(month.c, 1, *WHO)
    assert month.read() == rows("new", f"{second} old", "new 3")


def test_a_branch_of_which_one_was_deleted_is_not_published_before_it_is_counted_anew(month: Month) -> None:
    first, second = month.filled(1, 2)
    begin(month.c, ALL, *WHO)
    month.work(first, ["new"])
    month.c.people.delete(second, *WHO)
    with pytest.raises(InvalidInputError, match=r"waits for 1 partition\(s\) that are gone from it.*counts anew"):
        publish(month.c, 1, *WHO)
    assert begin(month.c, None, *WHO, branch=1).partitions == 1
    publish(month.c, 1, *WHO)
    assert month.read() == rows("new", f"{second} old")


def test_a_branch_without_partitions_is_not_published(month: Month) -> None:
    begin(month.c, Selection(nothing=True), *WHO)
    with pytest.raises(InvalidInputError, match="Create partitions in it, or roll it back"):
        publish(month.c, 1, *WHO)


@pytest.mark.parametrize("call", range(1, 12))
@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
def test_s11_killed_anywhere_a_beginning_goes_on_and_half_of_it_is_never_shown(
    tmp_path: Path, call: int, fault: Fault
) -> None:
    month = Month(open_store("memory://"), tmp_path)
    keys = month.filled(1, 2, 3)
    killed = SourceCoordinator(FaultyStore(month.store, {call: fault}), "flights", "killed")
    try:
        begin(killed, ALL, *WHO)
        number = 1
    except Crash:
        begun = month.c.documents.view().branches
        for branch in begun:
            with pytest.raises(InvalidInputError):
                publish(month.c, branch.number, *WHO)
        number = begun[-1].number if begun else begin(month.c, ALL, *WHO).number
    assert begin(month.c, None, *WHO, branch=number).partitions == 3
    for key in keys:
        month.work(key, [f"{key} new"])
    publish(month.c, number, *WHO)
    assert month.read() == rows(*(f"{key} new" for key in keys))


def test_a_beginning_that_is_gone_on_with_takes_no_other_partitions(month: Month) -> None:
    first, _ = month.filled(1, 2)
    begin(month.c, Selection(keys=(first,)), *WHO)
    assert begin(month.c, Selection(keys=(first,)), *WHO, branch=1).reset == 0
    with pytest.raises(InvalidInputError, match="not what branch 1 was begun with"):
        begin(month.c, ALL, *WHO, branch=1)
    many = Selection(keys=tuple(f"k{number}" for number in range(200)))
    with pytest.raises(InvalidInputError, match="Name the same ones again"):
        Selection.of(many.said)
    publish_all(month, 1)
    with pytest.raises(InvalidInputError, match="is published, not begun"):
        begin(month.c, None, *WHO, branch=1)


def publish_all(month: Month, number: int) -> None:
    for each in list(partitions_of(month.c, number)):
        month.work(each.key, [f"{each.key} new"])
    publish(month.c, number, *WHO)


def test_a_store_that_older_code_may_open_has_no_branches(tmp_path: Path) -> None:
    store = open_store("memory://")
    coordinator = SourceCoordinator(store, "flights", "ana")
    coordinator.create_partitions(["a"])
    with pytest.raises(SettingsError, match="store enable branches"):
        begin(coordinator, ALL, *WHO)
    assert coordinator.documents.view().branches == ()


def test_s22_one_partitions_of_a_branch_that_has_begun_are_named(month: Month) -> None:
    first, _ = month.filled(1, 2)
    begin(month.c, Selection(keys=(first,)), *WHO)
    with pytest.raises(InvalidInputError, match=f"has 1 of these partitions: '{first}'"):
        begin(month.c, ALL, *WHO)
    assert len(month.c.documents.view().branches) == 1
    roll_back(month.c, 1, *WHO)
    assert begin(month.c, ALL, *WHO).partitions == 2


def test_what_reads_on_for_ever_is_refused_unless_it_is_meant(month: Month) -> None:
    month.create("a", "closed", "parked")
    month.c.close(month.held("closed"), month.c.store.now())
    month.c.fail(month.held("parked"), "no", park=True)
    shard = PartitionIdentifier(
        "123456789012:clicks:1:shardId-000000000000",
        {"arn": "arn:aws:kinesis:eu-west-1:123456789012:stream/clicks", "start": "TRIM_HORIZON"},
    )
    month.c.create_partitions([shard])
    with pytest.raises(InvalidInputError, match=r"2 partition\(s\) that open again and again: '123.*0', 'closed'"):
        begin(month.c, ALL, *WHO)
    begun = begin(month.c, ALL, *WHO, even_if_it_reopens=True)
    assert (begun.partitions, begun.never_ran) == (2, 2)
    assert begin(month.c, ALL, *WHO, branch=1, even_if_it_reopens=True, even_if_it_never_ran=True).partitions == 4


def test_s22_what_never_ran_is_left_out_and_runs_as_ever(month: Month) -> None:
    """In the branch nothing would follow its ending, and a roll back would leave it completed and unseen."""
    month.filled(1)
    month.create("late", "empty")
    month.c.complete(month.held("empty"))
    begun = begin(month.c, ALL, *WHO)
    assert (begun.partitions, begun.never_ran) == (2, 1)
    month.work("late", ["late row"], then='{"do": "it"}')
    assert month.read() == rows("2013-01-01 old", "late row")
    assert len(list(month.c.follow_ups.follow_ups())) == 1
    with pytest.raises(InvalidInputError, match="finish-actions"):
        begin(month.c, Selection(keys=("late",)), *WHO)


def test_what_is_in_a_branch_that_never_ran_before_stays_there(month: Month) -> None:
    month.create("late")
    with pytest.raises(InvalidInputError, match=r"completed nowhere yet: 'late'.*even_if_it_never_ran"):
        begin(month.c, ALL, *WHO)
    begin(month.c, ALL, *WHO, even_if_it_never_ran=True)
    month.create("created in it", branch=1)
    begun = begin(month.c, None, *WHO, branch=1)
    assert (begun.partitions, begun.reset, begun.never_ran) == (2, 0, 0)


def test_what_has_something_to_follow_is_named_before_anything_is_changed(month: Month) -> None:
    first, second = month.filled(1, 2)
    month.c.people.reset(first, *WHO)
    month.work(first, ["x"], then='{"do": "it"}')
    with pytest.raises(InvalidInputError, match=rf"something is still to be done: '{first}'.*finish-actions"):
        begin(month.c, ALL, *WHO)
    assert month.c.partition(second).branch is None


def test_an_interval_means_those_of_which_rows_show_in_it(month: Month) -> None:
    month.filled(1, 2, 3, 4)
    month.create("no time", "never published")
    month.work("no time", ["x"])
    chosen, meant = look(month.c, Selection(interval="2013-01-02/P2D"))
    assert [each.key for each in meant.partitions] == ["2013-01-02", "2013-01-03"]
    assert meant.interval == interval_of("interval", "2013-01-02/P2D")
    assert Selection.of(chosen.said) == chosen
    for nothing in (Selection(interval="2013-01-02/P1D", dataset="other"), Selection(prefix="2014")):
        with pytest.raises(InvalidInputError, match="means no partition"):
            look(month.c, nothing)


def test_an_interval_that_would_cut_partitions_is_refused_and_names_them(month: Month) -> None:
    month.filled(1, 2)
    month.create("weekly")
    month.work("weekly", ["x"], interval="2012-12-31/P7D")
    with pytest.raises(InvalidInputError, match=r"would cut 1 partition\(s\), .*: 'weekly'"):
        look(month.c, Selection(interval="2013-01-01/P2D"))
    begin(month.c, Selection(interval="2012-12/2013-02"), *WHO)
    publish_all(month, 1)
    month.c.people.reset("weekly", *WHO)
    month.work("weekly", ["x"], interval="2012-12-30/P1D")
    assert [each.key for each in look(month.c, Selection(interval="2012-12-30/P1D"))[1].partitions] == ["weekly"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "names no partitions"),
        ({"keys": ("a",), "prefix": "a"}, "in two ways"),
        ({"everything": True, "nothing": True}, "in two ways"),
        ({"prefix": "a", "dataset": "clean"}, "stands beside no interval"),
        ({"interval": "yesterday"}, "interval"),
        ({"keys": ("",)}, "key"),
        ({"keys": "12"}, "keys='12': is str, not a list of keys. Give a list; a template makes one in a DAG with"),
        ({"keys": None}, "is NoneType, not a list of keys"),
    ],
)
def test_a_selection_says_one_thing(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        Selection(**given)


def test_a_key_that_is_not_there_is_named(month: Month) -> None:
    month.filled(1)
    with pytest.raises(PartitionNotFoundError, match="'gone'"):
        begin(month.c, Selection(keys=("2013-01-01", "gone")), *WHO)
    assert month.c.documents.view().branches == ()


def test_a_preview_says_what_changes_for_readers(month: Month) -> None:
    first, second, third = month.filled(1, 2, 3)
    begin(month.c, Selection(keys=(first, second)), *WHO)
    month.work(first, ["a longer row", "b"])
    month.c.complete(month.held(second))
    found = preview(month.c, 1)
    [change] = found.datasets
    assert (change.dataset, change.partitions, change.rows_before, change.rows_after) == ("clean", 1, 1, 2)
    assert 0 < change.bytes_before < change.bytes_after
    assert [(each.key, each.datasets) for each in found.missing] == [(second, ("clean",))]
    assert month.read() == rows(*(f"{key} old" for key in (first, second, third)))


def test_what_publishes_nothing_in_a_branch_keeps_its_old_rows_unless_they_shall_go(month: Month) -> None:
    first, second = month.filled(1, 2)
    begin(month.c, ALL, *WHO)
    month.work(first, ["new"])
    month.c.complete(month.held(second))
    publish(month.c, 1, *WHO)
    assert month.read() == rows("new", f"{second} old")
    begin(month.c, ALL, *WHO)
    month.work(first, ["newer"])
    month.c.complete(month.held(second))
    publish(month.c, 2, *WHO, empty_missing=True)
    assert month.read() == rows("newer")
    roll_back(month.c, 2, *WHO)
    assert month.read() == rows("new", f"{second} old")
    assert month.c.people.reset(second, *WHO).branch is None  # it was emptied, and not retired


@pytest.mark.parametrize("times", [1, 99])
def test_s22_what_publishes_while_the_missing_are_emptied_keeps_its_rows(month: Month, monkeypatch, times: int) -> None:
    """It was missing when that was looked up, and is not any more: emptied, what is wanted would be gone."""
    (key,) = month.filled(1)
    begin(month.c, ALL, *WHO)
    month.c.complete(month.held(key))
    emptying, left = showing.publish_nothing_as_seen, list(range(times))

    def late(*told: Any) -> bool:
        if left:
            month.c.people.reset(key, *WHO, branch=1)
            blocks = [] if left.pop() else ["good rows"]
            lease = month.held(key)
            month.c.complete(lease, [month.counted(lease, blocks)] if blocks else [])
        return emptying(*told)

    monkeypatch.setattr(showing, "publish_nothing_as_seen", late)
    if times > 1:
        with pytest.raises(PartitionUpdateError, match="change again and again"):
            publish(month.c, 1, *WHO, empty_missing=True)
    else:
        publish(month.c, 1, *WHO, empty_missing=True)
        assert month.read() == rows("good rows")


def test_a_check_that_raises_leaves_what_is_missing_as_it_was(month: Month) -> None:
    first, second = month.filled(1, 2)
    begin(month.c, ALL, *WHO)
    month.work(first, ["new"])
    month.c.complete(month.held(second))
    before = month.c.partition(second), month.read(1)

    def refuse(found: Any) -> None:
        raise ValueError(f"{len(found.missing)} missing")

    with pytest.raises(ValueError, match="1 missing"):
        publish(month.c, 1, *WHO, empty_missing=True, check=refuse)
    assert (month.c.partition(second), month.read(1)) == before
    publish(month.c, 1, *WHO, empty_missing=True, check=lambda found: found)
    assert month.read() == rows("new")


def test_a_check_that_raises_leaves_everything_as_it_was(month: Month) -> None:
    (key,) = month.filled(1)
    begin(month.c, ALL, *WHO)
    month.work(key, ["new"])
    before = month.c.documents.history("view")

    def refuse(found: Any) -> None:
        raise ValueError(f"{found.datasets[0].rows_after} row(s) are too few")

    with pytest.raises(ValueError, match="1 row"):
        publish(month.c, 1, *WHO, check=refuse)
    assert month.c.documents.history("view") == before
    assert month.read() == rows(f"{key} old")
    seen = []
    publish(month.c, 1, *WHO, check=seen.append, look=lambda coordinator, number: (coordinator, number))
    assert seen == [(month.c, 1)]


def test_what_runs_while_it_is_checked_is_checked_again(month: Month) -> None:
    (key,) = month.filled(1)
    begin(month.c, ALL, *WHO)
    month.work(key, ["new"])

    def runs_again(_: object) -> None:
        month.c.people.reset(key, *WHO, branch=1)
        month.work(key, ["another"])

    with pytest.raises(InvalidInputError, match="has changed while it was checked"):
        publish(month.c, 1, *WHO, check=runs_again)
    assert month.read() == rows(f"{key} old")


def test_final_is_for_good(month: Month) -> None:
    month.filled(1)
    begin(month.c, ALL, *WHO)
    with pytest.raises(InvalidInputError, match="is begun; this needs one that is published"):
        finalize(month.c, 1, *WHO)
    publish_all(month, 1)
    assert finalize(month.c, 1, *WHO).state is BranchState.FINAL
    with pytest.raises(InvalidInputError, match="is final"):
        roll_back(month.c, 1, *WHO)
    assert [(each.branch.state, each.counts.partitions) for each in status(month.c)] == [(BranchState.FINAL, 0)]


def test_a_roll_back_names_what_would_run_for_nobody(month: Month) -> None:
    first, second = month.filled(1, 2)
    begin(month.c, ALL, *WHO)
    month.work(first, ["new"])
    assert roll_back(month.c, 1, *WHO) == showing.RolledBack(number=1, left=(second,))


def test_publishing_asks_the_same_few_things_however_much_there_is(tmp_path: Path) -> None:
    asked = []
    for days in (range(1, 3), range(1, 32)):
        store = FaultyStore(open_store("memory://"))
        month = Month(store, tmp_path / str(len(days)))
        month.filled(*days)
        begin(month.c, ALL, *WHO)
        for each in list(partitions_of(month.c, 1)):
            month.work(each.key, ["new"])
        store.calls.clear()
        publish(month.c, 1, *WHO)
        asked.append(list(store.calls))
    assert asked[0] == asked[1]
    assert asked[0] == ["look", "set_document"]


def test_status_reads_no_head_record(tmp_path: Path) -> None:
    store = FaultyStore(open_store("memory://"))
    month = Month(store, tmp_path)
    month.filled(1)
    begin(month.c, ALL, *WHO)
    store.calls.clear()
    assert [each.branch.number for each in status(month.c)] == [1]
    assert "heads" not in store.calls


def test_one_that_changes_meanwhile_is_reset_as_it_is_then(month: Month, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ingest goes on: a partition that moves between the look and its reset comes into the branch all the same."""
    (key,) = month.filled(1)
    seen = look(month.c, ALL)
    month.c.people.reset(key, *WHO)
    month.work(key, ["late"])
    monkeypatch.setattr(beginning, "look", lambda *_, **__: seen)
    assert begin(month.c, ALL, *WHO).reset == 1
    assert month.c.partition(key).branch == 1


def test_a_beginning_that_fails_says_how_to_go_on(month: Month, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = month.filled(1, 2)
    seen = look(month.c, ALL)
    begin(month.c, Selection(keys=(second,)), *WHO)
    monkeypatch.setattr(beginning, "look", lambda *_, **__: seen)
    with pytest.raises(PartitionUpdateError, match=r"begin branch 2: it is not whole yet.*--branch 2"):
        begin(month.c, ALL, *WHO)
    assert month.c.partition(first).branch == 2
    with pytest.raises(InvalidInputError, match="interrupted"):
        publish(month.c, 2, *WHO)


def test_two_datasets_change_together(month: Month) -> None:
    month.create("a")
    lease = month.held("a")
    month.c.complete(lease, [month.block(lease, ["old"]), Block("rejected", "/r", "d", rows=1)])
    begin(month.c, ALL, *WHO)
    lease = month.held("a")
    month.c.complete(lease, [month.block(lease, ["new"])])
    [missing] = preview(month.c, 1).missing
    assert missing.datasets == ("rejected",)


def test_groups_that_merge_what_a_branch_replaces_are_released(month: Month) -> None:
    month.create("2013-01-03", "2013-02-03")
    for key in ("2013-01-03", "2013-02-03"):
        month.work(key, [key], interval=f"{key}/P1D")
    planner(month).run([config()])
    while month.groups().get_next_partition():
        pass
    begin(month.c, Selection(interval="2013-02/P1M"), *WHO)
    states = {each.key[14:24]: each.status for each in month.groups().partitions()}
    assert states == {"2013-01-01": PartitionStatus.ASSIGNED, "2013-02-01": PartitionStatus.UNASSIGNED}


def test_s22_what_a_roll_back_leaves_unseen_is_named(month: Month) -> None:
    """Late files that ran in the branch for the first time: they completed, and no reader sees them any more."""
    month.filled(1)
    month.create("2013-01-02")
    begin(month.c, ALL, *WHO, even_if_it_never_ran=True)
    month.work("2013-01-01", ["new"])
    month.work("2013-01-02", ["late"])
    publish(month.c, 1, *WHO)
    assert foresee_roll_back(month.c, 1).unseen == ("2013-01-02",)
    done = roll_back(month.c, 1, *WHO)
    assert (done.kept, done.left, done.unseen) == ((), (), ("2013-01-02",))
    month.c.people.reset("2013-01-02", *WHO)
    month.work("2013-01-02", ["late"])
    assert month.read() == rows("2013-01-01 old", "late")


def test_what_was_deleted_is_left_out_when_a_branch_is_gone_on_with(month: Month) -> None:
    keys = month.filled(1, 2)
    begin(month.c, Selection(keys=tuple(keys)), *WHO)
    month.work(keys[1], ["new"])
    month.c.people.delete(keys[0], *WHO)
    with pytest.raises(InvalidInputError, match=r"gone from it.*--branch 1"):
        publish(month.c, 1, *WHO)
    assert begin(month.c, None, *WHO, branch=1).partitions == 1
    publish(month.c, 1, *WHO)
    assert month.read() == rows(f"{keys[0]} old", "new")
    with pytest.raises(PartitionNotFoundError):
        begin(month.c, Selection(keys=tuple(keys)), *WHO)


def test_a_branch_whose_keys_are_all_gone_is_gone_on_with(month: Month) -> None:
    (key,) = month.filled(1)
    begin(month.c, Selection(keys=(key,)), *WHO)
    month.c.people.delete(key, *WHO)
    assert begin(month.c, None, *WHO, branch=1).partitions == 0
    with pytest.raises(InvalidInputError, match="it has none"):
        publish(month.c, 1, *WHO)
