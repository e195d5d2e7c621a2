"""Every number on the board leads to a list of exactly those rows."""

from __future__ import annotations

import pytest

from airflow_coordination.board import counting
from airflow_coordination.board.models import Wanted
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.monitoring.states import STATES, WORDS
from airflow_coordination.protocol.beside.parts import StoreParts
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.statements import ranges
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.creation import HOSTILE_KEYS
from tests.integration.board.conftest import OURS, TEAM_DAG
from tests.unit.monitoring.words import SINCE, one_of_each
from tests.unit.typed import understood


@pytest.fixture
def ask(store, client, token):
    """A source with partitions in each word: for an hour from now on nothing of that changes."""
    clock = FakeClock(store.now() - SINCE)
    one_of_each(open_store(store.reference, clock=clock), clock).supplying.register(dag_id=TEAM_DAG)
    here = {"store": "coordination_default", "source": "words|PARTITION"}
    headers = {"Authorization": f"Bearer {token('viewer', ['ours'])}"}
    return lambda path, **given: client.get(f"/api/v1/{path}", params={**here, **given}, headers=headers).json()


def test_a_list_is_asked_for_by_every_word_and_by_the_states_of_before():
    assert set(Wanted) == {*WORDS, *STATES}


def test_each_number_leads_to_a_list_and_a_map_of_exactly_those(ask):
    [found] = ask("sources")["stores"][0]["sources"]
    numbers = found["numbers"]["in_words"]
    assert sum(numbers.values()) == 22
    for word, number in numbers.items():
        rows = ask("partitions", status=word)["partitions"]
        assert (len(rows), {row["word"] for row in rows}) == (number, {word})
        tiles = ask("map", status=word)["tiles"]
        assert (len(tiles), {tile["word"] for tile in tiles}) == (number, {word})


def test_where_in_the_keys_adds_up_and_leads_to_exactly_those(ask, monkeypatch):
    """Each range is its list, word by word; all of them together are the numbers of the source."""
    monkeypatch.setattr(counting, "RANGES", 5)
    found = ask("ranges")
    assert (len(found["ranges"]), found["said"]) == (5, None)
    [numbers] = [each["numbers"]["in_words"] for each in ask("sources")["stores"][0]["sources"]]
    assert {word: sum(each["counts"][word] for each in found["ranges"]) for word in WORDS} == numbers
    for each in found["ranges"]:
        bounds = {"from": each["first"], "to": each["last"]}
        rows = ask("partitions", **bounds)["partitions"]
        assert {word: sum(row["word"] == word for row in rows) for word in WORDS} == each["counts"]
        assert (rows[0]["key"], rows[-1]["key"]) == (each["first"], each["last"])
        assert [tile["key"] for tile in ask("map", **bounds)["tiles"]] == [row["key"] for row in rows]
        parked = ask("partitions", status="parked", **bounds)["partitions"]
        assert len(parked) == each["counts"]["parked"]


def test_hostile_keys_are_the_ends_of_ranges(flights, client, token, monkeypatch):
    monkeypatch.setattr(counting, "RANGES", 1_000)
    flights.create_partitions(HOSTILE_KEYS)
    client.headers["Authorization"] = f"Bearer {token('viewer', ['ours'])}"
    here = {"store": "coordination_default", "source": "flights|PARTITION"}
    found = client.get("/api/v1/ranges", params=here).json()["ranges"]
    assert [each["first"] for each in found] == sorted([*HOSTILE_KEYS, "a-secret-key"], key=str.encode)
    for each in found:
        params = {**here, "from": each["first"], "to": each["last"]}
        page = client.get("/api/v1/partitions", params=params).json()
        assert [row["key"] for row in page["partitions"]] == [each["first"]]
        listed = understood(page["typed"])
        assert (listed.key_from, listed.key_to) == (each["first"], each["last"])


def test_what_is_shown_between_two_keys_is_what_is_acted_on(flights, client, token):
    flights.create_partitions([f"k{number}" for number in range(9)])
    headers = {"Authorization": f"Bearer {token('user', ['ours'])}", **OURS}
    body = {"store": "coordination_default", "source": "flights|PARTITION", "action": "park"}
    meant = {"key_from": "k3", "key_to": "k5"}
    found = client.post("/api/v1/actions/dry-run", headers=headers, json={**body, "filter": meant}).json()
    assert [each["key"] for each in found["meant"]] == ["k3", "k4", "k5"]


def test_more_than_is_looked_at_one_by_one_is_said(ask, monkeypatch):
    monkeypatch.setattr(ranges, "LOOKED_AT", 1)
    found = ask("ranges")
    assert "only the first" in found["said"]
    assert sum(sum(each["counts"].values()) for each in found["ranges"]) == 22


def test_a_store_that_counts_no_ranges_says_why(ask, store, monkeypatch):
    monkeypatch.setattr(type(store), "parts", lambda _: StoreParts())
    found = ask("ranges")
    assert (found["ranges"], "This store counts no ranges of keys" in found["said"]) == (None, True)


def test_the_number_of_an_error_leads_to_those_that_have_it_and_to_no_other(ask, store):
    made = SourceCoordinator(store, "words", "worker", max_failures=1)
    made.create_partitions([f"bad{number}" for number in range(5)])
    for number in range(5):
        error = f"no file {number}" if number < 3 else f"no file {number} in the folder"
        made.fail(made.acquire_partition(f"bad{number}"), error)
    groups = {each["error"]: each for each in ask("source")["errors"]}
    assert {error: each["number"] for error, each in groups.items()}["no file 0"] == 3
    assert groups["no file 0"]["like"] == "no file"
    for each in groups.values():
        rows = ask("partitions", status="parked", alike=each["alike"])["partitions"]
        assert len(rows) == each["number"]
