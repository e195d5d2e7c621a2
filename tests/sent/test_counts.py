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
    _compare(on_sqlite(tmp_path))


@pytest.mark.postgres
def test_postgresql(postgres_store_url: str) -> None:
    _compare(on_postgresql(postgres_store_url))


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
