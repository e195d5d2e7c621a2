"""What ended by five minutes: stored sums, counted on at each look, told to those only who may see the source."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from airflow_coordination.board.charts import ended
from airflow_coordination.protocol.beside.ended_sums import LATE, MOST_SLOTS, SLOT, EndedSums, slot_of
from airflow_coordination.stores import StoreParts

HERE = {"store": "coordination_default", "source": "flights|PARTITION"}


@pytest.fixture
def ask(client, token):
    def ask(teams=("ours",), **given):
        headers = {"Authorization": f"Bearer {token('viewer', list(teams))}"}
        return client.get("/api/v1/ended", params={**HERE, **given}, headers=headers)

    return ask


@pytest.fixture
def start(flights) -> datetime:
    """Five minutes that were over an hour ago."""
    return slot_of(flights.store.now() - timedelta(hours=1))


def stored(flights, row: EndedSums) -> None:
    assert flights.store.put_ended_sums(HERE["source"], row, None)


def test_what_a_duty_has_stored_is_told_and_counted_on(flights, ask, start):
    now = flights.store.now()
    stored(flights, EndedSums(start=start, counted_to=start + SLOT, completed=7, failed=2, lost=1, rows=70, bytes=700))
    stored(flights, EndedSums(start=slot_of(now - LATE), counted_to=now - LATE))
    page = ask().json()
    [slot] = page["slots"]
    assert datetime.fromisoformat(slot.pop("at")) == start
    assert slot == {"completed": 7, "failed": 2, "lost": 1, "rows": 70, "bytes": 700}
    assert (page["kept"], page["by_duty"], page["whole"], page["seconds"]) == (True, True, False, 300)
    assert datetime.fromisoformat(page["since"]) == start
    assert now - LATE <= datetime.fromisoformat(page["counted_to"]) <= flights.store.now() - LATE
    assert datetime.fromisoformat(page["start"]) in {slot_of(at) - SLOT * (MOST_SLOTS - 1) for at in (now, now + SLOT)}
    assert page["typed"].endswith("ended flights")


def test_without_a_duty_the_server_counts_from_its_own_start_and_keeps_what_it_counted(flights, ask, monkeypatch):
    monkeypatch.setattr("airflow_coordination.monitoring.ended.LATE", timedelta(0))
    flights.complete(flights.acquire_partition("a-secret-key"))
    for _ in range(2):
        page = ask().json()
        assert sum(slot["completed"] for slot in page["slots"]) == 1
    assert page["by_duty"] is False
    assert datetime.fromisoformat(page["since"]) <= flights.store.now()
    assert flights.store.ended_sums(HERE["source"], 9) == [], "it writes nothing"
    monkeypatch.setattr(flights.store.__class__, "ended_between", lambda *_: [])
    assert sum(slot["completed"] for slot in ask().json()["slots"]) == 1


def test_of_too_many_sources_that_which_was_looked_at_longest_ago_is_forgotten(monkeypatch):
    monkeypatch.setattr(ended, "MOST_SOURCES", 2)
    kept, row = ended.Kept(), [EndedSums.none_yet(datetime.fromisoformat("2026-11-27T03:00:00+00:00"))]
    for source in ("a", "b", "a", "c"):
        kept.keep("store", source, row)
    assert [source for source in "abc" if kept.of("store", source)] == ["a", "c"]


def test_a_store_without_a_history_says_so(flights, ask, monkeypatch):
    monkeypatch.setattr(type(flights.store), "parts", lambda _: StoreParts())
    page = ask().json()
    assert (page["kept"], page["slots"], page["since"]) == (False, [], None)


def test_who_does_not_see_the_source_is_told_nothing(flights, ask):
    assert ask(teams=["theirs"]).status_code == 404
    assert ask(source="nope|PARTITION").status_code == 404
