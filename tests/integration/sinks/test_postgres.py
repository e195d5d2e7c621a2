"""The table sink on a real server: the kit, the fence, faults, and what it asks of a table."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from typing import ClassVar

import psycopg
import pyarrow as pa
import pytest
from psycopg.conninfo import make_conninfo

from airflow_coordination.sinks import PostgresSink
from airflow_coordination.systems.sink import DELIVERED, Answer, AnswerKind, Record, Records, SinkNotReadyError
from airflow_coordination.testing.sinks import deliver, sink_task
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.scrubbing import without_known
from tests.engines.pgbouncer import pgbouncer
from tests.engines.ports import free_port
from tests.engines.postgres import private_server
from tests.faults.postgres_cuts import Cut, cutting_proxy
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
    schema = pa.RecordBatch.from_pylist([record]).schema
    assert kinds(deliver(sink, [record], sink_task(schema=schema))) == [AnswerKind.DELIVERED]
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
    writer = sink.open(sink_task(schema=SCHEMA))
    assert writer.write_columns(pa.RecordBatch.from_arrays([pa.array([2, 3]), pa.array(["y", "z"])], schema=SCHEMA))
    writer.close()
    assert stored() == {1: "x", 2: "y", 3: "z"}


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


UTC_2 = timezone(timedelta(hours=2))
TEXTS = [
    "a",
    "5",
    "",
    "2024-02-03",
    None,
    "\\N",
    "\\.",
    'q"uo""te',
    "line\nline\r\n",
    " , ",
    "tab\t",
    "back\\slash",
    "Łódź",
    "NULL",
]
A = pa.struct([("a", pa.int64())])
ALL = pa.struct([("b", pa.binary()), ("t", pa.timestamp("us", "UTC")), ("d", pa.decimal128(5, 2))])
KINDS = {
    "string": (pa.string(), TEXTS),
    "long string": (pa.large_string(), ["{1,2}", '{"a": [1, null]}', "big", "-1"]),
    "nothing": (pa.null(), [None]),
    "boolean": (pa.bool_(), [True, False]),
    "byte": (pa.int8(), [5, -1, None]),
    "long": (pa.int64(), [5, -1, 2**40, None]),
    "float": (pa.float32(), [0.1, -0.0, float("inf"), 16777217.0]),
    "double": (pa.float64(), [1.5, 2.0, float("nan"), 1e300, -0.0, 5e-324, 0.1 + 0.2, float("-inf")]),
    "decimal": (pa.decimal128(10, 2), [Decimal("2.50"), Decimal("-7.00")]),
    "long decimal": (pa.decimal128(38, 10), [Decimal("1E-10"), Decimal("0E-10"), Decimal("12345678901234567890.5")]),
    "date": (pa.date32(), [date(2024, 2, 3), date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), None]),
    "timestamp": (pa.timestamp("us", "UTC"), [datetime(2024, 2, 3, 23, 30, tzinfo=UTC_2)]),
    "elsewhere": (pa.timestamp("us", "America/New_York"), [datetime(2024, 11, 3, 5, 30, 0, 7, tzinfo=UTC), None]),
    "local time": (pa.timestamp("us"), [datetime(2024, 2, 3, 4, 5, 6, 7), datetime(1582, 10, 4), datetime(1, 1, 1)]),  # noqa: DTZ001
    "binary": (pa.binary(), [b"\x00a", b""]),
    "interval": (pa.duration("us"), [timedelta(days=1, seconds=5)]),
    "longs": (pa.list_(pa.int64()), [[1, None], []]),
    "doubles": (pa.list_(pa.list_(pa.float64())), [[[1.5], [2.5]]]),
    "words": (pa.list_(pa.string()), [["a", "b,c"], []]),
    "structure": (pa.struct([("a", pa.int64())]), [{"a": 1}, None]),
    "structures": (pa.list_(A), [[{"a": 1}], [], None, [None], [None, {"a": 1}]]),
    "lists of structures": (pa.list_(pa.list_(A)), [[[{"a": 1}], None], [[]], []]),
    "map": (pa.map_(pa.string(), pa.binary()), [[("k", b"\x00\xff")], [], None]),
    "maps": (pa.list_(pa.map_(pa.int64(), pa.string())), [[[(1, "Łódź"), (2, None)]], []]),
    "structure of all": (ALL, [{"b": b"\x00\xff", "t": datetime(2013, 1, 1, 5, tzinfo=UTC), "d": Decimal("1.50")}]),
    "structure with NaN": (pa.struct([("x", pa.float64())]), [{"x": 1.5}, {"x": float("nan")}, {"x": None}]),
}
COLUMNS = (
    *("text", "varchar(3)", "boolean", "smallint", "real", "numeric(3,1)", "date", "timestamp", "timestamptz"),
    *("bytea", "jsonb", "json", "uuid", "integer[]", "text[]", "year", "mood"),
)
FENCED = "create table {} (id bigint primary key, value {}, lease_partition text, lease_fence bigint)"
TYPES = "create domain year as integer check (value > 0); create type mood as enum ('a', 'big')"


def given(writer, batch: pa.RecordBatch) -> list[Answer]:
    """Write as a task does: as columns, and what is not taken as columns record by record."""
    if writer.write_columns(batch):
        return [DELIVERED] * batch.num_rows
    return list(writer.write(records(batch)))


def row_by_row(writer, batch: pa.RecordBatch) -> list[Answer]:
    writer._stage = None
    return list(writer.write(records(batch)))


def records(batch: pa.RecordBatch) -> list[Record]:
    """Return a batch's records as a task gives them: maps are objects."""
    found = Records(batch)
    return [found[row] for row in range(batch.num_rows)]


