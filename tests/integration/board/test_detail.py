"""One source in detail, the map, and lists narrowed by owner and error."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.board import detail, reading
from airflow_coordination.leases import Owner, SourceCoordinator
from airflow_coordination.stores import StoreParts
from airflow_coordination.testing.conformance.creation import HOSTILE_KEYS
from tests.integration.board.conftest import OURS
from tests.unit.typed import understood, words

TASK = Owner.of_task("host", "flights", "manual__1", "process", 3, 1).text
HOSTILE = "<script>globalThis.hacked = 1</script>\u202e\x1b"


@pytest.fixture
def get(client, token):
    """Ask as a viewer of the team; return what the answer says."""
    client.headers["Authorization"] = f"Bearer {token('viewer', ['ours'])}"
    here = {"store": "coordination_default", "source": "flights|PARTITION"}

    def ask(path, **given):
        answer = client.get(f"/api/v1/{path}", params={**here, **given})
        assert answer.status_code == 200, answer.text
        return answer.json()

    return ask


@pytest.fixture
def post_pause(client, token):
    """Try to pause as one who may."""

    def post(**body):
        headers = OURS | {"Authorization": f"Bearer {token('user', ['ours'])}"}
        here = {"store": "coordination_default", "source": "flights|PARTITION"}
        return client.post("/api/v1/pause/dry-run", headers=headers, json={**here, **body}).json()

    return post


@pytest.fixture
def worked(flights):
    """Thirty are done, two are parked, a task holds two, another one holds one."""
    flights.create_partitions([f"k{number:02}" for number in range(40)])
    for number in range(30):
        flights.complete(flights.acquire_partition(f"k{number:02}"))
    for key, error in (("k30", f"no file 2013-01 {HOSTILE}"), ("k31", f"no file 2013-02 {HOSTILE}")):
        flights.fail(flights.acquire_partition(key), error)
        flights.people.park(key, by="ana", why="w")
    task = SourceCoordinator(flights.store, "flights", TASK)
    for holder, key in ((task, "k32"), (task, "k33"), (flights, "k34")):
        holder.acquire_partition(key)
    return flights


def test_how_fast_and_until_when(worked, get):
    get("sources")
    said = get("source")
    pace = said["pace"]
    assert pace["per_minute"] >= pace["least"] >= 0  # how sure it is depends on how evenly this machine has worked
    assert pace["per_minute"] > 0
    assert pace["soonest"] <= pace["seconds"]
    assert pace["sentence"].startswith(f"{pace['per_minute']:.1f} a minute, about 0:0")
    assert said["whole"] is True
    assert {"ownership timeout", "tasks", "straggler"} == {each["kind"] for each in said["advice"]}


def test_who_works_and_what_failed(worked, get):
    said = get("source")
    assert [(each["held"], each["expired"]) for each in said["owners"]] == [(2, 0), (1, 0)]
    assert said["owners"][0]["task"]["map_index"] == "3"
    [error] = said["errors"]
    assert (error["number"], error["like"]) == (2, "no file 2013-0")
    assert error["error"].isprintable()
    assert "<script>" in error["error"]
    assert error["since"] < error["last"]
    assert (said["looked_at_all_owners"], said["looked_at_all_parked"]) == (True, True)
    assert said["acquired_at"] is not None


def test_b3_live_owners_come_first_and_what_is_cut_is_counted(flights, get, monkeypatch):
    """Eight have fallen silent, and hold more than the only one that lives; seven errors are parked."""
    flights.create_partitions([f"k{number:02}" for number in range(30)])
    for number in range(16):
        SourceCoordinator(
            flights.store, "flights", f"silent-{number % 8}", ownership_timeout=timedelta(milliseconds=1)
        ).acquire_partition(f"k{number:02}")
    SourceCoordinator(flights.store, "flights", "alive").acquire_partition("k16")
    for place, error in enumerate("abcdefg"):
        flights.fail(flights.acquire_partition(f"k{17 + place}"), f"error {error}{error}")
        flights.people.park(f"k{17 + place}", by="ana", why="w")
    said = get("source")
    assert [(each["owner"], each["held"] - each["expired"]) for each in said["owners"]] == [
        ("alive", 1),
        *((f"silent-{number}", 0) for number in range(4)),
    ]
    assert (said["more_owners"], len(said["errors"]), said["more_errors"]) == (4, 7, 0)
    monkeypatch.setattr(detail, "ERRORS", 5)
    said = get("source")
    assert (len(said["errors"]), said["more_errors"]) == (5, 2)


def test_when_the_supplier_was_seen(flights, get):
    assert get("source")["supplier"] is None
    inside = []

    def supplier(state):
        inside.append(get("source")["supplier"])
        return ["new"]

    SourceCoordinator(flights.store, "flights", TASK).run_supplier(supplier)
    assert (inside[0]["owner"], inside[0]["task"]["task"]) == (TASK, "process")
    after = get("source")["supplier"]
    assert (after["owner"], after["task"]) == (None, None)
    assert after["at"] >= inside[0]["at"]


def test_more_than_is_read_is_said(worked, get, monkeypatch):
    monkeypatch.setattr(detail, "TENURES", 10)
    monkeypatch.setattr(detail, "HELD", 2)
    monkeypatch.setattr(detail, "PARKED", 2)
    said = get("source")
    assert said["whole"] is False
    assert (said["looked_at_all_owners"], said["looked_at_all_parked"]) == (False, False)


def test_a_store_without_a_history_says_unknown(worked, get, store, monkeypatch):
    monkeypatch.setattr(type(store), "parts", lambda _: StoreParts())
    get("sources")
    said = get("source")
    assert [said[name] for name in ("since", "pace", "advice")] == [None, None, []]
    assert said["owners"]


def test_a_source_in_which_nothing_has_happened(flights, get):
    get("sources")
    said = get("source")
    assert said["pace"]["sentence"] == "nothing was completed in the time looked at"
    assert [said[name] for name in ("owners", "errors", "advice", "acquired_at")] == [[], [], [], None]


def test_the_map_has_every_partition_in_its_state(worked, get):
    tiles = get("map")["tiles"]
    states = {each["key"]: each["state"] for each in tiles}
    assert len(tiles) == 41
    assert [states[key] for key in ("k00", "k30", "k32", "k39")] == ["COMPLETED", "PARKED", "ASSIGNED", "UNASSIGNED"]


def test_the_map_goes_on_where_it_stopped(worked, get, monkeypatch):
    monkeypatch.setattr(reading, "TILES", 15)
    keys, after = [], None
    while not keys or after:
        page = get("map", **({"after": after} if after else {}))
        keys += [each["key"] for each in page["tiles"]]
        after = page["after"]
    assert keys == sorted(["a-secret-key", *(f"k{number:02}" for number in range(40))])


def test_hostile_keys_are_on_the_map_as_they_are(flights, get):
    flights.create_partitions(HOSTILE_KEYS)
    assert {each["key"] for each in get("map")["tiles"]} >= set(HOSTILE_KEYS)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"owner": "PROCESS"}, ["k32", "k33"]),
        ({"owner": "process", "prefix": "k33"}, ["k33"]),
        ({"owner": "process", "status": "PARKED"}, []),
        ({"error": "<SCRIPT>"}, ["k30", "k31"]),
        ({"error": "2013-02", "status": "PARKED"}, ["k31"]),
    ],
)
def test_a_list_is_narrowed_by_owner_and_error(worked, get, given, found):
    for path in ("partitions", "map"):
        said = get(path, **given)
        assert [each["key"] for each in said.get("partitions", said.get("tiles"))] == found
        assert said["after"] is None


def test_a_list_says_where_it_stopped_looking(worked, get, monkeypatch):
    monkeypatch.setattr(reading, "ROWS", 10)
    said = get("partitions", error="no file")
    assert (said["partitions"], said["after"]) == ([], "k08")


@pytest.mark.parametrize(
    "given", [{}, {"status": "PARKED", "prefix": "-k", "error": "it's --limit", "owner": "\x1b x"}]
)
def test_the_command_of_a_list_can_be_typed(flights, get, given):
    typed = get("partitions", **given)["typed"]
    assert typed.isprintable()
    args = understood(typed)
    said = {"status": args.status, "prefix": args.key_prefix, "error": args.error_like, "owner": args.owner_like}
    assert (words(typed)[2], args.source) == ("list", "flights")
    assert {name: value for name, value in said.items() if value is not None} == given


def test_the_commands_of_a_partition_can_be_typed(flights, client, token, get):
    assert words(get("partition", key="a-secret-key")["typed"])[2:] == [
        "explain",
        "flights",
        "a-secret-key",
    ]
    client.headers["Authorization"] = f"Bearer {token('user', ['ours'])}"
    offers = get("partition", key="a-secret-key")["offers"]
    assert [offer["action"] for offer in offers][-1] == "reset and run"
    for offer in offers:
        name, _, run = offer["action"].partition(" and ")
        assert words(offer["typed"])[2] == name
        typed = understood(offer["typed"])
        assert (typed.key, getattr(typed, "run", False)) == (["a-secret-key"], bool(run))


def test_b7_what_owners_have_lost_is_expired_and_not_claimable(worked, get, post_pause):
    """The key of before goes on saying both."""
    lost = SourceCoordinator(worked.store, "flights", "lost", ownership_timeout=timedelta(milliseconds=1))
    assert lost.acquire_partition("k35")
    while not worked.looking.outlook().expired:  # by the store's own clock
        pass
    numbers = get("sources")["stores"][0]["sources"][0]["numbers"]
    words = {"claimable": 5, "held": 3, "expired": 1, "delayed": 0, "blocked": 0, "parked": 2, "completed": 30}
    assert (numbers["in_words"], numbers["claimable"], numbers["overdue"]) == (words, 6, 1)
    at_stake = "5 claimable and 1 expired partition(s) would wait, 3 held one(s) would be finished by who holds them."
    assert post_pause(paused=True)["sentence"] == at_stake


def test_who_has_paused_it_stands_beside_the_numbers(flights, get, monkeypatch):
    numbers = get("sources")["stores"][0]["sources"][0]["numbers"]
    assert (numbers["pause"], numbers["oldest_claimable"] >= 0) == (None, True)
    flights.pausing.pause(by="ana", why="Spark is ill")
    from airflow_coordination.board import counting

    monkeypatch.setattr(counting, "LIFE", 0.0)
    monkeypatch.setattr(counting, "SHARE", 0)
    numbers = get("sources")["stores"][0]["sources"][0]["numbers"]
    assert numbers["pause"].endswith("by 'ana', who said 'Spark is ill'")


def test_a_store_that_is_down_says_so(client, token, flights, monkeypatch, tmp_path):
    monkeypatch.setenv(
        "AIRFLOW_CONN_COORDINATION_DEFAULT", f'{{"conn_type": "coordination", "host": "sqlite:///{tmp_path}/no/s.db"}}'
    )
    client.headers["Authorization"] = f"Bearer {token('viewer', ['ours'])}"
    for path in ("source", "map"):
        answer = client.get(f"/api/v1/{path}", params={"store": "coordination_default", "source": "flights|PARTITION"})
        assert answer.status_code == 503


def test_s27_how_many_endings_have_something_left_to_be_done(flights, get, monkeypatch):
    monkeypatch.setattr(detail, "LEFT", 3)
    told = lambda: [get("source")[name] for name in ("left_to_do", "looked_at_all_left")]  # noqa: E731
    assert told() == [0, True]
    flights.create_partitions(["k1", "k2", "k3"])
    for key, expected in (("k1", [1, True]), ("k2", [2, True]), ("k3", [3, False])):
        flights.complete(flights.acquire_partition(key), then='[{"do": 1}]')
        assert told() == expected
    flights.follow_ups.forget_follow_up(next(flights.follow_ups.follow_ups("k1")), by="ana", why="its bucket is gone")
    assert told() == [2, True]
    assert get("source")["finishing"] == "airflow coordination finish-actions flights"
