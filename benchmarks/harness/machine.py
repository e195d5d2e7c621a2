"""Where and with what benchmarks ran."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.harness.systems import PEERS, ROOT
from tests.engines.postgres import find_binaries

_OURS = ("psycopg", "SQLAlchemy", "boto3")
_THEIRS = ("procrastinate", "pgqueuer", "huey", "asyncpg", "psycopg")


def describe(began: datetime) -> list[tuple[str, str]]:
    """Return what a reader must know of a run that ends now: names and values."""
    ended = datetime.now(UTC)
    return [
        ("date", f"{began:%Y-%m-%d %H:%M}–{ended:%H:%M} UTC"),
        ("commit", _commit()),
        ("machine", f"{os.cpu_count()} cores ({_processor()}), {_memory():.0f} GiB, {_system()}"),
        ("load at the end", ", ".join(f"{each:.1f}" for each in os.getloadavg())),
        ("this package's side", f"Python {platform.python_version()}, {_versions(_OURS)}"),
        ("the peers'", _theirs()),
        ("engines", f"{_postgres()}, SQLite {sqlite3.sqlite_version}"),
    ]


def _commit() -> str:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "safe.directory=*", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    changed = " and uncommitted changes" if git("status", "--porcelain", "--", "airflow_coordination") else ""
    return f"`{git('rev-parse', '--short', 'HEAD')}`{changed}"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _memory() -> float:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


def _system() -> str:
    return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())


def _versions(names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {version(name)}" for name in names)


def _theirs() -> str:
    asked = f"from importlib.metadata import version; print([version(name) for name in {_THEIRS!r}])"
    found = subprocess.run([PEERS, "-c", asked], capture_output=True, text=True, check=True).stdout
    numbers = found.strip("[]\n' ").split("', '")
    return ", ".join(f"{name} {number}" for name, number in zip(_THEIRS, numbers, strict=True))


def _postgres() -> str:
    command = [find_binaries() / "postgres", "--version"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
