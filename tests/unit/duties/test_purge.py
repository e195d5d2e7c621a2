"""The purge: only what was hidden long ago, and what nobody can see any more (promise S23)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.duties.retention.purge import Purged, purge
from airflow_coordination.leases import Block, BranchError, InvalidInputError, SourceCoordinator
from airflow_coordination.planning.unused.deleting import Margins
from airflow_coordination.planning.view.view import EMPTY, HiddenState
from tests.retention import DAY, SOURCE, STORED, Archive, said

FIRST, SECOND = "2013-01-01/P1D", "2013-01-02/P1D"
NOTHING = Purged()


@pytest.fixture
def archive() -> Archive:
    """Two days of January and one of February, published long ago."""
    archive = Archive()
    for key, interval in {"a": FIRST, "b": SECOND, "c": "2013-02-01/P1D"}.items():
        archive.publish(key, interval)
    archive.clock.advance(200 * DAY)
    return archive


def hidden_for(archive: Archive, days: float) -> None:
    archive.hide()
    archive.clock.advance(days * DAY)


def test_s23_nothing_goes_that_is_not_hidden_for_longer_than_the_buffer(archive: Archive) -> None:
    assert archive.purge() == NOTHING
    hidden_for(archive, 29.9)
    assert archive.purge() == NOTHING
    archive.restore()
    assert set(archive.seen()) == {"a", "b", "c"}
    archive.hide()
    archive.clock.advance(29.9 * DAY)  # hidden for 59.8 days in all, but not at once
    assert archive.purge() == NOTHING
    archive.clock.advance(DAY)
    assert archive.purge() == Purged(marked=1, emptied=2, removed=1)
    assert archive.full() == [("clean", "c")]
    assert archive.view == EMPTY


def test_s23_nothing_goes_that_is_younger_than_is_retained() -> None:
    archive = Archive()
    archive.publish("a", "2013-07-01/P1D")
    archive.hide("2013-07/P1M")
    archive.clock.advance(89 * DAY)  # July ended as the time begins
    assert archive.purge() == NOTHING
    archive.clock.advance(2 * DAY)
    assert archive.purge().emptied == 1


def test_s23_what_was_published_into_a_hidden_interval_has_its_own_buffer(archive: Archive) -> None:
    hidden_for(archive, 20)
    archive.publish("a", FIRST)
    archive.clock.advance(20 * DAY)
    assert archive.purge() == NOTHING
    archive.clock.advance(11 * DAY)
    assert archive.purge().emptied == 2


def test_the_audit_and_the_history_say_who_has_hidden_it_and_who_has_purged(archive: Archive) -> None:
    hidden_for(archive, 31)
    archive.purge()
    [line] = [each for each in archive.store.audit(STORED, "a") if each["action"] == "retract"]
    assert line["by"] == "purge"
    for word in ("2013-01-01/2013-02-01", "'clean'", "hidden by ana", "old", "asked for by ana: space"):
        assert word in line["why"]
    comments = [document.comment for document in archive.flights.documents.history("view")]
    assert comments == ["nothing is left; space", "space", "a test"]


def test_so_many_head_records_go_in_a_run_the_oldest_first_and_marks_go_no_further(archive: Archive) -> None:
    archive.hide("2013-02/P1M")
    hidden_for(archive, 31)
    planned = archive.to_purge(most=1)
    assert [each.head.key for each in planned.heads] == ["a"]
    assert [str(each.interval) for each in planned.marks] == ["2013-01-01/2013-02-01"]
    assert archive.purge(most=1) == Purged(marked=1, emptied=1)
    assert [each.state for each in archive.view.hidden] == [HiddenState.HIDDEN, HiddenState.PURGING]
    archive.restore("2013-02/P1M")
    with pytest.raises(InvalidInputError, match="being purged"):
        archive.restore()
    assert archive.purge(most=1) == Purged(emptied=1, removed=1)
    assert archive.full() == [("clean", "c")]


def test_what_is_held_or_has_staged_blocks_waits_and_keeps_no_other_from_going(archive: Archive) -> None:
    archive.reset("a")
    hidden_for(archive, 31)
    flights = archive.flights
    lease = flights.acquire_partition("a")
    assert lease is not None
    assert archive.to_purge().skipped == {"held": 1}
    assert archive.purge(most=1) == Purged(marked=1, emptied=1, skipped={"held": 1})
    lease = flights.save_progress_state(lease, {"n": 1}, [archive.heads()[0].blocks[0]])
    flights.give_up(lease)
    assert archive.purge() == Purged(skipped={"staged": 1})
    archive.reset("a")
    assert archive.purge() == Purged(emptied=1, removed=1)


def test_output_of_a_deleted_partition_waits_until_it_is_there_again(archive: Archive) -> None:
    archive.flights.people.delete("a", "ana", "not needed")
    hidden_for(archive, 31)
    assert archive.purge() == Purged(marked=1, emptied=1, skipped={"gone": 1})
    archive.flights.create_partitions(["a"])
    assert archive.purge() == Purged(emptied=1, removed=1)


def test_s23_what_is_published_while_it_is_purged_stays_and_shows_afterwards(archive: Archive) -> None:
    hidden_for(archive, 31)
    archive.purge(most=1)
    archive.publish("b", SECOND)
    assert "b" not in archive.seen()
    assert archive.purge() == Purged(removed=1)
    assert set(archive.seen()) == {"b", "c"}
    archive.clock.advance(1000 * DAY)
    assert archive.purge() == NOTHING


def test_only_named_datasets_go_and_there_must_be_some(archive: Archive) -> None:
    hidden_for(archive, 31)
    flights = archive.flights
    assert purge(flights, Margins(datasets=["rejected"]), by="ana", why="space") == NOTHING
    for none in (None, []):
        with pytest.raises(InvalidInputError, match="datasets"):
            purge(flights, Margins(datasets=none), by="ana", why="space")
    with pytest.raises(InvalidInputError, match="why"):
        purge(flights, Margins(datasets=["clean"]), by="ana", why="")
    merged = SourceCoordinator(archive.store, f"~merged/{SOURCE}", "a test")
    with pytest.raises(InvalidInputError, match="upkeep"):
        purge(merged, Margins(datasets=["clean"]), by="ana", why="space")


def test_hiding_an_interval_that_is_being_purged_hides_what_comes_later(archive: Archive) -> None:
    hidden_for(archive, 31)
    archive.purge(most=1)
    archive.hide()
    archive.publish("a", FIRST)
    assert archive.purge().removed == 1
    assert set(archive.seen()) == {"c"}


def test_what_a_branch_hides_goes_once_it_is_final_and_not_before(archive: Archive) -> None:
    number = archive.begin()
    archive.publish("a", FIRST, number)
    archive.show(number)
    archive.clock.advance(100 * DAY)
    assert archive.purge() == NOTHING
    archive.finalize(number)
    archive.clock.advance(29 * DAY)
    assert archive.purge() == NOTHING
    archive.clock.advance(2 * DAY)
    before = archive.seen()
    assert archive.purge() == Purged(emptied=1)
    assert archive.seen() == before
    assert archive.full() == [("clean", "b"), ("clean", "c"), ("~1~clean", "a")]
    [line] = [each for each in archive.store.audit(STORED, "a") if each["action"] == "retract"]
    assert "branch 1 of ana is final and hides it" in line["why"]


def test_what_the_base_has_published_since_hides_a_final_branch(archive: Archive) -> None:
    number = archive.begin()
    archive.publish("a", FIRST, number)
    archive.show(number)
    archive.finalize(number)
    archive.clock.advance(31 * DAY)
    archive.purge()
    archive.publish("a", FIRST)
    assert archive.purge() == NOTHING
    archive.clock.advance(31 * DAY)
    before = archive.seen()
    assert archive.purge() == Purged(emptied=1)
    assert (archive.seen(), archive.full()) == (before, [("clean", "a"), ("clean", "b"), ("clean", "c")])


def test_a_branch_that_was_rolled_back_is_emptied_and_forgotten(archive: Archive) -> None:
    number = archive.begin()
    archive.publish("a", FIRST, number)
    archive.show(number)
    archive.roll_back(number)
    archive.clock.advance(29 * DAY)
    assert archive.purge() == NOTHING
    archive.clock.advance(2 * DAY)
    assert archive.purge() == Purged(emptied=1, forgotten=1)
    assert archive.view.branches == ()
    assert (set(archive.seen()), archive.begin()) == ({"a", "b", "c"}, 2)


def test_a_branch_is_not_forgotten_while_a_partition_of_it_may_still_end(archive: Archive) -> None:
    number = archive.begin()
    archive.reset("a", number)
    archive.roll_back(number)
    archive.clock.advance(31 * DAY)
    assert archive.purge() == NOTHING
    archive.reset("a")
    assert archive.purge() == Purged(forgotten=1)


def test_a_branch_is_not_forgotten_while_a_dataset_that_was_not_named_has_something(archive: Archive) -> None:
    number = archive.begin()
    block = archive.heads()[0].blocks[0]
    archive.publish("a", FIRST, number, [type(block)("rejected", "/r", "r", 1, 1)])
    archive.roll_back(number)
    archive.clock.advance(31 * DAY)
    assert archive.purge() == NOTHING
    purge(archive.flights, Margins(datasets=["rejected"]), by="ana", why="space")
    assert archive.view.branches == ()


def test_s23_a_begun_branch_is_left_alone(archive: Archive) -> None:
    hidden_for(archive, 20)
    number = archive.begin()
    archive.publish("a", FIRST, number)
    archive.clock.advance(40 * DAY)
    assert archive.purge() == Purged(marked=1, emptied=2, removed=1)
    archive.show(number)
    assert set(archive.seen()) == {"a", "c"}


def test_s23_a_branch_that_is_published_into_an_interval_being_purged_stays(archive: Archive) -> None:
    number = archive.begin()
    archive.publish("a", FIRST, number)
    hidden_for(archive, 40)
    archive.purge(most=1)
    archive.show(number)
    assert archive.purge() == Purged(emptied=1, removed=1)
    assert set(archive.seen()) == {"a", "c"}


def test_s23_what_a_roll_back_would_show_is_not_purged_with_what_hides_it(archive: Archive) -> None:
    """The branch has moved the partition into January; the base has it in February, where nothing is hidden."""
    number = archive.begin()
    archive.publish("c", FIRST, number)
    archive.show(number)
    hidden_for(archive, 31)
    archive.purge()
    assert ("clean", "c") in archive.full()
    archive.roll_back(number)
    assert set(archive.seen()) == {"c"}


def test_a_run_with_nothing_to_do_reads_no_head_records(archive: Archive, monkeypatch) -> None:
    archive.hide()
    monkeypatch.setattr(archive.store, "heads", lambda *_, **__: pytest.fail("it has read head records"))
    archive.clock.advance(timedelta(days=29))
    assert archive.purge() == NOTHING


def test_s23_no_interval_is_set_of_what_is_hidden_or_would_be(archive: Archive) -> None:
    archive.publish("d")
    people = archive.flights.people
    heads = {head.key: head for head in archive.heads()}
    archive.hide()
    for key, interval in {"a": "2013-03/P1M", "d": FIRST}.items():
        with pytest.raises(InvalidInputError, match="hidden by ana"):
            people.set_interval(heads[key], said(interval), "ana", "a mistake")
    archive.clock.advance(31 * DAY)
    archive.purge(most=1)
    with pytest.raises(InvalidInputError, match="being purged"):
        people.set_interval(heads["b"], said("2013-03/P1M"), "ana", "a mistake")
    assert people.set_interval(heads["d"], said("2013-02/P1M"), "ana", "known")


def test_intervals_without_an_end_are_kept_for_ever_and_without_a_beginning_are_not(archive: Archive) -> None:
    archive.hide("2012/..")
    hidden_for(archive, 31)
    archive.hide("../2013-02-02")
    archive.clock.advance(31 * DAY)
    assert archive.purge() == Purged(marked=1, emptied=3, removed=1)
    assert [str(each.interval) for each in archive.view.hidden] == ["2012-01-01/.."]


def test_s22_what_is_being_purged_does_not_come_back_with_what_is_added_to_it(archive: Archive) -> None:
    """Who holds a partition keeps the purge from it, and could end with more of the rows that are to go."""
    hidden_for(archive, 31)
    archive.reset("a")
    flights = archive.flights
    lease = flights.acquire_partition("a")
    assert lease is not None
    late = Block("clean", "/late", "late", 1, 1, mode="append")
    assert archive.purge() == Purged(marked=1, emptied=1, skipped={"held": 1})
    for refused in (
        lambda: flights.complete(lease, [late], interval=FIRST),
        lambda: flights.branches.check_block(lease.partition, "clean", "append"),
    ):
        with pytest.raises(BranchError, match=r"being purged \(2013-01-01/2013-02-01, hidden by ana: .*reset it"):
            refused()
    flights.fail(lease, "refused", park=True)
    assert archive.purge() == Purged(emptied=1, removed=1)
    archive.reset("a")
    again = flights.acquire_partition("a")
    assert again is not None
    flights.complete(again, [late], interval=FIRST)
    assert archive.seen()["a"] == "late"
