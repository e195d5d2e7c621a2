"""An ``airflow standalone`` of the quickstart's own: its settings, its start, and its end with all that it started."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

from airflow_coordination.values.input_errors import SettingsError

MARK: Final = "COORDINATION_QUICKSTART"
"""Environment variable that all of its processes inherit, by which they are found again."""
ORDERLY: Final = 30.0
"""Seconds that Airflow has to end by itself."""
_PORTS: Final = range(8080, 8980)
_PASSWORDS: Final = "simple_auth_manager_passwords.json.generated"


def _free_ports() -> tuple[int, ...]:
    """Return four ports that nobody uses now, Airflow's usual one if it is free.

    :raises SettingsError: when there are too few.
    """
    found = list(islice(filter(_is_free, _PORTS), 4))
    if len(found) < 4:
        problem = f"finds fewer than 4 free ports from {_PORTS.start} to {_PORTS.stop - 1}"
        raise SettingsError("--run", True, problem, "End what uses them")
    return tuple(found)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _hear_interrupts() -> None:
    """Undo what a shell does to its background jobs: they ignore SIGINT, and so would Airflow."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Pass over further interruptions: what ends must end."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class OwnAirflow:
    """An Airflow that is made for the example alone; nobody else's is touched.

    :param home: ``AIRFLOW_HOME``.
    :param dags: its DAG folder.
    :param given: what the example needs in its environment.
    """

    home: Path
    dags: Path
    given: Mapping[str, str] = field(repr=False)
    password: str = field(default_factory=lambda: secrets.token_urlsafe(9), repr=False)
    ports: tuple[int, ...] = field(default_factory=_free_ports)

    @property
    def url(self) -> str:
        """Where its pages are."""
        return f"http://localhost:{self.ports[0]}"

    @property
    def log(self) -> Path:
        """What its components say."""
        return self.home / "standalone.log"

    def environment(self) -> dict[str, str]:
        """Return the environment of its processes."""
        api, worker_logs, trigger_logs, health = map(str, self.ports)
        settings = {
            "CORE__DAGS_FOLDER": str(self.dags),
            "CORE__LOAD_EXAMPLES": "False",
            "CORE__EXECUTOR": "LocalExecutor",
            "CORE__PARALLELISM": "4",  # more is too much for SQLite
            # A task that starts before the API server listens has failed, so the DAG is let go only then.
            "CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
            "CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{api}/execution/",
            "CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin",
            "CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(self.home / _PASSWORDS),
            "DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.home / 'airflow.db'}",
            "API__HOST": "127.0.0.1",
            "API__PORT": api,
            "API__BASE_URL": self.url,
            "LOGGING__WORKER_LOG_SERVER_PORT": worker_logs,
            "LOGGING__TRIGGER_LOG_SERVER_PORT": trigger_logs,
            "SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT": health,
            "WORKERS__EXECUTION_API_TIMEOUT": "30",
            "DAG_PROCESSOR__REFRESH_INTERVAL": "10",  # so long a new file waits
        }
        inherited = {name: text for name, text in os.environ.items() if not name.startswith("AIRFLOW")}
        return {
            **inherited,
            **{f"AIRFLOW__{name}": value for name, value in settings.items()},
            "AIRFLOW_HOME": str(self.home),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{inherited.get('PATH', os.defpath)}",
            MARK: str(self.home),
            **self.given,
        }

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """Start it, in a session of its own so that Ctrl-C does not reach it, and end it whatever happens."""
        end_all(self.home)
        passwords = self.home / _PASSWORDS
        passwords.touch(mode=0o600)
        passwords.write_text(json.dumps({"admin": self.password}))
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "airflow", "standalone"],
                env=self.environment(),
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_hear_interrupts,
            )
        try:
            yield process
        finally:
            with _undisturbed():
                end_all(self.home, process)


def end_all(home: Path, process: subprocess.Popen[bytes] | None = None) -> None:
    """End what runs with a home: in order, then by force. Also what a quickstart has left that was killed itself.

    :param process: its ``airflow standalone``, which ends its components on SIGINT; SIGTERM would orphan them.
    """
    import psutil  # type: ignore[import-untyped]

    if process is not None and process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(ORDERLY)
        except subprocess.TimeoutExpired:
            process.kill()
    for stop in (psutil.Process.terminate, psutil.Process.kill):
        left = [each for each in psutil.process_iter() if _home_of(each) == str(home)]
        for each in left:
            with suppress(psutil.NoSuchProcess):
                stop(each)
        psutil.wait_procs(left, timeout=5)
    if process is not None:
        process.wait()


def _home_of(process: Any) -> str | None:
    """Return the home with which a process was started, ``None`` when it is none of ours, or cannot be seen."""
    import psutil

    try:
        found: str | None = process.environ().get(MARK)
    except (psutil.Error, OSError):
        return None
    return found
