"""P8 and P9: one source, many workers on DynamoDB Local: requests and failed conditions a partition, and write units.

Everything is counted where botocore hands it to the network, in one run on one engine: the start of every worker, the
sensor's look that lists the hints, acquiring and completing, bringing the counts, and the last look of every worker
that finds nothing. Creation is shown beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.dynamodb import units
from benchmarks.dynamodb.fleet import Drained, Fleet, Ours, Theirs, drain, make_client
from benchmarks.dynamodb.requests import Requests
from benchmarks.goals import Reading, Readings
from benchmarks.harness.run import Run
from scripts.java_packages import jars
from tests.engines.dynamodb_local import dynamodb_local

REAL = {1: (5.0, 0.0), 8: (9.2, 3.8), 32: (30.5, 21.3), 64: (57.6, 43.8), 128: (110.0, 86.9), 256: (213.0, 172.0)}
"""Requests and failed conditions per partition of Data Prepper 2.16 itself, by workers, on DynamoDB Local 2.6.1."""
NOTE = "failed: refused by a condition; real: what Data Prepper 2.16 itself sends, and what of it fails"


@dataclass(frozen=True)
class Line:
    """A fleet in the table.

    :param name: what it is called.
    :param make: starts it on a client and an endpoint.
    :param workers: how many there are.
    :param partitions: how many they drain.
    :param is_peer: whether it is Data Prepper's.
    """

    name: str
    make: Callable[[Any, str], Fleet]
    workers: int
    partitions: int
    is_peer: bool = False


def _hinted(client: Any, endpoint: str) -> Fleet:
    return Ours(client, endpoint, hints=True)


def _working(client: Any, endpoint: str) -> Fleet:
    return Ours(client, endpoint, hints=True, job=1.0)


def _racing(client: Any, endpoint: str) -> Fleet:
    return Ours(client, endpoint, hints=False)


def _theirs(client: Any, endpoint: str) -> Fleet:
    return Theirs(client)


HINTS = Line("ours, hints", _hinted, 256, 10_000)
JOBS = Line("ours, hints, jobs of 1 s", _working, 256, 10_000)
NO_HINTS = Line("ours, no hints", _racing, 64, 2_000)
LINES = (HINTS, JOBS, NO_HINTS, Line("Data Prepper's", _theirs, 64, 300, is_peer=True))


def benchmark(run: Run) -> Readings:
    """Count; with ``quick`` with few workers and partitions, whose starts and ends outweigh what is between."""
    with dynamodb_local(jars("dynamodb-local")) as endpoint:
        units_of = units.readings(run, endpoint)
        lines = map(_quick, (HINTS, NO_HINTS, LINES[-1])) if run.quick else map(_scaled(run), LINES)
        done = {line.name: _drained(run, line, endpoint) for line in lines}
    _show(run, done)
    wrong = [name for name, (_, drained) in done.items() if not drained.exactly_once]
    if wrong:
        raise RuntimeError(f"not every partition was completed exactly once: {wrong}")
    return {} if run.quick else _readings(done) | units_of


def _quick(line: Line) -> Line:
    return Line(line.name, line.make, 8, 40 if line.is_peer else 200, line.is_peer)


def _scaled(run: Run) -> Callable[[Line], Line]:
    return lambda line: Line(line.name, line.make, line.workers, run.scaled(line.partitions, 60), line.is_peer)


def _drained(run: Run, line: Line, endpoint: str) -> tuple[Line, Drained]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=run.console, transient=True) as shown:
        task = shown.add_task(f"{line.name}, {line.workers} workers", total=line.partitions)
        client = make_client(endpoint, line.workers)
        fleet = line.make(client, endpoint)
        advance = lambda count: shown.advance(task, count)  # noqa: E731
        return line, drain(fleet, Requests(client), line.partitions, line.workers, advance)


def _show(run: Run, done: dict[str, tuple[Line, Drained]]) -> None:
    columns = ("workers", "partitions", "sent", "failed", "real", "create", "seconds")
    table = run.table("Requests a partition", "protocol", *columns)
    for line, drained in done.values():
        real = REAL.get(line.workers) if line.is_peer else None
        table.add_row(
            line.name,
            str(line.workers),
            f"{drained.partitions:,}",
            f"{drained.requests:.2f}",
            f"{drained.refused:.2f}",
            "{} / {}".format(*real) if real else "",
            f"{drained.creation.total / drained.partitions:.2f}",
            "" if run.quick else f"{drained.seconds:.0f}",
        )
    run.console.print(table)
    run.console.print(NOTE)


def _readings(done: dict[str, tuple[Line, Drained]]) -> Readings:
    theirs, drained = done[LINES[-1].name]
    beside = f"Data Prepper's, {theirs.workers} workers: {{:.1f}}"
    sent, failed = beside.format(drained.requests), beside.format(drained.refused)

    def reading(value: float, line: Line, theirs: str) -> Reading:
        return Reading(value, f"{value:.2f}", f"{done[line.name][0].partitions:,} partitions", theirs)

    return {
        "P8 requests": reading(done[HINTS.name][1].requests, HINTS, sent),
        "P8 failed": reading(done[HINTS.name][1].refused, HINTS, failed),
        "P8 jobs": reading(done[JOBS.name][1].requests, JOBS, sent),
        "P8 no hints": reading(done[NO_HINTS.name][1].requests, NO_HINTS, sent),
    }
