"""One odd item among a hundred good ones, for every supplier: the good are done in one run, and the odd one is named.

A supplier that is not listed here fails the last test: it has to say what an odd item of its own is.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

import airflow_coordination.sources
from airflow_coordination.leases import CoordinationError, SourceCoordinator
from airflow_coordination.leases.supply import Supplier
from airflow_coordination.sources import (
    KinesisShards,
    StoredObject,
    kafka_ranges,
    object_listing,
    range_clause,
    sql_ranges,
    sqs_notifications,
)
from airflow_coordination.stores import open_store
from airflow_coordination.systems.kinesis import landing
from airflow_coordination.systems.kinesis.landing import Landing, ShardPart
from tests.kpl import sealed
from tests.unit.systems.kinesis.service import Service
from tests.unit.systems.kinesis.test_shard_reader import LEASE, Client, answer
from tests.unit.systems.kinesis.test_shard_reader import record as of_kinesis
from tests.unit.systems.sqs.test_s3_events import Queue, record
from tests.unit.systems.storage import Storage

ALWAYS = timedelta(0)
ALL = 100
MIDDLE = 50
Case = Callable[[pytest.MonkeyPatch], tuple[Supplier, str, Callable[[SourceCoordinator], int]]]
"""Returns a supplier, what names the odd item, and what counts the good ones that are in partitions."""


def partitions(one: SourceCoordinator) -> int:
    return len(one.partitions())


def _storage() -> Storage:
    storage = Storage()
    for number in range(ALL):
        storage.put(f"{number:03}.csv")
    storage.put(f"{MIDDLE:03}\udce9.csv")
    storage.clock.advance(3600)
    return storage


def objects_alone(patch: pytest.MonkeyPatch) -> Any:
    return object_listing(_storage(), scan=ALWAYS), r"050\udce9.csv", partitions


def objects_in_groups(patch: pytest.MonkeyPatch) -> Any:
    def count(one: SourceCoordinator) -> int:
        return sum(len(each.payload["names"]) for each in one.partitions())

    return object_listing(_storage(), scan=ALWAYS, max_objects=7), r"050\udce9.csv", count


def objects_in_a_place_that_may_not_be_read(patch: pytest.MonkeyPatch) -> Any:
    storage = _storage()
    del storage.objects_by_key[f"{MIDDLE:03}\udce9.csv"]
    storage.objects_by_key["050/"] = StoredObject("050/", 0, problem="cannot be read: Permission denied")
    return object_listing(storage, scan=ALWAYS), "050/ cannot be read", partitions


def _queue(patch: pytest.MonkeyPatch) -> str:
    from airflow_coordination.systems.sqs import queue as queues

    bodies = [json.dumps({"Records": [record(f"{number:03}")]}) for number in range(ALL)]
    bodies.insert(MIDDLE, '{"Records": "the odd one"}')
    queue = Queue(*bodies)
    queue.change_message_visibility_batch = lambda **_: {}  # type: ignore[attr-defined]
    patch.setattr(queues, "sqs_client", lambda url, region: queue)
    return "https://sqs.here/q"


def messages(patch: pytest.MonkeyPatch) -> Any:
    return sqs_notifications(_queue(patch)), "the odd one", partitions


def messages_that_stay(patch: pytest.MonkeyPatch) -> Any:
    return sqs_notifications(_queue(patch), delete="acknowledged"), "the odd one", partitions


def topics(patch: pytest.MonkeyPatch) -> Any:
    from airflow_coordination.systems.kafka.supplier import KafkaRanges

    gone = SimpleNamespace(str=lambda: "Unknown topic or partition")

    class Admin:
        def list_topics(self, topic: str, timeout: float) -> Any:
            found = SimpleNamespace(error=gone if topic == "t-odd" else None, partitions={0: None})
            return SimpleNamespace(topics={topic: found})

    patch.setattr(KafkaRanges, "_client", lambda self: Admin())
    names = [f"t{number}" for number in range(ALL)]
    names.insert(MIDDLE, "t-odd")
    return kafka_ranges("broker:9092", names), "t-odd", partitions


def streams(patch: pytest.MonkeyPatch) -> Any:
    from airflow_coordination.systems.kinesis import supplier

    service = Service()
    names = [f"s{number}" for number in range(ALL)]
    for name in names:
        service.create(name, 1)
    patch.setattr(supplier, "connect", lambda *_: service)
    names.insert(MIDDLE, "s-odd")
    return KinesisShards(streams=names), "s-odd", partitions


def _table(odd: str) -> Any:
    engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE flights (id TEXT)"))
        for key in [*(f"{number:03}" for number in range(ALL)), odd]:
            connection.execute(sa.text("INSERT INTO flights VALUES (:key)"), {"key": key})
    return engine


def _rows(engine: Any) -> Callable[[SourceCoordinator], int]:
    def count(one: SourceCoordinator) -> int:
        found = 0
        for each in one.partitions():
            good = sa.text("length(id) = 3")
            query = sa.select(sa.func.count()).select_from(sa.table("flights")).where(range_clause(each.payload), good)
            with engine.connect() as connection:
                found += connection.execute(query).scalar_one()
        return found

    return count


def rows(patch: pytest.MonkeyPatch) -> Any:
    engine = _table(f"{MIDDLE:03}{'x' * 2000}")
    return sql_ranges(engine, "flights", "id", rows=1), "column='050xxx", _rows(engine)


def rows_of_a_growing_table(patch: pytest.MonkeyPatch) -> Any:
    engine = _table("z" * 2000)
    supplier = sql_ranges(engine, "flights", "id", rows=7, append_only=True, lateness=ALWAYS)
    return supplier, "column='zzz", _rows(engine)


CASES: dict[str, tuple[str, Case]] = {
    "objects alone": ("ObjectListing", objects_alone),
    "objects in groups": ("ObjectListing", objects_in_groups),
    "objects in a place that may not be read": ("ObjectListing", objects_in_a_place_that_may_not_be_read),
    "messages": ("SqsNotifications", messages),
    "messages that stay": ("AcknowledgedNotifications", messages_that_stay),
    "topics": ("KafkaRanges", topics),
    "streams": ("KinesisShards", streams),
    "rows": ("SqlRanges", rows),
    "rows of a growing table": ("SqlRanges", rows_of_a_growing_table),
}


@pytest.mark.parametrize(("kind", "case"), CASES.values(), ids=CASES)
def test_source_s2_one_odd_item_among_a_hundred_stops_none_of_them(
    kind: str, case: Case, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    supplier, odd, count = case(monkeypatch)
    assert type(supplier).__name__ == kind
    one = SourceCoordinator(open_store("memory://"), "s", "me")
    said = ""
    try:
        one.run_supplier(supplier)
    except CoordinationError as error:
        said = str(error)
    assert count(one) == ALL
    assert odd in said + caplog.text


def test_source_s2_one_odd_record_among_a_hundred_is_landed_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = sealed(b"\x0a\xff")  # intact by its digest, and no aggregate
    given = [of_kinesis(number, odd if number == MIDDLE else b"%d" % number) for number in range(ALL + 1)]
    client = Client(answer(*given, ends=True))
    monkeypatch.setattr(landing, "connect", lambda _: client)
    batches = Landing(ShardPart(LEASE, None), seconds=1, records=1_000)(iter(()))
    data = [each for batch in batches for each in batch.column("data").to_pylist()]
    assert data == [odd if number == MIDDLE else b"%d" % number for number in range(ALL + 1)]


def _suppliers() -> set[str]:
    """Return the classes of systems that are called with the global state, or see their source."""
    root = Path(airflow_coordination.systems.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        for each in ast.walk(ast.parse(path.read_text())):
            if isinstance(each, ast.ClassDef) and any(_supplies(one) for one in each.body):
                found.add(each.name)
    return found


def _supplies(one: ast.stmt) -> bool:
    if not isinstance(one, ast.FunctionDef):
        return False
    return one.name == "supply" or (one.name == "__call__" and [each.arg for each in one.args.args][1:] == ["state"])


def test_source_s2_every_supplier_there_is_says_what_an_odd_item_is() -> None:
    assert _suppliers() == {kind for kind, _ in CASES.values()}
