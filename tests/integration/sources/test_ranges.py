"""Ranges of SQL tables on SQLite: each row in exactly one partition."""

from __future__ import annotations

import logging
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import islice

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_coordination.leases import Checkpoint, InvalidInputError, ProgressStateError, SourceCoordinator
from airflow_coordination.sources import SourceError, range_clause, sql_ranges
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.systems.sql import supplier
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from airflow_coordination.values.documents import MAX_PROGRESS_BYTES, encode_progress

ALWAYS = timedelta(0)


class Table:
    """A table in memory with a key that may be NULL and may repeat."""

    def __init__(self, key_type=sa.BigInteger, name="flights", column="id"):
        self.engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
        self.table = sa.Table(name, sa.MetaData(), sa.Column("row", sa.Integer, primary_key=True))
        self.table.append_column(sa.Column(column, key_type))
        self.column = column
        self.table.metadata.create_all(self.engine)

    def add(self, *keys):
        with self.engine.begin() as connection:
            for key in keys:
                connection.execute(self.table.insert(), {self.column: key})

    def select(self, payload):
        query = sa.select(self.table.c[self.column]).where(range_clause(payload))
        with self.engine.connect() as connection:
            return list(connection.execute(query).scalars())

    def supplier(self, **options):
        clock = options.pop("clock", None)
        supplier = sql_ranges(self.engine, self.table.name, self.column, **options)
        if clock:
            object.__setattr__(supplier, "clock", clock)
        return supplier


def run(supplier, state=None):
    """Run a supplier; return the payloads it gave and the state it left."""
    payloads, state = [], dict(state or {})
    for item in supplier(dict(state)):
        if isinstance(item, Checkpoint):
            state = dict(item.state)
            assert len(encode_progress(state)) < MAX_PROGRESS_BYTES
        else:
            payloads.append(dict(item.payload))
    return payloads, state


KEYS = {
    "integer": (sa.BigInteger, st.integers(-(2**63), 2**63 - 1)),
    "text": (sa.Text, st.text(st.characters(exclude_categories=["Cs"]), max_size=20)),
    "date": (sa.Date, st.dates()),
    "timestamp": (sa.DateTime, st.datetimes()),
}


