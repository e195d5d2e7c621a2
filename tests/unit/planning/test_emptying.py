"""Which head records nobody will ever see: by what covers them, and from when on."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from airflow_coordination.planning.unused.emptying import unseen
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.view import EMPTY, View
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.blocks import Block
from tests.unit.planning.test_view import JANUARY, NOW, begun
from tests.unit.planning.test_view import head as empty_head

DAY = timedelta(days=1)


def head(token: int, branch: int | None = None, at: datetime | None = NOW, day: str = "2013-01-05/P1D") -> HeadRecord:
    block = Block("clean", f"/{token}", f"{token}", 1, 1)
    return replace(empty_head(token, branch, day), blocks=(block,), published_at=at)


def gone(view: View, *heads: HeadRecord) -> list[tuple[int, datetime]]:
    return [(each.head.token, each.since) for each in unseen(view, heads)]


def final(at: datetime = NOW) -> View:
    return changing.finalized(changing.published(begun(), 1, NOW), 1, at)


def test_a_branch_covers_what_is_older_once_it_is_final() -> None:
    old, new = head(3), head(5, 1, NOW + DAY)
    assert gone(changing.published(begun(), 1, NOW), old, new) == []
    assert gone(final(), old, new) == [(3, NOW + DAY)]
    assert gone(final(NOW + 2 * DAY), old, new) == [(3, NOW + 2 * DAY)]
    assert gone(final(), head(7), new) == [(5, NOW)]
    assert gone(final(), head(5), new) == [(5, NOW + DAY)]  # of equal tokens the branch shows


def test_the_base_covers_what_is_older_in_any_branch_that_shows() -> None:
    view = changing.published(begun(), 1, NOW)
    assert gone(view, head(5), head(3, 1)) == [(3, NOW)]
    assert gone(begun(), head(5), head(3, 1)) == []  # it has not shown yet


def test_of_several_that_cover_it_the_first_counts() -> None:
    view, number = changing.begun(final(), {"all": True}, None, "me", "again", NOW)
    view = changing.published(changing.complete(view, number, 1, None), number, NOW)
    view = changing.finalized(view, number, NOW + 9 * DAY)
    assert gone(view, head(1), head(2, 1), head(3, 2)) == [(1, NOW), (2, NOW + 9 * DAY)]


def test_what_has_nothing_covers_and_does_not_go() -> None:
    nothing = replace(head(5, 1), blocks=())
    assert gone(final(), head(3), nothing) == [(3, NOW)]
    assert gone(final(), replace(head(3), blocks=()), nothing) == []


def test_what_nobody_knows_the_time_of_stays() -> None:
    assert gone(final(), head(3), head(5, 1, at=None)) == []
    assert gone(final(), head(3, at=None), head(5, 1)) == []


def test_a_branch_that_is_not_known_yet_is_left_alone() -> None:
    assert gone(EMPTY, head(3), head(5, 1)) == []


def test_a_branch_that_was_rolled_back_goes_with_what_it_published_late() -> None:
    view = changing.rolled_back(begun(), 1, NOW)
    assert gone(view, head(3), head(5, 1, NOW - DAY)) == [(5, NOW)]
    assert gone(view, head(3), head(5, 1, NOW + DAY)) == [(5, NOW + DAY)]


def test_what_is_purged_is_fixed_by_the_mark() -> None:
    hidden = changing.hidden(begun(), "clean", JANUARY, "me", "wrong", NOW)
    assert gone(hidden, head(3)) == []
    marked = changing.purging(hidden, hidden.hidden, NOW + DAY)
    assert gone(marked, head(3)) == [(3, NOW)]
    assert gone(marked, head(3, at=NOW + 2 * DAY)) == []
    assert gone(marked, head(3, day="2013-01-31/P2D")) == []
    shown = changing.published(marked, 1, NOW)
    assert gone(shown, head(5, 1)) == []  # it did not show when that was marked
    again = changing.purging(changing.published(hidden, 1, NOW), hidden.hidden, NOW + DAY)
    assert gone(again, head(5, 1)) == [(5, NOW)]
    assert gone(changing.rolled_back(again, 1, NOW + 3 * DAY), head(5, 1)) == [(5, NOW + 3 * DAY)]
