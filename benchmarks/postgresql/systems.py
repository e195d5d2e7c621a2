"""The systems that are compared on PostgreSQL."""

from __future__ import annotations

from benchmarks.harness.systems import Spec

_HERE = "benchmarks.postgresql"
PROCRASTINATE = Spec("procrastinate", f"{_HERE}.with_procrastinate:Procrastinate", "procrastinate", peer=True)
PGQUEUER = Spec("pgqueuer", f"{_HERE}.with_pgqueuer:PgQueuer", "pgqueuer", peer=True)


def ours(mode: str, hints: int = 0) -> Spec:
    """Return this package in one of its ways."""
    options = {"mode": mode} | ({"hints": hints} if hints else {})
    return Spec(f"ours, {mode}", "benchmarks.ours:Ours", "ours", options)


def raw(mode: str) -> Spec:
    """Return raw SQL in one of its ways."""
    return Spec(f"raw, {mode}", f"{_HERE}.raw:Raw", "raw", {"mode": mode})