@pytest.mark.parametrize("kind", KEYS)
def test_any_keys_are_divided_exactly_with_null_and_with_repeats(monkeypatch, kind):
    monkeypatch.setattr(supplier, "RANGES_PER_PLAN", 2)
    key_type, values = KEYS[kind]

    @settings(max_examples=40, deadline=None)
    @given(
        keys=st.lists(st.one_of(st.none(), values, st.sampled_from([None]))).flatmap(
            lambda keys: st.permutations(keys + keys[: len(keys) // 2])
        ),
        size=st.one_of(
            st.builds(lambda n: {"rows": n}, st.integers(1, 5)),
            st.builds(lambda n: {"partitions": n}, st.integers(1, 5)),
        ),
        later=st.lists(values, max_size=3),
    )
    def divided(keys, size, later):
        table = Table(key_type)
        table.add(*keys)
        payloads, _ = run(table.supplier(**size))
        assert {payload["type"] for payload in payloads} == {kind}
        table.add(*later)
        rows = [row for payload in payloads for row in table.select(payload)]
        assert sorted(rows, key=repr) == sorted([*keys, *later], key=repr)
        assert len({payload["lower"] for payload in payloads}) == len(payloads)
        table.engine.dispose()

    divided()


def test_a_payload_says_which_rows_and_the_key_shows_it():
    table = Table()
    table.add(*range(1, 11))
    [first, second, third] = [item for item in table.supplier(rows=4)({}) if not isinstance(item, Checkpoint)]
    assert [item.key for item in (first, second, third)] == ["flights|id|null|4", "flights|id|4|8", "flights|id|8|null"]
    assert second.payload == {
        "table": "flights",
        "column": "id",
        "type": "integer",
        "lower": 4,
        "upper": 8,
        "nulls": False,
    }
    assert (first.payload["nulls"], third.payload["upper"]) == (True, None)


@pytest.mark.parametrize(("rows", "upper"), [(5, [5, None]), (9, [9, None]), (10, [None]), (11, [None])])
def test_no_range_is_left_over_when_the_rows_come_out_even(rows, upper):
    table = Table()
    table.add(*range(1, 11))
    assert [payload["upper"] for payload in run(table.supplier(rows=rows))[0]] == upper


@pytest.mark.parametrize("number", [1, 3, 4, 10])
def test_so_many_partitions_as_asked_for_of_equal_size_whatever_the_gaps(number):
    table = Table()
    table.add(*(n**5 for n in range(120)))
    payloads, _ = run(table.supplier(partitions=number))
    assert len(payloads) == number
    assert {len(table.select(payload)) for payload in payloads} == {120 // number}


def test_an_empty_table_is_one_partition_that_later_rows_belong_to():
    table = Table()
    [payload], state = run(table.supplier(partitions=8))
    table.add(None, 1, 2)
    assert table.select(payload) == [None, 1, 2]
    assert run(table.supplier(partitions=8), state) == ([], state)


def test_names_are_quoted_and_values_bound():
    table = Table(sa.Text, name='x"; DROP TABLE "y', column="sel%(a)s ect '|")
    table.add("a' OR 1=1 --", "b|%", "ü")
    payloads, _ = run(table.supplier(rows=1))
    assert [table.select(payload) for payload in payloads] == [["a' OR 1=1 --"], ["b|%"], ["ü"]]


def test_a_schema_is_part_of_the_key(tmp_path):
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'a.db'}")
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE t (id INTEGER)"))
        connection.execute(sa.text("INSERT INTO t VALUES (1), (2)"))
    items = list(sql_ranges(engine, "t", "id", schema="main", rows=1)({}))
    found = [item for item in items if not isinstance(item, Checkpoint)]
    assert [item.key for item in found] == ["main.t|id|null|1", "main.t|id|1|null"]
    assert found[0].payload["schema"] == "main"


class Hook:
    """What Airflow's hooks for databases look like."""

    def __init__(self, engine):
        self.get_sqlalchemy_engine = lambda: engine


@pytest.mark.parametrize(
    "way",
    [
        lambda url, engine: url,
        lambda url, engine: sa.make_url(url),
        lambda url, engine: engine,
        lambda url, engine: Hook(engine),
        lambda url, engine: lambda: Hook(engine),
        lambda url, engine: lambda: engine,
        lambda url, engine: engine.connect,
    ],
    ids=["url", "URL", "engine", "hook", "function of a hook", "function of an engine", "function of a connection"],
)
def test_every_way_to_a_database(tmp_path, way):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE t (id INTEGER)"))
        connection.execute(sa.text("INSERT INTO t VALUES (1), (2)"))
    payloads, _ = run(sql_ranges(way(url, engine), "t", "id", rows=1))
    assert len(payloads) == 2
    assert engine.pool.checkedout() == 0


def test_no_password_gets_into_a_partition_a_state_or_a_message():
    url = "postgresql+psycopg://ana:geheim@127.0.0.1:1/db?connect_timeout=1"
    supplier = sql_ranges(url, "t", "id", rows=1)
    with pytest.raises(SourceError, match=r"Cannot read a key column: t.id answers OperationalError") as failed:
        run(supplier)
    assert "geheim" not in f"{failed.value} {supplier!r}"


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER], ids=["before", "after"])
@pytest.mark.parametrize("append_only", [False, True])
def test_s11_killed_at_every_single_store_call_while_rows_come(monkeypatch, fault, append_only):
    """The rows that came meanwhile belong to the plan that was saved, or to a later one; each to one."""
    monkeypatch.setattr(supplier, "RANGES_PER_PLAN", 2)
    clock = FakeClock()

    def divided(faults):
        table = Table()
        table.add(*range(0, 100, 5))
        supplier = table.supplier(rows=3, append_only=append_only, lateness=ALWAYS, clock=clock)
        store = FaultyStore(InMemoryStore(clock=clock), faults)
        try:
            SourceCoordinator(store, "rows", "a", clock=clock).run_supplier(supplier)
        except Crash:
            clock.advance(timedelta(minutes=11))
        table.add(*range(1, 130, 4))
        survivor = SourceCoordinator(store.store, "rows", "b", clock=clock)
        survivor.run_supplier(supplier)
        survivor.run_supplier(supplier)
        rows = [row for partition in survivor.partitions() for row in table.select(partition.payload)]
        return store.calls, sorted(rows)

    calls, _ = divided({})
    assert len(calls) > 8
    for call in range(1, len(calls) + 1):
        assert divided({call: fault})[1] == sorted([*range(0, 100, 5), *range(1, 130, 4)]), f"killed at call {call}"


