"""P19: a dataset of 100,000 partitions: its head records in pages, and a plan once all are compacted by a hundred.

What is timed is CPU of this process, the server's is left out; wall time is printed beside it. The plan reads
everything: the groups, the overlays and the head records, as it does whenever one partition has published.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from airflow_coordination import SourceCoordinator, open_store
from airflow_coordination.compaction import CompactionConfig
from airflow_coordination.duties.compaction.planner import Planner
from airflow_coordination.leases import Lease
from airflow_coordination.outputs import Attempt
from airflow_coordination.outputs.attempts import Measured
from airflow_coordination.outputs.heads import pages
from airflow_coordination.outputs.heads.standing import Standing
from airflow_coordination.outputs.membership import members
from airflow_coordination.outputs.origins import Merged, Origin
from airflow_coordination.outputs.overlays import NONE
from airflow_coordination.planning.compaction.groups import GroupWork
from airflow_coordination.planning.compaction.slots import CompactionSlots
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores.sql.columns import HEAD
from benchmarks.goals import Reading, Readings
from benchmarks.harness.figures import of_pairs
from benchmarks.harness.postgres import Cluster, plain
from benchmarks.harness.run import Run
from tests.engines.postgres import fresh_database

HEADS, TOGETHER, TIMES = 100_000, 100, 5
SOURCE, DATASET, STORED = "flights", "clean", "flights|PARTITION"
A_DAY = timedelta(days=1) // timedelta(microseconds=1)
CONFIG = CompactionConfig(DATASET, granularity="DAY", skip_offset_from_latest="P0D")
FILL = f"""INSERT INTO coordination_heads (source_identifier, dataset, source_partition_key, blocks, row_count,
    byte_count, generation, op, token, kind, state, interval_start, interval_end, published_at)
SELECT '{STORED}', '{DATASET}', to_char(n, 'FM0000000'), json_build_array(json_build_array('{DATASET}',
    's3a://bucket/flights/clean/_partition=' || n || '/_attempt=1-a1b2c3d4/_block=0/_manifest.json',
    encode(sha256(n::text::bytea), 'hex'), 1000, 100000, NULL, 'replace'))::text, 1000, 100000, md5(n::text),
    md5(n::text), 1, 'files', 'applied', n * {A_DAY // TOGETHER}::bigint, (n + 1) * {A_DAY // TOGETHER}::bigint,
    1700000000000000 FROM generate_series(0, %s - 1) AS n"""
_READ = f"""SELECT {HEAD} FROM coordination_heads WHERE source_identifier = %s AND source_partition_key > %s
    AND dataset = %s ORDER BY source_partition_key, dataset LIMIT %s"""
_KEY = HEAD.split(", ").index("source_partition_key")
Took = tuple[float, float]
"""Seconds of wall, and of CPU."""


def benchmark(run: Run) -> Readings:
    """Measure; there is nothing to count here."""
    if run.quick:
        return run.nothing_to_count()
    number = run.scaled(HEADS, 1_000)
    with Cluster() as cluster, fresh_database(cluster.server.url) as url, TemporaryDirectory() as folder:
        store = open_store(url)
        store.setup()
        with psycopg.connect(plain(url), autocommit=True) as connection:
            connection.execute(FILL, [number])
            connection.execute("VACUUM (ANALYZE) coordination_heads")
            readings = _paged(run, store, connection, number)
            _compact(run, store, folder, number // TOGETHER)
            connection.execute("VACUUM (ANALYZE)")
        readings |= _planned(run, store, number)
        store.close()
    return readings


def _paged(run: Run, store: PartitionStore, connection: psycopg.Connection, number: int) -> Readings:
    """Read all in pages, and as tuples of a bare cursor's, one after the other: a neighbour disturbs both."""

    def ours() -> None:
        assert sum(map(len, pages.head_pages(store, STORED, DATASET))) == number

    def bare() -> None:
        found, after = 0, ""
        while rows := connection.execute(_READ, [STORED, after, DATASET, pages.PAGE]).fetchall():
            found, after = found + len(rows), rows[-1][_KEY]
        assert found == number

    mine, theirs = _in_turn(ours, bare)
    beside = of_pairs([one[1] / other[1] for one, other in zip(mine, theirs, strict=True)])
    return {
        "P19 pages": _seconds(mine),
        "P19 bare": Reading(beside.middle, str(beside), f"{_cpu(mine):.2f} s", f"{_cpu(theirs):.2f} s"),
    }


def _planned(run: Run, store: PartitionStore, number: int) -> Readings:
    planner = _planner(store, 1)

    def plan() -> None:
        found = planner.look([CONFIG])
        assert not found.tasks
        assert sum(len(group.heads) for group in found.found.done) == number

    [taken] = _in_turn(plan)
    return {"P19 plan": _seconds(taken)}


def _in_turn(*each: Callable[[], None]) -> list[list[Took]]:
    taken: list[list[Took]] = [[] for _ in each]
    for _ in range(TIMES):
        for row, call in zip(taken, each, strict=True):
            began, cpu = time.perf_counter(), time.process_time()
            call()
            row.append((time.perf_counter() - began, time.process_time() - cpu))
    return taken


def _cpu(taken: list[Took]) -> float:
    return median(cpu for _, cpu in taken)


def _seconds(taken: list[Took]) -> Reading:
    found = of_pairs([cpu for _, cpu in taken])
    return Reading(found.middle, str(found), f"wall time {median(wall for wall, _ in taken):.2f} s")


def _planner(store: PartitionStore, slots: int) -> Planner:
    return Planner(SourceCoordinator(store, SOURCE, "benchmark"), CompactionSlots(max_slots=slots))


def _compact(run: Run, store: PartitionStore, folder: str, groups: int) -> None:
    """Let a plan make the groups, and publish for each what a worker would: nobody reads the rows here."""
    planner = _planner(store, groups)
    begun = planner.run([CONFIG]).begun
    assert len(begun) == groups, f"{len(begun)} of {groups} groups"
    with run.progress("P19: groups merged", groups) as advance:
        for lease in _leases(planner.groups):
            work = GroupWork.from_payload(lease.partition.payload)
            heads = members(lease.key, work, NONE, Standing(store, STORED, DATASET))
            blocks = [(head.key, block) for head in heads for block in head.blocks]
            covers = tuple(Origin(block.digest, key, block.rows, 1, block.bytes) for key, block in blocks)
            attempt = Attempt(folder, lease.partition.source, lease.key, lease.fence, store.store_id)
            opened = attempt.open(DATASET)
            Path(opened.path).mkdir(parents=True)
            (Path(opened.path) / "part-0.json").write_text("{}" * 10_000)
            said: dict[str, Any] = {"merged_with": dict(work.config.spec), "chunk": str(work.chunk), "part": work.part}
            measured = Measured(sum(origin.rows for origin in covers))
            merged = Merged(covers=covers, **said)
            block = attempt.finish(opened, file_format="json", measure=lambda *_, of=measured: of, merged=merged)
            planner.groups.complete(lease, [block])
            advance()


def _leases(groups: SourceCoordinator) -> Iterator[Lease]:
    while (lease := groups.get_next_partition()) is not None:
        yield lease
