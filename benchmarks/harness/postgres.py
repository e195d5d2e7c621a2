"""A PostgreSQL of the benchmark's own: filled databases, and what a system takes of the server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

import psycopg

from benchmarks.harness.figures import Turn
from benchmarks.harness.systems import Spec, Team, together
from tests.engines.postgres import PrivateServer, fresh_database, private_postgres, private_server

DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
"""What the server says; which a session could change for itself, so the syncs of each system are counted, too."""
_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend' ORDER BY pid"
_WAL = "SELECT (pg_current_wal_insert_lsn() - '0/0')::float8"


@contextmanager
def database_and_folder() -> Iterator[tuple[str, Path]]:
    """Give the URL of an empty database on a PostgreSQL of its own, and an empty folder."""
    with private_postgres() as cluster, fresh_database(cluster) as url, TemporaryDirectory() as folder:
        yield url, Path(folder)


class Cluster:
    """A server, and one filled database for each kind of rows, which is copied before it is used."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._templates: dict[tuple[str, int], str] = {}
        self._databases: dict[str, str] = {}

    def __enter__(self) -> Cluster:
        self.server: PrivateServer = self._stack.enter_context(private_server())
        self._monitor = self._stack.enter_context(psycopg.connect(plain(self.server.url), autocommit=True))
        wrong = {name: value for name in DURABLE if (value := self._setting(name)) != DURABLE[name]}
        if wrong:
            raise RuntimeError(f"this server does not keep what it acknowledges: {wrong}")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, at)

    def _setting(self, name: str) -> str:
        return str(self.one(f"SHOW {name}"))

    def one(self, query: str, *parameters: Any) -> Any:
        """Return the only value that a query of the monitor's own connection gives."""
        [[value]] = self._monitor.execute(query, parameters).fetchall()
        return value

    @property
    def version(self) -> str:
        """What the server is."""
        return self._setting("server_version")

    def template(self, spec: Spec, rows: int) -> str:
        """Return the name of a database that is filled for a system; made once for all systems with its rows."""
        known = self._templates.get((spec.rows, rows))
        if known is None:
            url = self._stack.enter_context(fresh_database(self.server.url))
            spec.fill(url=plain(url), rows=rows)
            with psycopg.connect(plain(url), autocommit=True) as connection:
                connection.execute("VACUUM (ANALYZE)")
            known = self._templates[spec.rows, rows] = url.rpartition("/")[2]
        return known

    @contextmanager
    def copy(self, spec: Spec, rows: int) -> Iterator[str]:
        """Give the URL of a copy of a filled database; everything is on disk before the block begins."""
        with fresh_database(self.server.url, self.template(spec, rows)) as url:
            self._monitor.execute("CHECKPOINT")
            yield plain(url)

    @contextmanager
    def team(self, spec: Spec, rows: int, processes: int = 1, **given: Any) -> Iterator[Team]:
        """Start a system on a copy of its rows, and end it with the block."""
        with self.copy(spec, rows) as url:
            team = Team(spec, processes, url=url, **given)
            self._databases[spec.name] = url.rpartition("/")[2]
            try:
                yield team
                team.close()
            finally:
                team.kill()

    def url_of(self, team: Team) -> str:
        """Return the address of the database that a team works on."""
        return plain(self.server.url).rpartition("/")[0] + f"/{self._databases[team.spec.name]}"

    @contextmanager
    def joined(self, team: Team) -> Iterator[Team]:
        """Start one more process of a team's system on the same database, and end it with the block."""
        with together([Team(team.spec, url=self.url_of(team))]) as [beside]:
            yield beside

    def measured(self, team: Team, warm: Sequence[dict[str, Any]] = (), **order: float) -> Turn:
        """Let a system warm up and then work, and return what the work took.

        :raises RuntimeError: when it changed its connections meanwhile: their CPU would be lost.
        """
        for first in warm:
            team.do(**first)
        backends, wal = self._backends(team), self.wal()
        before = sum(map(cpu_of, backends))
        done = team.do(**order)
        after = sum(map(cpu_of, backends))
        wal = self.wal() - wal
        if backends != self._backends(team):
            raise RuntimeError(f"{team.spec.name} changed its connections while it was measured")
        return Turn(done.cycles, done.cpu, after - before, done.wall, wal)

    def _backends(self, team: Team) -> list[int]:
        found = self._monitor.execute(_BACKENDS, [self._databases[team.spec.name]]).fetchall()
        if not found:
            raise RuntimeError(f"{team.spec.name} has no connection")
        return [pid for (pid,) in found]

    def backends_of(self, database: str) -> list[int]:
        """Return the backends that serve a database."""
        return [pid for (pid,) in self._monitor.execute(_BACKENDS, [database]).fetchall()]

    def wal(self) -> float:
        """Return how many bytes of write-ahead log there are so far."""
        return float(self.one(_WAL))


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process so far, to the nanosecond: the ticks of its ``stat`` are 10 ms."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def plain(url: str) -> str:
    """Return the URL as every driver reads it."""
    return url.replace("postgresql+psycopg://", "postgresql://")