def test_append_only_takes_what_is_new():
    table = Table()
    supplier = table.supplier(rows=2, append_only=True, lateness=ALWAYS)
    assert run(supplier)[0] == []
    table.add(None, 1, 2, 3)
    first, state = run(supplier)
    assert [table.select(payload) for payload in first] == [[None, 1, 2], [3]]
    assert run(supplier, state)[0] == []
    table.add(10, 11, 12)
    second, state = run(supplier, state)
    assert [table.select(payload) for payload in second] == [[10, 11], [12]]
    assert [payload["nulls"] for payload in second] == [False, False]
    assert state["SCAN_COUNT"] == 2


def test_append_only_waits_for_rows_that_are_not_committed_yet(caplog):
    caplog.set_level(logging.INFO, "airflow_coordination")
    table, clock = Table(), FakeClock()
    supplier = table.supplier(rows=100, append_only=True, clock=clock)
    table.add(1, 3)
    payloads, state = run(supplier)
    assert payloads == []
    assert "rows up to 3 become partitions in 0:10:00" in caplog.text
    table.add(2)  # committed after 3, though it was given before
    table.add(4)
    clock.advance(timedelta(minutes=9))
    assert run(supplier, state) == ([], state)
    clock.advance(timedelta(minutes=1))
    [payload], state = run(supplier, state)
    assert sorted(table.select(payload)) == [1, 2, 3]
    clock.advance(timedelta(minutes=10))
    [payload], state = run(supplier, state)
    assert table.select(payload) == [4]
    assert run(supplier, state)[0] == []


def test_append_only_never_goes_back_when_rows_are_deleted():
    table = Table()
    supplier = table.supplier(rows=2, append_only=True, lateness=ALWAYS)
    table.add(1, 2, 3)
    _, state = run(supplier)
    with table.engine.begin() as connection:
        connection.execute(table.table.delete())
    table.add(1, 2)
    assert run(supplier, state)[0] == []
    table.add(9)
    [payload], _ = run(supplier, state)
    assert (payload["lower"], payload["upper"]) == (3, 9)


@settings(max_examples=60, deadline=None)
@given(
    events=st.lists(
        st.one_of(
            st.tuples(st.just("commit"), st.integers(0, 3)),
            st.tuples(st.just("wait"), st.sampled_from([1, 5, 10])),
            st.tuples(st.just("run"), st.one_of(st.none(), st.integers(0, 4))),
        ),
        max_size=20,
    )
)
def test_no_row_is_lost_that_is_committed_within_the_lateness(events):
    """Keys are given in order and committed in any order, each at most ten minutes later."""
    late = Late()
    for kind, value in [*events, *[("wait", 10), ("run", None)] * 3]:
        getattr(late, kind)(value)
    assert sorted(late.rows()) == list(range(late.given))
    late.table.engine.dispose()


