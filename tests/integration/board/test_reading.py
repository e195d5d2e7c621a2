"""What the routes answer."""

from __future__ import annotations

import json
import os
from datetime import timedelta

import pytest

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.protocol.remedies import AIRFLOW, command
from airflow_coordination.sources import dead_letters_again
from airflow_coordination.testing.conformance.creation import HOSTILE_KEYS
from airflow_coordination.values.accounting import Accounting, Accounts, SinkCounts
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.program import TYPED
from tests.integration.board.conftest import OPEN_DAG, TEAM_DAG
from tests.system.harness import wait_for


@pytest.fixture
def get(client, token):
    """Ask as a viewer of the team; return the answer."""
    client.headers["Authorization"] = f"Bearer {token('viewer', ['ours'])}"
    here = {"store": "coordination_default", "source": "flights|PARTITION"}
    return lambda path, **given: client.get(f"/api/v1/{path}", params={**here, **given})


def keys(answer):
    assert answer.status_code == 200, answer.text
    return [one["key"] for one in answer.json()["partitions"]]


def test_hostile_keys_come_back_as_they_are(flights, get):
    flights.create_partitions(HOSTILE_KEYS)
    assert set(HOSTILE_KEYS) < set(keys(get("partitions", limit=1000)))
    for key in HOSTILE_KEYS:
        answer = get("partition", key=key)
        assert answer.json()["summary"]["key"] == key
        assert answer.headers["content-type"] == "application/json"


def test_pages_follow_each_other(flights, get):
    flights.create_partitions([f"k{n}" for n in range(5)])
    first = get("partitions", prefix="k", limit=3)
    assert keys(first) == ["k0", "k1", "k2"]
    second = get("partitions", prefix="k", limit=3, after=first.json()["after"])
    assert (keys(second), second.json()["after"]) == (["k3", "k4"], None)


def test_the_prefix_itself_is_found_in_its_state_only(flights, get):
    flights.create_partitions(["k", "k1", "l"])
    assert keys(get("partitions", prefix="k")) == ["k", "k1"]
    assert keys(get("partitions", prefix="k", status="UNASSIGNED")) == ["k", "k1"]
    assert keys(get("partitions", prefix="k", status="COMPLETED")) == []
    assert keys(get("partitions", prefix="k", after="a")) == ["k", "k1"]
    assert keys(get("partitions", prefix="k", after="k")) == ["k1"]


def test_a_parked_partition_is_found_with_its_error(flights, get):
    for _ in range(flights.settings.max_failures):
        lease = flights.acquire_partition("a-secret-key")
        flights.fail(lease, "no memory", retry_after=timedelta(0))
    assert keys(get("partitions", status="PARKED")) == ["a-secret-key"]
    assert keys(get("partitions", status="CLOSED")) == []
    found = get("partition", key="a-secret-key").json()
    assert (found["summary"]["status"], found["summary"]["last_error"]) == ("PARKED", "no memory")
    why = flights.explain("a-secret-key")
    typed = command("reopen", "flights", "a-secret-key", prefix=None, shell=AIRFLOW)  # it is the default connection's
    assert found["explanation"] == {
        "reason": "parked", "sentence": why.sentence, "next": None, "command": typed,
    }  # fmt: skip
    assert [one["what"] for one in found["events"]] == ["created", *["failed"] * flights.settings.max_failures]
    assert (found["events"][1]["who"], found["events"][1]["why"]) == ("somebody", "no memory")


OWNER = "host 7/flights%2Feu/manual__2026/process/3/2"


