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
from airflow_coordination.spark import (
    Complete,
    DeadLetters,
    FileSink,
    PostgresSink,
    Publish,
    deliver_again,
    drain,
    read_completed,
)
from airflow_coordination.stores import open_store
from tests.integration.spark.test_deliver import Journal, written

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


@pytest.fixture
def journal(tmp_path):
    (directory := tmp_path / "journal").mkdir()
    return directory


def test_s13_each_goes_to_the_sinks_that_refused_it_and_to_all_if_none_was_asked(
    spark, first, once_more, table, store, flights, journal
) -> None:
    """3 was refused by the table, 5 by the journal, 7 by both, and 1 was a dead letter by its condition."""
    sinks = {"clean": Publish("clean"), "table": table[0], "journal": Journal(str(journal), refuses=(5, 7))}
    by_condition = replace(DEAD, where="v = 'odd'")
    first([*ROWS[:1], (1, "odd"), *ROWS[2:]], sinks=sinks, dead_letters=by_condition)
    assert flights.partition("2013-01").accounting.dead_lettered == 4
    assert sorted(row.k for row in read_completed(spark, store=store, source="flights", dataset="clean").collect()) == [
        0, *range(2, 10)
    ]  # fmt: skip
    assert written(journal) == [0, 2, 3, 4, 6, 8, 9]

    again_sinks = {**sinks, "journal": Journal(str(journal))}
    done = once_more(lambda records: records.replace(["bad", "odd"], ["good", "even"], "v"), sinks=again_sinks)[1][0]
    counts = done.accounting
    assert (done.positive, counts.read, counts.delivered_everywhere, counts.dead_lettered) == (True, 4, 4, 0)
    assert {name: each.values() for name, each in counts.sinks.items()} == {
        "clean": (1, 1, 0, 0), "table": (3, 3, 0, 0), "journal": (3, 3, 0, 0),
    }  # fmt: skip
    assert [(row[0], row[1]) for row in rows_of(table[1])] == [
        (0, "v"), (1, "even"), (2, "v"), (3, "good"), (4, "v"), (5, "v"), (6, "v"), (7, "good"), (8, "v"), (9, "v"),
    ]  # fmt: skip
    assert written(journal) == list(range(10)), "no record came twice"
    added = read_completed(spark, store=store, source="flights-again", dataset="clean").collect()
    assert [(row.k, row.v) for row in added] == [(1, "even")]
    assert balance_of(store, flights.partition("2013-01")).set_aside == 0


def test_s13_two_equal_records_are_two(first, once_more, store, flights, table) -> None:
    """What is malformed has no key, and may be there twice."""
    where = replace(DEAD, where="k is null")
    first([(None, "x"), (None, "x"), (1, "v")], dead_letters=where)
    done = once_more(lambda records: records, drop={"nothing in it": "k is null"})[1][0]
    assert (done.accounting.read, done.accounting.dropped) == (2, {"nothing in it": 2})
    balance = balance_of(store, flights.partition("2013-01"))
    assert (balance.counted, balance.read, balance.again.dropped, balance.set_aside) == (2, 2, {"nothing in it": 2}, 0)
    assert balance.holds


def test_s13_what_is_refused_once_more_waits_for_the_next_round(
    first, once_more, table, store, flights, capsys
) -> None:
    first()
    one = once_more(lambda records: records.selectExpr("k", "if(k = 3, 'good', v) as v"))
    assert (one[1][0].accounting.delivered_everywhere, one[1][0].accounting.dead_lettered) == (1, 1)
    assert told(store, capsys, "flights", "2013-01")["dead letters: still set aside", None] == 1
    assert once_more()[0].completed == 0, "a second round is one that is asked for"
    two = once_more(rounds=2)
    assert (two[0].completed, two[1][0].accounting.read, two[1][0].accounting.delivered_everywhere) == (1, 1, 1)
    assert [row[:2] for row in rows_of(table[1]) if row[1] == "good"] == [(3, "good"), (7, "good")]
    assert {row[3] for row in rows_of(table[1])} == {1}
    balance = balance_of(store, flights.partition("2013-01"))
    assert (balance.rounds, balance.read, balance.again.delivered_everywhere, balance.set_aside) == (2, 2, 2, 0)
    assert once_more(rounds=3)[0].completed == 0, "nothing is left"


def do_anew(flights, first, rows) -> None:
    flights.people.reset("2013-01", by="ana", why="another file")
    first(rows, keys=())


