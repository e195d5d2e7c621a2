"""Stores as one process sees them that ends at a call; on SQL at a statement, on DynamoDB at a request."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore
from airflow_coordination.stores.sql.database import Rows, Run
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.times import Randomness
from tests.faults.dynamodb_client import Fault as Request
from tests.faults.dynamodb_client import FaultyClient, at

PAGE: Final = 2
"""How many partitions the stores create in one call here, so that few make several pages."""


class Killable(Protocol):
    """A store of one process, that ends at a call."""

    @property
    def crashed(self) -> bool:
        """Whether it has ended."""

    @property
    def calls(self) -> Sequence[str]:
        """What it has called so far."""

    @property
    def process(self) -> PartitionStore:
        """What the process sees of the store."""

    def end(self) -> None:
        """Apply what comes late, and give back what the process has open."""


class SmallPages(FaultyStore):
    """Creates few partitions in one call."""

    create_page = PAGE  # type: ignore[assignment]

    @property
    def process(self) -> PartitionStore:
        return self

    def end(self) -> None:
        self.deliver()


class SmallPagesOnDynamoDB(ForwardingStore):
    """The same for one process's store on DynamoDB, which ends at a request.

    :param store: behind ``client``.
    """

    create_page = PAGE  # type: ignore[assignment]

    def __init__(self, store: PartitionStore, client: FaultyClient) -> None:
        super().__init__(store)
        self._client, self.end = client, client.deliver

    @property
    def process(self) -> PartitionStore:
        return self

    @property
    def crashed(self) -> bool:
        return self._client.crashed

    @property
    def calls(self) -> list[str]:
        return self._client.requests


Faults = Mapping[int, Fault]
Opens = Callable[[Faults], Killable]


def by_calls(store: PartitionStore) -> Opens:
    """Return what opens ``store`` for a process that meets faults at its calls."""
    return lambda faults: SmallPages(store, faults)


def by_requests(options: DynamoDBOptions, client: Any, clock: FakeClock) -> Opens:
    """Return what opens a table's store for a process that meets faults at its requests to ``client``."""

    def opens(faults: Faults) -> Killable:
        faulty = FaultyClient(client, at({number: Request[fault.name] for number, fault in faults.items()}))
        seeded = Randomness(random.Random(0))
        return SmallPagesOnDynamoDB(DynamoDBStore(options, clock, lambda _: faulty, seeded), faulty)

    return opens


class Statements:
    """Ends a process before or after one of its statements; a transaction that it is in then ends with it."""

    def __init__(self, faults: Mapping[int, Fault]) -> None:
        self._faults = faults
        self.calls: list[str] = []
        self.crashed = False

    def run(self, text: str, send: Callable[[], Rows]) -> Rows:
        """Execute one statement, or what is planned for it."""
        if self.crashed:
            raise Crash(f"{text} after the end")
        self.calls.append(text.split(None, 1)[0])
        fault = self._faults.get(len(self.calls))
        self.crashed = fault is not None
        rows = () if fault is Fault.CRASH_BEFORE else send()
        if fault is not None:
            raise Crash(f"{fault.name} {text}")
        return rows


class SmallPagesOnSql(ForwardingStore):
    """The same for one process's SQL store, which ends at a statement."""

    create_page = PAGE  # type: ignore[assignment]

    def __init__(self, store: SqlStore, faults: Mapping[int, Fault]) -> None:
        super().__init__(store)
        self._statements = Statements(faults)
        database = store.database
        fetch, transaction = database.fetch, getattr(database, "transaction", None)
        database.fetch = lambda call, statement, parameters: self._statements.run(  # type: ignore[method-assign]
            statement.text, lambda: fetch(call, statement, parameters)
        )

        @contextmanager
        def watched(call: Call) -> Iterator[Run]:
            assert transaction is not None
            with transaction(call) as run:
                yield lambda statement, parameters: self._statements.run(
                    statement.text, lambda: run(statement, parameters)
                )
            self._statements.run("COMMIT", lambda: ())

        database.transaction = watched  # type: ignore[attr-defined]

    @property
    def process(self) -> PartitionStore:
        return self

    @property
    def crashed(self) -> bool:
        return self._statements.crashed

    @property
    def calls(self) -> list[str]:
        return self._statements.calls

    def end(self) -> None:
        self.store.close()


def by_statements(url: str, clock: FakeClock) -> Opens:
    """Return what opens a database for a process that meets crashes at its statements."""

    def opens(faults: Faults) -> Killable:
        store = open_store(url, clock=clock)
        assert isinstance(store, SqlStore)
        return SmallPagesOnSql(store, faults)

    return opens