def test_who_holds_what_page_by_page(flights, get):
    theirs = SourceCoordinator(flights.store, "flights", OWNER)
    flights.create_partitions(["k1", "k2", "k3"])
    held = theirs.acquire_partition("k1")
    theirs.renew(held)
    flights.acquire_partition("k2")
    first = get("owners", limit=1).json()
    [one] = first["held"]
    assert (one["key"], one["owner"], first["after"]) == ("k1", OWNER, "k1")
    assert one["task"] == {
        "hostname": "host 7", "dag": "flights/eu", "run": "manual__2026", "task": "process", "map_index": "3",
        "try_number": "2",
    }  # fmt: skip
    assert one["since"] <= one["wrote_at"] < one["expires_at"]
    assert one["expired"] is False
    second = get("owners", limit=1, after="k1").json()
    assert ([each["key"] for each in second["held"]], second["after"]) == (["k2"], None)
    assert second["held"][0]["task"] is None


@pytest.mark.parametrize(("said", "given"), [("http://spark:4040", "http://spark:4040"), ("javascript:alert(1)", None)])
def test_only_an_address_of_a_page_is_given_to_follow(flights, get, said, given):
    lease = flights.acquire_partition("a-secret-key")
    driver = SourceCoordinator(flights.store, "flights", "somebody")
    driver.describe_owner(application="app-1", url=said)
    driver.begin("a-secret-key", lease.fence)
    [one] = get("owners").json()["held"]
    assert (one["application"], one["spark_url"]) == ("app-1", given)
    now = get("partition", key="a-secret-key").json()["events"][-1]
    assert (now["what"], now["application"], now["spark_url"]) == ("held", "app-1", given)


def test_the_sources_of_another_deployment_are_not_shown(flights, get, monkeypatch, tmp_path):
    SourceCoordinator(flights.store, "flights", "somebody", "eu").supplying.register(dag_id=TEAM_DAG)
    shown = lambda: [one["source"] for one in get("sources").json()["stores"][0]["sources"]]  # noqa: E731
    assert shown() == ["eu|flights|PARTITION", "flights|PARTITION"]
    connection = json.loads(os.environ["AIRFLOW_CONN_COORDINATION_DEFAULT"])
    connection["extra"] = {"partition_prefix": "eu"}
    monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_DEFAULT", json.dumps(connection))
    assert shown() == ["eu|flights|PARTITION"]
    assert get("partitions", source="flights|PARTITION").status_code == 404


def test_a_tab_shows_the_sources_of_its_dag_only(flights, get):
    SourceCoordinator(flights.store, "sales", "somebody").supplying.register(dag_ids=[OPEN_DAG, TEAM_DAG])
    for dag, shown in (
        (None, ["flights", "sales"]),
        (TEAM_DAG, ["flights", "sales"]),
        (OPEN_DAG, ["sales"]),
        ("no", []),
    ):
        answer = get("sources", **({"dag": dag} if dag else {})).json()
        assert [one["name"] for one in answer["stores"][0]["sources"]] == shown


@pytest.mark.parametrize("given", [{"limit": 1001}, {"limit": 0}, {"after": "x" * 2049}, {"prefix": "\x00"}])
def test_what_no_store_can_answer_is_refused(flights, get, given):
    assert get("partitions", **given).status_code == 422


def test_a_store_that_does_not_answer_hides_no_other(flights, get, monkeypatch, tmp_path):
    monkeypatch.setenv("AIRFLOW__COORDINATION__BOARD_CONNECTIONS", "gone, coordination_default")
    gone = {"conn_type": "coordination", "host": f"sqlite:///{tmp_path}/no/store.db"}
    monkeypatch.setenv("AIRFLOW_CONN_GONE", json.dumps(gone))
    one, other = get("sources").json()["stores"]
    assert one["problem"].startswith("The store of connection gone does not answer")
    assert [source["name"] for source in other["sources"]] == ["flights"]
    assert get("partitions", store="gone").status_code == 503


