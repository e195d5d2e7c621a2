"""Every number on the board leads to a list of exactly those rows."""

from __future__ import annotations

import pytest

from airflow_coordination.board.models import Wanted
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.monitoring.states import STATES, WORDS
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from tests.integration.board.conftest import TEAM_DAG
from tests.unit.monitoring.words import SINCE, one_of_each


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
