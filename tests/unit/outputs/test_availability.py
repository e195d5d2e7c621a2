"""How much of an interval readers find, and what is said of what they do not."""

from __future__ import annotations

import pytest

from airflow_coordination.duties.retention.hiding import hide
from airflow_coordination.leases import InvalidInputError, SourceCoordinator
from airflow_coordination.outputs.availability import Availability, availability, check_percent
from airflow_coordination.planning.intervals import interval_of
from airflow_coordination.planning.view import changing
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.writes import Act, Action
from tests.unit.cli.on_a_store import publish


@pytest.fixture
def flights(store) -> SourceCoordinator:
    flights = SourceCoordinator(store, "flights", "test")
    publish(flights, *(f"2013-01-{day:02}" for day in (1, 2, 4)))
    parts_of(store).enabling.enable_branches()
    return flights


def look(flights: SourceCoordinator, interval: str, percent: float = 100) -> Availability:
    return availability(flights.store, "flights", "clean", interval_of("interval", interval), percent)


def test_all_of_it_is_enough(flights) -> None:
    found = look(flights, "2013-01-01/P2D")
    assert found == Availability(
        True, "Dataset clean of source flights: 100 % of 2013-01-01/2013-01-03 is there.", anything=True
    )


def test_what_is_missing_is_named(flights) -> None:
    found = look(flights, "2013-01-01/P4D")
    assert not found.enough
    assert found.message == (
        "Dataset clean of source flights: 75 % of 2013-01-01/2013-01-05 is there, 100 % are waited for. "
        "Missing: 2013-01-03/2013-01-04."
    )
    assert look(flights, "2013-01-01/P4D", 75).enough
    assert not look(flights, "2013-01-01/P4D", 75.1).enough
    assert look(flights, "2013-01-01/P4D").anything
    nothing = availability(flights.store, "flights", "other", interval_of("i", "2013/P1Y"), 0.1)
    assert (nothing.enough, nothing.anything) == (False, False)
    assert not availability(flights.store, "nobody", "clean", interval_of("i", "2013/P1Y"), 0.1).enough


def test_a_moment_that_is_missing_of_a_thousand_years_is_not_rounded_away(flights) -> None:
    publish(flights, "long", intervals=["0900/2900"])
    publish(flights, "gap", intervals=["2900-01-01T00:00:01/2901"])
    found = look(flights, "0900/2901")
    assert not found.enough
    assert "99.99 % of" in found.message


def test_what_is_hidden_or_only_in_a_branch_is_missing_and_it_is_said_why(flights) -> None:
    hide(flights, "clean", "2013-01-02/P1D", "ana", "wrong")
    flights.documents.change_view(
        lambda view: changing.begun(view, {}, None, "ana", "late", flights.store.now())[0], "ana", "late"
    )
    in_branch(flights, "2013-01-03")
    publish(flights, "odd", intervals=[None])
    assert look(flights, "2013-01-01/P4D").message.endswith(
        "Missing: 2013-01-02/2013-01-04 (hidden by ana: wrong; in branch 1, which is not published). "
        "1 partition(s) without an interval do not count."
    )
    with_branch = lambda view: changing.complete(view, 1, 1, None)  # noqa: E731
    flights.documents.change_view(with_branch, "ana", "all of it")
    flights.documents.change_view(lambda view: changing.published(view, 1, flights.store.now()), "ana", "done")
    assert look(flights, "2013-01-03/P2D").enough


def test_while_a_branch_shows_a_newer_head_elsewhere_counts(flights) -> None:
    """A head of the base that lies elsewhere may be newer than one of the branch in what is asked."""
    flights.documents.change_view(
        lambda view: changing.published(
            changing.complete(changing.begun(view, {}, None, "a", "w", flights.store.now())[0], 1, 1, None),
            1,
            flights.store.now(),
        ),
        "ana",
        "late",
    )
    in_branch(flights, "2013-01-03")
    assert look(flights, "2013-01-03/P1D").enough
    seen = flights.partition("2013-01-03")
    said = {"action": Action.RESET, "op": "moved", "seen": seen, "by": "ana", "why": "moved"}
    flights.store.act(Act(source=seen.source, key=seen.key, **said))
    publish(flights, "2013-01-03", intervals=["2014-01-03/P1D"])
    assert not look(flights, "2013-01-03/P1D").enough


def in_branch(flights: SourceCoordinator, key: str) -> None:
    """Publish for a new partition in branch 1."""
    flights.create_partitions([key])
    seen = flights.partition(key)
    flights.complete(flights.acquire_partition(key))
    seen = flights.partition(key)
    said = {"action": Action.RESET, "op": f"into-{key}", "seen": seen, "by": "ana", "why": "late", "branch": 1}
    flights.store.act(Act(source=seen.source, key=key, **said))
    publish(flights, key)


def test_only_the_first_gaps_are_named(flights) -> None:
    publish(flights, *(f"2013-02-{day:02}" for day in range(1, 28, 2)))
    assert look(flights, "2013-02-01/P27D").message.endswith("2013-02-10/2013-02-11, 8 more.")


@pytest.mark.parametrize("value", [0, -1, 100.1, True, "100", None, float("nan")])
def test_what_is_no_percentage_is_refused(value) -> None:
    with pytest.raises(InvalidInputError, match="min_percent"):
        check_percent("min_percent", value)
