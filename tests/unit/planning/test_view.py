"""The view as a value: what shows, what is hidden, and what a change refuses."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from airflow_coordination.planning.intervals import interval_of
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.showing import as_if_published, newest, seen
from airflow_coordination.planning.view.view import EMPTY, BranchState, View
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import branch_dataset

NOW = datetime(2013, 5, 1, tzinfo=UTC)
JANUARY = interval_of("interval", "2013-01/P1M")


def head(token: int, branch: int | None = None, day: str | None = "2013-01-05/P1D") -> HeadRecord:
    said = interval_of("interval", day) if day else None
    return HeadRecord(
        "flights|PARTITION",
        branch_dataset(branch, "clean"),
        "k",
        (),
        0,
        0,
        "g",
        f"op{token}",
        token,
        interval_start=said and said.start,
        interval_end=said and said.end,
    )


def begun(view: View = EMPTY) -> View:
    after, number = changing.begun(view, {"prefix": "2013-01"}, JANUARY, "me", "late data", NOW)
    return changing.complete(after, number, 31, None)


def test_s22_the_higher_token_shows_whichever_branch_it_is_of() -> None:
    shown = changing.published(begun(), 1, NOW)
    assert newest(begun(), [head(3), head(5, 1)]).token == 3
    assert newest(shown, [head(3), head(5, 1)]).token == 5
    assert newest(shown, [head(6), head(5, 1)]).token == 6
    assert newest(changing.rolled_back(shown, 1, NOW), [head(3), head(5, 1)]).token == 3
    assert newest(as_if_published(begun(), 1), [head(3), head(5, 1)]).token == 5
    assert newest(EMPTY, [head(5, 9)]) is None  # of a branch that nobody knows: it was rolled back


def test_s22_a_hidden_new_version_does_not_uncover_the_old_one() -> None:
    old, new = head(3, day="2013-02-01/P1D"), head(5, 1, day="2013-01-05/P1D")
    view = changing.hidden(changing.published(begun(), 1, NOW), "clean", JANUARY, "me", "wrong", NOW)
    assert seen(view, [old, new]) is None
    assert seen(view, [old]) == old
    assert seen(view, [replace(new, dataset=branch_dataset(1, "rejected"))]) is not None
    assert seen(view, [head(7, day=None)]) == head(7, day=None)


def test_a_view_comes_back_from_its_text() -> None:
    view = changing.hidden(changing.published(begun(), 1, NOW), "clean", JANUARY, "me", "wrong", NOW)
    assert View.of(view.text) == view
    assert View.of(None) == EMPTY
    with pytest.raises(InvalidInputError, match="corrupt"):
        View.of('{"branches": 7}')


def test_a_branch_goes_one_way() -> None:
    view = begun()
    shown = changing.published(view, 1, NOW)
    final = changing.finalized(shown, 1, NOW)
    assert final.state_of(1) is BranchState.FINAL
    for wrong in (
        lambda: changing.finalized(view, 1, NOW),
        lambda: changing.published(shown, 1, NOW),
        lambda: changing.rolled_back(final, 1, NOW),
        lambda: changing.published(changing.rolled_back(view, 1, NOW), 1, NOW),
        lambda: changing.published(view, 2, NOW),
    ):
        with pytest.raises(InvalidInputError, match="branch"):
            wrong()


def test_a_branch_that_was_begun_by_halves_is_not_published() -> None:
    half, number = changing.begun(EMPTY, {"all": True}, None, "me", "late", NOW)
    with pytest.raises(InvalidInputError, match="--branch 1"):
        changing.published(half, number, NOW)


def test_what_is_being_purged_cannot_come_back() -> None:
    view = changing.hidden(EMPTY, "clean", JANUARY, "me", "wrong", NOW)
    assert changing.hidden(view, "clean", interval_of("interval", "2013-01-05/P1D"), "you", "again", NOW) == view
    assert changing.restored(view, "clean", JANUARY) == EMPTY
    marked = changing.purging(view, view.hidden, NOW)
    assert View.of(marked.text) == marked
    assert len(changing.hidden(marked, "clean", JANUARY, "you", "new ones, too", NOW).hidden) == 2
    with pytest.raises(InvalidInputError, match="being purged"):
        changing.restored(marked, "clean", JANUARY)
    assert changing.purged(marked, marked.hidden) == EMPTY
    with pytest.raises(InvalidInputError, match="never marked"):
        changing.purged(view, view.hidden)
    again = changing.hidden(EMPTY, "clean", JANUARY, "me", "wrong", datetime(2013, 5, 2, tzinfo=UTC))
    assert changing.purging(again, view.hidden, NOW) == again  # restored meanwhile, and hidden again
    with pytest.raises(InvalidInputError, match="only a part"):
        changing.restored(view, "clean", interval_of("interval", "2013-01-05/P1D"))


def test_a_view_keeps_hundreds_of_branches_that_are_over() -> None:
    keys = [f"2013-01-01-object-{number:03}" for number in range(30)]
    view = EMPTY
    for number in range(1, 301):
        view, _ = changing.begun(view, {"keys": keys}, JANUARY, "ana", "late data of this week", NOW)
        view = changing.published(changing.complete(view, number, 30, None), number, NOW)
        if number > 5:
            assert view.branches[-1].selection["keys"][-1] == "… and 25 more"
        view = changing.finalized(view, number, NOW)
    assert View.of(view.text) == view
    assert len(view.shown) == 300
