"""What became of the records, on the command line."""

import json

from airflow_coordination.leases.accounting import Accounting, SinkCounts

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
        code, out, err = cli("accounting", "--source", "flights", *([key] if key else []), "-o", "json")
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
    assert "delivered everywhere" in cli("accounting", "--source", "flights")[1]
    shown = json.loads(cli("show", "--source", "flights", "2013-01", "-o", "json")[1])
    assert {"field": "accounting", "value": COUNTED.to_json()} in shown


def test_nothing_was_delivered(flights, cli):
    code, out, err = cli("accounting", "--source", "flights", "-o", "json")
    assert (code, json.loads(out)) == (0, [])
    assert "Nothing of this source was counted" in err
    assert "Nothing of this partition was counted" in cli("accounting", "--source", "flights", "2013-01")[2]


def test_one_that_never_was(flights, cli):
    code, out, err = cli("accounting", "--source", "flights", "no such key")
    assert (code, out) == (1, "")
    assert "no such key" in err