def test_s13_what_the_original_has_replaced_is_void(first, once_more, table, store, flights, again, capsys) -> None:
    first()
    again.run_supplier(dead_letters_again("flights"))
    do_anew(flights, first, [(3, "mended"), (4, "bad")])
    ended, done = once_more(supplier=lambda state: [])
    assert (ended.completed, done[0].positive, done[0].accounting.read) == (1, True, 0)
    assert "'2013-01' of source 'flights' has set aside is not this any more" in done[0].void
    assert (3, "mended") in [row[:2] for row in rows_of(table[1])]
    balance = balance_of(store, flights.partition("2013-01"))
    assert (balance.rounds, balance.counted, balance.set_aside, balance.void) == (0, 1, 1, 0)
    key = again.partitions()[0].key
    assert told(store, capsys, "flights-again", key) == {("void: the dead letters were replaced", None): 0}

    assert once_more()[1][0].accounting.delivered_everywhere == 1, "the new ones are a new set"
    do_anew(flights, first, [(3, "mended"), (4, "mended")])
    shown = told(store, capsys, "flights", "2013-01")
    assert shown["dead letters: still set aside", None] == 0
    assert shown["void: delivered again before the dead letters were replaced", None] == 1


def test_s13_what_the_original_replaces_meanwhile_is_overwritten_by_nobody(
    first, once_more, table, store, flights, again
) -> None:
    """Sinks are told the fence under which they were set aside: what has a later one stays."""

    first()

    def slow(records):
        do_anew(flights, first, [(3, "newer"), (4, "v"), (7, "newer")])
        return mended(records)

    ended, [done] = once_more(slow)
    assert (ended.failed, done.positive) == (1, False)
    assert "has written this record" in done.problems[0]
    assert [row[:2] for row in rows_of(table[1]) if row[0] in (3, 7)] == [(3, "newer"), (7, "newer")]
    assert balance_of(store, flights.partition("2013-01")).void == 0
    again.people.reopen(again.partitions()[0].key, by="ana", why="once more")
    assert [each.void is None for each in once_more()[1]] == [False]
    assert again.partitions()[0].status is PartitionStatus.COMPLETED


def test_s13_a_driver_that_lost_its_lease_counts_nothing(first, run, table, store, flights, again) -> None:
    """It was taken away when everything was delivered: who comes after it brings the same rows, counted once."""
    first()
    tries = []

    def main(spark, lease):
        tries.append(deliver_again(spark, lease, SCHEMA, "k", {"table": table[0]}, mend=mended))
        if len(tries) == 1:
            again.people.release(lease.partition.key, by="ana", why="it hangs")
        return Complete()

    run(main, "flights-again", supplier=dead_letters_again("flights"))
    run(main, "flights-again")
    assert [each.accounting.delivered_everywhere for each in tries] == [2, 2]
    [one] = again.partitions()
    assert (one.status, one.accounting.read, one.accounting.delivered_everywhere) == (PartitionStatus.COMPLETED, 2, 2)
    balance = balance_of(store, flights.partition("2013-01"))
    assert (balance.again.delivered_everywhere, balance.set_aside, balance.rounds) == (2, 0, 1)
    assert len(rows_of(table[1])) == 10


def test_s13_one_that_fails_behind_the_delivery_counts_once(first, run, table, store, flights, again) -> None:
    first()
    tries = []

    def main(spark, lease):
        tries.append(deliver_again(spark, lease, SCHEMA, "k", {"table": table[0]}, mend=mended))
        if len(tries) == 1:
            raise RuntimeError("the driver dies here")
        return Complete()

    run(main, "flights-again", supplier=dead_letters_again("flights"))
    assert balance_of(store, flights.partition("2013-01")).set_aside == 2, "it has not ended well"
    again.people.reopen(again.partitions()[0].key, by="ana", why="once more")
    run(main, "flights-again")
    assert [each.accounting.delivered_everywhere for each in tries] == [2, 2]
    assert balance_of(store, flights.partition("2013-01")).again.delivered_everywhere == 2
    assert len(rows_of(table[1])) == 10


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"sinks": {"other": None}}, "sinks='table': has refused records, and is not among the sinks"),
        ({"dead_letters": DeadLetters("elsewhere")}, "is not the dataset that they come from"),
        ({"mend": lambda records: records.where("k = 3")}, "returned 1 records of 2. Return each once"),
    ],
)
def test_bad_input_says_what_and_how(first, run, table, again, given, told) -> None:
    first()
    wrong = []

    def main(spark, lease):
        more = {"sinks": {"table": table[0]}, **given}
        try:
            deliver_again(spark, lease, SCHEMA, "k", more.pop("sinks"), **more)
        except InvalidInputError as error:
            wrong.append(str(error))
            raise
        return Complete()

    run(main, "flights-again", supplier=dead_letters_again("flights"))
    assert told in wrong[0]
    assert len(rows_of(table[1])) == 8, "nothing was delivered"
    assert again.partitions()[0].failures == 1