class Late:
    """A table whose rows are committed later than their keys are given, and its supplier, which may be killed."""

    def __init__(self):
        self.table, self.clock = Table(), FakeClock()
        self.supplier = self.table.supplier(rows=2, append_only=True, clock=self.clock)
        self.open, self.given, self.state, self.payloads = [], 0, {}, {}

    def commit(self, position):
        """Give a key, and commit the open row at this position, if there is one."""
        self.open.append((self.clock.now(), self.given))
        self.given += 1
        if position < len(self.open):
            self.table.add(self.open.pop(position)[1])

    def wait(self, minutes):
        """Let time pass; a row that would be open for ten minutes is committed before."""
        until = self.clock.now() + timedelta(minutes=minutes)
        for row in [row for row in self.open if until - row[0] >= timedelta(minutes=10)]:
            self.open.remove(row)
            self.table.add(row[1])
        self.clock.advance(timedelta(minutes=minutes))

    def run(self, steps):
        """Run the supplier, to its end or for so many steps."""
        for item in islice(self.supplier(dict(self.state)), steps):
            if isinstance(item, Checkpoint):
                self.state = dict(item.state)
            else:
                self.payloads.setdefault(item.key, item.payload)

    def rows(self):
        """Return every partition's rows."""
        return [row for payload in self.payloads.values() for row in self.table.select(payload)]


def test_long_bounds_are_cut_in_keys_and_stay_apart():
    table = Table(sa.Text)
    table.add(*(f"{'x' * 900}{number}" for number in range(300)))
    items = [item for item in table.supplier(rows=2)({}) if not isinstance(item, Checkpoint)]
    assert len({item.key for item in items}) == 150
    assert sum(len(table.select(item.payload)) for item in items) == 300


def test_a_bound_too_long_for_a_payload_is_refused():
    table = Table(sa.Text)
    table.add("x" * 2000, "y")
    with pytest.raises(InvalidInputError, match=r"column='xxx.*: would bound a range by 2002 characters, the limit is"):
        run(table.supplier(rows=1))


@pytest.mark.parametrize(
    ("key_type", "value", "message"),
    [
        (
            sa.Float,
            1.0,
            r"column='id': is FLOAT\(\), whose values cannot bound a range. Use one of these: integer, text",
        ),
        (sa.LargeBinary, b"1", r"column='id': is BLOB\(\), whose values"),
        (sa.Boolean, True, r"column='id': is BOOLEAN\(\), whose values"),
    ],
)
def test_a_column_that_cannot_bound_is_refused(key_type, value, message):
    table = Table(key_type)
    table.add(value)
    with pytest.raises(InvalidInputError, match=message):
        run(table.supplier(rows=1))


def test_a_table_or_column_that_is_not_there_is_named():
    table = Table()
    with pytest.raises(InvalidInputError, match=r"table='flight': does not exist. Check its name and schema"):
        run(sql_ranges(table.engine, "flight", "id", rows=1))
    with pytest.raises(InvalidInputError, match=r"column='ids': is no column of flights. There is id"):
        run(sql_ranges(table.engine, "flights", "ids", rows=1))
    with pytest.raises(InvalidInputError, match=r"column='zzz': is no column of flights. There is id, row"):
        run(sql_ranges(table.engine, "flights", "zzz", rows=1))


def test_values_of_another_type_are_refused():
    table = Table()
    with table.engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO flights (id) VALUES ('a'), ('b')"))
    with pytest.raises(InvalidInputError, match=r"column='a': holds a str, though it is of kind integer"):
        run(table.supplier(rows=1))