def test_s26_what_became_of_a_partitions_records_is_shown(flights, get):
    lease = flights.acquire_partition("a-secret-key")
    assert get("partition", key="a-secret-key").json()["accounting"] == []
    sinks = {"search": SinkCounts(owed=2, delivered=2)}
    counted = Accounting(read=3, delivered_everywhere=2, dropped={"cancelled": 1}, sinks=sinks)
    flights.complete(lease, counted=counted)
    shown = get("partition", key="a-secret-key").json()["accounting"]
    assert [(one["count"], one["sink"], one["records"]) for one in shown] == [
        ("read", None, 3),
        ("delivered everywhere", None, 2),
        ("dropped: cancelled", None, 1),
        ("unrouted", None, 0),
        ("dead-lettered", None, 0),
        ("failed", None, 0),
        ("owed", "search", 2),
        ("delivered", "search", 2),
        ("dead-lettered", "search", 0),
        ("failed", "search", 0),
    ]
    assert get("partition", key="a-secret-key").json()["unbalanced"] == []


def test_sums_that_do_not_balance_are_said(flights, get, monkeypatch):
    counted = Accounting(read=3, unrouted=3)
    lease = flights.acquire_partition("a-secret-key")
    with monkeypatch.context() as patch:
        odd = property(lambda self: f'{{"generation":"{self.generation}","over":0,"counts":{{"read":4,"unrouted":3}}}}')
        patch.setattr(Accounts, "text", odd)
        flights.complete(lease, counted=counted)
    said = "They do not balance: read 4 ≠ delivered everywhere 0 + dropped 0 + unrouted 3 + dead-lettered 0 + failed 0."
    assert get("partition", key="a-secret-key").json()["unbalanced"] == [said]


def test_s13_the_balance_of_dead_letters_stands_behind_the_counts(flights, get, monkeypatch):
    counted = Accounting(read=3, delivered_everywhere=1, dead_lettered=2, sinks={"search": SinkCounts(3, 1, 2)})
    letters = Block("dead_letters", "/out/d", "d" * 64, 2, 20)
    flights.complete(flights.acquire_partition("a-secret-key"), [letters], counted=counted)
    again = SourceCoordinator(
        flights.store, source="flights-again", owner="me", partition_prefix=flights.partition_prefix
    )
    again.run_supplier(dead_letters_again("flights"))
    again.complete(again.get_next_partition(), counted=Accounting(read=2, delivered_everywhere=1, dead_lettered=1))
    shown = get("partition", key="a-secret-key").json()["accounting"]
    assert [(one["count"], one["records"]) for one in shown][-3:] == [
        ("dead letters: delivered again", 1),
        ("dead letters: unrouted", 0),
        ("dead letters: still set aside", 1),
    ]
    key = again.partitions()[0].key
    with monkeypatch.context() as patch:
        broken = property(lambda self: f'{{"generation":"{self.generation}","over":0,"counts":{{"read":"many"}}}}')
        patch.setattr(Accounts, "text", broken)
        again.people.reset(key, by="me", why="once more")
        again.complete(again.acquire_partition(key), counted=Accounting(read=1, unrouted=1))
    shown = get("partition", key="a-secret-key").json()["accounting"]
    assert (shown[0]["count"], shown[-1]["count"]) == ("read", "corrupt in the store")


def test_s13_the_balance_of_a_source_is_read_in_portions(flights, get, monkeypatch):
    monkeypatch.setattr("airflow_coordination.delivery.again.whole_source.AT_ONCE", 1)
    flights.create_partitions(["b"])
    for key in ("a-secret-key", "b"):
        counted = Accounting(read=3, delivered_everywhere=1, dead_lettered=2)
        letters = Block("dead_letters", f"/out/{key}", key[0] * 64, 2, 20)
        flights.complete(flights.acquire_partition(key), [letters], counted=counted)
    assert get("accounting/again").json() == {
        "partitions": 0,
        "counts": [
            {"count": "dead letters: delivered again", "sink": None, "records": 0},
            {"count": "dead letters: unrouted", "sink": None, "records": 0},
        ],
        "done": 0,
        "void": 0,
        "after": None,
    }
    again = SourceCoordinator(
        flights.store, source="flights-again", owner="me", partition_prefix=flights.partition_prefix
    )
    again.run_supplier(dead_letters_again("flights"))
    again.complete(again.get_next_partition(), counted=Accounting(read=2, delivered_everywhere=1, dead_lettered=1))
    portions, after = [], ""
    while after is not None:
        portions.append(get("accounting/again", after=after).json())
        after = portions[-1]["after"]
    assert [each["partitions"] for each in portions] == [1, 1, 0]
    assert sum(each["done"] for each in portions) == 1
    assert get("accounting").json()["dead_lettered"] == 4
    for odd in ("\x00", "k" * 3_000):
        assert get("accounting/again", after=odd).status_code == 422