WAYS = {"columns": given, "records": lambda writer, batch: writer.write(records(batch)), "alone": row_by_row}


@pytest.mark.parametrize("kind", KINDS)
def test_w5_a_bulk_is_cast_rounded_and_refused_as_each_record_alone(url, database, kind):
    """A copy reads text, and a parameter is cast: of each pair of types all ways come to the same."""
    database.execute(TYPES)
    told, values = KINDS[kind]
    schema = pa.schema([("id", pa.int64()), ("value", told)])
    batch = pa.RecordBatch.from_arrays([pa.array(range(len(values))), pa.array(values, told)], schema=schema)
    for column in COLUMNS:
        seen = {}
        for way, write in WAYS.items():
            database.execute(FENCED.format(way, column))
            writer = PostgresSink(url, table=way).open(sink_task(schema=schema))
            answers = write(writer, batch)
            writer.close()
            rows = database.execute(f"select id, value::text from {way} order by id").fetchall()
            database.execute(f"drop table {way}")
            seen[way] = (kinds(answers), rows)
        assert seen["columns"] == seen["records"] == seen["alone"], column


IN_JSON = {
    "structure": ['{"a": 1}', None],
    "structures": ['[{"a": 1}]', "[]", None, "[null]", '[null, {"a": 1}]'],
    "lists of structures": ['[[{"a": 1}], null]', "[[]]", "[]"],
    "map": ['{"k": "AP8="}', "{}", None],
    "maps": ['[{"1": "Łódź", "2": null}]', "[]"],
    "structure of all": ['{"b": "AP8=", "d": "1.50", "t": "2013-01-01T05:00:00+00:00"}'],
    "structure with NaN": ['{"x": 1.5}', AnswerKind.REFUSED, '{"x": null}'],
}


@pytest.mark.parametrize("kind", IN_JSON)
def test_what_is_nested_is_stored_as_the_json_that_other_sinks_get(url, database, kind):
    """An empty list stays one, of structures too; what JSON has no place for is its own record's refusal."""
    told, values = KINDS[kind]
    schema = pa.schema([("id", pa.int64()), ("value", told)])
    batch = pa.RecordBatch.from_arrays([pa.array(range(len(values))), pa.array(values, told)], schema=schema)
    for column, way in product(["jsonb", "json", "text"], WAYS):
        database.execute(FENCED.format("nested", column))
        writer = PostgresSink(url, table="nested").open(sink_task(schema=schema))
        answers = WAYS[way](writer, batch)
        writer.close()
        stored = dict(database.execute("select id, value::text from nested").fetchall())
        database.execute("drop table nested")
        seen = [stored[row] if answer == DELIVERED else answer.kind for row, answer in enumerate(answers)]
        assert seen == IN_JSON[kind], (column, way)
        reasons = [answer.reason for answer in answers if answer.kind is AnswerKind.REFUSED]
        assert all(each.startswith("column 'value': no JSON: Out of range float") for each in reasons)


TAKEN = {
    "string": "text",
    "long string": "text",
    "nothing": "text",
    "boolean": "boolean",
    "byte": "smallint",
    "long": "bigint",
    "float": "real",
    "double": "double precision",
    "decimal": "numeric",
    "long decimal": "numeric",
    "date": "date",
    "timestamp": "timestamptz",
    "elsewhere": "timestamptz",
    "local time": "timestamp",
}