def test_values_that_are_not_kept_as_their_type_says_end_in_an_error_not_in_a_circle():
    table = Table(sa.DateTime)
    with table.engine.begin() as connection:
        for day in (1, 1, 2):
            connection.execute(sa.text(f"INSERT INTO flights (id) VALUES ('2026-01-0{day}T00:00:00')"))
    with pytest.raises(SourceError, match=r"after itself: its values are not kept as its type says"):
        run(table.supplier(rows=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"rows, partitions=\(None, None\): are both missing. Give one of the two"),
        ({"rows": 1, "partitions": 1}, r"rows, partitions=\(1, 1\): are both given"),
        ({"rows": -5}, r"rows=-5: is not a whole number above zero"),
        ({"partitions": 0}, r"partitions=0: is not a whole number above zero"),
        ({"rows": 1, "table": ""}, r"table='': is no name"),
        ({"rows": 1, "column": 7}, r"column=7: is no name"),
        ({"rows": 1, "schema": "a\x00"}, r"schema='a\\x00': is no name"),
        ({"rows": 1, "lateness": timedelta(-1)}, r"lateness=.*: is negative"),
        ({"rows": 1, "database": "flights.db:geheim"}, r"database='\\u2026': is no database URL"),
        ({"rows": 1, "database": 7}, r"database='int': is no way to a database"),
    ],
)
def test_bad_options_are_refused_by_name(options, message):
    given = {"database": "sqlite://", "table": "t", "column": "id"} | options
    with pytest.raises(InvalidInputError, match=message) as refused:
        sql_ranges(**given)
    assert "geheim" not in str(refused.value)


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ([], "is not a JSON object"),
        ({"walk": {"kind": "integer"}}, "is no pass over a table"),
        ({"walk": 7}, "no pass"),
    ],
)
def test_a_state_that_cannot_be_read_is_an_error(marks, message):
    table = Table()
    with pytest.raises(ProgressStateError, match=message):
        run(table.supplier(rows=1), {"SQL_RANGES": marks})


def test_another_table_or_mode_is_refused():
    table = Table()
    table.add(1)
    _, state = run(table.supplier(rows=1))
    with pytest.raises(
        InvalidInputError, match=r"is not the table, the column or the mode .* give the source a new name"
    ):
        run(table.supplier(rows=1, append_only=True), state)


def test_values_are_written_so_that_they_come_back():
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    values = {"decimal": Decimal("1.50"), "timestamptz": moment, "date": date(2026, 1, 1), "uuid": uuid.UUID(int=7)}
    from airflow_coordination.systems.sql.key_column import KINDS, kind_of

    for name, value in values.items():
        assert KINDS[name].read(KINDS[name].bound(value)) == value
    assert kind_of(sa.DateTime(timezone=True)).name == "timestamptz"
    assert kind_of(sa.Numeric(38, 0)).name == "decimal"


NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def local(day):
    return datetime.fromisoformat(f"2026-01-{day:02}")


def rows_of(table, payloads):
    return sorted(row for payload in payloads for row in table.select(payload))


@pytest.mark.parametrize(
    ("key_type", "keys", "ahead", "later"),
    [
        (sa.Date, [date(2026, 1, day) for day in (1, 2, 3)], date(9999, 12, 31), [date(2026, 1, 4), date(2026, 1, 5)]),
        (sa.DateTime, [local(1), local(2)], local(1).replace(year=9999), [local(3)]),
        (sa.BigInteger, [1, 2, 3], 2**31 - 1, [4, 5]),
        (sa.Numeric(20, 0), [Decimal(1), Decimal(2), Decimal(3)], Decimal(10**15), [Decimal(4)]),
    ],
    ids=["date", "time", "integer", "decimal"],
)
def test_d12_a_key_far_ahead_is_no_bound_and_said(key_type, keys, ahead, later, caplog):
    table = Table(key_type)
    table.add(*keys, ahead)
    supplier = table.supplier(rows=2, append_only=True, lateness=ALWAYS, utc=True, clock=FakeClock(NOW))
    first, state = run(supplier)
    assert rows_of(table, first) == keys
    assert "1 keys are " in caplog.text
    assert "and wait, because no row that comes later would be seen after them" in caplog.text
    table.add(*later)
    assert rows_of(table, run(supplier, state)[0]) == later


