"""The night that an operator was tried with: three errors, a silent owner, a paused source, a parked parent."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

import psycopg

from airflow_coordination.leases import Block, PartitionIdentifier, Settings, SourceCoordinator
from airflow_coordination.protocol.writes import Action
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from tests.integration.stores.filling import fill
from tests.share import SHARE

MINUTE: Final = timedelta(minutes=1)
TOTAL: Final = 50_002 if SHARE == 1 else 2_000
DONE: Final = 30
"""Partitions of the night that were completed one by one, so that there is a pace."""
_OTHERS: Final = 200 + 1 + 8 + 2 + 3 + DONE
ERRORS: Final = {"OutOfMemoryError in stage 3": 150, "FileNotFoundException": 40, "AnalysisException": 10}
"""Of the parked partitions, how many have which."""
STUCK: Final = "worker-7/events/scheduled__2026-11-25T02:00:00+00:00/process/7/1"
_HIDE: Final = (
    "CREATE TABLE asleep AS SELECT * FROM coordination_sources",
    "DELETE FROM coordination_sources",
)
_SHOW: Final = (
    "DELETE FROM coordination_sources",
    "INSERT INTO coordination_sources SELECT * FROM asleep",
    "DROP TABLE asleep",
)


def a_night(url: str) -> SourceCoordinator:
    """Fill a store, and return its largest source."""
    store = open_store(url)
    clock = FakeClock(store.now() - 120 * MINUTE)
    at_night = open_store(url, clock=clock)
    made = _source(
        at_night, clock, "events", STUCK, Settings(max_failures=1, brake_after=0, ownership_timeout=60 * MINUTE)
    )
    filled = _filled(url, "events")
    _fail(made, filled)
    made.create_partitions([*(f"late-{number}" for number in range(8)), "stuck", *_done()])
    for number in range(8):
        made.acquire_partition(f"late-{number}")
    _paused(at_night, clock)
    _behind_a_parked_parent(at_night, clock)
    clock.advance(80 * MINUTE)
    _silent(at_night, clock)
    for key in _done():
        lease = made.acquire_partition(key)
        clock.advance(MINUTE)
        made.complete(lease, [Block("clean", f"/out/{key}", key, 1_000, 1_000_000)])
    for key in _done()[:3]:
        made.people.act(Action.RESET, key, "ana", "yesterday's rates", batch="one click")
    store.close()
    at_night.close()
    return made


def _done() -> list[str]:
    return [f"done-{number:02}" for number in range(DONE)]


def _source(store: Any, clock: FakeClock, name: str, owner: str, settings: Settings | None = None) -> SourceCoordinator:
    made = SourceCoordinator(store, name, owner, clock=clock, settings=settings or Settings())
    made.supplying.register_dag("flights_dag")
    return made


def _filled(url: str, name: str) -> int:
    """Make most partitions of the night at once, and return how many of them are parked."""
    number = TOTAL - _OTHERS
    number += len(range(998, number + 1, 10_000))
    parked = len(range(998, number + 1, 10_000))
    assert number + _OTHERS - parked == TOTAL
    fill(url, number, [name])
    return parked


def _fail(made: SourceCoordinator, filled: int) -> None:
    said = [
        *["OutOfMemoryError in stage 3"] * (ERRORS["OutOfMemoryError in stage 3"] - filled),
        *["FileNotFoundException: s3a://lake/in/day.csv"] * ERRORS["FileNotFoundException"],
        *["AnalysisException: no column named amount"] * ERRORS["AnalysisException"],
    ]
    made.create_partitions([f"bad-{number:03}" for number in range(len(said))])
    for number, error in enumerate(said):
        made.fail(made.acquire_partition(f"bad-{number:03}"), error)


def _paused(store: Any, clock: FakeClock) -> None:
    invoices = _source(store, clock, "invoices", "somebody")
    invoices.create_partitions(["2026-09", "2026-10", "2026-11"])
    invoices.pausing.pause("carla", "the rates are wrong", None)


def _behind_a_parked_parent(store: Any, clock: FakeClock) -> None:
    reports = _source(store, clock, "reports", "somebody", Settings(max_failures=1))
    reports.create_partitions([PartitionIdentifier("load")])
    reports.create_partitions([PartitionIdentifier("report", parents=["load"])])
    reports.fail(reports.acquire_partition("load"), "OSError: the disk is full")


def _silent(store: Any, clock: FakeClock) -> None:
    """A driver that renews every minute, and has not for forty."""
    often = Settings(ownership_timeout=180 * MINUTE, renewals_per_lease=180)
    stuck = SourceCoordinator(store, "events", STUCK, clock=clock, settings=often)
    stuck.describe_owner()
    assert stuck.acquire_partition("stuck") is not None


@contextmanager
def alone(sqlite_file: str, *urls: str) -> Iterator[None]:
    """Let the board see no source of other stores meanwhile: their tests, before and after, see theirs alone."""
    _run(sqlite_file, urls, _HIDE)
    try:
        yield
    finally:
        _run(sqlite_file, urls, _SHOW)


def take_away(url: str) -> None:
    """Take the night's sources away from the board."""
    _in_postgres(url, ["DELETE FROM coordination_sources"])


def _run(sqlite_file: str, urls: Sequence[str], statements: Sequence[str]) -> None:
    with sqlite3.connect(sqlite_file, timeout=30) as connection:
        for statement in statements:
            connection.execute(statement)
    for url in urls:
        _in_postgres(url, statements)


def _in_postgres(url: str, statements: Sequence[str]) -> None:
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
