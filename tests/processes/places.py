"""The stores that a run takes place on, and the faults that each of them can really have."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol, TypeVar

import psycopg
from sqlalchemy.engine import make_url

from airflow_coordination.leases.errors import PartitionUpdateError
from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.testing.postgres import PrivateServer, private_server
from airflow_coordination.testing.postgres_faults import FaultyConnections, NetFault, faulty_connections

T = TypeVar("T")
RESTART: Final = "the server restarted at once (pg_ctl -m immediate)"
DISK_FULL: Final = "the disk full, and a write refused for it"


class Place(Protocol):
    """A store with its faults.

    :param url: of the store, as the processes see it.
    :param direct: of the store, without faults.
    :param version: of the engine.
    :param rates: how often each of its faults is asked for by chance, per second.
    :param every: after how many seconds, about, each of the others is asked for again and again.
    :param lease: seconds that a lease lasts.
    :param behind: by how many seconds the store's own time may be behind this host's.
    """

    url: str
    direct: str
    version: str
    rates: Mapping[str, float]
    every: Mapping[str, float]
    lease: float
    behind: float

    def meet(self, fault: str) -> None:
        """Ask for a fault."""

    def calm(self) -> Counter[str]:
        """End all faults, and return how often each of them really happened."""


class DiskWatch(ForwardingStore):
    """Notes when a store refuses a write because its disk is full.

    :param directory: of the run.
    """

    def __init__(self, store: PartitionStore, directory: Path) -> None:
        super().__init__(store)
        self._notes = directory / "disk-full"

    def forward(self, name: str, call: Callable[[], T]) -> T:
        """Make one call."""
        try:
            return call()
        except PartitionUpdateError as error:
            if "full" in error.reason:
                with self._notes.open("a") as notes:
                    notes.write(f"{os.getpid()} {name}\n")
            raise


class PostgresPlace:
    """A private server behind a proxy."""

    lease, behind = 1.0, 0.0

    rates: Mapping[str, float] = {
        NetFault.ANSWER_LOST.value: 4.5,
        NetFault.LOST.value: 2.0,
        NetFault.LATE.value: 2.0,
        NetFault.SILENCE.value: 0.3,
    }
    every: Mapping[str, float] = {RESTART: 12.0}

    def __init__(self, server: PrivateServer, proxy: FaultyConnections, through: str) -> None:
        self._server, self._proxy = server, proxy
        self.direct = server.url
        query = {"statement_timeout": "1", "connect_timeout": "2"}
        self.url = make_url(through).update_query_dict(query).render_as_string(hide_password=False)
        plain = server.url.replace("postgresql+psycopg://", "postgresql://")
        with psycopg.connect(plain) as connection:
            self.version = f"PostgreSQL {connection.info.server_version // 10000}"
        self._restarts = 0
        # One thread for the whole run: the server ends with the thread that started it.
        self._operator = ThreadPoolExecutor(1)
        self._restarting: Future[None] | None = None

    def meet(self, fault: str) -> None:
        """Ask for a fault."""
        if fault != RESTART:
            self._proxy.meet(NetFault(fault))
        elif self._restarting is None or self._restarting.done():
            self._restarting = self._operator.submit(self._restart)

    def calm(self) -> Counter[str]:
        """End all faults, and return how often each of them really happened."""
        self._proxy.calm()
        if self._restarting is not None:
            self._restarting.result()
        counts = Counter({fault.value: count for fault, count in self._proxy.counts.items()})
        counts[RESTART] = self._restarts
        return counts

    def close(self) -> None:
        """Let the operator go."""
        self._operator.shutdown()

    def _restart(self) -> None:
        self._server.restart_after_crash()
        self._restarts += 1


@contextmanager
def postgresql(directory: Path) -> Iterator[PostgresPlace]:
    """Run a PostgreSQL of its own."""
    with private_server() as server:
        store = open_store(server.url)
        store.setup()
        store.close()
        with faulty_connections(server.url) as (through, proxy):
            place = PostgresPlace(server, proxy, through)
            try:
                yield place
            finally:
                place.close()


PLACES: Final[Mapping[str, Callable[[Path], object]]] = {"postgresql": postgresql}
