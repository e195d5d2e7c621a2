"""Holding a whole source back on the board: tried first, as it was seen then, in the user's own name."""

from __future__ import annotations

import pytest

from airflow_coordination.board import acting
from airflow_coordination.leases.people import Pausing
from airflow_coordination.protocol.beside.parts import StoreParts
from airflow_coordination.values.errors import OutcomeUnknownError, StoreUnavailableError
from tests.integration.board.conftest import OURS

HERE = {"store": "coordination_default", "source": "flights|PARTITION"}


@pytest.fixture
def post(client, token):
    def post(path="", who=("user", "ours"), **body):
        headers = OURS | {"Authorization": f"Bearer {token(who[0], [who[1]])}"}
        return client.post(f"/api/v1/pause{path}", headers=headers, json={**HERE, **body})

    return post


@pytest.fixture
def offered(client, token):
    def offered(role="user"):
        headers = {"Authorization": f"Bearer {token(role, ['ours'])}"}
        return client.get("/api/v1/source", params=HERE, headers=headers).json()["pausing"]

    return offered


def test_a_dry_run_says_what_is_at_stake_and_changes_nothing(flights, post):
    flights.create_partitions(["b", "c"])
    flights.acquire_partition("b")
    tried = post("/dry-run", paused=True).json()
    assert tried == {
        "sentence": "2 claimable partition(s) would wait, 1 held one(s) would be finished by who holds them.",
        "refusal": None,
        "stamp": "",
    }
    assert not flights.pausing.current_pause().paused
    assert flights.pausing.pauses() == []


def test_a_pause_of_some_minutes_ends_by_itself(flights, post):
    done = post(paused=True, why="the zone is gone", stamp="", minutes=2).json()
    pause = flights.pausing.current_pause()
    assert done["done"]
    assert f" until {pause.until.isoformat(timespec='seconds')} by " in done["sentence"]
    assert (pause.until - pause.at).total_seconds() == 120
    for minutes in (0, -1, 1e9, "soon"):
        assert post(paused=True, why="why", stamp=pause.op, minutes=minutes).status_code == 422


def test_a_source_is_paused_and_goes_on_in_the_user_s_own_name(flights, post, offered):
    assert offered()["action"] == "pause"
    done = post(paused=True, why="the schema changes", stamp=post("/dry-run", paused=True).json()["stamp"]).json()
    assert done["done"]
    assert done["sentence"].startswith("Source flights was paused at ")
    assert done["sentence"].endswith(" by \"user-of-['ours']\", who said 'the schema changes'.")
    assert flights.get_next_partition() is None

    assert offered()["action"] == "resume"
    tried = post("/dry-run", paused=False).json()
    assert (tried["sentence"], tried["refusal"]) == ("1 claimable partition(s) could be acquired again.", None)
    assert post(paused=False, why="it has changed", stamp=tried["stamp"]).json()["done"]
    assert flights.get_next_partition() is not None
    said = [(one["action"], one["by"], one["why"]) for one in flights.pausing.pauses()]
    me = "user-of-['ours']"
    assert said == [("pause", me, "the schema changes"), ("resume", me, "it has changed")]


def test_what_is_offered_is_also_a_command_and_only_for_who_may(flights, offered):
    assert offered()["typed"] == "airflow coordination pause flights --why '…'"
    assert offered("viewer") is None


def test_a_source_that_is_paused_already_is_told_before(flights, post):
    flights.pausing.pause("ana", "first")
    tried = post("/dry-run", paused=True).json()
    assert tried["refusal"].startswith("Cannot pause source 'flights': it was paused at ")
    again = post(paused=True, why="w", stamp=tried["stamp"]).json()
    assert (again["done"], "who said 'first'" in again["sentence"]) == (False, True)
    assert len(flights.pausing.pauses()) == 1


def test_of_two_who_pause_at_once_one_is_told_who_was_faster(flights, post):
    stamp = post("/dry-run", paused=True).json()["stamp"]
    flights.pausing.pause("ana", "faster")
    second = post(paused=True, why="slower", stamp=stamp).json()
    assert not second["done"]
    assert "it was meanwhile paused" in second["sentence"]
    assert "by 'ana'" in second["sentence"]


def test_what_somebody_resumed_since_it_was_seen_stays_resumed(flights, post):
    """Seen paused, resumed, paused again by another: the one who looked at the first pause ends no second one."""
    flights.pausing.pause("ana", "first")
    stamp = post("/dry-run", paused=False).json()["stamp"]
    flights.pausing.resume("ana", "over")
    flights.pausing.pause("ben", "second")
    assert not post(paused=False, why="w", stamp=stamp).json()["done"]
    assert flights.pausing.current_pause().paused


@pytest.mark.parametrize("why", ["", "  "])
def test_without_a_reason_nothing_is_paused(flights, post, why):
    answer = post(paused=True, why=why, stamp="")
    assert (answer.status_code, "why" in answer.json()["detail"]) == (422, True)
    assert not flights.pausing.current_pause().paused


@pytest.mark.parametrize("field", ["by", "user", "actor"])
def test_nobody_names_another_as_the_one_who_pauses(flights, post, field):
    assert post(paused=True, why="w", stamp="", **{field: "somebody else"}).status_code == 422
    assert not flights.pausing.current_pause().paused


def test_a_store_that_stops_answering_is_said_without_its_host(flights, post, monkeypatch):
    def broken(*_):
        raise StoreUnavailableError("pause source 'flights'", "connection to db.internal:5432 refused")

    monkeypatch.setattr(Pausing, "_set_pause", broken)
    answer = post(paused=True, why="w", stamp="")
    assert (answer.status_code, "db.internal" in answer.text) == (503, False)


def test_an_answer_that_was_lost_is_said(flights, post, monkeypatch):
    def lost(*_):
        raise OutcomeUnknownError("pause source 'flights'", "connection to db.internal:5432 was cut")

    monkeypatch.setattr(Pausing, "_set_pause", lost)
    assert post(paused=True, why="w", stamp="").json() == {"done": False, "sentence": acting.UNKNOWN}


def test_a_store_that_knows_of_no_pauses_is_offered_none(flights, offered, monkeypatch):
    monkeypatch.setattr(type(flights.store), "parts", lambda _: StoreParts())
    assert offered() is None
