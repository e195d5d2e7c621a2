"""Creates partitions on PostgreSQL, beside plain COPY + INSERT … ON CONFLICT of the same rows, in one run."""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
from sqlalchemy import make_url

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.testing.postgres import PrivateServer, fresh_database, private_server

PLAIN = """
CREATE TABLE plain (
    source text NOT NULL, key text COLLATE "C" NOT NULL, payload text, priority int NOT NULL, ordinal bigserial,
    PRIMARY KEY (source, key));
CREATE INDEX ON plain (source, priority, ordinal)
"""
COPY = "COPY page (source, key, payload, priority) FROM STDIN"
INSERT = """
INSERT INTO plain (source, key, payload, priority)
SELECT source, key, payload, priority FROM page ORDER BY position ON CONFLICT DO NOTHING
"""


def identifiers(count: int) -> Iterator[PartitionIdentifier]:
    for number in range(count):
        yield PartitionIdentifier(f"2013/{number:09}", payload={"path": f"s3://bucket/2013/{number:09}.parquet"})


def ours(url: str, count: int) -> None:
    store = open_store(url)
    store.setup()
    try:
        created = SourceCoordinator(store, "flights", "benchmark").create_partitions(identifiers(count)).created
        assert created == count, f"created {created} of {count}"
    finally:
        store.close()


def plain(url: str, count: int) -> None:
    parts = make_url(url)
    rows = (("flights", new.key, f'{{"path":"{new.payload["path"]}"}}', 0) for new in identifiers(count) if new.payload)
    with psycopg.connect(host=parts.host, port=parts.port, user=parts.username, dbname=parts.database) as connection:
        connection.execute(PLAIN)
        connection.execute(
            "CREATE TEMP TABLE page (position bigserial, source text, key text, payload text, priority int)"
        )
        with connection.cursor() as cursor:
            with cursor.copy(COPY) as copy:
                for row in rows:
                    copy.write_row(row)
            cursor.execute(INSERT)
            assert cursor.rowcount == count


def server_cpu(server: PrivateServer) -> float:
    """Return the CPU seconds of the server's processes, ended ones included."""
    ticks = 0
    for pid in server.pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            continue
        ticks += sum(int(field) for field in fields[11 : 15 if pid == server.pids[0] else 13])
    return ticks / os.sysconf("SC_CLK_TCK")


def client_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measured(server: PrivateServer, run: Callable[[str, int], None], count: int) -> tuple[float, float, float]:
    """Return seconds, client CPU seconds and server CPU seconds."""
    with fresh_database(server.url) as url:
        before = time.monotonic(), client_cpu(), server_cpu(server)
        run(url, count)
        after = time.monotonic(), client_cpu(), server_cpu(server)
    return tuple(end - start for start, end in zip(before, after, strict=True))  # type: ignore[return-value]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=1_000_000)
    count = parser.parse_args().partitions
    figures = {}
    with private_server() as server:
        for name, run in (("ours", ours), ("COPY + INSERT", plain)):
            print(f"creating {count:,} partitions: {name} …", file=sys.stderr, flush=True)
            figures[name] = measured(server, run, count)
    print(f"{'':16}{'rows/s':>10}{'client us/row':>16}{'server us/row':>16}{'together':>10}")
    for name, (seconds, client, server_side) in figures.items():
        together = (client + server_side) / count * 1e6
        by_side = f"{client / count * 1e6:>16.1f}{server_side / count * 1e6:>16.1f}"
        print(f"{name:16}{count / seconds:>10,.0f}{by_side}{together:>10.1f}")
    mine, peer = figures["ours"], figures["COPY + INSERT"]
    print(f"ratio ours / plain: {peer[0] / mine[0]:.2f} of its rows/s, {sum(mine[1:]) / sum(peer[1:]):.2f} of its CPU")


if __name__ == "__main__":
    main()
