"""What the command advises."""

import json
import time

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store


@pytest.fixture
def worked(flights):
    """Twenty are done."""
    flights.create_partitions([f"k{number}" for number in range(30)])
    for number in range(20):
        flights.complete(flights.acquire_partition(f"k{number}"))
    return flights


def test_what_it_says_and_why(worked, cli):
    held = worked.acquire_partition("k25")
    _outlast_the_finished(worked, held)
    code, out, err = cli("advice", "flights", "-o", "json")
    assert (code, err) == (0, "")
    said = {row["advice"]: row for row in json.loads(out)}
    assert said["straggler"]["about"] == held.partition.key
    assert said["ownership timeout"]["about"] == "1 min"
    assert said["tasks"]["why"].startswith("13 partitions are left")
    assert "Partition 'k25' is held for" in cli("advice", "flights")[1]


def _outlast_the_finished(worked, held):
    """Wait until it is held longer than all others together were, on this machine, at this load."""
    store, begun = worked.store, worked.partition("k0").created_at
    together = store.now() - begun
    acquired = store.now()
    while store.now() - acquired <= together:
        time.sleep(0.01)
    assert held.ending is None


def test_too_little_has_ended(flights, cli):
    flights.complete(flights.acquire_partition("2013-01"))
    code, out, err = cli("advice", "flights")
    said = "No advice: 1 tenure(s) ended in the last day, and nothing is concluded from fewer than 20 finished ones.\n"
    assert (code, out, err) == (0, "", said)
    assert cli("advice", "flights", "-o", "json")[1] == "[]\n"


def test_a_store_without_a_history_says_so(worked, url, capsys):
    from airflow_coordination.cli.standalone import main

    assert main(["advice", "flights", "--store", f"{url}?history_retention=off"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err.partition(":")[0]) == ("", "This store keeps no history")


def test_a_source_that_is_not_there(flights, cli):
    code, _, err = cli("advice", "fligths")
    assert (code, "Did you mean 'flights'?" in err) == (1, True)


def test_another_deployments_source_is_another_one(worked, url, cli):
    SourceCoordinator(open_store(url), "sales", "test", "eu").create_partitions(["a"])
    assert "0 tenure(s) ended" in cli("advice", "sales", "--partition-prefix", "eu")[2]
