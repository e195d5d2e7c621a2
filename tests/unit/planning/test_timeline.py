"""What shows when versions overlap; beside a model that asks each day by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_coordination.planning.intervals import Interval, united
from airflow_coordination.planning.timeline import Piece, timeline
from airflow_coordination.values.input_errors import InvalidInputError

START = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = 12


def days(first, last):
    return Interval(START + timedelta(days=first), START + timedelta(days=last))


def day(number):
    return days(number, number + 1)


@st.composite
def pieces(draw):
    """Versions whose intervals do not overlap, some of them with parts that are lacking."""
    found = []
    for version in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, DAYS - 1))
        while at < DAYS:
            until = draw(st.integers(at + 1, DAYS))
            parts = draw(st.integers(1, 3))
            there = draw(st.sets(st.integers(0, parts - 1), min_size=1))
            found += [Piece(days(at, until), version, (version, at, part), part, parts) for part in there]
            at = until + draw(st.integers(0, 3))
    return draw(st.permutations(found))


def shown_on(number, given_pieces):
    """Return the names that show on a day: of the newest version all of whose parts are there."""
    there = [piece for piece in given_pieces if piece.interval.contains(day(number))]
    for version in sorted({piece.version for piece in there}, reverse=True):
        mine = [piece for piece in there if piece.version == version]
        if len(mine) == mine[0].parts:
            return sorted(piece.name for piece in mine)
    return []


@given(pieces())
@settings(max_examples=300)
def test_each_day_shows_its_newest_complete_version(given_pieces):
    shown = timeline(given_pieces)
    for number in range(DAYS):
        at = shown.within(day(number))
        assert [piece.name for one in at for piece in one.pieces] == shown_on(number, given_pieces)
        assert shown.missing(day(number)) == ([] if at else [day(number)])
    assert list(shown.slices) == sorted(shown.slices, key=lambda one: one.interval)
    assert all(one.interval.end <= other.interval.start for one, other in pairwise(shown.slices))


@given(pieces())
@settings(max_examples=300)
def test_what_is_overshadowed_changes_nothing_when_it_goes(given_pieces):
    """S24's sentence, turned around: nothing that anybody sees goes with it."""
    shown = timeline(given_pieces)
    left = [piece for piece in given_pieces if piece not in shown.overshadowed]
    after = timeline(left)
    assert after.slices == shown.slices
    visible = {piece for one in shown.slices for piece in one.pieces}
    assert not visible & set(shown.overshadowed)
    for piece in set(given_pieces) - visible - set(shown.overshadowed):
        mine = [one for one in given_pieces if (one.interval, one.version) == (piece.interval, piece.version)]
        assert len(mine) < piece.parts  # not all there yet, and nothing newer covers it
        newer = united(one.interval for one in given_pieces if one.version > piece.version)
        assert not any(one.contains(piece.interval) for one in newer)


def test_a_version_goes_on_where_a_newer_one_ends():
    old, new = Piece(days(0, 9), 1, "old"), Piece(days(3, 5), 2, "new")
    told = [(str(one.interval), one.version) for one in timeline([new, old]).slices]
    assert told == [("2026-01-01/2026-01-04", 1), ("2026-01-04/2026-01-06", 2), ("2026-01-06/2026-01-10", 1)]


def test_a_slice_is_as_long_as_its_version_shows():
    """A start of something hidden in the middle of it does not cut it."""
    top, below = Piece(days(0, 9), 2, "top"), Piece(days(3, 5), 1, "below")
    assert [one.interval for one in timeline([top, below]).slices] == [days(0, 9)]


def test_a_half_published_attempt_is_garbage_when_a_newer_one_exists():
    whole = [Piece(days(0, 1), 1, f"whole{part}", part, 2) for part in (0, 1)]
    half, newer = Piece(days(0, 1), 2, "half", 0, 2), Piece(days(0, 1), 3, "newer", 0, 2)
    assert timeline([*whole, half]).overshadowed == ()
    shown = timeline([*whole, half, newer])
    assert shown.overshadowed == (half,)
    assert [piece.name for piece in shown.slices[0].pieces] == ["whole0", "whole1"]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Piece(days(0, 1), 1, "a", 2, 2), r"piece\.part=2: is none of 2 parts. Number 2 parts from 0 to 1"),
        (lambda: Piece(days(0, 1), 1, "a", 0, 0), "is none of 0 parts. Give at least 1 part"),
        (lambda: Piece(days(0, 0), 1, "a"), r"piece\.interval=.*is empty. Give an interval with an end later"),
        (
            lambda: timeline([Piece(days(0, 3), 1, "a"), Piece(days(2, 4), 1, "b")]),
            r"piece\.interval='2026-01-03/2026-01-05': overlaps 2026-01-01/2026-01-04 of the same version 1. Publish",
        ),
        (
            lambda: timeline([Piece(days(0, 3), 1, "a", 0, 2), Piece(days(0, 3), 1, "b", 1, 3)]),
            r"piece\.parts=3: is not the 2 that version 1 of .* has. Say the same number",
        ),
        (
            lambda: timeline([Piece(days(0, 3), 1, "a", 0, 2), Piece(days(0, 3), 1, "b", 0, 2)]),
            r"piece\.part=0: is there twice for .*, as 'a' and 'b'. Publish another version",
        ),
        (
            lambda: timeline([Piece(days(0, 3), "9", "a"), Piece(days(0, 3), "10", "b")]),
            r"piece\.version='10': compares as a text with '9', and 10 would be older than 9. Give whole numbers",
        ),
        (
            lambda: timeline([Piece(days(0, 3), 9, "a"), Piece(days(0, 3), "b", "b")]),
            r"piece\.version='b': is a text, and 9 is a number: they do not sort. Give numbers only",
        ),
    ],
)
def test_what_cannot_be_a_timeline_is_refused(made, message):
    with pytest.raises(InvalidInputError, match=message):
        made()


def test_the_same_piece_twice_is_one():
    piece = Piece(days(0, 1), 1, "a")
    assert timeline([piece, piece]) == timeline([piece])


def test_a_hundred_thousand_pieces_are_swept_once():
    """Comparing each with each would take until the test is ended for its time."""
    count = 100_000
    shown = timeline([Piece(days(at, at + 1 + at % 5), at, at) for at in range(count)])
    assert shown.missing(days(0, count)) == []
    half = timeline([Piece(days(at, at + 1 + at % 5), at, at, 0, 2) for at in range(count)])
    assert (half.slices, half.overshadowed) == ((), ())  # nothing newer has the first day of any
    assert shown.slices[-1].interval == days(count - 1, count + (count - 1) % 5)
