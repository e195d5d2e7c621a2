"""How far each shard is read."""

import json
from datetime import timedelta

import pytest

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator

ARN = "arn:aws:kinesis:us-east-1:1:stream/orders"


def identifier(shard, *parents, start="TRIM_HORIZON"):
    payload = {"arn": ARN, "start": start}
    return PartitionIdentifier(f"1:orders:9:{shard}", payload, parents=[f"1:orders:9:{each}" for each in parents])


@pytest.fixture
def orders(flights):
    one = SourceCoordinator(flights.store, "orders", "reads")
    one.supplying.register()
    one.create_partitions([identifier("shard-0"), identifier("shard-1"), identifier("shard-2", "shard-0", "shard-1")])
    return one


def test_places_and_what_waits(orders, cli):
    lease = orders.acquire_partition("1:orders:9:shard-0")
    newest = orders.store.now() - timedelta(minutes=3)
    orders.save_progress_state(lease, {"after": ["495", 2], "at": newest.isoformat()})
    code, out, _ = cli("shards", "orders", "-o", "json")
    assert code == 0
    first, second, child = json.loads(out)
    assert first == {
        "stream": "orders",
        "shard": "shard-0",
        "status": "ASSIGNED",
        "owner": "reads",
        "parents": None,
        "waits_for": None,
        "start": "TRIM_HORIZON",
        "after": "495:2",
        "newest": newest.isoformat(timespec="seconds"),
        "ago": "3 min",
    }
    assert (second["status"], second["after"], second["ago"]) == ("UNASSIGNED", None, None)
    assert (child["status"], child["waits_for"]) == ("BLOCKED", "shard-0, shard-1")


@pytest.mark.parametrize("state", [{"row": 7}, [1], {"after": ["1", 0]}, {"after": ["1", 0], "at": "noon"}])
def test_what_a_function_has_saved_otherwise_is_no_place(orders, cli, state):
    orders.save_progress_state(orders.acquire_partition("1:orders:9:shard-1"), state)
    code, out, _ = cli("shards", "orders", "-o", "json")
    assert (code, json.loads(out)[1]["ago"]) == (0, None)


def test_what_is_no_shard_is_counted(flights, cli):
    code, out, err = cli("shards", "flights")
    assert (code, out) == (0, "")
    assert "3 other partition(s) of the source are no shards. KinesisShards makes those that are" in err
