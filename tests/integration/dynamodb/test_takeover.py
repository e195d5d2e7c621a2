"""A table that real Data Prepper made and filled becomes ours, and its work is finished, each of it once."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_coordination.cli.standalone import main
from airflow_coordination.leases import Checkpoint, PartitionStatus, SchemaVersionError
from airflow_coordination.stores.dynamodb.setup.takeover import Takeover
from airflow_coordination.testing.clock import FakeClock
from tests.integration.dynamodb.data_prepper import GLOBAL_KEY, SNAPSHOTS
from tests.integration.dynamodb.engine import Engine
from tests.integration.dynamodb.snapshot import AFTER, BEFORE, Snapshot, coordinator, drained, key
from tests.integration.dynamodb.table import acquired, found


@pytest.mark.parametrize("number", ["02", "03", "04", "05", "06"])
def test_what_data_prepper_left_is_finished_once(local: Engine, local_table: str, number: str):
    """Unfinished work comes with its progress and its closed count; what was COMPLETED never comes."""
    finish(Snapshot(local, local_table, number))


def test_the_same_on_another_engine(moto: Engine, table: str):
    """Moto is a second opinion."""
    finish(Snapshot(moto, table, "03"))
    moto.delete(table)


def finish(snapshot: Snapshot) -> None:
    """Take a snapshot over and drain it, and compare what came with what was there."""
    one = snapshot.taken_over()
    done = drained(one)
    theirs = [item for item in snapshot.before if item["sourceIdentifier"]["S"].endswith("|PARTITION")]
    unfinished = {
        item["sourcePartitionKey"]["S"]: item for item in theirs if item["sourcePartitionStatus"]["S"] != "COMPLETED"
    }
    assert sorted(partition.key for partition in done) == sorted(unfinished)
    for partition in done:
        item = unfinished[partition.key]
        assert partition.progress_text == item.get("partitionProgressState", {}).get("S")
        assert partition.closed_count == int(item["closedCount"]["N"])
    assert one.counts()[PartitionStatus.COMPLETED] == len(theirs)


def test_the_order_is_data_prepper_s(local: Engine, local_table: str):
    """Ended leases by their ends, what was closed and is due, then the waiting by their instants."""
    snapshot = Snapshot(local, local_table, "03")
    snapshot.before += [item | {"sourcePartitionKey": {"S": "first"}} for item in SNAPSHOTS["06"]]
    assert [partition.key for partition in drained(snapshot.taken_over())] == [
        key(0),
        key(1),
        key(4),
        "first",  # 2020-01-01T00:00:00Z, an override
        key(7),
        key(8),
        key(6),  # given up: its instant is the end of its last lease
    ]


def test_instants_of_different_lengths_are_in_order_of_time(local: Engine, local_table: str):
    """Data Prepper sorts texts, and ``.5Z`` stands behind ``.500001Z`` there."""
    snapshot = Snapshot(local, local_table, "01")
    fractions = ["", ".000000001", ".4", ".499999", ".500", ".500001", ".500001001"]
    [first] = snapshot.before
    for fraction in reversed(fractions):
        standing = {
            "partitionPriority": {"S": f"2026-11-20T18:00:00{fraction}Z"},
            "sourcePartitionKey": {"S": f"k{fraction}"},
        }
        where = {"sourceIdentifier": {"S": "env1|s3-pipeline|PARTITION"}}
        snapshot.before.append(first | standing | where)
    assert [partition.key for partition in drained(snapshot.taken_over())] == [f"k{fraction}" for fraction in fractions]


def test_what_an_item_becomes(local: Engine, local_table: str):
    """Completed items leave the index and keep their TTL; unfinished ones and the global state lose it."""
    snapshot = Snapshot(local, local_table, "05")
    snapshot.taken_over()
    now = snapshot.items()
    for old in snapshot.before:
        new = now[old["sourcePartitionKey"]["S"]]
        completed = old["sourcePartitionStatus"]["S"] == "COMPLETED"
        assert ("sourceStatusCombinationKey" in new) is not completed
        assert new.get("expirationTime") == (old["expirationTime"] if completed else None)
        assert new["version"] == {"N": str(int(old["version"]["N"]) + 1)}
        assert new["fenceToken"] == old["version"]
        assert "partitionOwner" not in new
        assert "partitionOwnershipTimeout" not in new
    assert now[key(0)]["partitionPriority"] == {
        "S": "!2147483648|2026-11-20T20:21:43.359803Z|2026-11-20T20:21:43.359803464Z"
    }
    assert now[key(4)]["partitionPriority"] == now[key(4)]["reOpenAt"] == {"S": "2026-11-20T19:21:43.039816Z"}


def test_closed_waits_for_its_time(local: Engine, local_table: str):
    """Nothing reopens sooner because it changed hands; a sweep reopens it then."""
    snapshot = Snapshot(local, local_table, "03", AFTER - timedelta(hours=5, minutes=10))
    one = snapshot.taken_over()
    assert key(4) not in [partition.key for partition in drained(one)]
    waiting = found(one.partition(key(4)))
    assert (waiting.status, waiting.closed_count) == (PartitionStatus.CLOSED, 1)
    snapshot.clock.advance(timedelta(hours=1))
    assert one.sweep().reopened == 1
    assert [partition.key for partition in drained(one)] == [key(4)]


def test_the_supplier_goes_on_with_the_global_state(local: Engine, local_table: str):
    """It gets the JSON object that Data Prepper has saved, and what exists is not created again."""
    snapshot = Snapshot(local, local_table, "03")
    one = snapshot.taken_over()
    seen = []

    def supplier(state: dict[str, Any]) -> Iterator[Any]:
        seen.append(dict(state))
        yield from (key(number) for number in range(12))
        yield Checkpoint({"lastScan": "2026-11-21T00:00:00Z"})

    created = one.run_supplier(supplier).created
    assert seen == [{"lastScan": "2026-11-20T00:00:00Z"}]
    assert (created.created, created.existing) == (3, 9)
    assert one.supplying.global_state() == {"lastScan": "2026-11-21T00:00:00Z"}


def test_its_sources_are_known(local: Engine, local_table: str):
    """Commands and operators refuse sources that the store has never seen."""
    one = Snapshot(local, local_table, "01").taken_over()
    one.looking.check_known()
    assert one.store.sources() == [("env1|s3-pipeline|PARTITION", {})]


def test_a_table_of_several_pages(local: Engine, local_table: str):
    """The service gives a megabyte at a time."""
    snapshot = Snapshot(local, local_table, "02")
    large = {"partitionProgressState": {"S": json.dumps("x" * 200_000)}}
    snapshot.before[1:] = [item | large for item in snapshot.before[1:]]
    one = snapshot.taken_over()
    assert one.store.table.requests["scan"] == 4
    assert [partition.progress_state for partition in drained(one)] == ["x" * 200_000] * 9


def test_again_changes_nothing(local: Engine, local_table: str):
    """Not what was taken over, and not what has been done since; nor what was registered."""
    snapshot = Snapshot(local, local_table, "03")
    one = snapshot.taken_over()
    one.supplying.register(dags=["flights"])
    held = acquired(one.get_next_partition())
    before = snapshot.items()
    again = snapshot.store()
    again.setup()
    assert snapshot.items() == before
    assert again.sources() == [("env1|s3-pipeline|PARTITION", {"dags": ["flights"]})]
    one.complete(held)


def test_it_waits_for_data_prepper_s_leases(local: Engine, local_table: str):
    """Where running beside it can be seen it is refused, naming who, and until when; nothing is written."""
    snapshot = Snapshot(local, local_table, "04", BEFORE)
    snapshot.make()
    before = snapshot.items()
    with pytest.raises(SchemaVersionError) as refused:
        snapshot.store().setup()
    assert str(refused.value) == (
        f"Store {snapshot.store().description}: Data Prepper holds 5 lease(s) in it, under the name of "
        "env1|s3-pipeline:node-a, env1|s3-pipeline:node-b; the last of them is over at 2026-11-20T18:31:44Z, in "
        "0:06:44. Two programs with different rules on one table lose work. Stop Data Prepper's pipelines on it and "
        "wait until 2026-11-20T18:31:44Z. Run `airflow coordination store migrate --conn-id ID` (without Airflow: "
        "`python -m airflow_coordination store migrate --store URL`)"
    )
    assert snapshot.items() == before
    snapshot.clock.advance(timedelta(minutes=6, seconds=44))
    snapshot.store().setup()
    assert len(drained(coordinator(snapshot.store(), snapshot.clock))) == 5  # part 4 is closed until 19:21


def test_c6_the_instant_it_names_is_the_one_from_when_on_it_works(local: Engine, local_table: str):
    """C6: the service's time and its margin are in it, and nobody is told to wait for a negative time."""
    snapshot = Snapshot(local, local_table, "04")
    soon = datetime.now(UTC) + timedelta(seconds=12)  # a busy machine takes some of them before it asks
    for item in snapshot.before:
        if "partitionOwnershipTimeout" in item:
            item["partitionOwnershipTimeout"] = {"S": f"{soon:%Y-%m-%dT%H:%M:%SZ}"}
    snapshot.make()
    store, named, waits = local.store(local_table), set(), []
    while True:
        try:
            store.setup()
            break
        except SchemaVersionError as refused:
            [(until, wait)] = re.findall(r" at (\S+), in ([^.]*)\. Two", str(refused))
            named.add(until)
            waits.append(wait)
    [until] = named
    assert set(waits) <= {f"0:00:{seconds:02}" for seconds in range(16)}  # none is left if it comes while it is told
    assert datetime.fromisoformat(until) <= store.now()