@pytest.mark.parametrize("kind", TAKEN)
def test_w5_what_arrow_writes_as_psycopg_does_is_taken_as_columns(url, database, kind):
    """Also each value that stands among those of the other ways: else all of them would have gone as records."""
    told, values = KINDS[kind]
    database.execute(FENCED.format("taken", TAKEN[kind]))
    schema = pa.schema([("id", pa.int64()), ("value", told)])
    writer = PostgresSink(url, table="taken").open(sink_task(schema=schema))
    values = values[:-1] if kind == "local time" else values  # the first day is left to Python
    batch = pa.RecordBatch.from_arrays([pa.array(range(len(values))), pa.array(values, told)], schema=schema)
    plain = [date(1, 1, 1), date(9999, 12, 31)]
    assert writer.write_columns(batch) is (kind != "date")
    within = [each for each in values if each not in plain]
    rows = [pa.array(range(len(within))), pa.array(within, told)]
    assert writer.write_columns(pa.RecordBatch.from_arrays(rows, schema=schema))
    writer.close()
    assert database.execute("select count(*) from taken").fetchone() == (
        len(values) if kind != "date" else len(within),
    )


def test_w5_times_that_python_does_not_have_are_left_to_records(url, database):
    database.execute(FENCED.format("late", "timestamp"))
    schema = pa.schema([("id", pa.int64()), ("value", pa.timestamp("us"))])
    batch = pa.RecordBatch.from_arrays(
        [pa.array([1, 2]), pa.array([0, 300_000 * 10**12], schema[1].type)], schema=schema
    )
    writer = PostgresSink(url, table="late").open(sink_task(schema=schema))
    assert not writer.write_columns(batch)
    writer.close()
    assert database.execute("select count(*) from late").fetchone() == (0,)


BULK = ["BEGIN", "select set_config", "create temporary table", "copy", "insert into", "COMMIT"]
SENT = re.compile(
    r'^F\t\d+\t(?:Query|Parse)\t (?:"\w*" )?"(BEGIN|COMMIT|ROLLBACK|[a-z]+(?: (?:set_config|temporary table|into))?)',
    re.M,
)


@pytest.fixture
def sent(monkeypatch, tmp_path):
    """Return what the sink's connections have sent, as libpq tells it: the first words of each statement."""
    told, connect = tmp_path / "wire", PostgresSink.connect

    def heard(sink):
        connection = connect(sink)
        connection.pgconn.trace(stack.enter_context(told.open("a")).fileno())
        connection.pgconn.set_trace_flags(psycopg.pq.Trace.SUPPRESS_TIMESTAMPS)
        return connection

    with ExitStack() as stack:
        monkeypatch.setattr(PostgresSink, "connect", heard)
        yield lambda: SENT.findall(told.read_text())


@pytest.mark.parametrize("write", [given, WAYS["records"]], ids=["columns", "records"])
def test_w5_a_bulk_is_one_copy_and_one_upsert_in_one_transaction(sink, stored, sent, write):
    schema = pa.schema([("id", pa.int64()), ("value", pa.string())])
    writer = sink.open(sink_task(schema=schema))
    for number in range(8):
        ids = pa.array(range(number * 1_000, number * 1_000 + 1_000))
        batch = pa.RecordBatch.from_arrays([ids, pa.array(["x"] * 1_000)], schema=schema)
        assert set(kinds(write(writer, batch))) == {AnswerKind.DELIVERED}
    writer.close()
    assert (sent(), len(stored())) == (BULK * 8, 8_000)


