"""What the command says of the partitions that took longest."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from airflow_coordination.monitoring.owners import Holding
from airflow_coordination.monitoring.throughput import Lately, slowest
from airflow_coordination.values.status import Outcome

NOW = datetime(2013, 1, 2, tzinfo=UTC)


class Past:
    """A tenure that has ended, as far as it is asked."""

    def __init__(self, key, seconds, outcome=Outcome.COMPLETED):
        self.key, self.outcome, self.owner = key, outcome, "somebody"
        self.lasted = None if seconds is None else timedelta(seconds=seconds)


def holding(key, seconds, left=60):
    since = None if seconds is None else NOW - timedelta(seconds=seconds)
    return Holding(
        key=key,
        owner="me",
        fence=None,
        since=since,
        wrote_at=None,
        heard=True,
        expires_at=None,
        left=timedelta(seconds=left),
        facts={},
    )


def found(past, held=(), most=10):
    known = Lately(NOW, NOW - timedelta(days=1), tuple(past))
    return [(each.key, each.lasted.total_seconds(), each.ended) for each in slowest(known, held, most)]


def test_each_partition_is_named_once_with_its_longest_tenure_and_the_longest_comes_first():
    past = [Past("a", 1), Past("a", 9, Outcome.FAILED), Past("b", 5), Past("c", 5)]
    assert found(past) == [("a", 9, Outcome.FAILED), ("b", 5, Outcome.COMPLETED), ("c", 5, Outcome.COMPLETED)]
    assert found(past, most=1) == [("a", 9, Outcome.FAILED)]


def test_what_is_held_counts_so_far_unless_its_lease_is_over():
    held = [holding("held", 7), holding("expired", 8, left=0), holding("since when nobody knows", None)]
    assert found([Past("a", 5)], held) == [("held", 7, None), ("a", 5, Outcome.COMPLETED)]


def test_a_tenure_whose_beginning_nobody_knows_is_left_out():
    assert found([Past("a", None)]) == []


def test_the_command_says_it(flights, cli):
    flights.create_partitions(["quick", "slow", "held"])
    flights.complete(flights.acquire_partition("quick"))
    slow = flights.acquire_partition("slow")
    flights.acquire_partition("held")
    flights.fail(slow, "no file")
    code, out, err = cli("slowest", "flights", "-o", "json")
    assert (code, err) == (0, "")
    said = {row["key"]: row["ended"] for row in json.loads(out)}
    assert said == {"slow": "failed", "held": "held", "quick": "completed"}
    took = [row["seconds"] for row in json.loads(out)]
    assert took == sorted(took, reverse=True)
    assert len(json.loads(cli("slowest", "flights", "--limit", "1", "-o", "json")[1])) == 1


@pytest.mark.parametrize("limit", ["0", "-1"])
def test_a_limit_below_one_is_refused(flights, cli, limit):
    flights.create_partitions(["a"])
    code, _, err = cli("slowest", "flights", "--limit", limit)
    assert (code, f"limit={limit}" in err) == (1, True)


def test_a_store_without_a_history_says_so(flights, url, capsys):
    from airflow_coordination.cli.standalone import main

    flights.create_partitions(["a"])
    assert main(["slowest", "flights", "--store", f"{url}?history_retention=off"]) == 0
    assert capsys.readouterr().err.startswith("This store keeps no history")
