"""What people did: one line for what was done to many at once, told to those only who may see its source."""

from __future__ import annotations

import shlex
from datetime import timedelta
from functools import partial

import pytest

from airflow_coordination.board import deeds
from airflow_coordination.duties.configuring import set_config
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.planning.intervals import interval_of
from airflow_coordination.planning.view import changing
from airflow_coordination.values.names import everybody
from tests.integration.board.conftest import OPEN_DAG, OURS, TEAM_DAG

HERE = {"store": "coordination_default", "source": "flights|PARTITION"}
NIGHT = [f"k{number:02}" for number in range(40)]


@pytest.fixture
def ask(client, token):
    def ask(role="viewer", teams=("ours",), **given):
        headers = {"Authorization": f"Bearer {token(role, list(teams))}"}
        return client.get("/api/v1/audit", params={"store": HERE["store"], **given}, headers=headers)

    return ask


@pytest.fixture
def acted(flights, client, token):
    """Forty are parked on the board in two requests, one by ana; the source is paused; another DAG's is, too."""
    flights.create_partitions(NIGHT)
    headers = {"Authorization": f"Bearer {token('user', ['ours'])}", **OURS}
    for some in (NIGHT[:25], NIGHT[25:]):
        tried = client.post("/api/v1/actions/dry-run", json={**HERE, "action": "park", "keys": some}, headers=headers)
        body = {**HERE, "action": "park", "why": "bad files", "batch": "b", "meant": tried.json()["meant"]}
        assert client.post("/api/v1/actions", json=body, headers=headers).json()["done"] == len(some)
    flights.people.park("a-secret-key", "ana", "b")
    flights.pausing.pause("carla", "rates", None)
    other = SourceCoordinator(flights.store, "open", "somebody")
    other.supplying.register(dag_id=OPEN_DAG)
    other.pausing.pause("bo", "<script>", None)
    return flights


def told(page):
    return [(each["by"], each["action"], each["number"], each["name"]) for each in page["deeds"]]


def test_what_was_done_to_many_at_once_is_one_line(acted, ask):
    page = ask(source=HERE["source"]).json()
    [carla, ana, many] = page["deeds"]
    assert (carla["by"], carla["action"], carla["number"], carla["keys"]) == ("carla", "pause", 0, [])
    assert (ana["by"], ana["number"], ana["keys"], ana["why"]) == ("ana", 1, ["a-secret-key"], "b")
    assert (many["action"], many["number"], many["keys"], many["why"]) == ("park", 40, NIGHT[:5], "bad files")
    assert many["since"] <= many["at"] <= ana["at"]
    assert page["typed"].endswith("audit flights")
    assert [each["by"] for each in ask(source=HERE["source"], by="ana").json()["deeds"]] == ["ana"]
    assert ask(source=HERE["source"], since=carla["at"]).json()["deeds"] == [carla]


@pytest.mark.parametrize("source", [HERE["source"], None])
def test_pages_have_each_line_once(acted, ask, source):
    of = {"source": source} if source else {}
    whole, found, after = ask(**of).json()["deeds"], [], ""
    while after is not None:
        page = ask(**of, limit=1, after=after).json()
        found, after = found + page["deeds"], page["after"]
    assert found == whole


def test_what_was_done_to_many_is_not_cut_where_the_lines_end(acted, ask, monkeypatch):
    """Nor are more lines read for a page than a page has, but for what is longer by itself."""
    read = []
    kind = type(acted.store)
    audit = kind.audit

    def heard(store, *given):
        lines = audit(store, *given)
        read.append(len(lines))
        return lines

    monkeypatch.setattr(kind, "audit", heard)
    monkeypatch.setattr(deeds, "AUDITED", 41)
    first = ask(source=HERE["source"]).json()
    assert [(each["by"], each["number"]) for each in first["deeds"]] == [("carla", 0), ("ana", 1)]
    then = ask(source=HERE["source"], after=first["after"]).json()
    assert [(each["why"], each["number"]) for each in then["deeds"]] == [("bad files", 40)]
    monkeypatch.setattr(deeds, "AUDITED", 30)
    long = ask(source=HERE["source"], after=first["after"]).json()
    rest = ask(source=HERE["source"], after=long["after"]).json()
    assert [each["number"] for page in (long, rest) for each in page["deeds"]] == [30, 10]
    assert read == [41, 40, 30, 10]
    assert rest["after"] is None