PLACES = [
    *((at, cut) for at in ("create", "copy") for cut in (Cut.BEFORE, Cut.WAITING)),
    *[("insert", Cut.BEFORE), ("commit", Cut.WAITING), ("commit", Cut.AFTER)],
]
"""In the others the server keeps the rows locked until it ends the transaction in which nothing happens: a minute."""


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("at", "cut"), PLACES)
def test_s13_a_bulk_whose_connection_is_cut_is_there_once_and_is_known_to_be(sink, stored, monkeypatch, at, cut):
    """Also where its commit has come through, and its answer has not."""
    execute, armed = psycopg.Cursor.execute, []

    def watched(cursor, query, *more, **others):
        text = query if isinstance(query, str) else query.as_string(cursor)
        if text.startswith(at) and not armed:
            armed.append(proxy.cut_next(cut))
        done = execute(cursor, query, *more, **others)
        if at == "commit" and text.startswith("insert") and not armed:
            armed.append(proxy.cut_next(cut))
        return done

    schema = pa.schema([("id", pa.int64()), ("value", pa.string())])
    batch = pa.RecordBatch.from_arrays([pa.array(range(100)), pa.array(["x"] * 100)], schema=schema)
    with cutting_proxy(sink.url.replace("postgresql://", "postgresql+psycopg://")) as (through, proxy):
        writer = replace(sink, url=through.replace("+psycopg", "")).open(sink_task(schema=schema))
        if at == "copy":
            armed.append(None)
            monkeypatch.setattr(psycopg.Cursor, "copy", cutting(psycopg.Cursor.copy, lambda: proxy.cut_next(cut)))
        monkeypatch.setattr(psycopg.Cursor, "execute", watched)
        assert not writer.write_columns(batch)
        assert proxy.done.wait(10)
        assert set(kinds(writer.write(batch.to_pylist()))) == {AnswerKind.DELIVERED}
        writer.close()
    assert stored() == dict.fromkeys(range(100), "x")


def cutting(copy, arm):
    """Return a copy whose connection is cut the first time."""
    todo = [arm]

    def cut(*arguments):
        if todo:
            todo.pop()()
        return copy(*arguments)

    return cut


def test_w5_of_one_key_twice_in_a_bulk_the_later_record_wins(sink, stored):
    answers = deliver(sink, [{"id": 1, "value": "a"}, {"id": 2, "value": "b"}, {"id": 1, "value": "c"}])
    assert kinds(answers) == [AnswerKind.DELIVERED] * 3
    assert stored() == {1: "c", 2: "b"}


SCHEMA = pa.schema([("id", pa.int64()), ("value", pa.string())])


@pytest.mark.parametrize(
    ("ids", "values", "answers", "rows"),
    [
        ([1, 3, 1], ["a", "b", "c"], "ddd", {1: "c", 2: "later", 3: "b"}),
        ([1, 2, 3], ["a", "b", "c"], "dfd", {1: "a", 2: "later", 3: "c"}),
        ([1, 3, 4], ["a", "bad", "c"], "drd", {1: "a", 2: "later", 4: "c"}),
        ([1, 3, 4], ["a", "nul \x00", "c"], "drd", {1: "a", 2: "later", 4: "c"}),
        ([1, None, 4], ["a", "b", "c"], "drd", {1: "a", 2: "later", 4: "c"}),
    ],
    ids=["one key twice", "a later owner's", "a broken constraint", "no text", "no key"],
)
def test_w5_columns_that_are_not_taken_whole_have_changed_nothing(sink, stored, ids, values, answers, rows):
    """Then each record is answered for, as ever."""
    deliver(sink, [{"id": 2, "value": "later"}], sink_task(token=9))
    writer = sink.open(sink_task(token=8, schema=SCHEMA))
    batch = pa.RecordBatch.from_arrays([pa.array(ids, pa.int64()), pa.array(values)], schema=SCHEMA)
    assert not writer.write_columns(batch)
    assert stored() == {2: "later"}
    assert "".join(each.value[0] for each in kinds(given(writer, batch))) == answers
    writer.close()
    assert stored() == rows


def test_w5_what_goes_row_by_row_is_prepared_once(sink, sent, stored):
    deliver(sink, [{"id": each % 7, "value": str(each)} for each in range(100)])
    assert sent().count("insert into") == 2  # that of the temporary table, and the row's
    assert stored() == {each % 7: str(each) for each in range(93, 100)}


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


def test_w5_two_tasks_behind_a_pooler_in_transaction_mode_take_turns_on_its_connections(sink, url, stored):
    """Each transaction may get another connection of the server's, on which nothing of the one before is there."""
    with pgbouncer(url.replace("postgresql://", "postgresql+psycopg://"), "transaction") as pooled:
        behind = replace(sink, url=pooled.replace("+psycopg", ""))
        with psycopg.connect(behind.url) as other:
            writers = [behind.open(sink_task()) for _ in range(2)]
            for number in range(0, 80, 2):
                if number % 8 == 0:  # the connection that was free is taken: the next one is new
                    other.execute("select 1")
                elif number % 8 == 4:
                    other.rollback()
                records = [{"id": number + each, "value": "x"} for each in (0, 1, number % 6 // 4)]
                assert kinds(writers[number // 2 % 2].write(records)) == [AnswerKind.DELIVERED] * 3
            for writer in writers:
                writer.close()
    assert sorted(stored()) == list(range(80))
