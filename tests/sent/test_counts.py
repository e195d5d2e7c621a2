"""What each operation sends is what the table says: ``counts.tsv``, which ``make accept`` writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.accept import REMEDY
from tests.sent import table
from tests.sent.counting import counting_engine
from tests.sent.engines import (
    Record,
    on_dynamodb,
    on_postgresql,
    on_sqlite,
    requests,
    requests_and_units,
    units_of_theirs,
)


def _compare(record: Record) -> None:
    found = sorted(table.differences(record.rows, table.read()))
    assert not found, "\n".join(["What is sent has changed.", *found, REMEDY])


def test_sqlite(tmp_path: Path) -> None:
    """A transaction takes its turn to write as it begins: who reads first is refused where it could have waited."""
    record = on_sqlite(tmp_path)
    _compare(record)
    assert {line for line in record.tape.lines if line.startswith("BEGIN")} == {"BEGIN IMMEDIATE"}


IN_ORDER = "ORDER BY source_partition_key FOR UPDATE"
"""How several rows are locked by who waits for them: two statements with the same rows never wait in a circle."""


@pytest.mark.postgres
def test_postgresql(postgres_store_url: str) -> None:
    """What waits for locks takes them in order, too: no deadlock shows that it does not, as long as plans are alike."""
    record = on_postgresql(postgres_store_url)
    _compare(record)
    texts = record.tape.sections()
    assert [name for name, text in texts.items() if _locks_out_of_order(text)] == []
    assert IN_ORDER in texts["create one with a parent"]
    for name in ("create 10 partitions", "create one with a parent"):
        assert 'ORDER BY given.key COLLATE "C"' in texts[name], name
    assert IN_ORDER in texts["complete what two others wait for"]


def _locks_out_of_order(text: str) -> bool:
    return "FOR UPDATE" in text.replace(IN_ORDER, "").replace("FOR UPDATE SKIP LOCKED", "")


def test_a_lock_out_of_order_is_seen() -> None:
    assert not _locks_out_of_order(f"SELECT 1 {IN_ORDER}), (SELECT 2 LIMIT 1 FOR UPDATE SKIP LOCKED)")
    assert _locks_out_of_order(f"SELECT 1 {IN_ORDER}), (SELECT 2 LIMIT 1 FOR UPDATE)")


@pytest.mark.dynamodb
def test_dynamodb(dynamodb_local: str) -> None:
    with counting_engine(dynamodb_local) as engine:
        _compare(on_dynamodb(engine, "ours", requests_and_units))


@pytest.mark.dynamodb
def test_dynamodb_on_a_table_of_data_prepper(dynamodb_local: str) -> None:
    """The same requests, and other units."""
    with counting_engine(dynamodb_local) as engine:
        _compare(on_dynamodb(engine, "prep", lambda sent: requests(sent) | units_of_theirs(sent), theirs=True))


@pytest.mark.long
def test_dynamodb_as_moto_is_it(moto_server: str) -> None:
    with counting_engine(moto_server) as engine:
        _compare(on_dynamodb(engine, "ours", requests))


def test_all_that_differs_is_told() -> None:
    """Also an operation that is new, or that is gone."""
    kept = {"renew": {"SQLite": "1", "DynamoDB": "1 UpdateItem"}, "gone": {"SQLite": "1"}}
    now = {"renew": {"SQLite": "2"}, "new": {"SQLite": "3"}}
    assert sorted(table.differences(now, kept)) == [
        "gone: SQLite: 1 → nothing",
        "new: SQLite: nothing → 3",
        "renew: SQLite: 1 → 2",
    ]
    assert list(table.differences(kept, table.parsed(table.text(kept)))) == []