def test_counts_that_are_corrupt_hide_nothing_else_of_a_partition(flights, get, monkeypatch):
    with monkeypatch.context() as patch:
        broken = property(lambda self: f'{{"generation":"{self.generation}","over":0,"counts":{{"read":"many"}}}}')
        patch.setattr(Accounts, "text", broken)
        flights.complete(flights.acquire_partition("a-secret-key"), counted=Accounting(read=1, unrouted=1))
    shown = get("partition", key="a-secret-key").json()
    assert shown["accounting"] == [{"count": "corrupt in the store", "sink": None, "records": None}]
    assert [one["records"] for one in shown["events"]][-1] == "corrupt in the store"


def test_s26_x11_each_tenure_and_what_is_published_have_their_counts(flights, get):
    lease = flights.acquire_partition("a-secret-key")
    flights.save_progress_state(lease, 1, counted=Accounting(read=3, dropped={"cancelled": 3}))
    flights.fail(lease, "boom", retry_after=timedelta(0))
    counted, block = Accounting(read=1, unrouted=1), Block("clean", "/out/b1", "b1", 3, 300)
    flights.complete(flights.acquire_partition("a-secret-key"), [block], counted=counted)
    shown = get("partition", key="a-secret-key").json()
    after = "4 read: 3 dropped, 1 unrouted"
    assert [one["records"] for one in shown["events"]] == [None, "3 read: 3 dropped", after]
    assert [one["records"] for one in shown["heads"]] == [after]


def test_s26_what_became_of_a_sources_records_is_added_up_when_it_is_asked_for(flights, get):
    nothing = get("accounting").json()
    assert (nothing["partitions"], nothing["accounting"]) == (0, [])
    assert nothing["typed"] == f"{TYPED} accounting flights"
    flights.create_partitions(["other"])
    for key in ("a-secret-key", "other"):
        sinks = {"search": SinkCounts(owed=2, delivered=2)}
        counted = Accounting(read=3, delivered_everywhere=2, unrouted=1, sinks=sinks)
        flights.complete(flights.acquire_partition(key), counted=counted)
    found = get("accounting").json()
    records = {(one["count"], one["sink"]): one["records"] for one in found["accounting"]}
    assert (found["partitions"], records["read", None], records["delivered", "search"]) == (2, 6, 4)
    assert "accounting" not in get("source").json(), "all portions are every partition, so never by itself"


def test_s26_what_became_of_a_sources_records_is_read_in_portions(flights, get, monkeypatch):
    monkeypatch.setattr("airflow_coordination.board.reading.ROWS", 2)
    flights.create_partitions(["a", "b", "c", "d"])
    for key in "abc":
        flights.complete(flights.acquire_partition(key), counted=Accounting(read=3, unrouted=3))
    portions, after = [], None
    while not portions or after is not None:
        portions.append(get("accounting", **({"after": after} if after else {})).json())
        after = portions[-1]["after"]
    assert [each["partitions"] for each in portions] == [1, 2, 0]
    read = [one["records"] for each in portions for one in each["accounting"] if one["count"] == "read"]
    assert read == [3, 6]
    assert get("accounting", after="\x00").status_code == 422