def test_c6_an_instant_that_comes_while_it_is_told_leaves_no_negative_time(local: Engine, local_table: str):
    """C6: the table is read, and then the message is made, later on a busy machine: nothing is left to wait for."""
    snapshot, waits = Snapshot(local, local_table, "04", BEFORE), set[str]()
    snapshot.make()
    for readings in reversed(range(20)):
        snapshot.clock = _Leaping(BEFORE, readings, timedelta(hours=1))
        try:
            snapshot.store().setup()
            break
        except SchemaVersionError as refused:
            waits |= set(re.findall(r", in ([^.]*)\. Two", str(refused)))
    assert waits == {"0:00:00", "0:06:44"}


class _Leaping(FakeClock):
    """A clock that leaps once it has been read so many times."""

    def __init__(self, start: datetime, readings: int, by: timedelta) -> None:
        super().__init__(start)
        self._readings, self._by = readings, by

    def now(self) -> datetime:
        if self._readings == 0:
            self.advance(self._by)
        self._readings -= 1
        return super().now()


def test_the_enhanced_coordinator_s_items_stay(local: Engine, local_table: str, caplog: pytest.LogCaptureFixture):
    """They belong to sources that this package does not have; a lease on one of them is nobody's business here."""
    snapshot = Snapshot(local, local_table, "07", BEFORE)
    snapshot.before += SNAPSHOTS["01"]
    snapshot.make()
    before = snapshot.items()
    with caplog.at_level(logging.WARNING):
        snapshot.store().setup()
    changed = {name for name, item in snapshot.items().items() if item != before[name]}
    assert changed == {GLOBAL_KEY}
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "items of sources that this package does not have are left as they are: 1 of 'env1|s3-pipeline|GLOBAL', "
        "1 of 'env1|s3-pipeline|LEADER', 4 of 'env1|s3-pipeline|STREAM'"
    ]


