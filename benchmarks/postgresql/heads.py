"""What reading the head records of a dataset takes, by the size of a page: the way of every reader, and of a plan.

No goal's row: ``python -m benchmarks.postgresql.heads`` prints it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import psycopg
from rich.console import Console

from airflow_coordination.outputs.heads import pages
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.columns import HEAD
from benchmarks.harness.postgres import plain
from benchmarks.harness.run import Run
from tests.engines.postgres import fresh_database, private_postgres

HEADS = 100_000
TIMES = 5
SOURCE, DATASET = "flights|PARTITION", "clean"
_FILL = """INSERT INTO coordination_heads (source_identifier, dataset, source_partition_key, blocks, row_count,
    byte_count, generation, op, token, kind, state, interval_start, interval_end, published_at)
SELECT 'flights|PARTITION', 'clean', to_char(n, 'FM0000000'), json_build_array(json_build_array('clean',
    's3a://bucket/flights/clean/_partition=' || n || '/_attempt=1-a1b2c3d4/_block=0/_manifest.json',
    encode(sha256(n::text::bytea), 'hex'), 1000, 100000, NULL, 'replace'))::text, 1000, 100000, md5(n::text),
    md5(n::text), 1, 'files', 'applied', n * 3600000000, (n + 1) * 3600000000, 1700000000000000
    FROM generate_series(1, %s) AS n"""
_READ = f"""SELECT {HEAD} FROM coordination_heads WHERE source_identifier = %s AND source_partition_key > %s
    AND dataset = %s ORDER BY source_partition_key, dataset LIMIT %s"""
_KEY = HEAD.split(", ").index("source_partition_key")


def main(run: Run) -> None:
    """Read all of them in pages of a thousand, and in those of readers, and as tuples of a bare cursor's.

    Both follow each other, so that a neighbour on the machine disturbs both.
    """
    number = run.scaled(HEADS, 1_000)
    columns = ("page", "statements", "milliseconds", "of them our CPU", "CPU beside a bare cursor's")
    table = run.table(f"{number:,} head records", *columns)
    with private_postgres() as cluster, fresh_database(cluster) as url:
        store = open_store(url)
        store.setup()
        with psycopg.connect(plain(url), autocommit=True) as connection:
            connection.execute(_FILL, [number])
            connection.execute("VACUUM (ANALYZE) coordination_heads")
            for page in (1_000, pages.PAGE):
                ours, bare = [], []
                for _ in range(TIMES):
                    ours.append(_timed(_ours, store, page, number))
                    bare.append(_timed(_bare, connection, page, number))
                wall, cpu = (min(each) * 1_000 for each in zip(*ours, strict=True))
                ratio = median(mine[1] / theirs[1] for mine, theirs in zip(ours, bare, strict=True))
                table.add_row(f"{page:,}", f"{number // page + 1:,}", f"{wall:.0f}", f"{cpu:.0f}", f"{ratio:.2f}")
        store.close()
    run.console.print(table)


def _ours(store: PartitionStore, page: int) -> int:
    return sum(1 for _ in every_head(store, SOURCE, dataset=DATASET, limit=page))


def _bare(connection: psycopg.Connection, page: int) -> int:
    found, after = 0, ""
    while rows := connection.execute(_READ, [SOURCE, after, DATASET, page]).fetchall():
        found, after = found + len(rows), rows[-1][_KEY]
    return found


def _timed(read: Callable[..., int], reader: object, page: int, number: int) -> tuple[float, float]:
    """Return the seconds that one way of reading takes, and those of CPU in this process."""
    began, cpu = time.perf_counter(), time.process_time()
    found = read(reader, page)
    taken = time.perf_counter() - began, time.process_time() - cpu
    assert found == number
    return taken


if __name__ == "__main__":
    main(Run(Console()))
