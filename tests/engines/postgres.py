"""A private PostgreSQL cluster for tests: an ordinary user's, on a free port of this host, removed at the end."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from airflow_coordination.values.input_errors import SettingsError
from tests.engines.ports import free_port

_ORDINARY_USERS = ("postgres", "nobody")
_START_SECONDS = 60
STRATEGIES = 150_000
"""The first version that is told how to copy a database."""
_ENDS_WITH_ITS_PARENT = ("setpriv", "--pdeathsig", "QUIT") if shutil.which("setpriv") else ()


@dataclass(slots=True)
class PrivateServer:
    """One running cluster.

    :param binaries: where ``pg_ctl`` is.
    :param home: the cluster's own directory.
    :param port: where it listens, on 127.0.0.1.
    :param user: the system user it runs as, ``None`` = this process's own.
    :param durable: whether it waits for the disk. Without that what is acknowledged outlives its processes, not a
        machine without power, which no test takes away; and a database is copied in a fifth of the time.
    :param process: the server while it runs.
    """

    binaries: Path
    home: Path
    port: int
    user: str | None
    durable: bool = True
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """SQLAlchemy URL of the maintenance database; no password is needed."""
        return f"postgresql+psycopg://coordination@127.0.0.1:{self.port}/postgres"

    @property
    def pids(self) -> list[int]:
        """The server's first process, then its children."""
        first = int((self.home / "data/postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]

    def _run(self, *command: str) -> None:
        log = self.home / "setup.log"
        with log.open("ab") as output:
            finished = subprocess.run(
                command, cwd=self.home, user=self.user, env=_environment(), stdout=output, stderr=output, check=False
            )
        if finished.returncode:
            raise RuntimeError(f"{command[0]} ended with {finished.returncode}:\n{log.read_text()[-2000:]}")

    def create(self) -> None:
        """Make the cluster's files."""
        self._run(
            str(self.binaries / "initdb"), "-D", "data", "-U", "coordination", "-A", "trust", "-E", "UTF8",
            "--locale=C", "--no-instructions", "--no-sync",
        )  # fmt: skip
        if not self.durable:
            with (self.home / "data/postgresql.conf").open("a") as settings:
                settings.write("fsync = off\n")  # here, so that ALTER SYSTEM may say otherwise

    def start(self) -> None:
        """Start the server and wait until it answers. It ends with this process, also when that is killed."""
        options = ("-D", "data", "-h", "127.0.0.1", "-p", str(self.port), "-k", str(self.home))
        with (self.home / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                (*_ENDS_WITH_ITS_PARENT, str(self.binaries / "postgres"), *options),
                cwd=self.home,
                user=self.user,
                env=_environment(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait_until_it_answers()

    def _wait_until_it_answers(self) -> None:
        ask = (str(self.binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port))
        deadline = time.monotonic() + _START_SECONDS
        while subprocess.run(ask, env=_environment(), check=False).returncode:
            if self.process is None or self.process.poll() is not None or time.monotonic() > deadline:
                log = (self.home / "server.log").read_text()
                raise RuntimeError(f"PostgreSQL did not start:\n{log[-2000:]}")
            time.sleep(0.02)

    def stop(self, mode: str = "fast") -> None:
        """Stop the server; ``mode`` as in ``pg_ctl -m``: ``immediate`` is a crash."""
        self._run(str(self.binaries / "pg_ctl"), "-D", "data", "-m", mode, "-w", "stop")
        if self.process is not None:
            self.process.wait(_START_SECONDS)

    def restart_after_crash(self) -> None:
        """Crash the server (``pg_ctl -m immediate``) and start it again."""
        self.stop("immediate")
        self.start()


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def find_binaries() -> Path:
    """Return the directory with ``pg_ctl`` and ``initdb``.

    :raises SettingsError: when PostgreSQL's server is not installed, with the command that installs it.
    """
    on_path = shutil.which("pg_ctl")
    if on_path:
        return Path(on_path).resolve().parent
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/pg_ctl"), key=lambda path: float(path.split("/")[4]))
    if not found:
        raise SettingsError("pg_ctl", "PATH", "has no PostgreSQL server", "Install it: apt-get install postgresql")
    return Path(found[-1]).parent


def ordinary_user() -> str | None:
    """Return whom to run the server as: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in _ORDINARY_USERS if name in known)


@contextmanager
def private_server(*, durable: bool = True) -> Iterator[PrivateServer]:
    """Run a new cluster until the block ends; for tests that stop or crash the server themselves.

    :param durable: whether it waits for the disk.
    :raises SettingsError: when PostgreSQL's server is not installed.
    """
    home = Path(tempfile.mkdtemp(prefix="coordination-pg-"))
    server = PrivateServer(find_binaries(), home, free_port(), ordinary_user(), durable)
    try:
        if server.user:
            shutil.chown(home, server.user)
        server.create()
        server.start()
        yield server
    finally:
        if (home / "data/postmaster.pid").exists():
            server.stop("immediate")
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def private_postgres(*, durable: bool = True) -> Iterator[str]:
    """Run a new cluster until the block ends, and give its SQLAlchemy URL.

    :param durable: whether it waits for the disk.
    :raises SettingsError: when PostgreSQL's server is not installed.
    """
    with private_server(durable=durable) as server:
        yield server.url


@contextmanager
def made_durable(url: str) -> Iterator[None]:
    """Let the cluster at ``url`` wait for the disk until the block ends, and whoever uses it beside."""
    with psycopg.connect(_plain(url), autocommit=True) as connection:
        try:
            _set(connection, "SET fsync = on", "on")
            yield
        finally:
            _set(connection, "RESET fsync", "off")


def _set(connection: psycopg.Connection[tuple[str]], setting: str, expected: str) -> None:
    connection.execute(f"ALTER SYSTEM {setting}")
    connection.execute("SELECT pg_reload_conf()")
    while _fsync(connection) != expected:  # each process reads it when it comes to it
        time.sleep(0.01)


def _fsync(connection: psycopg.Connection[tuple[str]]) -> str:
    found = connection.execute("SELECT current_setting('fsync')").fetchone()
    assert found is not None
    return found[0]


@contextmanager
def fresh_database(url: str, template: str = "template1") -> Iterator[str]:
    """Give the URL of a new database in the cluster at ``url``; it is dropped at the end.

    :param template: the database to copy; nobody may be connected to it. Copying is faster than migrating.
    """
    name = f"coordination_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(_plain(url), autocommit=True) as connection:
        # Copied through the log it costs 80 ms of CPU; as files 40, but each of them is brought to a durable disk.
        as_files = connection.info.server_version >= STRATEGIES and _fsync(connection) == "off"
        how = " STRATEGY file_copy" if as_files else ""
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"{how}')
        try:
            yield url.rpartition("/")[0] + f"/{name}"
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _plain(url: str) -> str:
    return url.replace("postgresql+psycopg://", "postgresql://")
