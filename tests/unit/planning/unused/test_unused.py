"""Nothing is marked that still shows, and nothing is deleted within a margin."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.periods import parse_period
from airflow_coordination.planning.timeline import Piece, timeline
from airflow_coordination.planning.unused.deleting import (
    Margins,
    Unused,
    deletable,
    deleting_slots,
    is_due,
    overshadowed,
)
from airflow_coordination.values.input_errors import InvalidInputError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LONG = timedelta(hours=1)


def days(first, last):
    return Interval(NOW + timedelta(days=first), NOW + timedelta(days=last))


def period(text):
    return parse_period("period", text, negative=True)


rows = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4), st.booleans()), max_size=10)


@given(rows)
def test_what_is_marked_shows_nowhere_even_if_only_what_is_served_counts(given_rows):
    pieces = [Piece(days(at, at + length), version, version) for version, (at, length, _) in enumerate(given_rows)]
    served = {version for version, (*_, there) in enumerate(given_rows) if there}
    marked = overshadowed(pieces, served, LONG)
    for piece in marked:
        shown = timeline([one for one in pieces if one.name in served or one is piece])
        assert piece not in {each for one in shown.slices for each in one.pieces}
        assert piece not in {each for one in timeline(pieces).slices for each in one.pieces}
    everything = overshadowed(pieces, {piece.name for piece in pieces}, LONG)
    assert sorted(piece.name for piece in everything) == sorted(piece.name for piece in timeline(pieces).overshadowed)


def test_nobody_marks_who_has_not_led_for_long():
    pieces = [Piece(days(0, 1), version, version) for version in (1, 2)]
    wait = timedelta(minutes=15)
    assert overshadowed(pieces, {2}, wait - timedelta(microseconds=1)) == []
    assert overshadowed(pieces, {2}, wait) == pieces[:1]


unused = st.lists(
    st.builds(
        lambda dataset, name, end, marked: Unused(dataset, name, days(end - 1, end), NOW + timedelta(days=marked)),
        st.sampled_from("ab"),
        st.integers(),
        st.integers(-200, 5),
        st.integers(-100, 0),
    ),
    unique_by=lambda one: (one.dataset, one.name),
)


@given(unused, st.integers(1, 5), st.none() | st.just(["a"]))
def test_nothing_is_deleted_within_a_margin(given_unused, most, datasets):
    margins = Margins(most=most, datasets=datasets)
    found = deletable(given_unused, margins, NOW)
    for dataset in "ab":
        mine = [one for one in found if one.dataset == dataset]
        old = [one for one in given_unused if one.dataset == dataset and _old(one)]
        assert len(mine) == (min(most, len(old)) if datasets is None or dataset in datasets else 0)
        left = [one.interval.end for one in old if one not in mine]
        assert not mine or not left or max(one.interval.end for one in mine) <= min(left)
    assert all(_old(one) for one in found)


def _old(one):
    return one.interval.end <= NOW - timedelta(days=90) and one.marked <= NOW - timedelta(days=30)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Margins(buffer=period("P0D")), r"bufferPeriod='P0D': leaves no time .*Give P30D, or say i_know=True"),
        (
            lambda: Margins(buffer=period("-P1D"), i_know=True),
            "bufferPeriod='-P1D': goes backwards. Give a period such",
        ),
        (
            lambda: Margins(duration_to_retain=period("-PT36H")),
            r"durationToRetain='-PT36H': goes backwards, so that what lies in the future is deleted.*say i_know=True",
        ),
        (lambda: Margins(most=0), "maxSegments=0: is no whole number above zero. Give 1 or more"),
        (lambda: Margins(most=True), "maxSegments=True: is no whole number above zero"),
        (lambda: deletable([], Margins(), datetime(2026, 1, 1)), "now=.*has no time zone"),  # noqa: DTZ001
        (lambda: deleting_slots(-0.1, None), r"slots\.ratio=-0\.1: is no part of a whole"),
        (lambda: deleting_slots(float("nan"), None), r"slots\.ratio=nan: is no part of a whole"),
        (lambda: deleting_slots(0.1, -1), r"slots\.max_slots=-1: is no whole number from 0 on"),
    ],
)
def test_margins_that_make_no_sense_are_refused(made, message):
    with pytest.raises(InvalidInputError, match=message):
        made()


def test_who_knows_may_have_no_margin():
    margins = Margins(buffer=period("P0D"), duration_to_retain=period("-P1D"), i_know=True)
    assert len(deletable([Unused("a", 1, days(0, 1), NOW)], margins, NOW)) == 1


def test_more_than_all_is_all_and_none_is_none():
    assert deleting_slots(2.5, None).limit(10) == 10
    assert deleting_slots(0.0, None).available(10, 0) == 0


def test_within_its_period_nothing_is_deleted():
    assert is_due(None, LONG, NOW)
    assert not is_due(NOW - LONG + timedelta(microseconds=1), LONG, NOW)
    assert is_due(NOW - LONG, LONG, NOW)
