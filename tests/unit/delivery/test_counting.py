"""Counts of records by their route."""

from __future__ import annotations

import pytest

from airflow_coordination.delivery.counting import tally_of
from airflow_coordination.delivery.tally import Tally
from airflow_coordination.values.accounting import Accounting, SinkCounts


def test_s13_each_route_counts_for_its_sinks_or_its_reason() -> None:
    tally = tally_of([(-2, 1), (-1, 2), (0, 4), (1, 8), (2, 16), (3, 32)], sinks=2, reasons=2)
    accounting = tally.accounting(["a", "b"], ["r", "s"])
    assert accounting == Accounting(
        read=63,
        delivered_everywhere=56,
        dropped={"r": 2, "s": 1},
        unrouted=4,
        sinks={"a": SinkCounts(40, 40), "b": SinkCounts(48, 48)},
    )
    assert accounting.imbalances() == []


def test_s13_dead_letters_by_condition_are_a_route_behind_the_reasons() -> None:
    tally = tally_of([(-2, 4), (-1, 2), (0, 1), (1, 8)], sinks=2, reasons=1)
    accounting = tally.accounting(["a", "b"], ["r"])
    assert accounting == Accounting(
        read=15,
        delivered_everywhere=8,
        dropped={"r": 2},
        unrouted=1,
        dead_lettered=4,
        sinks={"a": SinkCounts(8, 8), "b": SinkCounts()},
    )
    assert accounting.imbalances() == []


@pytest.mark.parametrize("written", [0, 3, 4, 5])
def test_s13_what_was_written_of_them_counts_and_not_how_many_there_should_be(written: int) -> None:
    tally, letters = tally_of([(-1, 4), (1, 1)], sinks=1, reasons=0), Tally([0], [])
    letters.read, letters.dead_letter_files = written, ["part-1.json"]
    letters.arrivals[letters.aside] += written
    tally.wrote_letters(letters)
    accounting = tally.accounting(["a"], [])
    assert (accounting.read, accounting.dead_lettered, tally.dead_letter_files) == (5, written, ["part-1.json"])
    assert bool(accounting.imbalances()) == (written != 4)


def test_s13_letters_that_could_not_be_stored_are_failures_with_their_error() -> None:
    tally, letters = tally_of([(-1, 4)], sinks=1, reasons=0), Tally([0], [])
    letters.arrivals[letters.aside] += 4
    letters.note_error(-1, "OSError: no space left")
    letters.no_dead_letters()
    tally.wrote_letters(letters)
    accounting = tally.accounting(["a"], [])
    assert (accounting.failed, accounting.dead_lettered, tally.errors) == (4, 0, {-1: "OSError: no space left"})


def test_nothing_read_is_nothing_owed() -> None:
    assert tally_of([], sinks=1, reasons=0).accounting(["a"], []) == Accounting(sinks={"a": SinkCounts()})
