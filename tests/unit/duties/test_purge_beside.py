"""The purge beside what others do: what comes into a hidden interval meanwhile, and what is restored around it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from airflow_coordination.duties.retention import purge as purging
from airflow_coordination.duties.retention.applying import apply_rules
from airflow_coordination.duties.retention.hiding import hide
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import InvalidInputError, SettingsError, SourceCoordinator
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.view import View
from airflow_coordination.stores import open_store
from tests.retention import DAY, JANUARY, LONG_AFTER, Archive, margins, said


@pytest.fixture
def archive() -> Archive:
    return Archive()


@pytest.mark.parametrize("stopped", [0 * DAY, 31 * DAY], ids=["at once", "late"])
def test_s23_what_a_branch_brings_between_plan_and_mark_has_its_buffer(archive: Archive, stopped: timedelta) -> None:
    """The mark names the branches that go; one that shows for a moment only is none of them, whatever it says."""
    archive.publish("a", "2013-01-01/P1D")
    archive.publish("b", "2013-01-02/P1D")
    archive.hide()
    number = archive.begin(1)
    archive.publish("b", "2013-01-02/P1D", branch=number)
    archive.clock.advance(31 * DAY)
    run = purging._Run(archive.flights, margins())
    planned = run.plan()
    archive.change(lambda view: changing.published(view, number, view.now - stopped))
    run.mark(planned.marks, "ana", "a test")
    archive.purge()
    assert ("~1~clean", "b") in archive.full()


def test_s23_a_time_that_was_hidden_before_anything_was_there_stays_hidden(archive: Archive) -> None:
    archive.publish("x", "2013-03-01/P1D")
    archive.hide("2013-01/P1M")
    archive.clock.advance(31 * DAY)
    run = purging._Run(archive.flights, margins())
    planned = run.plan()
    archive.publish("a", "2013-01-01/P1D")
    run.mark(planned.marks, "ana", "a test")
    run.tidy_up("ana", "a test")
    archive.purge()
    assert set(archive.seen()) == {"x"}


def test_s23_what_was_hidden_by_mistake_comes_back_beside_what_is_purged(archive: Archive) -> None:
    for key, interval in {"a": "2013-01-01/P1D", "b": "2013-01-02/P1D", "c": "2013-03-01/P1D"}.items():
        archive.publish(key, interval)
    archive.flights.people.delete("a", "ana", "its output stays, which no retract empties")
    archive.hide("2013-01/P1M")
    archive.clock.advance(31 * DAY)
    archive.hide("2013-01-01/P6M", "a mistake")
    archive.purge()
    archive.restore("2013-01-01/P6M")
    assert set(archive.seen()) == {"c"}
    with pytest.raises(InvalidInputError, match="is being purged"):
        archive.restore("2013-01-01/P6M")


def test_s22_what_rules_drop_stays_hidden_when_a_purge_is_through(archive: Archive) -> None:
    archive.store.enable_branches()
    archive.publish("a", "2013-01-01/P1D")
    archive.publish("b", "2013-01-02/P1D")
    rules = '[{"type":"dropBeforeByPeriod","period":"P1M"},{"type":"loadForever"}]'
    set_rules(archive.flights, "clean", rules, "ana", "a test")
    apply_rules(archive.flights, ["clean"])
    archive.clock.advance(31 * DAY)
    run = purging._Run(archive.flights, margins())
    run.mark(run.plan().marks, "ana", "a test")
    archive.publish("b", "2013-01-02/P1D")
    apply_rules(archive.flights, ["clean"])
    archive.purge()
    assert archive.seen() == {}


def test_an_empty_view_from_another_store_lets_nobody_hide_before_older_code_is_kept_out() -> None:
    flights = SourceCoordinator(open_store("memory://"), "flights", "a test")
    flights.documents.change("view", lambda _: '{"next":1,"branches":[],"hidden":[]}', "ana", "moved")
    with pytest.raises(SettingsError, match="enable branches"):
        hide(flights, "clean", "2013-01/P1M", "ana", "why")


Change = Callable[[View, datetime], View]


@pytest.mark.parametrize("moved", [changing.rolled_back, changing.finalized])
def test_s23_who_was_stopped_before_a_branch_was_over_for_longer_than_the_buffer_takes_it_from_no_reader(
    archive: Archive, moved: Callable[[View, int, datetime], View]
) -> None:
    """The view says that it was over all the time; readers have seen the branch, or what it hides, until now."""
    archive.publish("a", "2013-01-01/P1D")
    number = archive.begin(1)
    archive.publish("a", "2013-01-01/P1D", branch=number)
    archive.show(number)
    _stopped(archive, lambda view, now: moved(view, number, now))
    assert archive.purge().emptied == 0
    archive.clock.advance(30 * DAY)
    assert archive.purge().emptied == 1


def test_s23_who_was_stopped_before_hiding_for_longer_than_the_buffer_leaves_time_to_restore(archive: Archive) -> None:
    archive.publish("a", "2013-01-01/P1D")
    january = said(JANUARY)
    _stopped(archive, lambda view, now: changing.hidden(view, "clean", january, "ana", "old", now))
    assert archive.view.hidden[0].since == LONG_AFTER, "it says what whoever was stopped has read"
    assert archive.purge().marked == 0
    archive.restore()
    assert set(archive.seen()) == {"a"}
    archive.hide()
    archive.clock.advance(30 * DAY)
    assert archive.purge().emptied == 1


def test_s23_who_was_stopped_before_publishing_a_branch_brings_it_into_no_purge(archive: Archive) -> None:
    """What came into a hidden interval a moment ago has its buffer, whatever the branch says of itself."""
    archive.publish("a", "2013-01-01/P1D")
    archive.hide()
    number = archive.begin(1)
    archive.publish("a", "2013-01-01/P1D", branch=number)
    _stopped(archive, lambda view, now: changing.published(view, number, now))
    assert archive.purge().marked == 0
    archive.clock.advance(30 * DAY)
    assert archive.purge().emptied == 2


def test_s23_a_view_that_cannot_be_read_any_more_makes_nothing_old(archive: Archive) -> None:
    archive.publish("a", "2013-01-01/P1D")
    archive.hide()
    good = archive.view.text
    archive.flights.documents.change("view", lambda _: "a slip of somebody's hand", "ana", "oh")
    archive.clock.advance(DAY)
    archive.flights.documents.change("view", lambda _: good, "ana", "as it was")
    archive.clock.advance(29 * DAY)
    assert archive.purge().marked == 0
    archive.clock.advance(DAY)
    assert archive.purge().emptied == 1


def _stopped(archive: Archive, change: Change) -> None:
    """Change the view as somebody does who is stopped for longer than the buffer between reading and writing."""

    def stopped(view: View) -> View:
        read_at = view.now
        archive.clock.advance(31 * DAY)
        return change(view, read_at)

    archive.change(stopped)
