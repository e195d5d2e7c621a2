"""What only a person can move stands first, and is told to those only who may see its source."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.board import counting, reading
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.protocol.beside.parts import StoreParts
from tests.integration.board.conftest import OPEN_DAG, TEAM_DAG


@pytest.fixture
def look(client, token):
    def look(teams, role="viewer"):
        headers = {"Authorization": f"Bearer {token(role, teams)}"}
        return client.get("/api/v1/sources", headers=headers).json()

    return look


def source(store, name, dag, keys, **settings):
    made = SourceCoordinator(store, name, "worker-1", **settings)
    made.create_partitions(keys)
    made.supplying.register(dag_id=dag)
    return made


def park(made, error):
    made.fail(made.get_next_partition(), error, retry_after=timedelta(0))


@pytest.fixture
def night(store):
    """One source is well, one is paused, one has parked ones, one only expired ones; by name the well one is first."""
    source(store, "a-well", TEAM_DAG, ["k1", "k2"]).complete(
        SourceCoordinator(store, "a-well", "worker-1").acquire_partition("k1")
    )
    source(store, "b-late", TEAM_DAG, ["k1"], ownership_timeout=timedelta(milliseconds=1)).acquire_partition("k1")
    source(store, "c-paused", TEAM_DAG, ["k1", "k2"]).pausing.pause("carla", "rates are wrong", None)
    parked = source(store, "d-parked", TEAM_DAG, ["k1", "k2", "k3"], max_failures=1)
    park(parked, "a-secret-error: one")
    park(parked, "a-secret-error: two")
    source(store, "e-open", OPEN_DAG, ["k1"])
    return store


def names(page):
    of = {(each["store"], each["source"]): each["name"] for store in page["stores"] for each in store["sources"]}
    return [of[tuple(each)] for each in page["order"]]


def test_needs_come_first_and_sources_in_the_order_of_trouble(night, look):
    page = look(["ours"])
    assert [(each["name"], each["kind"], each["number"]) for each in page["needs"]] == [
        ("d-parked", "parked", 2),
        ("c-paused", "paused", 2),
    ]
    assert page["needs"][1]["more"] == "by carla: “rates are wrong” · 2 wait"
    assert page["needs"][0]["since"] <= page["needs"][0]["now"]
    assert names(page) == ["d-parked", "c-paused", "b-late", "a-well", "e-open"]
    sources = {each["name"]: each for each in page["stores"][0]["sources"]}
    assert {name: each["trouble"] for name, each in sources.items()} == {
        "a-well": None, "b-late": "expired", "c-paused": "paused", "d-parked": "parked", "e-open": None,
    }  # fmt: skip
    assert sources["a-well"]["said"] is None
    assert sources["d-parked"]["said"].startswith("2 are parked: a person reopens them.")


def test_what_another_team_must_do_is_told_to_nobody_else(night, look):
    page = look(["theirs"])
    assert page["needs"] == []
    assert names(page) == ["e-open"]
    assert "a-secret-error" not in str(page)


def test_nobody_looks_at_rows_of_a_source_that_has_none_to_look_at(store, monkeypatch):
    """A source where nothing is held or parked costs its counts alone."""
    source(store, "well", TEAM_DAG, ["k1"])
    monkeypatch.setattr(type(store), "page", lambda *asked, **given: pytest.fail("rows were read"))
    assert counting.count(store, "well|PARTITION").needs == ()


def test_of_many_owners_it_is_said_that_there_are_more(store, monkeypatch, look):
    monkeypatch.setattr(counting, "HELD", 2)
    made = source(store, "busy", TEAM_DAG, ["k1", "k2", "k3"])
    for key, owner in (("k1", "a"), ("k2", "a"), ("k3", "b")):
        SourceCoordinator(made.store, "busy", owner).acquire_partition(key)
    [found] = look(["ours"])["stores"][0]["sources"]
    assert (found["owners"], found["all_owners"]) == (1, False)


def test_the_page_of_a_source_says_what_the_overview_says_of_it(night, client, token, look):
    look(["ours"])
    headers = {"Authorization": f"Bearer {token('viewer', ['ours'])}"}
    asked = {"store": "coordination_default", "source": "d-parked|PARTITION"}
    found = client.get("/api/v1/source", params=asked, headers=headers).json()
    assert (found["trouble"], found["in_words"]["parked"]) == ("parked", 2)
    assert found["said"].startswith("2 are parked: a person reopens them.")


def test_of_many_sources_one_look_reads_no_more_rows_than_of_few(store, monkeypatch, look):
    monkeypatch.setattr(counting, "ROWS", 60)
    for number in range(10):
        made = source(store, f"s{number}", TEAM_DAG, [f"k{key}" for key in range(8)], max_failures=1)
        for _ in range(6):
            park(made, "no file")
        made.get_next_partition()
    asked = []
    page = type(store).page

    def noted(store, source, status, after, limit, **more):
        asked.append(limit)
        return page(store, source, status, after, limit, **more)

    monkeypatch.setattr(type(store), "page", noted)
    needs = look(["ours"])["needs"]
    assert sum(asked) <= 60
    assert [(each["number"], each["more"]) for each in needs] == [(6, "3 no file · of the first 3")] * 10


def test_from_a_parked_partition_one_gets_to_the_next(store, client, token):
    made = source(store, "d", TEAM_DAG, ["a", "b", "<c>", "d"], max_failures=1)
    for _ in range(3):
        park(made, "no file")
    headers = {"Authorization": f"Bearer {token('viewer', ['ours'])}"}
    here = {"store": "coordination_default", "source": "d|PARTITION"}

    def beside(key):
        return client.get("/api/v1/partition", params={**here, "key": key}, headers=headers).json()["beside"]

    parked = sorted(each.key for each in made.partitions(parked=True))
    [first, second, third] = [beside(key) for key in parked]
    assert (first["previous"], first["following"], first["place"]) == (None, parked[1], 1)
    assert second == {"previous": parked[0], "following": parked[2], "place": 2, "number": 3, "whole": True}
    assert (third["following"], third["place"]) == (None, 3)
    [other] = {"a", "b", "<c>", "d"} - set(parked)
    assert beside(other) is None


def test_beyond_those_that_are_read_one_still_gets_to_both_sides(store, client, token, monkeypatch):
    monkeypatch.setattr(reading, "PARKED", 2)
    made = source(store, "d", TEAM_DAG, ["a", "b", "<c>", "d", "e"], max_failures=1)
    for _ in range(5):
        park(made, "no file")
    headers = {"Authorization": f"Bearer {token('viewer', ['ours'])}"}
    here = {"store": "coordination_default", "source": "d|PARTITION"}

    def beside(key):
        return client.get("/api/v1/partition", params={**here, "key": key}, headers=headers).json()["beside"]

    behind = {"place": None, "number": 2, "whole": False}
    assert beside("d") == {"previous": "b", "following": "e", **behind}
    assert beside("e") == {"previous": "d", "following": None, **behind}
    assert beside("a") == {"previous": "<c>", "following": "b", "place": 2, "number": 2, "whole": False}
    monkeypatch.setattr(type(store), "parts", lambda _: StoreParts())
    assert beside("d") == {"previous": None, "following": "e", **behind}
