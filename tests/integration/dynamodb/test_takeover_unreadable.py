"""Rows that block Data Prepper, and rows that are not as it writes them."""

from __future__ import annotations

import logging

import pytest

from airflow_coordination.leases import PartitionStatus
from tests.integration.dynamodb.data_prepper import SNAPSHOTS
from tests.integration.dynamodb.engine import Engine
from tests.integration.dynamodb.snapshot import POISON, Snapshot, drained, key, poisoned


def test_what_cannot_be_read_is_parked_and_named(engine: Engine, table: str, caplog: pytest.LogCaptureFixture):
    """Such a row blocks the good ones behind it in Data Prepper. Here they go on, and a person decides on it."""
    snapshot = Snapshot(engine, table, "02")
    snapshot.before += poisoned()
    try:
        with caplog.at_level(logging.WARNING):
            one = snapshot.taken_over()
        assert len(drained(one)) == 9
        parked = {partition.key: partition for partition in one.partitions(PartitionStatus.CLOSED)}
        assert sorted(parked) == sorted(POISON)
        assert all(partition.parked for partition in parked.values())
        assert parked["half a close"].last_error == "Data Prepper left it unreadable: closedCount='1.5'"
        assert parked["no status"].last_error == "Data Prepper left it unreadable: no sourcePartitionStatus"
        assert parked["map for a text"].progress_state == {"row": "7"}
        assert sorted(record.getMessage().split("'")[1] for record in caplog.records) == sorted(POISON)
    finally:
        engine.delete(table)


def test_a_person_lets_an_unreadable_one_go_on(local: Engine, local_table: str):
    """It is an ordinary partition from then on."""
    snapshot = Snapshot(local, local_table, "01")
    snapshot.before += poisoned()
    one = snapshot.taken_over()
    one.people.reopen("bad time", by="ana", why="seen")
    assert [partition.key for partition in drained(one)] == ["bad time"]


def test_an_unreadable_completed_item_stays_completed(local: Engine, local_table: str):
    """Nothing that was finished is ever begun again."""
    snapshot = Snapshot(local, local_table, "01")
    snapshot.before += [
        row | {"sourcePartitionStatus": {"S": "COMPLETED"}} for row in poisoned() if "sourcePartitionStatus" in row
    ]
    one = snapshot.taken_over()
    assert drained(one) == []
    assert one.counts()[PartitionStatus.COMPLETED] == len(POISON) - 1


def test_an_unreadable_global_state_goes_on(local: Engine, local_table: str):
    """What the supplier remembers is readable; its status and times are not needed."""
    snapshot = Snapshot(local, local_table, "02")
    snapshot.before[0] |= {"sourcePartitionStatus": {"S": "HALF_DONE"}, "closedCount": {"N": "1.5"}}
    assert snapshot.taken_over().run_supplier(lambda state: []).state == {"lastScan": "2026-11-20T00:00:00Z"}


def test_what_has_no_time_is_due_at_once(local: Engine, local_table: str):
    """As in Data Prepper: an ASSIGNED row without the end of its lease, a CLOSED one without the time to reopen."""
    snapshot = Snapshot(local, local_table, "01")
    base = next(item for item in SNAPSHOTS["02"] if item["sourcePartitionKey"]["S"] == key(1))
    for status in ("ASSIGNED", "CLOSED"):
        snapshot.before.append(base | {"sourcePartitionKey": {"S": status}, "sourcePartitionStatus": {"S": status}})
    assert [partition.key for partition in drained(snapshot.taken_over())] == ["ASSIGNED", "CLOSED"]


def test_the_status_counts_and_not_the_index(local: Engine, local_table: str):
    """Data Prepper hands a COMPLETED row out again whose index key still says UNASSIGNED."""
    snapshot = Snapshot(local, local_table, "02")
    snapshot.before[2] |= {"sourcePartitionStatus": {"S": "COMPLETED"}}
    assert key(1) not in [partition.key for partition in drained(snapshot.taken_over())]