def test_a_late_owner_is_in_grace_on_the_list_the_owners_and_the_page_of_its_partition(flights, get, monkeypatch):
    """The lease lasts ten minutes: with a longer grace it should have been renewed before."""
    flights.create_partitions(["k1"])
    flights.acquire_partition("k1")
    assert [one["late"] for one in get("owners").json()["held"]] == [False]
    monkeypatch.setenv("AIRFLOW__COORDINATION__REASSIGN_GRACE", "700")
    assert [one["late"] for one in get("owners").json()["held"]] == [True]
    [listed] = get("partitions", status="ASSIGNED").json()["partitions"]
    assert listed["next"] == "its owner is late: it is in grace, and then others get it"
    found = get("partition", key="k1").json()
    assert (found["summary"]["next"], found["explanation"]["reason"]) == (listed["next"], "late")


def test_each_partition_is_in_one_of_seven_words_and_says_since_when(flights, get):
    """The words that counts have: what has expired is not held, and what is due is claimable."""
    flights.create_partitions([PartitionIdentifier("b-child", parents=["a-secret-key"]), *"cdefgh"])
    flights.complete(flights.acquire_partition("c"))
    flights.close(flights.acquire_partition("d"), reopen_after=timedelta(hours=1))
    flights.people.park("e", by="ana", why="w")
    flights.acquire_partition("f")
    short = SourceCoordinator(flights.store, "flights", "gone", ownership_timeout=timedelta(milliseconds=1))
    short.acquire_partition("g")
    rows = get("partitions").json()["partitions"]
    assert {one["key"]: one["word"] for one in rows} == {
        "a-secret-key": "claimable", "b-child": "blocked", "c": "completed", "d": "delayed", "e": "parked",
        "f": "held", "g": "expired", "h": "claimable",
    }  # fmt: skip
    assert all(one["since"] for one in rows)


def test_a_partition_names_its_parents_and_children_with_their_states(flights, get):
    flights.create_partitions([PartitionIdentifier(key, parents=["a-secret-key"]) for key in ("b1", "b2")])
    parent = get("partition", key="a-secret-key").json()
    assert parent["parents"] == []
    assert parent["children"] == [{"key": key, "word": "blocked", "waits": True} for key in ("b1", "b2")]
    child = get("partition", key="b1").json()
    assert child["parents"] == [{"key": "a-secret-key", "word": "claimable", "waits": True}]
    flights.complete(flights.acquire_partition("a-secret-key"))
    assert get("partition", key="b2").json()["parents"] == [
        {"key": "a-secret-key", "word": "completed", "waits": False}
    ]


def test_of_many_children_it_is_said_that_there_are_more(flights, get):
    flights.create_partitions([PartitionIdentifier(f"b{number:02}", parents=["a-secret-key"]) for number in range(21)])
    found = get("partition", key="a-secret-key").json()
    assert (len(found["children"]), found["all_children"]) == (20, False)


def test_who_gives_no_sign_is_told_while_its_lease_lasts(flights, get):
    """The second owner renews each millisecond, as it says, and has not; the first one each six minutes."""
    for key, renewal, silent in (("k1", 360_000, False), ("k2", 1, True)):
        flights.create_partitions([key])
        driver = SourceCoordinator(flights.store, "flights", OWNER, ownership_timeout=timedelta(hours=1))
        driver._acquisition.owner_details = json.dumps({"lease_ms": 3_600_000, "renewal_ms": renewal})
        driver.acquire_partition(key)
        wait_for(lambda key=key, silent=silent: told(get, key)["silent"] is silent, 30, "the sign is told")
        assert told(get, key)["sign_at"] <= get("owners").headers["Coordination-Store-Time"]


def told(get, key):
    [found] = [each for each in get("owners").json()["held"] if each["key"] == key]
    return found


def test_what_is_advised_and_what_cannot_be_taken_back_is_told(flights, client, token):
    flights.people.park("a-secret-key", by="ana", why="w")
    headers = {"Authorization": f"Bearer {token('user', ['ours'])}"}
    here = {"store": "coordination_default", "source": "flights|PARTITION", "key": "a-secret-key"}
    offers = client.get("/api/v1/partition", params=here, headers=headers).json()["offers"]
    assert [each["action"] for each in offers if each["advised"]] == ["reopen"]
    assert [each["action"] for each in offers if each["final"]] == ["reset", "finish", "reset and run"]
