"""A takeover that is killed, and two at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from airflow_coordination.leases import PartitionStatus, SchemaVersionError
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.stores.dynamodb.setup.takeover import Takeover
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Crash
from tests.integration.dynamodb.data_prepper import SNAPSHOTS, DataPrepper
from tests.integration.dynamodb.engine import Engine
from tests.integration.dynamodb.snapshot import Snapshot, coordinator, drained, key, without_ids


class Mortal:
    """A client whose process ends when the engine has carried one of its requests out.

    :param client: the one that sends.
    :param last: number of the last request.
    """

    def __init__(self, client: Any, last: int) -> None:
        self._client, self._left = client, last
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        def send(**arguments: Any) -> Any:
            with self._lock:
                self._left -= 1
                if self._left < 0:
                    raise Crash
                answer = getattr(self._client, name)(**arguments)
                if self._left == 0:
                    raise Crash
                return answer

        return send


def behind(snapshot: Snapshot, client: Any) -> DynamoDBStore:
    """Return a store whose requests go through ``client``."""
    return DynamoDBStore(snapshot.engine.options(snapshot.table), snapshot.clock, client=lambda _: client)


def test_killed_at_any_request_and_run_again(local: Engine, table: str):
    """The result is that of a takeover that nobody disturbed. Killed before a request is killed after the last one."""
    whole = Snapshot(local, f"{table}-whole", "03")
    whole.taken_over()
    expected = without_ids(whole.items())
    for last in range(1, 30):
        snapshot = Snapshot(local, f"{table}-{last}", "03")
        snapshot.make()
        mortal = Mortal(local.client, last)
        try:
            behind(snapshot, mortal).setup()
        except Crash:
            ended = False
        else:
            ended = True
        snapshot.store().setup()
        assert without_ids(snapshot.items()) == expected
        snapshot.store().sources()
        local.delete(snapshot.table)
        if ended:
            break
    local.delete(whole.table)
    assert ended
    assert last > 10


def test_nobody_works_on_a_table_that_is_half_taken_over(local: Engine, local_table: str):
    """Until the takeover has come to its end the store is not set up."""
    snapshot = Snapshot(local, local_table, "03")
    snapshot.make()
    with pytest.raises(Crash):
        behind(snapshot, Mortal(local.client, 8)).setup()
    with pytest.raises(SchemaVersionError, match=r"was never set up.*store migrate"):
        coordinator(snapshot.store(), snapshot.clock).get_next_partition()


def test_two_at_once_share_the_work(local: Engine, local_table: str):
    """Each item is taken by one of them; both come to their end."""
    snapshot = Snapshot(local, local_table, "05")
    snapshot.before += [
        item | {"sourcePartitionKey": {"S": f"{item['sourcePartitionKey']['S']}-{n}"}}
        for item in SNAPSHOTS["02"][1:]
        for n in range(3)
    ]
    snapshot.make()
    together = threading.Barrier(2)
    taken = []

    def run() -> None:
        together.wait()
        taken.append(Takeover(snapshot.store().table).run())

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one.statuses.total() for one in taken) == len(snapshot.before)
    snapshot.store().setup()
    assert len(drained(coordinator(snapshot.store(), snapshot.clock))) == 6 + 27


class Meanwhile:
    """A client that lets something happen right after the second look at the table.

    :param client: the one that sends.
    :param happens: what.
    """

    def __init__(self, client: Any, happens: Callable[[], object]) -> None:
        self._client, self._happens, self._scans = client, happens, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def scan(self, **arguments: Any) -> Any:
        answer = self._client.scan(**arguments)
        self._scans += 1
        if self._scans == 2:
            self._happens()
        return answer


def test_data_prepper_that_writes_meanwhile_is_refused(local: Engine, local_table: str):
    """It holds nothing, so it could not be seen before; what it has written stays as it is."""
    snapshot = Snapshot(local, local_table, "02")
    snapshot.make()
    prepper = DataPrepper(local.client, local_table, snapshot.clock)
    with pytest.raises(SchemaVersionError) as refused:
        behind(snapshot, Meanwhile(local.client, prepper.acquire)).setup()
    assert str(refused.value).partition(": ")[2].partition(". Run")[0] == (
        "Data Prepper has written 'my-bucket|logs/2026/part-0000.json' of 'env1|s3-pipeline|PARTITION' while the table "
        "was being taken over, under the name of env1|s3-pipeline:node-a. Stop its pipelines on this table; the "
        "takeover goes on where it stopped"
    )
    assert snapshot.items()[key(0)]["partitionOwner"] == {"S": prepper.owner}


def test_what_its_ttl_deletes_meanwhile_is_gone(local: Engine, local_table: str):
    """Nothing is made anew that nobody has any more."""
    snapshot = Snapshot(local, local_table, "02")
    snapshot.make()
    where = {name: snapshot.before[3][name] for name in ("sourceIdentifier", "sourcePartitionKey")}
    behind(
        snapshot, Meanwhile(local.client, lambda: local.client.delete_item(TableName=local_table, Key=where))
    ).setup()
    assert len(drained(coordinator(snapshot.store(), snapshot.clock))) == 8


class Busy:
    """A client whose table is too busy for every second put."""

    def __init__(self, client: Any) -> None:
        self._client, self._puts = client, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def put_item(self, **arguments: Any) -> Any:
        self._puts += 1
        if self._puts % 2:
            code = "ProvisionedThroughputExceededException"
            raise ClientError({"Error": {"Code": code, "Message": ""}, "ResponseMetadata": {}}, "PutItem")
        return self._client.put_item(**arguments)


def test_a_busy_table_is_taken_over_slowly(local: Engine, local_table: str):
    """Ten units, Data Prepper's own default, are soon used up."""
    snapshot = Snapshot(local, local_table, "02")
    snapshot.make()
    done = Takeover(behind(snapshot, Busy(local.client)).table, FakeClock()).run()
    assert done.statuses == {PartitionStatus.UNASSIGNED: 10}
