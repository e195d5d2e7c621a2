"""What people do on the board: tried first, on what was counted, in their own name."""

from __future__ import annotations

import pytest

from airflow_coordination.board import acting
from airflow_coordination.board.action_models import OfferedAction
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.people import People
from airflow_coordination.monitoring.acting import OFFERED
from airflow_coordination.monitoring.states import PARKED
from airflow_coordination.testing.conformance.creation import HOSTILE_KEYS
from airflow_coordination.values.errors import OutcomeUnknownError, StoreUnavailableError
from airflow_coordination.values.status import PartitionStatus
from tests.integration.board.conftest import OURS

KEYS = [f"2014-{number:02}" for number in range(1, 13)]
HERE = {"store": "coordination_default", "source": "flights|PARTITION"}


@pytest.fixture
def parked(flights):
    """Twelve months that are parked, for two reasons."""
    flights.create_partitions(KEYS)
    flights = SourceCoordinator(flights.store, "flights", "somebody", max_failures=1)
    for number, key in enumerate(KEYS):
        flights.fail(flights.acquire_partition(key), "OutOfMemory in stage 3" if number % 2 else "no such file")
    return flights


@pytest.fixture
def post(client, token):
    def post(path, who=("user", "ours"), **body):
        headers = OURS | {"Authorization": f"Bearer {token(who[0], [who[1]])}"}
        return client.post(f"/api/v1/actions{path}", headers=headers, json={**HERE, **body})

    return post


@pytest.fixture
def tried(post):
    """Try an action; return what would happen."""

    def tried(action="reopen", **given):
        answer = post("/dry-run", action=action, **given)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return tried


def test_what_the_board_offers_is_what_the_command_line_offers():
    assert [str(action) for action in OfferedAction] == [str(action) for action in OFFERED]


def test_a_dry_run_counts_samples_and_changes_nothing(parked, tried):
    found = tried(filter={"status": PARKED})
    assert found["sentence"] == "12 partition(s) of source flights are PARKED. These are the first 5 by key."
    assert [one["key"] for one in found["samples"]] == KEYS[:5]
    assert (found["matching"], found["fit"], found["refused"], found["after"]) == (12, 12, 0, None)
    assert parked.counts()[PartitionStatus.CLOSED] == 12


def test_what_was_counted_is_done_in_the_user_s_own_name(parked, post, tried, client, token):
    found = tried(filter={"error_like": "outofmemory", "key_prefix": "2014"})
    assert found["matching"] == 6
    done = post("", action="reopen", why="more memory", meant=found["meant"])
    assert done.json() == {"done": 6, "refusals": [], "problem": None}
    assert {one.key for one in parked.partitions(PartitionStatus.CLOSED)} == set(KEYS[::2])
    [line] = parked.store.audit("flights|PARTITION", "2014-02")
    assert (line["action"], line["by"], line["why"]) == ("reopen", "user-of-['ours']", "more memory")
    headers = {"Authorization": f"Bearer {token('viewer', ['ours'])}"}
    happened = client.get("/api/v1/partition", params={**HERE, "key": "2014-02"}, headers=headers).json()["events"]
    assert [one["what"] for one in happened] == ["created", "failed", "reopen"]
    assert (happened[-1]["who"], happened[-1]["why"]) == ("user-of-['ours']", "more memory")


def offers(answer):
    return [offer["action"] for offer in answer.json()["offers"]]


def test_only_what_fits_is_offered_and_only_to_who_may(parked, client, token):
    def asked(path, role, **given):
        headers = {"Authorization": f"Bearer {token(role, ['ours'])}"}
        return offers(client.get(f"/api/v1/{path}", params={**HERE, **given}, headers=headers))

    assert asked("partitions", "user") == [str(action) for action in OFFERED]
    assert asked("partition", "user", key="2014-01") == [
        *("reopen", "reset", "finish"),  # nothing to take back
        "reset and run",
    ]
    assert asked("partition", "viewer", key="2014-01") == asked("partitions", "viewer") == []


@pytest.mark.parametrize("field", ["by", "user", "actor"])
def test_nobody_names_another_as_the_one_who_acts(parked, post, tried, field):
    meant = tried(keys=KEYS[:1])["meant"]
    assert post("", action="reopen", why="w", meant=meant, **{field: "somebody else"}).status_code == 422
    assert parked.store.audit("flights|PARTITION", KEYS[0]) == []


def test_what_moved_on_is_refused_with_what_it_is_now(parked, post, tried):
    meant = tried("reset", filter={"status": PARKED})["meant"]
    parked.people.reopen("2014-01", by="ana", why="first")
    parked.people.delete("2014-02", by="ana", why="first")
    done = post("", action="reset", why="w", meant=meant).json()
    assert done["done"] == 10
    moved, deleted = done["refusals"]
    assert moved["key"] == "2014-01"
    assert moved["reason"].startswith("Cannot reset partition '2014-01': it changed meanwhile and is UNASSIGNED now.")
    assert (deleted["key"], "does not exist" in deleted["reason"]) == ("2014-02", True)
    assert parked.partition("2014-01").rank.name == "REOPENED"