def test_a_record_that_does_not_fit_the_schema_is_an_error_and_not_null(first, run, table, again) -> None:
    first()

    def main(spark, lease):
        deliver_again(spark, lease, "k bigint, v int", "k", {"table": table[0]})
        return Complete()

    run(main, "flights-again", supplier=dead_letters_again("flights"))
    assert "CANNOT_PARSE_JSON_FIELD" in again.partitions()[0].last_error
    assert len(rows_of(table[1])) == 8


ODD = "select * from values (1L, 'v'), (2L, cast(X'61ff63' as string)), (3L, 'bad') as t(k, v)"
"""Three records, of which one has a text that is no UTF-8."""


def set_odd_aside(run, flights, sink) -> None:
    def main(spark, lease):
        lease.deliver(spark.sql(ODD), "k", {"table": sink}, dead_letters=DEAD)
        return Complete()

    flights.create_partitions(["2013-01"])
    assert run(main, "flights").completed == 1


def test_d7_what_was_set_aside_because_it_could_not_be_read_is_never_delivered_as_a_text(
    spark, store, run, once_more, table, flights, again
) -> None:
    """``Unreadable(reason=…)`` stood in its place, arrived as data, and counted as delivered."""
    set_odd_aside(run, flights, table[0])
    letters = read_completed(spark, store=store, source="flights", dataset="dead_letters").collect()
    by_key = {each.key: each for each in letters}
    assert json.loads(by_key["2"].record)["v"]["raw"] == "Yf9j", "what was read"
    assert (json.loads(by_key["2"].unreadable).keys(), by_key["3"].unreadable) == ({"v"}, None)

    assert once_more()[0].failed == 1
    said = again.partitions()[0].last_error
    assert "schema='v': could not be read in the dead letter with the key '2', of sinks 'table', so its record" in said
    assert "UnicodeDecodeError" in said
    assert "Mend the input and do the original anew, drop the record by a condition, leave this column out of" in said
    assert [row[0] for row in rows_of(table[1])] == [1], "nothing was delivered"


@pytest.mark.parametrize("mend", [None, lambda records: records.selectExpr("k", "upper(v) as v", "k as number")])
def test_d7_one_that_is_dropped_keeps_no_other_back(run, table, flights, again, mend) -> None:
    set_odd_aside(run, flights, table[0])
    done = []
    drop = {"no text": "k = 2" if mend is None else "v like '%UNREADABLE%'"}

    def main(spark, lease):
        done.append(deliver_again(spark, lease, "k bigint, v string", "k", {"table": table[0]}, mend=mend, drop=drop))
        return Complete()

    run(main, "flights-again", supplier=dead_letters_again("flights"))
    assert done[0].accounting.dropped == {"no text": 1}
    assert 2 not in [row[0] for row in rows_of(table[1])]


def test_d7_a_column_that_could_not_be_read_and_is_not_asked_for_keeps_nothing_back(run, table, flights, again) -> None:
    set_odd_aside(run, flights, table[0])
    done = []

    def main(spark, lease):
        more = {"mend": lambda records: records.selectExpr("k", "'without' as v")}
        done.append(deliver_again(spark, lease, "k bigint", "k", {"table": table[0]}, **more))
        return Complete()

    run(main, "flights-again", supplier=dead_letters_again("flights"))
    assert done[0].accounting.delivered_everywhere == 2
    assert [row[:2] for row in rows_of(table[1])] == [(1, "v"), (2, "without"), (3, "without")]


def test_d7_a_value_that_only_looks_as_if_it_could_not_be_read_is_delivered(run, flights, again, tmp_path) -> None:
    sink, aside = FileSink(str(tmp_path / "export")), replace(DEAD, where="again is null")
    rows = "select 1L as k, named_struct('unreadable', 'no', 'raw', 'x') as v, cast(null as boolean) as again"

    def main(spark, lease):
        lease.deliver(spark.sql(rows), "k", {"out": sink}, dead_letters=aside)
        return Complete()

    def once_more(spark, lease):
        schema = "k bigint, v struct<unreadable: string, raw: string>, again boolean"
        more = {"mend": lambda records: records.fillna(True), "dead_letters": aside}
        deliver_again(spark, lease, schema, "k", {"out": sink}, **more)
        return Complete()

    flights.create_partitions(["2013-01"])
    run(main, "flights")
    run(once_more, "flights-again", supplier=dead_letters_again("flights"))
    [file] = (tmp_path / "export").glob("part-*")
    assert json.loads(file.read_text()) == {"k": 1, "v": {"unreadable": "no", "raw": "x"}, "again": True}


def test_work_that_is_none_of_it_is_refused(run, again, table) -> None:
    again.create_partitions(["other work"])

    def main(spark, lease):
        deliver_again(spark, lease, SCHEMA, "k", {"table": table[0]})
        return Complete()

    run(main, "flights-again")
    assert "does not say which dead letters are to be delivered again" in again.partitions()[0].last_error
