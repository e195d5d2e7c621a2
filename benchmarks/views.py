"""What looks at a large source cost on PostgreSQL, beside the version before: python -m benchmarks.views [partitions].

Both versions run on the same rows in one server: this one, and the one before decision 13 from the repository's own
history. Milliseconds are the fewest of some tries; rows are those read in the table, entries those read in its indexes,
as the server counts them. Then the store of the version before is migrated while its own code goes on creating,
acquiring and completing, and the longest of these steps is printed.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.testing.postgres import fresh_database, private_postgres

BEFORE = "cde2caa^"
ROOT = Path(__file__).parents[1]
SOURCE = "flights"
TIMES = 5
_READ = """SELECT seq_tup_read + coalesce(idx_tup_fetch, 0),
    (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'coordination_partitions')
    FROM pg_stat_user_tables WHERE relname = 'coordination_partitions'"""
_OTHERS = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND application_name = 'airflow-coordination'"""

Taken = tuple[float, int, int]
"""Milliseconds, rows of the table, entries of indexes."""


def looks(source: SourceCoordinator) -> dict[str, Callable[[], object]]:
    """Return what is measured, in words that both versions know."""

    def sensor() -> None:
        source.sweep(1_000)
        source.outlook()
        source.partitions(parked=True, limit=10)
        source.claimable(1_024)

    def status() -> None:
        source.counts()
        source.outlook()

    def listed(status: PartitionStatus | None = None, *, parked: bool | None = None) -> Callable[[], object]:
        return lambda: source.partitions(status, limit=101, parked=parked)

    return {
        "a sensor's look": sensor,
        "status": status,
        "counts": source.counts,
        "outlook": source.outlook,
        "list": listed(),
        **{f"list --status {each}": listed(each) for each in PartitionStatus if each is not PartitionStatus.CLOSED},
        "list --status CLOSED": listed(PartitionStatus.CLOSED, parked=False),
        "list --status PARKED": listed(PartitionStatus.CLOSED, parked=True),
    }


def set_up(url: str) -> None:
    """Create or migrate a store, and leave no session."""
    store = open_store(url)
    store.setup()
    store.close()


def measure(url: str) -> dict[str, Taken]:
    """Return what each look takes with the code that runs here."""
    taken: dict[str, Taken] = {}
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as elsewhere:
        for name in looks(SourceCoordinator(open_store(url), SOURCE, "o")):
            store = open_store(url)
            look = looks(SourceCoordinator(store, SOURCE, "o"))[name]
            before = _read(elsewhere)
            look()
            store.close()  # so that the server counts what its session has read
            after = _read(elsewhere)
            milliseconds = [_milliseconds(look) for _ in range(TIMES)]
            store.close()
            taken[name] = min(milliseconds), after[0] - before[0], after[1] - before[1]
    return taken


def _read(elsewhere: psycopg.Connection) -> tuple[int, int]:
    while elsewhere.execute(_OTHERS).fetchall() != [(0,)]:
        time.sleep(0.01)
    [(rows, entries)] = elsewhere.execute(_READ).fetchall()
    return int(rows), int(entries)


def _milliseconds(look: Callable[[], object]) -> float:
    began = time.perf_counter()
    look()
    return 1_000 * (time.perf_counter() - began)


def work(url: str) -> None:
    """Create, acquire and complete with the code that runs here until the input ends; print how often, and how long."""
    source = SourceCoordinator(open_store(url), "beside", "o")
    waits: list[float] = []

    def timed(step: Callable[[], object]) -> object:
        began = time.perf_counter()
        done = step()
        waits.append(time.perf_counter() - began)
        return done

    timed(source.counts)
    print("working", flush=True)
    waits.clear()
    while not select.select([sys.stdin], [], [], 0)[0]:
        timed(lambda: source.create_partitions([str(len(waits))]))
        lease = timed(source.get_next_partition)
        timed(lambda lease=lease: source.complete(lease))  # type: ignore[misc]
    print(json.dumps([len(waits), max(waits)]))


@contextmanager
def version_before() -> Iterator[Path]:
    """Give the tree of the version before."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "before"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, BEFORE], cwd=ROOT, check=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


class Running:
    """This file with the package of another tree.

    :param tree: the tree.
    :param do: what it does there: ``setup``, ``measure`` or ``work``.
    :param url: the store.
    """

    def __init__(self, tree: Path, do: str, url: str) -> None:
        command = [sys.executable, str(Path(__file__)), do, url]
        environment = {"PYTHONPATH": str(tree), "PATH": "/usr/bin:/bin"}
        self._process = subprocess.Popen(
            command, cwd=tree, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def line(self) -> str:
        """Return the next line that it prints."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def end(self) -> str:
        """End its input, and return what it still prints."""
        printed, _ = self._process.communicate("\n")
        if self._process.returncode:
            raise SystemExit(f"{self._process.args} failed")
        return printed


def _print(now: dict[str, Taken], before: dict[str, Taken]) -> None:
    print(f"{'':26}{'milliseconds':>18}{'rows':>22}{'entries':>22}")
    print(f"{'':26}" + f"{'now':>9}{'before':>9}" + f"{'now':>11}{'before':>11}" * 2)
    for name in now:
        (ms, rows, entries), (old_ms, old_rows, old_entries) = now[name], before[name]
        print(f"{name:26}{ms:9.1f}{old_ms:9.1f}{rows:11,}{old_rows:11,}{entries:11,}{old_entries:11,}")


def _migrate(tree: Path, url: str) -> None:
    """Migrate a store of the version before beside a writer of that version."""
    writer = Running(tree, "work", url)
    assert writer.line() == "working\n"
    took = _milliseconds(lambda: set_up(url)) / 1_000
    steps, longest = json.loads(writer.end())
    print(f"`store migrate` took {took:.1f} s beside a writer of the version before; {steps:,} times it created,")
    print(f"acquired or completed, and the longest of these took {longest:.3f} s")


def main(number: int) -> None:
    """Fill two stores, look at them, and migrate the older one beside a writer."""
    from tests.integration.stores.filling import fill

    with (
        private_postgres() as cluster,
        version_before() as tree,
        fresh_database(cluster) as url,
        fresh_database(cluster) as old_url,
    ):
        set_up(url)
        Running(tree, "setup", old_url).end()
        for each in (url, old_url):
            fill(each, number)
        print(f"{number:,} partitions")
        _print(measure(url), json.loads(Running(tree, "measure", old_url).end()))
        _migrate(tree, old_url)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["setup"]:
        set_up(arguments[1])
    elif arguments[:1] == ["measure"]:
        print(json.dumps(measure(arguments[1])))
    elif arguments[:1] == ["work"]:
        work(arguments[1])
    else:
        main(int(arguments[0]) if arguments else 1_000_000)