NARROWED = {
    ("action", "pause"): ["carla"],
    ("action", "no such"): [],
    ("reach", "source"): ["carla"],
    ("reach", "one"): ["ana"],
    ("reach", "many"): ["user"],
    ("has", "RATES"): ["carla"],
    ("has", "k39"): ["user"],
    ("has", "secret-key"): ["ana"],
    ("by", "ana"): ["ana"],
}
"""Whose deeds are left; many are parked by who is logged in."""


@pytest.mark.parametrize("given", NARROWED)
@pytest.mark.parametrize("source", [HERE["source"], None])
def test_it_is_narrowed_by_who_what_to_how_much_and_a_text(acted, ask, given, source):
    of = {"source": source} if source else {}
    name, value = given
    whole = [each for each in ask(**of).json()["deeds"] if each["name"] == "flights"]
    wanted = ["user" if each["number"] > 1 else each["by"] for each in whole]
    page = ask(**of, **{name: value}).json()
    found = ["user" if each["number"] > 1 else each["by"] for each in page["deeds"] if each["name"] == "flights"]
    assert found == [each for each in wanted if each in NARROWED[given]]
    assert {"ana", "carla"} <= set(page["people"])
    assert {"park", "pause"} == set(page["actions"])


def test_what_one_may_narrow_it_by_is_what_one_sees(acted, ask):
    theirs = ask(teams=["theirs"]).json()
    assert (theirs["people"], theirs["actions"]) == (["bo"], ["pause"])
    assert theirs["of"] == [{"source": "open|PARTITION", "name": "open"}]
    assert {each["name"] for each in ask().json()["of"]} == {"flights", "open"}
    assert ask(source=HERE["source"]).json()["of"] == []


def test_the_command_asks_the_same(acted, ask):
    given = {"by": "-a b", "action": "park", "reach": "one", "has": "it's"}
    since = "2026-01-31T18:00:00+01:00"
    typed = ask(source=HERE["source"], **given, since=since).json()["typed"]
    narrowed = ["--by=-a b", "--action=park", "--reach=one", "--has=it's", f"--since={since}"]
    assert shlex.split(typed)[2:] == ["audit", "flights", *narrowed]


@pytest.mark.parametrize("source", [HERE["source"], ""])
def test_the_command_says_what_was_set_by_the_same_filters(acted, client, token, source):
    headers = {"Authorization": f"Bearer {token('admin', [])}"}
    given = {"by": "-a b", "has": "it's", "since": "2026-01-31T18:00:00+01:00"}
    params = {"store": HERE["store"], "source": source, **given}
    typed = client.get("/api/v1/documents", params=params, headers=headers).json()["typed"]
    of = ["flights"] if source else []
    assert shlex.split(typed)[2:] == ["audit", *of, "--settings", *(f"--{name}={given[name]}" for name in given)]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("document", {"document": "rules/clean"}),
        ("before", {"before": 3, "source": HERE["source"]}),
        ("by", {"by": "ana", "document": "rules/clean", "source": HERE["source"]}),
        ("has", {"has": "x", "document": "rules/clean", "source": HERE["source"]}),
    ],
)
def test_what_would_narrow_no_settings_is_refused_by_its_name(acted, client, token, name, given):
    headers = {"Authorization": f"Bearer {token('admin', [])}"}
    answer = client.get("/api/v1/documents", params={"store": HERE["store"], **given}, headers=headers)
    assert (answer.status_code, name in answer.text) == (422, True)


def test_one_person_is_looked_for_in_a_page_and_before_it(acted, ask, monkeypatch):
    monkeypatch.setattr(deeds, "AUDITED", 2)
    page = ask(source=HERE["source"], by="ana").json()
    assert page["deeds"] == []
    assert ask(source=HERE["source"], by="ana", after=page["after"]).json()["deeds"][0]["by"] == "ana"
    late = ask(source=HERE["source"]).json()["deeds"][0]["at"]
    assert ask(source=HERE["source"], since=late, limit=1).json()["after"] is not None
    assert ask(source=HERE["source"], since=late, limit=9).json()["after"] is not None


