"""What ended by five minutes: stored sums, counted on at each look, told to those only who may see the source."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from airflow_coordination.board.charts import ended
from airflow_coordination.board.charts import lately as in_all
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.protocol.beside.ended_sums import LATE, MOST_SLOTS, SLOT, EndedSums, slot_of
from airflow_coordination.stores import StoreParts
from tests.integration.board.conftest import OPEN_DAG

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


@pytest.fixture
def lately(client, token, monkeypatch):
    monkeypatch.setattr(in_all, "LATELY", in_all.Lately(in_all.SLOTS, 9))
    monkeypatch.setattr(in_all, "A_DAY", in_all.Lately(MOST_SLOTS, 2))
    monkeypatch.setattr(in_all, "LIFE", 0.0)

    def lately(teams=("ours",), **given):
        headers = {"Authorization": f"Bearer {token('viewer', list(teams))}"}
        return client.get("/api/v1/ended/lately", params=given, headers=headers).json()

    return lately


@pytest.fixture
def others(flights) -> list[str]:
    """Three sources more that everybody sees, of which one is upkeep."""
    names = ["a", "b", "~merged/a"]
    for name in names:
        SourceCoordinator(flights.store, name, "somebody").supplying.register(dag_id=OPEN_DAG)
    return [f"{name}|PARTITION" for name in names]


def test_all_sources_are_one_sum_and_each_has_its_own(flights, others, lately, start):
    now = flights.store.now()
    for source in (HERE["source"], *others):
        assert flights.store.put_ended_sums(
            source, EndedSums(start=start, counted_to=start + SLOT, completed=7, failed=2, lost=1), None
        )
        assert flights.store.put_ended_sums(source, EndedSums(start=slot_of(now - LATE), counted_to=now - LATE), None)
    page = lately()
    [slot] = [each for each in page["slots"] if each["completed"]]
    assert (slot["completed"], slot["failed"], slot["lost"]) == (21, 6, 3), "upkeep is not among them"
    assert datetime.fromisoformat(slot["at"]) == start
    assert (page["of"], page["counted"], page["kept"], page["by_duty"]) == (3, 3, True, True)
    assert {each["source"] for each in page["sources"]} == {HERE["source"], *others}
    for each in page["sources"]:
        assert (len(each["completed"]), sum(each["completed"]), sum(each["others"])) == (page["number"], 7, 3)
        place = each["completed"].index(7)
        assert datetime.fromisoformat(page["start"]) + place * SLOT == start
    theirs = lately(teams=["theirs"])
    assert {each["source"] for each in theirs["sources"]} == set(others)
    assert (theirs["of"], sum(each["completed"] for each in theirs["slots"])) == (2, 14)
    assert {each["source"] for each in lately(dag=OPEN_DAG)["sources"]} == set(others)


def test_of_many_sources_a_look_reads_some_and_each_in_its_turn(flights, others, lately, monkeypatch, start):
    for source in (HERE["source"], *others):
        assert flights.store.put_ended_sums(source, EndedSums(start=start, counted_to=start + SLOT, completed=1), None)
    monkeypatch.setattr(in_all, "ROWS", in_all.SLOTS + 1)
    read = []
    kind = type(flights.store)
    newest = kind.ended_sums
    monkeypatch.setattr(
        kind, "ended_sums", lambda store, source, limit: read.append(source) or newest(store, source, limit)
    )
    pages = [lately() for _ in range(5)]
    assert [page["behind"] for page in pages] == [3, 2, 1, 0, 0]
    assert pages[-1]["counted"] == 3
    assert sorted(read[:4]) == sorted([HERE["source"], *others])
    assert read[4] == read[0]
    assert not lately()["by_duty"], "nobody has counted for an hour"
    monkeypatch.setattr(in_all, "LIFE", 60.0)
    before = len(read)
    lately()
    assert len(read) == before


def test_the_pace_of_each_is_told(flights, others, lately):
    newest = slot_of(flights.store.now() - LATE)
    for start in (newest - SLOT, newest):
        row = EndedSums(start=start, counted_to=start + SLOT, completed=10)
        assert flights.store.put_ended_sums(HERE["source"], row, None)
    found = {each["source"]: each["per_minute"] for each in lately()["sources"]}
    assert found == {HERE["source"]: 2.0}


@pytest.fixture
def reads(flights, monkeypatch) -> list[tuple[str, int, int]]:
    """Of which source sums were read, how many at most, and how many there were."""
    read, kind = [], type(flights.store)
    newest = kind.ended_sums

    def heard(store, source, limit):
        rows = newest(store, source, limit)
        read.append((source, limit, len(rows)))
        return rows

    monkeypatch.setattr(kind, "ended_sums", heard)
    return read


def test_a_day_is_read_once_and_then_what_is_new(flights, others, lately, reads):
    newest = slot_of(flights.store.now() - LATE)
    for source in (HERE["source"], *others):
        for ago in range(MOST_SLOTS + 1):
            row = EndedSums(start=newest - ago * SLOT, counted_to=newest - ago * SLOT + SLOT, completed=1)
            assert flights.store.put_ended_sums(source, row, None)
    page = lately(day=True)
    assert (page["number"], page["of"], page["counted"], page["behind"]) == (MOST_SLOTS, 3, 2, 0)
    assert sum(slot["completed"] for slot in page["slots"]) in {2 * MOST_SLOTS, 2 * MOST_SLOTS - 2}
    assert page["sources"] == [], "pictures are of three hours"
    assert reads == [(source, MOST_SLOTS + 1, MOST_SLOTS + 1) for source in ("a|PARTITION", "b|PARTITION")]
    del reads[:]
    changed = EndedSums(start=newest, counted_to=newest + SLOT, completed=41)
    [before, *_] = flights.store.ended_sums("a|PARTITION", 1)
    assert flights.store.put_ended_sums("a|PARTITION", changed, before.counted_to)
    again = lately(day=True)
    assert sum(slot["completed"] for slot in again["slots"]) == sum(each["completed"] for each in page["slots"]) + 40
    assert all(limit <= 3 for _, limit, _ in reads[1:]), reads


def test_of_a_day_of_many_sources_a_look_reads_as_many_as_fit(flights, others, lately, reads, monkeypatch):
    monkeypatch.setattr(in_all, "A_DAY", in_all.Lately(MOST_SLOTS, 9))
    monkeypatch.setattr(in_all, "ROWS", MOST_SLOTS + 2)
    pages = [lately(day=True) for _ in range(2)]
    assert [(page["behind"], page["of"]) for page in pages] == [(1, 3), (0, 3)]
    assert {source for source, *_ in reads} == {HERE["source"], *others[:2]}, "no upkeep"


def test_where_nothing_is_kept_or_counted_that_is_said(flights, lately, monkeypatch):
    page = lately()
    assert (page["kept"], page["of"], page["counted"], page["start"], page["sources"]) == (True, 1, 0, None, [])
    monkeypatch.setattr(type(flights.store), "parts", lambda _: StoreParts())
    assert lately()["kept"] is False


def test_the_sums_of_no_more_sources_are_kept_than_fit(flights, others, lately, monkeypatch):
    monkeypatch.setattr(in_all, "LATELY", in_all.Lately(in_all.SLOTS, 2))
    lately()
    assert len(in_all.LATELY._known) == 2


def test_who_does_not_see_the_source_is_told_nothing(flights, ask):
    assert ask(teams=["theirs"]).status_code == 404
    assert ask(source="nope|PARTITION").status_code == 404
