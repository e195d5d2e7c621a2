"""PostgreSQL: answers dropped, statements lost or late, silence, and a server that is restarted at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
from sqlalchemy.engine import make_url

from airflow_coordination.stores import open_store
from tests.engines.postgres import PrivateServer, private_server
from tests.faults.postgres_connections import FaultyConnections, NetFault, faulty_connections
from tests.processes.stores import KILLED, STOPPED

RESTART: Final = "the server restarted at once (pg_ctl -m immediate)"


class PostgresSetup:
    """A private server behind a proxy."""

    lease, behind = 1.0, 0.0
    rates: Mapping[str, float] = {
        KILLED: 1.3,
        STOPPED: 1.0,
        NetFault.ANSWER_LOST.value: 3.5,
        NetFault.LOST.value: 1.5,
        NetFault.LATE.value: 2.0,
        NetFault.DELAYED.value: 2.5,
        NetFault.SILENCE.value: 0.2,
    }
    every: Mapping[str, float] = {RESTART: 12.0}

    def __init__(
        self, server: PrivateServer, proxy: FaultyConnections, through: str, operator: ThreadPoolExecutor
    ) -> None:
        self._server, self._proxy, self._operator = server, proxy, operator
        self.direct = server.url
        query = {"statement_timeout": "1", "connect_timeout": "2"}
        self.url = make_url(through).update_query_dict(query).render_as_string(hide_password=False)
        plain = server.url.replace("postgresql+psycopg://", "postgresql://")
        with psycopg.connect(plain) as connection:
            self.version = f"PostgreSQL {connection.info.parameter_status('server_version')}"
        self._restarts = 0
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

    def _restart(self) -> None:
        self._server.restart_after_crash()
        self._restarts += 1


@contextmanager
def postgresql(directory: Path) -> Iterator[PostgresSetup]:
    """Run a PostgreSQL of its own."""
    # One thread restarts the server, and outlives it: a server ends with the thread that has started it.
    with ThreadPoolExecutor(1) as operator, private_server() as server:
        store = open_store(server.url)
        store.setup()
        store.close()
        with faulty_connections(server.url) as (through, proxy):
            yield PostgresSetup(server, proxy, through, operator)