def test_of_two_who_act_at_once_one_is_told(parked, post, tried):
    meant = tried("park", keys=["a-secret-key"])["meant"]
    assert post("", who=("admin", ""), action="park", why="w", meant=meant).json()["done"] == 1
    second = post("", action="park", why="w", meant=meant).json()
    assert (second["done"], "is CLOSED (parked) now" in second["refusals"][0]["reason"]) == (0, True)


def test_what_does_not_fit_is_said_before(parked, post, tried):
    found = tried("release", filter={"status": PARKED})
    assert (found["fit"], found["refused"], len(found["refusals"])) == (0, 12, 10)
    assert "it is CLOSED (parked); release needs ASSIGNED" in found["refusals"][0]["reason"]


def test_a_large_source_is_counted_in_portions(parked, tried, monkeypatch):
    monkeypatch.setattr(acting, "ROWS", 5)
    monkeypatch.setattr(acting, "AT_ONCE", 4)
    so_far, meant, sentences = {"matching": 0, "meant": 0, "after": None}, [], []
    while not sentences or so_far["after"]:
        found = tried(filter={"error_like": "memory"}, **so_far)
        meant += found["meant"]
        sentences.append(found["sentence"])
        so_far = {"matching": found["matching"], "meant": len(meant), "after": found["after"]}
    assert [one["key"] for one in meant] == KEYS[1:8:2]
    assert sentences[:-1] == [None] * 2
    assert sentences[-1].startswith("6 partition(s) of source flights have a last error with 'memory' in it.")
    assert sentences[-1].endswith(" At most 4 are meant at once: act again for the others.")


def test_a_retract_names_the_output_that_is_at_stake(parked, tried):
    [sample] = tried("retract", keys=["2014-01"])["samples"]
    assert (sample["datasets"], sample["rows"]) == (None, 0)


def test_a_filter_that_finds_nothing_says_so(parked, tried):
    found = tried(filter={"status": "COMPLETED"})
    assert (found["sentence"], found["meant"]) == ("0 partition(s) of source flights are COMPLETED.", [])


def test_hostile_keys_are_acted_on_like_any_other(flights, post, tried):
    flights.create_partitions(HOSTILE_KEYS)
    for key in HOSTILE_KEYS:
        done = post("", action="park", why="w", meant=tried("park", keys=[key])["meant"])
        assert done.json()["done"] == 1
        assert flights.partition(key).parked


@pytest.mark.parametrize("key", ["absent", "x" * 2048])
def test_a_key_that_is_gone_is_not_there(flights, post, key):
    assert post("/dry-run", action="park", keys=[key]).status_code == 404


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "names no partition, and its filter nothing"),
        ({"filter": {}}, "Name partitions, or narrow them by state, error or key"),
        ({"keys": ["k"], "filter": {"status": "PARKED"}}, "names partitions beside a filter"),
        ({"filter": {"key_prefix": "\x00"}}, "contains NUL"),
        ({"keys": ["x" * 2049]}, "at most 2048 characters"),
        ({"keys": ["\u00e9" * 1500]}, "3000 bytes"),
        ({"keys": ["k"] * 26}, "at most 25 items"),
        ({"filter": {"error_like": ""}}, "at least 1 character"),
        ({"action": "delete", "keys": ["k"]}, "release"),
    ],
)
def test_what_means_nothing_is_refused(flights, post, given, said):
    answer = post("/dry-run", **{"action": "park", **given})
    assert (answer.status_code, said in answer.text) == (422, True), answer.text


def test_an_action_without_a_reason_is_refused(parked, post, tried):
    meant = tried(keys=KEYS[:2])["meant"]
    answer = post("", action="reopen", why=" ", meant=meant)
    assert (answer.status_code, "Say who acts and why" in answer.json()["detail"]) == (422, True)
    assert parked.counts()[PartitionStatus.CLOSED] == 12


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StoreUnavailableError("act", "secret-host is gone"), {"done": 1, "refusals": [], "problem": "gone"}),
        (OutcomeUnknownError("act", "secret-host is gone"), {"done": 2, "refusals": ["unknown"], "problem": None}),
    ],
)
def test_what_a_store_that_stops_answering_leaves_undone_is_said(parked, post, tried, monkeypatch, error, said):
    meant = tried(keys=KEYS[:3])["meant"]
    do = People.act

    def then_gone(people, action, key, *given, **named):
        if key == KEYS[1]:
            raise error
        return do(people, action, key, *given, **named)

    monkeypatch.setattr(People, "act", then_gone)
    answer = post("", action="reopen", why="w", meant=meant)
    assert "secret-host" not in answer.text
    done = answer.json()
    assert (done["done"], len(done["refusals"])) == (said["done"], len(said["refusals"]))
    if said["problem"]:
        assert done["problem"].startswith("The store of connection coordination_default does not answer.")
    else:
        assert done["refusals"][0]["reason"].startswith("It is not known whether this was done")


def test_a_token_that_has_expired_is_told_from_one_that_is_wrong(client, flights):
    from airflow.api_fastapi.app import create_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    user = SimpleAuthManagerUser(username="ana", role="user", teams=["ours"])
    expired = create_auth_manager().generate_jwt(user, expiration_time_in_seconds=-60)
    headers = OURS | {"Authorization": f"Bearer {expired}"}
    answer = client.post("/api/v1/actions/dry-run", headers=headers, json={**HERE, "action": "park", "keys": ["k"]})
    assert (answer.status_code, answer.json()["detail"]) == (401, "Token Expired")
