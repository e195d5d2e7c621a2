"""Everything that is counted, made once on an engine: what arrives there is summed up under each heading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from unittest.mock import patch

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import children, creating, queue
from airflow_coordination.stores.sql.postgres_store import PostgresStore
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.testing.clock import FakeClock
from benchmarks.dynamodb.data_prepper import INDEX, make_table
from benchmarks.dynamodb.requests import Requests, Tally
from tests.faults.postgres_cuts import CuttingProxy, cutting_proxy
from tests.integration.dynamodb.engine import Engine
from tests.sent.place import Operation, started
from tests.sent.table import Cells, Rows
from tests.sent.tape import Tape, heard_by_botocore, heard_by_psycopg, in_lines
from tests.sent.viewing import OPERATIONS
from tests.sent.walk import Walk

Sums = Counter[str]
Process = Callable[[FakeClock], PartitionStore]
STARTS = "a process starts"
KIB = 1024


@dataclass
class Record:
    """What an engine was sent under each heading.

    :param sums: returns what it was sent so far.
    :param cells: returns what the table shows of a sum.
    :param tape: the texts.
    """

    sums: Callable[[], Sums]
    cells: Callable[[Sums], Cells]
    tape: Tape = field(default_factory=Tape)
    rows: Rows = field(default_factory=dict)
    _name: str = ""
    _before: Sums = field(default_factory=Counter)

    def heading(self, name: str) -> None:
        """Begin a step, or end one."""
        self.tape.heading(name)
        if name:
            self._name, self._before = name, Counter(self.sums())
            return
        assert self._name not in self.rows, f"{self._name!r} is counted twice: name one of them otherwise"
        self.rows[self._name] = self.cells(self.sums() - self._before)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count what is sent inside the block."""
        self.heading(name)
        yield
        self.heading("")


def made(process: Process, record: Record, *, sql: bool) -> Record:
    """Make everything that is counted on stores of new processes, and return the record of it."""
    with closing(process(FakeClock())) as store, record.step(STARTS):
        assert store.store_id
        store.now()
    for operation in OPERATIONS:
        if sql or not operation.sql_only:
            _make(operation, process, record)
    clock = FakeClock()
    with closing(process(clock)) as store:
        Walk(store, clock, record.heading).make()
    return record


def _make(operation: Operation, process: Process, record: Record) -> None:
    clock = FakeClock()
    with closing(process(clock)) as store:
        steps = operation.steps(started(store, clock, operation.steps.__name__))
        next(steps)
        with record.step(operation.name):
            next(steps, None)


def on_sqlite(folder: Path) -> Record:
    """Count the statements that SQLite's engine executes."""
    url, sums = f"sqlite:///{folder}/sent.db", Counter[str]()
    record = Record(lambda: sums, lambda sent: {"SQLite": str(sent["statements"])})

    def heard(text: str) -> None:
        sums["statements"] += 1
        record.tape.note(in_lines(text))

    def process(clock: FakeClock) -> PartitionStore:
        store = open_store(url, clock=clock)
        assert isinstance(store, SqlStore)
        with store.database.connected(Call("listen")) as connected:
            connected.connection.set_trace_callback(heard)
        return store

    with closing(open_store(url)) as store:
        store.setup()
    return made(process, record, sql=True)


def on_postgresql(url: str) -> Record:
    """Count what arrives on PostgreSQL's wire.

    :param url: of a database that is set up.
    """
    with cutting_proxy(url) as (through, proxy):

        def process(clock: FakeClock) -> PartitionStore:
            store = open_store(through, clock=clock)
            assert isinstance(store, PostgresStore)
            store._short_way.clock = clock.monotonic  # a slow machine forgets no miss, and looks for no floors
            store._used_up.slow = inf
            return store

        record = Record(lambda: _on_wire(proxy), _statements)
        with heard_by_psycopg(record.tape):
            return made(process, record, sql=True)


def _on_wire(proxy: CuttingProxy) -> Sums:
    return Counter(statements=proxy.statements, bytes=proxy.bytes, received=proxy.received)


def _statements(sent: Sums) -> Cells:
    return {"PostgreSQL": str(sent["statements"]), "PostgreSQL, KiB": _begun(sent)}


def on_dynamodb(engine: Engine, table: str, cells: Callable[[Sums], Cells], *, theirs: bool = False) -> Record:
    """Count what botocore sends, and the units that the engine reports.

    :param table: not yet made.
    :param cells: what this engine tells.
    :param theirs: make the table as Data Prepper does.
    """
    if theirs:
        make_table(engine.client, table)
    with closing(engine.store(table)) as store:
        store.setup()
    with ExitStack() as stack:
        for module in (creating, queue, children):  # who of several at once is heard first is nothing to compare
            stack.enter_context(patch.object(module, "side_by_side", lambda calls: [call() for call in calls]))
        tally = stack.enter_context(Requests(engine.client, capacity=True).counted())
        record = Record(lambda: _sums(tally), cells)
        stack.enter_context(heard_by_botocore(engine.client, record.tape))
        made(lambda clock: engine.store(table, clock), record, sql=False)
    engine.delete(table)
    return record


def _sums(tally: Tally) -> Sums:
    sums = {"bytes": tally.bytes, "received": tally.received, "read": tally.read}
    units = {"written": tally.billed["table"], "index": tally.billed[INDEX]}
    return Counter(tally.sent) + Counter(sums | units)


SUMS = ("bytes", "received", "read", "written", "index")


def requests(sent: Sums) -> Cells:
    """Return what every engine tells alike."""
    told = ", ".join(f"{count} {name}" for name, count in sorted(sent.items()) if name not in SUMS)
    return {"DynamoDB": told or "–"}


def requests_and_units(sent: Sums) -> Cells:
    """Return what DynamoDB Local tells on the table that this package makes."""
    return {
        **requests(sent),
        "DynamoDB, KiB": _begun(sent),
        "read": f"{sent['read']:g}",
        "written": _units(sent),
    }


def units_of_theirs(sent: Sums) -> Cells:
    """Return what DynamoDB Local tells on a table that Data Prepper made."""
    return {"written, theirs": _units(sent)}


def _units(sent: Sums) -> str:
    return f"{sent['written']:g} + {sent['index']:g}" if sent["written"] or sent["index"] else "–"


def _begun(sent: Sums) -> str:
    """Return begun KiB: sent, and answered."""
    return " + ".join(str(-(-sent[way] // KIB)) for way in ("bytes", "received"))
