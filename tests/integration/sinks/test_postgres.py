"""The table sink on a real server: the kit, the fence, faults, and what it asks of a table."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import ClassVar

import psycopg
import pyarrow as pa
import pytest
from psycopg.conninfo import make_conninfo

from airflow_coordination.sinks import PostgresSink
from airflow_coordination.systems.sink import AnswerKind, SinkNotReadyError
from airflow_coordination.testing.sinks import deliver, sink_task
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.scrubbing import without_known
from tests.engines.ports import free_port
from tests.engines.postgres import private_server
from tests.integration.sinks.kit import OwnFixtures, kinds

SOON = timedelta(seconds=1)


@pytest.fixture
def url(postgres_url: str) -> str:
    return postgres_url.replace("postgresql+psycopg://", "postgresql://")


@pytest.fixture
def database(url: str):
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def sink(url, database) -> PostgresSink:
    database.execute("create table flights (id bigint primary key, value text check (value <> 'bad'))")
    sink = PostgresSink(url, table="flights")
    sink.setup()
    return sink


@pytest.fixture
def stored(database):
    return lambda: dict(database.execute("select id, value from flights").fetchall())


class TestPostgres(OwnFixtures):
    bad_record: ClassVar = {"id": 3, "value": "bad"}


def test_s13_another_partition_s_token_does_not_keep_a_record_out(sink, stored):
    """Tokens of two partitions, or of two stores, say nothing about each other."""
    deliver(sink, [{"id": 1, "value": "old"}], sink_task(token=9))
    deliver(sink, [{"id": 1, "value": "new"}], sink_task(token=2, partition_id="store/s/q"))
    assert stored() == {1: "new"}


def test_rows_tell_partition_and_fence(sink, database):
    deliver(sink, [{"id": 1, "value": "x"}], sink_task(token=9))
    assert database.execute("select lease_partition, lease_fence from flights").fetchall() == [("store/s/p", 9)]


def test_rows_from_before_are_taken_over(sink, database, stored):
    database.execute("insert into flights values (1, 'from before')")
    deliver(sink, [{"id": 1, "value": "x"}])
    assert stored() == {1: "x"}


@pytest.mark.parametrize("value", ["bad", "nul \x00"])
def test_the_record_that_is_to_blame_is_found_in_a_large_bulk(sink, stored, value):
    records = [{"id": each, "value": value if each == 617 else "x"} for each in range(1_000)]
    answers = deliver(sink, records)
    assert [each for each, answer in enumerate(answers) if answer.kind is not AnswerKind.DELIVERED] == [617]
    assert answers[617].kind is AnswerKind.REFUSED
    assert len(stored()) == 999


def test_s13_a_connection_that_was_cut_is_made_again(sink, database, stored):
    writer = sink.open(sink_task())
    writer.write([{"id": 1, "value": "x"}])
    database.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'airflow-coordination sink'"
    )
    assert kinds(writer.write([{"id": 2, "value": "x"}])) == [AnswerKind.DELIVERED]
    writer.close()
    assert sorted(stored()) == [1, 2]


def test_s13_a_server_that_is_away_is_no_refusal(sink):
    writer = PostgresSink(f"postgresql://x@127.0.0.1:{free_port()}/x", table="flights", retry_for=SOON).open(
        sink_task()
    )
    answers = writer.write([{"id": 1, "value": "x"}] * 3)
    assert kinds(answers) == [AnswerKind.FAILED] * 3
    assert answers[0].reason.startswith("OperationalError: ")


def test_s13_a_lacking_right_is_nobody_s_record(sink, database):
    database.execute("alter table flights rename column value to renamed")
    answers = deliver(sink, [{"id": 1, "value": "x"}, {"id": 2, "value": "x"}])
    assert kinds(answers) == [AnswerKind.FAILED] * 2
    assert "UndefinedColumn" in answers[0].reason


def test_structures_become_json(url, database):
    database.execute("create table structures (id bigint primary key, one jsonb, many jsonb, words text[])")
    sink = PostgresSink(url, table="public.structures")
    sink.setup()
    record = {"id": 1, "one": {"a": 1}, "many": [{"b": 2}], "words": ["c", "d"]}
    deliver(sink, [record], sink_task(schema=pa.schema([(name, pa.null()) for name in record])))
    assert database.execute("select one, many, words from structures").fetchone() == ({"a": 1}, [{"b": 2}], ["c", "d"])


def test_setting_up_twice_changes_nothing(sink):
    sink.setup()
    sink.check(["id", "value"], "id")


@pytest.mark.parametrize(
    ("change", "columns", "problem"),
    [
        ("drop table flights", ["id", "value"], "table='flights': does not exist. Create it first"),
        (
            "alter table flights drop column lease_fence",
            ["id", "value"],
            r"has no column 'lease_fence', which keeps .* Run PostgresSink\(…\).setup\(\) once",
        ),
        (
            "alter table flights drop constraint flights_pkey",
            ["id", "value"],
            "has no unique constraint on 'id' alone, .* Make the key column its primary key",
        ),
        (
            "alter table flights drop constraint flights_pkey, add primary key (id, value)",
            ["id", "value"],
            "has no unique constraint on 'id' alone",
        ),
        (
            "alter table flights add column carrier text not null",
            ["id", "value"],
            "has a column 'carrier' that must not be null, has no default, and is not written. Write it, or give it",
        ),
        ("select 1", ["id", "value", "extra"], r"columns='extra': is no column of the table flights\. Name those"),
    ],
)
def test_a_table_that_does_not_fit(sink, database, change, columns, problem):
    database.execute(change)
    with pytest.raises(InvalidInputError, match=problem):
        sink.check(columns, "id")


@pytest.mark.parametrize(
    "change",
    [
        "add column carrier text not null default 'UA'",
        "add column number bigint not null generated always as identity",
        "add column twice text not null generated always as (coalesce(value, '') || '2') stored",
    ],
)
def test_d6_columns_that_fill_themselves_need_not_be_written(sink, database, stored, change):
    database.execute(f"alter table flights {change}")
    sink.check(["id", "value"], "id")
    assert kinds(deliver(sink, [{"id": 1, "value": "x"}])) == [AnswerKind.DELIVERED]
    assert stored() == {1: "x"}


def test_d6_a_table_that_takes_nothing_is_refused_before_a_record_is_read(sink, url, database):
    database.execute("create role reader login; grant select on flights to reader")
    try:
        reader = replace(sink, url=make_conninfo(url, user="reader"))
        with pytest.raises(InvalidInputError, match=r"may not be written by the role .* Grant it SELECT, INSERT and"):
            reader.check(["id", "value"], "id")
        only = replace(sink, url=make_conninfo(url, options="-c default_transaction_read_only=on"))
        with pytest.raises(InvalidInputError, match=r"is on a server, or of a role, that only reads. Give the address"):
            only.check(["id", "value"], "id")
    finally:
        database.execute("drop owned by reader; drop role reader")


def test_d4_each_transaction_has_the_settings_of_a_store_whatever_the_role_says(sink, url, database):
    """What is acknowledged survives an immediate restart; a pooler in between has no say."""
    database.execute(
        "create table seen (setting text, value text);"
        "create function look() returns trigger language plpgsql as $$ begin"
        " insert into seen select name, setting from pg_settings where name = any (array["
        "'synchronous_commit', 'transaction_isolation', 'plan_cache_mode', 'jit', 'statement_timeout',"
        "'idle_in_transaction_session_timeout', 'client_encoding', 'application_name']);"
        " return new; end $$;"
        "create trigger look before insert on flights for each row execute function look()"
    )
    off = "-c synchronous_commit=off -c default_transaction_isolation=serializable -c jit=on -c statement_timeout=0"
    told = replace(sink, url=make_conninfo(url, options=off, client_encoding="latin1", application_name="mine"))
    assert kinds(deliver(told, [{"id": 1, "value": "Łódź"}])) == [AnswerKind.DELIVERED]
    assert dict(database.execute("select * from seen").fetchall()) == {
        "synchronous_commit": "on",
        "transaction_isolation": "read committed",
        "plan_cache_mode": "force_generic_plan",
        "jit": "off",
        "statement_timeout": "60000",
        "idle_in_transaction_session_timeout": "60000",
        "client_encoding": "UTF8",
        "application_name": "mine",
    }


@pytest.mark.parametrize(
    ("column", "kind", "named"),
    [
        ("timestamptz(0)", "timestamp", r"timestamp\(0\) with time zone"),
        ("numeric(6,1)", "double", r"numeric\(6,1\)"),
        ("short_text", "string", r"character\(3\)"),
        ('text collate "any case"', "string", "text with a collation in which different texts are equal"),
    ],
)
def test_d5_a_key_column_that_makes_one_row_of_two_records_is_refused(url, database, column, kind, named):
    database.execute("create domain short_text as char(3)")
    folding = "provider = icu, locale = 'und-u-ks-level2', deterministic = false"
    database.execute(f'create collation "any case" ({folding})')
    database.execute(f"create table coarse (id {column} primary key)")
    with pytest.raises(SinkNotReadyError, match=f"key column 'id' of the type {named}, in which two keys"):
        PostgresSink(url, table="coarse").check_key_type("id", kind)


def test_d5_a_key_column_that_keeps_all_apart_is_taken(sink):
    sink.check_key_type("id", "bigint")


@pytest.mark.slow
@pytest.mark.long
def test_d4_what_was_delivered_survives_an_immediate_restart_of_its_server():
    """The database says ``synchronous_commit = off``: half of the rows of a completed partition were gone."""
    with private_server() as server:
        url = server.url.replace("+psycopg", "")
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("alter system set wal_writer_delay = '10s'")
            admin.execute("select pg_reload_conf()")
            admin.execute("alter database postgres set synchronous_commit = off")
            admin.execute("create table t (id bigint primary key, value text)")
        (sink := PostgresSink(url, table="t")).setup()
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("checkpoint")
        answers = deliver(sink, [{"id": each, "value": "x"} for each in range(1_000)])
        server.stop("immediate")
        server.start()
        with psycopg.connect(url) as admin:
            assert admin.execute("select count(*) from t").fetchone() == (1_000,)
        assert set(kinds(answers)) == {AnswerKind.DELIVERED}


def test_only_the_columns_that_are_named_are_written(sink, url, stored):
    some = PostgresSink(url, table="flights", columns=("id", "value"))
    some.check(["id", "value", "extra"], "id")
    schema = pa.schema([("id", pa.int64()), ("value", pa.string()), ("extra", pa.string())])
    deliver(some, [{"id": 1, "value": "x", "extra": "y"}], sink_task(schema=schema))
    assert stored() == {1: "x"}
    with pytest.raises(InvalidInputError, match="columns='nothing': is no column of the records"):
        PostgresSink(url, table="flights", columns=("id", "nothing")).check(["id", "value"], "id")


def test_x4_the_password_is_in_no_text(url):
    sink = PostgresSink("postgresql://me:hunter2-of-the-sink@127.0.0.1:1/x", table="t")
    assert "hunter2" not in repr(sink)
    assert without_known("hunter2-of-the-sink") == "***"
    with pytest.raises(InvalidInputError) as raised:
        sink.check(["id"], "id")
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"url": "host:5432/x y=z"}, r"url='\*\*\*': is no address of PostgreSQL"),
        ({"table": ""}, "table='': is no name of a table"),
        ({"table": "a..b"}, "is no name of a table"),
        ({"bulk_records": 0}, "bulk_records=0: is not a positive whole number"),
        ({"retry_for": timedelta(0)}, "retry_for=.*is zero"),
    ],
)
def test_bad_arguments(arguments, problem):
    with pytest.raises(InvalidInputError, match=problem):
        PostgresSink(**{"url": "postgresql://x@h/d", "table": "t"} | arguments)


KINDS = {
    "string": (pa.string(), ["a", "5", "", "2024-02-03", None]),
    "boolean": (pa.bool_(), [True, False]),
    "long": (pa.int64(), [5, -1, 2**40, None]),
    "double": (pa.float64(), [1.5, 2.0, float("nan"), 1e300]),
    "decimal": (pa.decimal128(10, 2), [Decimal("2.50"), Decimal("-7.00")]),
    "date": (pa.date32(), [date(2024, 2, 3)]),
    "timestamp": (pa.timestamp("us", "UTC"), [datetime(2024, 2, 3, 23, 30, tzinfo=timezone(timedelta(hours=2)))]),
    "local time": (pa.timestamp("us"), [datetime(2024, 2, 3, 4, 5, 6, 7)]),  # noqa: DTZ001
    "binary": (pa.binary(), [b"\x00a", b""]),
    "interval": (pa.duration("us"), [timedelta(days=1, seconds=5)]),
    "longs": (pa.list_(pa.int64()), [[1, None], []]),
    "doubles": (pa.list_(pa.list_(pa.float64())), [[[1.5], [2.5]]]),
    "words": (pa.list_(pa.string()), [["a", "b,c"], []]),
    "structure": (pa.struct([("a", pa.int64())]), [{"a": 1}, None]),
    "structures": (pa.list_(pa.struct([("a", pa.int64())])), [[{"a": 1}], []]),
}
COLUMNS = (
    *("text", "varchar(3)", "boolean", "smallint", "real", "numeric(3,1)", "date", "timestamp", "timestamptz"),
    *("bytea", "jsonb", "uuid", "integer[]", "text[]", "year"),
)
FENCED = "create table {} (id bigint primary key, value {}, lease_partition text, lease_fence bigint)"


@pytest.mark.parametrize("kind", KINDS)
def test_w5_a_bulk_is_cast_rounded_and_refused_as_each_record_alone(url, database, kind):
    """A copy reads text, and a parameter is cast: of each pair of types both come to the same."""
    database.execute("create domain year as integer check (value > 0)")
    told, values = KINDS[kind]
    task = sink_task(schema=pa.schema([("id", pa.int64()), ("value", told)]))
    records = [{"id": number, "value": value} for number, value in enumerate(values)] * 2
    bulk = [{**record, "id": number} for number, record in enumerate(records)]
    for column in COLUMNS:
        seen = []
        for name in ("copied", "alone"):
            database.execute(FENCED.format(name, column))
            writer = PostgresSink(url, table=name).open(task)
            writer._stage = writer._stage if name == "copied" else None
            answers = writer.write(bulk)
            writer.close()
            rows = database.execute(f"select id, value::text from {name} order by id").fetchall()
            database.execute(f"drop table {name}")
            seen.append(([answer.kind for answer in answers], rows))
        assert seen[0] == seen[1], column


def test_w5_a_bulk_is_two_statements_and_one_copy(sink, stored, monkeypatch):
    sent = []
    task = sink_task()
    writer = sink.open(task)
    monkeypatch.setattr(type(writer), "_row_by_row", lambda *_: pytest.fail("one by one"))
    fill = type(writer._stage).fill

    def seen(stage, cursor, rows):
        sent.append(len(rows))
        fill(stage, cursor, rows)

    monkeypatch.setattr(type(writer._stage), "fill", seen)
    assert set(kinds(writer.write([{"id": each, "value": "x"} for each in range(1_000)]))) == {AnswerKind.DELIVERED}
    writer.close()
    assert (sent, len(stored())) == ([1_000], 1_000)


def test_w5_of_one_key_twice_in_a_bulk_the_later_record_wins(sink, stored):
    answers = deliver(sink, [{"id": 1, "value": "a"}, {"id": 2, "value": "b"}, {"id": 1, "value": "c"}])
    assert kinds(answers) == [AnswerKind.DELIVERED] * 3
    assert stored() == {1: "c", 2: "b"}


def test_w5_a_role_that_may_make_no_temporary_table_writes_all_the_same(sink, url, database, stored):
    name = database.info.dbname
    database.execute(f"create role plain_{name} login")
    database.execute(f'revoke temporary on database "{name}" from public')
    database.execute("grant select, insert, update on flights to plain_" + name)
    plain = replace(sink, url=make_conninfo(url, user=f"plain_{name}"))
    writer = plain.open(sink_task())
    for number in (0, 2):
        assert (
            kinds(writer.write([{"id": number, "value": "a"}, {"id": number + 1, "value": "b"}]))
            == [AnswerKind.DELIVERED] * 2
        )
    writer.close()
    assert stored() == {0: "a", 1: "b", 2: "a", 3: "b"}


def test_w5_nothing_is_left_of_a_bulk_that_is_copied(sink, database):
    writer = sink.open(sink_task())
    writer.write([{"id": 1, "value": "a"}, {"id": 2, "value": "bad"}])
    left = database.execute("select count(*) from pg_class where relname = 'coordination_stage'").fetchone()
    writer.close()
    assert left == (0,)


def test_w5_of_a_copied_bulk_what_a_later_owner_wrote_is_kept(sink, stored):
    deliver(sink, [{"id": 2, "value": "later"}], sink_task(token=9))
    answers = deliver(sink, [{"id": each, "value": "zombie"} for each in range(4)], sink_task(token=8))
    assert [number for number, each in enumerate(answers) if each.kind is AnswerKind.FAILED] == [2]
    assert stored() == {0: "zombie", 1: "zombie", 2: "later", 3: "zombie"}
