"""What became of the records, on the command line."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.sources import dead_letters_again
from airflow_coordination.values.accounting import Accounting, SinkCounts
from airflow_coordination.values.blocks import Block

COUNTED = Accounting(
    read=7,
    delivered_everywhere=3,
    dropped={"cancelled": 1},
    unrouted=2,
    dead_lettered=1,
    sinks={"search": SinkCounts(owed=4, delivered=3, dead_lettered=1)},
)


def deliver(flights, key):
    flights.complete(flights.acquire_partition(key), counted=COUNTED)


def test_s26_a_source_added_up_and_one_partition(flights, cli):
    deliver(flights, "2013-01")
    deliver(flights, "2013-02")
    for key, times in (("2013-01", 1), (None, 2)):
        code, out, err = cli("accounting", "flights", *([key] if key else []), "-o", "json")
        assert (code, err) == (0, "")
        found = {(row["count"], row["sink"]): row["records"] for row in json.loads(out)}
        assert found == {
            ("partitions", None): times,
            ("read", None): 7 * times,
            ("delivered everywhere", None): 3 * times,
            ("dropped: cancelled", None): times,
            ("unrouted", None): 2 * times,
            ("dead-lettered", None): times,
            ("failed", None): 0,
            ("owed", "search"): 4 * times,
            ("delivered", "search"): 3 * times,
            ("dead-lettered", "search"): times,
            ("failed", "search"): 0,
        }
    assert "delivered everywhere" in cli("accounting", "flights")[1]
    shown = json.loads(cli("show", "flights", "2013-01", "-o", "json")[1])
    assert {"field": "accounting", "value": COUNTED.to_json()} in shown


def test_sums_that_do_not_balance_are_said(flights, cli, url):
    deliver(flights, "2013-01")
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database, database:
        database.execute("""update coordination_partitions set accounting =
            replace(replace(accounting, '"read":7', '"read":9'), '"owed:search":4', '"owed:search":5')""")
    code, _, err = cli("accounting", "flights", "2013-01")
    told = "delivered everywhere 3 + dropped 1 + unrouted 2 + dead-lettered 1 + failed 0"
    assert code == 0
    assert err.splitlines() == [
        f"They do not balance: read 9 ≠ {told}.",
        "They do not balance: sink 'search': owed 5 ≠ delivered 3 + dead-lettered 1 + failed 0.",
    ]


def test_nothing_was_delivered(flights, cli):
    code, out, err = cli("accounting", "flights", "-o", "json")
    assert (code, json.loads(out)) == (0, [])
    assert "Nothing of this source was counted" in err
    assert "Nothing of this partition was counted" in cli("accounting", "flights", "2013-01")[2]


def test_counts_that_are_corrupt_hide_nothing_else_of_a_partition(flights, cli, url):
    deliver(flights, "2013-01")
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database, database:
        database.execute("""update coordination_partitions set accounting = replace(accounting, ':7', ':"many"')""")
    code, out, err = cli("show", "flights", "2013-01", "-o", "json")
    assert (code, err) == (0, "")
    shown = {row["field"]: row["value"] for row in json.loads(out)}
    assert (shown["accounting"], shown["status"]) == ("corrupt in the store", "COMPLETED")
    assert "records: corrupt in the store" in cli("explain", "flights", "2013-01")[1]
    code, out, err = cli("accounting", "flights", "2013-01")
    assert code == 1
    assert "is corrupt in the store. Reset the partition" in err


def test_one_that_never_was(flights, cli):
    code, out, err = cli("accounting", "flights", "no such key")
    assert (code, out) == (1, "")
    assert "no such key" in err


BLOCK = Block("clean", "/out/b1", "b1", 3, 300)
IN_SHORT = "7 read: 3 delivered everywhere, 1 dropped, 2 unrouted, 1 dead-lettered"


def test_s26_what_a_dataset_holds_is_counted_as_it_was_when_it_was_published(flights, cli):
    flights.complete(flights.acquire_partition("2013-01"), [BLOCK], counted=COUNTED)
    flights.people.reset("2013-01", by="ana", why="anew")  # its counts are gone, what it has published is not
    deliver(flights, "2013-02")  # into no dataset
    code, out, err = cli("accounting", "flights", "--dataset", "clean", "-o", "json")
    assert (code, err) == (0, "")
    found = {(row["count"], row["sink"]): row["records"] for row in json.loads(out)}
    assert found["partitions", None] == 1
    assert (found["read", None], found["dropped: cancelled", None], found["owed", "search"]) == (7, 1, 4)
    code, out, err = cli("accounting", "flights", "--dataset", "other", "-o", "json")
    assert (code, json.loads(out)) == (0, [])
    assert "Nothing published in dataset 'other' was counted" in err
    assert "is of all partitions" in cli("accounting", "flights", "2013-01", "--dataset", "clean")[2]


def test_s26_what_was_published_is_shown_with_its_counts(flights, cli):
    def published(key):
        shown = json.loads(cli("show", "flights", key, "-o", "json")[1])
        return [row["value"] for row in shown if row["field"] == "published clean"]

    flights.complete(flights.acquire_partition("2013-01"), [BLOCK], counted=COUNTED)
    flights.complete(flights.acquire_partition("2013-02"), [BLOCK])
    assert published("2013-01") == [f"3 row(s) in 1 block(s) by tenure 1; records: {IN_SHORT}"]
    assert published("2013-02") == ["3 row(s) in 1 block(s) by tenure 1"]
    assert f"records: {IN_SHORT}." in cli("explain", "flights", "2013-01")[1].replace("\n", " ")
    assert "records:" not in cli("explain", "flights", "2013-02")[1]
    flights.people.retract("2013-01", by="ana", why="wrong")
    assert published("2013-01") == ["nothing: it was taken back"]


def test_x11_the_history_has_the_counts_of_each_tenure(flights, cli):
    flights.give_up(flights.acquire_partition("2013-01"))
    flights.save_progress_state(lease := flights.acquire_partition("2013-01"), 1, counted=COUNTED)
    flights.fail(lease, "boom")
    _, out, _ = cli("history", "flights", "2013-01", "-o", "json")
    assert [row["records"] for row in json.loads(out)] == [None, None, IN_SHORT]


def test_s13_the_balance_of_dead_letters_stands_behind_the_counts(flights, cli):
    """S13: read is delivered, or delivered again, or set aside still."""
    block = Block("dead_letters", "/out/d", "d" * 64, 1)
    flights.complete(flights.acquire_partition("2013-01"), [block], counted=COUNTED)
    again = SourceCoordinator(flights.store, source="flights-again", owner="me")
    again.run_supplier(dead_letters_again("flights"))
    before = {row["count"]: row["records"] for row in printed(cli, "flights", "2013-01") if row["sink"] is None}
    assert before["dead letters: still set aside"] == 1
    again.complete(again.get_next_partition(), counted=Accounting(read=1, delivered_everywhere=1))
    after = {row["count"]: row["records"] for row in printed(cli, "flights", "2013-01") if row["sink"] is None}
    assert (after["dead-lettered"], after["dead letters: delivered again"]) == (1, 1)
    assert after["dead letters: still set aside"] == 0
    whole = {row["count"]: row["records"] for row in printed(cli, "flights") if row["sink"] is None}
    assert (whole["dead-lettered"], whole["dead letters: delivered again"]) == (1, 1)
    assert whole["dead letters: still set aside"] == 0
    assert not [row for row in printed(cli, "flights-again") if row["count"].startswith("dead letters")]
    flights.people.reset("2013-01", by="me", why="mended")
    flights.complete(flights.acquire_partition("2013-01"), [replace(block, digest="e" * 64)], counted=COUNTED)
    void = printed(cli, "flights-again", again.partitions()[0].key)
    assert {"count": "void: the dead letters were replaced", "sink": None, "records": 1} in void
    of_all = {"count": "void: delivered again before the dead letters were replaced", "sink": None, "records": 1}
    assert of_all in printed(cli, "flights")


def printed(cli, *words):
    code, out, err = cli("accounting", *words, "-o", "json")
    assert (code, err) == (0, "")
    return json.loads(out)
