"""Who shares a source."""

import json
from datetime import timedelta

from airflow_coordination.leases import SourceCoordinator


def test_workers_what_they_hold_and_should_hold(flights, cli):
    one = SourceCoordinator(flights.store, "flights", "one")
    member = one.workers.join(2), SourceCoordinator(flights.store, "flights", "two").workers.join(8)
    assert one.workers.ask(one.get_next_partition().partition, timedelta(minutes=1))
    flights.get_next_partition()  # by somebody who is no member
    code, out, _ = cli("workers", "flights", "-o", "json")
    assert code == 0
    assert json.loads(out) == [
        {"worker": "one", "capacity": 2, "held": 1, "share": 1, "wanted": 1},
        {"worker": "two", "capacity": 8, "held": 0, "share": 1, "wanted": 0},
    ]
    for each in member:
        each.leave()
    assert cli("workers", "flights") == (0, "", "Nothing found.\n")


def test_members_are_in_no_other_list(flights, cli):
    member = flights.workers.join(2)
    code, out, _ = cli("sources", "-o", "json")
    assert code == 0
    assert [row["source"] for row in json.loads(out)] == ["flights"]
    assert cli("owners", "flights") == (0, "", "Nothing found.\n")
    assert "WORKER" not in cli("metrics")[1]
    member.leave()


def test_an_unknown_source_is_named(flights, cli):
    code, _, err = cli("workers", "flight")
    assert code == 1
    assert "Did you mean 'flights'?" in err
