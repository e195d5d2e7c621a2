"""Dead letters, delivered again: real Spark, a store and a table in real PostgreSQL (S13, again)."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.subcommands.looking import print_accounting
from airflow_coordination.delivery.again.balance import balance_of
from airflow_coordination.delivery.again.letters import AgainWork
from airflow_coordination.leases import InvalidInputError, PartitionStatus, Settings, SourceCoordinator
from airflow_coordination.outputs import published_manifests
from airflow_coordination.sources import dead_letters_again
from airflow_coordination.spark import Complete, DeadLetters, PostgresSink, Publish, deliver_again, drain, read_completed
from airflow_coordination.stores import open_store

SCHEMA = "k bigint, v string"
ROWS = [(k, "bad" if k in (3, 7) else "v") for k in range(10)]
DEAD = DeadLetters("dead_letters")
FAST = Settings(ownership_timeout=timedelta(seconds=10), retry_delay=timedelta(hours=1))


@pytest.fixture
def store(postgres_store_url):
    opened = open_store(postgres_store_url)
    yield opened
    opened.close()


@pytest.fixture
def table(postgres_url):
    """A table that takes no value ``bad``, as a sink, and a connection to it."""
    url = postgres_url.replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create table flights (k bigint primary key, v text not null check (v <> 'bad'))")
        sink = PostgresSink(url, table="flights", columns=("k", "v"))
        sink.setup()
        yield sink, connection


@pytest.fixture
def flights(store):
    return SourceCoordinator(store, source="flights", owner="a person", settings=FAST)


@pytest.fixture
def again(store):
    return SourceCoordinator(store, source="flights-again", owner="a person", settings=FAST)


@pytest.fixture
def run(spark, store, output_root):
    def run(main, source, **more):
        told = {"settings": FAST, "max_leases": None, **more}
        return drain(main, store=store, source=source, spark=spark, output_root=output_root, **told)

    return run


@pytest.fixture
def first(run, table, flights):
    """Deliver the rows of some partitions, of which the table refuses the bad ones."""

    def first(rows=ROWS, keys=("2013-01",), sinks=None, **more):
        def main(spark, lease):
            given = {"table": table[0]} if sinks is None else sinks
            lease.deliver(spark.createDataFrame(rows, SCHEMA), "k", given, **{"dead_letters": DEAD, **more})
            return Complete()

        flights.create_partitions(keys)
        return run(main, "flights")

    return first


def mended(records):
    return records.replace("bad", "good", "v")


@pytest.fixture
def once_more(run, table):
    """Deliver what was set aside again, and return what became of each set."""

    def once_more(mend=mended, rounds=1, sinks=None, supplier=None, **more):
        done = []

        def main(spark, lease):
            given = {"table": table[0]} if sinks is None else sinks
            told = {"mend": mend, "dead_letters": DEAD, **more}
            done.append(deliver_again(spark, lease, SCHEMA, "k", given, **told))
            return Complete()

        ended = run(main, "flights-again", supplier=supplier or dead_letters_again("flights", rounds=rounds))
        return ended, done

    return once_more


def rows_of(connection) -> list[tuple]:
    return connection.execute("select k, v, lease_partition, lease_fence from flights order by k").fetchall()


def told(store, capsys, source: str, key: str | None) -> dict:
    capsys.readouterr()
    args = Namespace(source=source, key=key, dataset=None, partition_prefix=None, output="json")
    print_accounting(CommandContext(lambda: store), args)
    return {(row["count"], row["sink"]): row["records"] for row in json.loads(capsys.readouterr().out)}


def test_s13_what_is_set_aside_is_delivered_again_in_the_original_s_name(
    first, once_more, table, store, flights, again, capsys
) -> None:
    first()
    assert flights.partition("2013-01").accounting.dead_lettered == 2
    ended, [done] = once_more()

    assert (ended.completed, done.positive, done.void, done.problems) == (1, True, None, ())
    assert (done.accounting.read, done.accounting.delivered_everywhere) == (2, 2), "the two, and no other"
    by = f"{store.store_id}/flights|PARTITION/2013-01"
    assert rows_of(table[1]) == [(k, "good" if v == "bad" else v, by, 1) for k, v in ROWS]
    balance = balance_of(store, flights.partition("2013-01"))
    assert (balance.counted, balance.read, balance.again.delivered_everywhere, balance.set_aside) == (2, 2, 2, 0)
    shown = told(store, capsys, "flights", "2013-01")
    assert shown["read", None] == 10 == shown["delivered everywhere", None] + shown["dead-lettered", None]
    assert shown["dead-lettered", None] == 2
    assert shown["dead letters: delivered again", None] == 2
    assert shown["dead letters: still set aside", None] == 0
    work = AgainWork.of_payload(again.partitions()[0].payload)
    [manifest] = published_manifests(store, "flights", "dead_letters")
    assert (work.source, work.partition, work.dataset, work.round) == ("flights", "2013-01", "dead_letters", 1)
    assert manifest.key == "2013-01"
    assert once_more()[0].completed == 0, "a set is a partition once"