def test_a_source_that_no_coordinator_can_name_stays(local: Engine, local_table: str):
    """A prefix with a bar in it, or a per cent sign, is escaped in our identifiers and not in Data Prepper's."""
    snapshot = Snapshot(local, local_table, "01")
    [first] = snapshot.before
    strange = ["a|b|c|PARTITION", "50%|PARTITION", "PARTITION"]
    snapshot.before = [first | {"sourceIdentifier": {"S": name}} for name in strange]
    snapshot.make()
    done = Takeover(snapshot.store().table).run()
    assert (dict(done.left), done.statuses.total()) == (dict.fromkeys(strange, 1), 0)


def command(snapshot: Snapshot) -> int:
    url = f"dynamodb://{snapshot.table}?region=us-east-1&endpoint_url={snapshot.engine.endpoint}"
    return main(["store", "migrate", "--store", url])


def test_the_command_says_how_far_it_is(local: Engine, local_table: str, capsys: pytest.CaptureFixture[str]):
    """It may take hours."""
    snapshot = Snapshot(local, local_table, "06")
    snapshot.make()
    assert command(snapshot) == 0
    assert [line.partition(": ")[2] for line in capsys.readouterr().err.splitlines()[:2]] == [
        "taking over 1 items of Data Prepper's",
        "1 of 1 items taken over",
    ]


def test_the_service_s_time_decides(local: Engine, local_table: str, capsys: pytest.CaptureFixture[str]):
    """Whether a lease runs is not for this machine to say."""
    snapshot = Snapshot(local, local_table, "06")
    until = datetime.now(UTC) + timedelta(minutes=8)
    lease = {"partitionOwnershipTimeout": {"S": f"{until:%Y-%m-%dT%H:%M:%SZ}"}, "partitionOwner": {"S": "node-b"}}
    snapshot.before[0] |= lease | {"sourcePartitionStatus": {"S": "ASSIGNED"}}
    snapshot.make()
    assert command(snapshot) == 1
    assert "Data Prepper holds 1 lease(s) in it, under the name of node-b" in capsys.readouterr().err