def test_of_all_sources_those_are_told_that_one_sees(acted, ask):
    assert {name for *_, name in told(ask().json())} == {"flights", "open"}
    theirs = ask(teams=["theirs"])
    assert told(theirs.json()) == [("bo", "pause", 0, "open")]
    assert "a-secret-key" not in theirs.text
    assert "carla" not in theirs.text
    assert ask(teams=["theirs"], source=HERE["source"]).status_code == 404


def test_what_became_of_it_is_told_where_it_is_asked_for(acted, ask):
    for key in NIGHT[:3]:
        acted.people.reopen(key, "bo", "mended")
    acted.pausing.resume("carla", "rates are right")
    acted.complete(acted.acquire_partition(NIGHT[0]))
    page = ask(source=HERE["source"], became=True).json()
    became = {(each["action"], each["keys"][0] if each["keys"] else None): each["became"] for each in page["deeds"]}
    assert became == {
        ("reopen", "k00"): "completed since",
        ("reopen", "k01"): "not taken yet",
        ("reopen", "k02"): "not taken yet",
        ("pause", None): "resumed since",
        ("resume", None): "goes on since",
        ("park", "a-secret-key"): "still parked",
        ("park", "k00"): "37 still parked, 2 not parked any more: claimable, 1 not parked any more: completed",
    }
    assert {each["became"] for each in ask(source=HERE["source"]).json()["deeds"]} == {None}
    assert ask(became=True).json()["deeds"][0]["became"] is not None
    assert "k00" not in ask(teams=["theirs"], became=True).text


def test_of_many_sources_it_is_said_in_how_many_was_looked(acted, ask, monkeypatch):
    monkeypatch.setattr(deeds, "SOURCES", 1)
    page = ask().json()
    assert (page["sources"], page["all_sources"]) == (1, False)


@pytest.mark.parametrize(
    "given",
    [
        {"since": "yesterday"},
        {"reach": "all"},
        {"after": "-1"},
        {"limit": 0},
        {"after": "1000000000"},
        {"after": "nowhere", "source": HERE["source"]},
        {"after": "9" * 30, "source": HERE["source"]},
    ],
)
def test_what_cannot_be_is_refused_by_its_name(acted, ask, given):
    answer = ask(**given)
    assert answer.status_code == 422
    assert next(iter(given)) in answer.text


def test_a_time_without_a_zone_is_refused(acted, ask):
    answer = ask(since="2026-01-01T00:00:00")
    assert answer.status_code == 422
    assert "since" in answer.text


@pytest.mark.parametrize("where", [{"store": "elsewhere"}, {"source": "nope|PARTITION"}, {"source": "\x00"}])
def test_what_is_not_there_is_not_found(acted, ask, where):
    assert ask(**where).status_code == 404


def test_a_store_of_before_has_a_line_for_each(acted, ask, monkeypatch):
    """One from elsewhere knows neither marks nor a limit."""
    kind = type(acted.store)
    audit = kind.audit

    def before(store, source, key):
        return [
            {name: line[name] for name in ("key", "at", "action", "by", "why")} for line in audit(store, source, key)
        ]

    monkeypatch.setattr(kind, "audit", before)
    assert len(ask(source=HERE["source"]).json()["deeds"]) == 42
    assert TEAM_DAG not in ask().text


def test_where_all_sources_end_is_said_with_the_sources_that_have_more(acted, ask, monkeypatch):
    assert ask().json()["ends"] == []
    monkeypatch.setattr(deeds, "LINES", 3)
    page = ask().json()
    assert page["after"] is None
    [end] = page["ends"]
    assert (end["source"], end["name"]) == (HERE["source"], "flights")
    oldest = [each["at"] for each in page["deeds"] if each["name"] == "flights"][-1]
    assert end["at"] <= oldest
    older = [each for each in ask(source=end["source"]).json()["deeds"] if each["since"] < end["at"]]
    assert older, "the page of the source leads on"
    assert ask(since=oldest).json()["ends"] == [], "nothing that is asked for is older"
    assert ask(teams=["theirs"]).json()["ends"] == []