def test_d12_a_sequence_that_goes_on_far_away_is_followed():
    table, state = Table(), {}
    supplier = table.supplier(rows=2, append_only=True, lateness=ALWAYS)
    seen = []
    for keys in ([1, 2, 3], [10**9], [10**9 + 1], [10**9 + 2]):
        table.add(*keys)
        payloads, state = run(supplier, state)
        seen += rows_of(table, payloads)
    assert seen == [1, 2, 3, 10**9, 10**9 + 1, 10**9 + 2]


def test_e4_a_growing_table_of_local_times_is_refused():
    table = Table(sa.DateTime)
    table.add(local(25))
    with pytest.raises(
        InvalidInputError, match=r"holds times without a zone.*Give utc=True if they are written in UTC"
    ):
        run(table.supplier(rows=2, append_only=True, lateness=ALWAYS))
    assert run(table.supplier(rows=2))[0], "a table that is divided once has no last bound"


@pytest.mark.parametrize("place", [0, 50, 100])
def test_source_s2_an_odd_key_among_a_hundred_lies_inside_of_a_range(place, caplog):
    table = Table(sa.Text)
    good = [f"{number:03}" for number in range(100)]
    odd = (good[place - 1] if place else "") + "0" * 2000
    table.add(*good, odd)
    payloads, _ = run(table.supplier(rows=1))
    assert rows_of(table, payloads) == sorted([*good, odd])
    assert len(payloads) == (101 if place == 100 else 100)
    if place < 100:
        assert "1 keys can bound no range, and lie inside of one" in caplog.text


def test_source_s2_an_odd_greatest_key_of_a_growing_table_fails_when_the_others_are_done():
    table = Table()
    table.add(*range(100))
    with table.engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO flights (id) VALUES ('odd')"))
    one = SourceCoordinator(InMemoryStore(), "s", "me")
    supplier = table.supplier(rows=10, append_only=True, lateness=ALWAYS)
    for _ in range(2):
        with pytest.raises(InvalidInputError, match=r"column='odd': holds a str, though it is of kind integer"):
            one.run_supplier(supplier)
        assert rows_of(table, [each.payload for each in one.partitions()]) == list(range(100))


@pytest.mark.parametrize("append_only", [False, True])
def test_e4_ranges_that_have_grown_are_named_on_request(append_only):
    table = Table()
    table.add(*range(0, 20, 2), None)
    one = SourceCoordinator(InMemoryStore(), "s", "me")
    supplier = table.supplier(rows=5, append_only=append_only, lateness=ALWAYS, counted=True)
    one.run_supplier(supplier)
    assert [each.payload["rows"] for each in one.partitions()] == [5, 6]
    assert supplier.grown(one) == []
    table.add(3, 11, 12, None)
    assert [(each.key, each.rows, each.now) for each in supplier.grown(one)] == [
        (one.partitions()[0].key, 5, 7),
        (one.partitions()[1].key, 6, 8),
    ]
    one.create_partitions(["flights|id|of a person"])
    assert len(supplier.grown(one)) == 2


def test_e4_a_day_that_is_not_over_is_no_bound(caplog):
    """A row of the same day that comes later would be below it, and in nobody's partition."""
    table, clock, seen, state = Table(sa.Date), FakeClock(NOW - timedelta(minutes=1)), [], {}
    supplier = table.supplier(rows=100, append_only=True, lateness=ALWAYS, clock=clock)
    days = [date(2026, 11, day) for day in (22, 23, 24, 25)]
    table.add(*days, *[days[-1]] * 30)
    for _ in range(2):
        payloads, state = run(supplier, state)
        seen += rows_of(table, payloads)
    assert seen == days[:2], "until noon of the 25th in UTC there is a zone in which it is still the 24th"
    assert "32 keys are of times that are not over and wait" in caplog.text
    table.add(days[-1])
    clock.advance(timedelta(days=3))
    payloads, state = run(supplier, state)
    assert sorted([*seen, *rows_of(table, payloads)]) == [*days, *[days[-1]] * 31]
