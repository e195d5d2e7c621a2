"""The purge beside what others do: what comes into a hidden interval meanwhile, and what is restored around it."""

from __future__ import annotations

import pytest

from airflow_coordination.duties.retention import purge as purging
from airflow_coordination.duties.retention.applying import apply_rules
from airflow_coordination.duties.retention.hiding import hide
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import InvalidInputError, SettingsError, SourceCoordinator
from airflow_coordination.stores import open_store
from tests.retention import DAY, Archive, margins


@pytest.fixture
def archive() -> Archive:
    return Archive()


def test_s23_what_a_branch_brings_between_plan_and_mark_has_its_buffer(archive: Archive) -> None:
    """The mark names the branches that go; one that shows for a moment only is none of them."""
    archive.publish("a", "2013-01-01/P1D")
    archive.publish("b", "2013-01-02/P1D")
    archive.hide()
    number = archive.begin(1)
    archive.publish("b", "2013-01-02/P1D", branch=number)
    archive.clock.advance(31 * DAY)
    run = purging._Run(archive.flights, margins())
    planned = run.plan()
    archive.show(number)
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