@pytest.mark.parametrize(
    ("role", "team", "sees"),
    [
        ("admin", "ours", {"the source's", "all sources'"}),
        ("viewer", "ours", {"the source's"}),
        ("viewer", "theirs", set()),
    ],
)
def test_what_was_set_is_seen_by_who_sees_the_source_and_that_of_all_by_who_may_edit_all_dags(
    acted, client, token, role, team, sees
):
    set_rules(acted, "clean", '[{"type": "loadForever"}]', "dora", "<script>")
    set_config(acted, {"maxSegmentsToMove": 9}, "ana", "slow")
    every = {
        "the source's": ("dora", "flights", "the rules of clean"),
        "all sources'": ("ana", None, "the configuration of the duties"),
    }
    headers = {"Authorization": f"Bearer {token(role, [team])}"}

    def told(**of):
        answer = client.get("/api/v1/documents", params={"store": HERE["store"], **of}, headers=headers)
        if answer.status_code == 404:
            assert "dora" not in answer.text
            return None
        return {(each["by"], each["name"], each["what"]) for each in answer.json()["changes"]}

    assert told() == {every[each] for each in sees}
    assert told(source=HERE["source"]) == ({every["the source's"]} if sees else None)
    assert told(source=everybody(None)) == ({every["all sources'"]} if role == "admin" else None)
    assert told(source="no|PARTITION") is None


def _hidden(interval, now, view):
    return changing.hidden(view, "clean", interval, "ana", "wrong", now)


def test_what_duties_did_is_told_apart_from_what_people_did(flights, ask, client, token):
    flights.pausing.pause("watchLosses", "8 of 9 leases were lost", None, lasts=timedelta(minutes=2))
    flights.pausing.resume("ana", "they are back")
    now = flights.store.now()
    for by, month in (("runRules", "2013-01/P1M"), ("ana", "2013-02/P1M")):
        flights.documents.change_view(partial(_hidden, interval_of("interval", month), now), by, "w")
    page = ask("admin", source=HERE["source"]).json()
    assert {each["by"]: each["duty"] for each in page["deeds"]} == {"watchLosses": True, "ana": False}
    headers = {"Authorization": f"Bearer {token('admin', [])}"}
    changes = client.get("/api/v1/documents", params=HERE, headers=headers).json()["changes"]
    assert [(each["by"], each["duty"]) for each in changes] == [("ana", False), ("runRules", True)]


def test_one_document_leads_on_and_names_the_command_that_prints_all_of_it(acted, client, token):
    for period in ("P1M", "P2M", "P3M"):
        set_rules(acted, "clean", f'[{{"type": "dropBeforeByPeriod", "period": "{period}"}}]', "dora", "w")
    headers = {"Authorization": f"Bearer {token('admin', [])}"}
    given = {**HERE, "document": "rules/clean", "before": 3}
    page = client.get("/api/v1/documents", params=given, headers=headers).json()
    assert [each["version"] for each in page["changes"]] == [2, 1]
    assert page["changes"][0]["differences"] == [{"key": "[0].period", "old": '"P1M"', "new": '"P2M"'}]
    assert page["changes"][0]["typed"] == "airflow coordination rules history flights --dataset clean"
    assert (page["since"], page["documents"]) == (None, 1)


def test_what_serves_all_sources_leads_on_to_its_versions_before(acted, ask, client, token):
    for number in (8, 9):
        set_config(acted, {"maxSegmentsToMove": number}, "ana", "slow")
    headers = {"Authorization": f"Bearer {token('admin', [])}"}
    page = client.get("/api/v1/documents", params={"store": HERE["store"]}, headers=headers).json()
    newest = next(each for each in page["changes"] if each["name"] is None)
    of = {"source": newest["source"], "document": newest["document"], "before": newest["version"]}
    older = client.get("/api/v1/documents", params={"store": HERE["store"], **of}, headers=headers).json()
    assert ([each["version"] for each in older["changes"]], older["typed"]) == ([1], None)
    beside = ask("admin", source=newest["source"]).json()
    assert (beside["deeds"], beside["typed"]) == ([], None)
    assert ask("viewer", source=newest["source"]).status_code == 404
    assert ask("admin", source=f"other|{newest['source']}").status_code == 404, "of another deployment"
