"""One source, many workers on DynamoDB Local: requests and failed conditions per partition, ours and Data Prepper's.

Everything is counted where botocore hands it to the network, in one run on one engine: the start of every worker,
the sensor's look that lists the hints, acquiring and completing, bringing the counts, and the last look of every
worker that finds nothing. Creation is shown beside it. Jobs take no time, which is the worst case.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from airflow_coordination.testing.dynamodb_local import dynamodb_local
from benchmarks.dynamodb.fleet import Drained, Fleet, Ours, Theirs, drain, make_client
from benchmarks.dynamodb.requests import Requests
from scripts.java_packages import jars

MOST_REQUESTS = {True: 2.3, False: 4.0}
MOST_REFUSED = {True: 0.15, False: 0.5}
"""What ours may need per partition with hints and without, at up to 64 workers."""
LIMITED_FROM = 2_000
"""Below so many partitions the start and the end of the workers outweigh what is between."""
REAL = {1: (5.0, 0.0), 8: (9.2, 3.8), 32: (30.5, 21.3), 64: (57.6, 43.8), 128: (110.0, 86.9), 256: (213.0, 172.0)}
"""Requests and failed conditions per partition of Data Prepper 2.16 itself, by workers, on DynamoDB Local 2.6.1."""


NOTE = (
    "n: workers; failed: refused by a condition; real: what Data Prepper 2.16 itself sends, and what of it fails; "
    "create: besides what is sent; time: for one partition, beside ours with hints"
)


@dataclass(frozen=True)
class Row:
    """A protocol in the table.

    :param name: what it is called.
    :param make: starts a fleet on a client and an endpoint.
    :param is_peer: whether it is Data Prepper's.
    :param with_hints: whether its workers need not race.
    """

    name: str
    make: Callable[[Any, str], Fleet]
    is_peer: bool = False
    with_hints: bool = False

    @property
    def name_of_size(self) -> str:
        """Which argument says how many partitions it drains."""
        return "raced_partitions" if self.is_peer else "partitions"


ROWS = (
    Row("ours, hints", lambda client, endpoint: Ours(client, endpoint, hints=True), with_hints=True),
    Row("ours, no hints", lambda client, endpoint: Ours(client, endpoint, hints=False)),
    Row("Data Prepper's", lambda client, _: Theirs(client), is_peer=True),
)


def main() -> int:
    """Run all fleets, print the table, and return 1 when a partition was lost or ours needs more than its limit."""
    arguments = _arguments()
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with dynamodb_local(jars("dynamodb-local")) as endpoint, Progress(*columns, console=console) as progress:
        runs = [
            (row, workers, _run(row, endpoint, workers, arguments, progress))
            for workers in arguments.workers
            for row in ROWS
        ]
    console.print(_table(runs))
    console.print(NOTE)
    wrong = [problem for row, workers, done in runs for problem in _problems(row, workers, done)]
    console.print("\n".join(f"[red]{problem}" for problem in wrong) or "Every partition was completed exactly once.")
    return 1 if wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 8, 64], help="sizes of the fleets")
    parser.add_argument("--partitions", type=int, default=2_000, help="of the sources that ours drain")
    raced = "of the source that Data Prepper's protocol drains: 64 workers send up to 60 requests for each"
    parser.add_argument("--raced-partitions", type=int, default=500, help=raced)
    return parser.parse_args()


def _run(row: Row, endpoint: str, workers: int, arguments: argparse.Namespace, progress: Progress) -> Drained:
    partitions = getattr(arguments, row.name_of_size)
    task = progress.add_task(f"{row.name}, {workers} workers", total=partitions)
    client = make_client(endpoint, workers)
    return drain(
        row.make(client, endpoint), Requests(client), partitions, workers, lambda count: progress.advance(task, count)
    )


def _table(runs: list[tuple[Row, int, Drained]]) -> Table:
    table = Table(title="Requests per partition", box=box.SIMPLE_HEAD)
    table.add_column("n", justify="right", no_wrap=True)
    table.add_column("protocol", no_wrap=True)
    for name in ("items", "sent", "failed", "real", "create", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    ours: dict[int, float] = {}
    for row, workers, done in runs:
        each = done.seconds / done.partitions
        ours.setdefault(workers, each)
        real = REAL.get(workers) if row.is_peer else None
        table.add_row(
            str(workers),
            row.name,
            f"{done.partitions:,}",
            f"{done.requests:.2f}",
            f"{done.refused:.2f}",
            "{} / {}".format(*real) if real else "",
            f"{done.creation.total / done.partitions:.2f}",
            f"{each / ours[workers]:.1f} ×",
            end_section=row is ROWS[-1],
        )
    return table


def _problems(row: Row, workers: int, done: Drained) -> list[str]:
    where = f"{row.name}, {workers} workers"
    problems = [] if done.exactly_once else [f"{where}: not every partition was completed exactly once"]
    if row.is_peer or done.partitions < LIMITED_FROM:
        return problems
    found = (
        ("requests", done.requests, MOST_REQUESTS[row.with_hints]),
        ("failed conditions", done.refused, MOST_REFUSED[row.with_hints]),
    )
    return problems + [
        f"{where}: {number:.2f} {what} per partition, {most} are allowed"
        for what, number, most in found
        if number > most
    ]


if __name__ == "__main__":
    sys.exit(main())
