"""From rows to values: many rows at once are what each of them is alone."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_coordination.leases import Block
from airflow_coordination.protocol.fields import HEAD_FIELDS
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.stores.sql import columns
from airflow_coordination.stores.sql.columns import heads_of
from airflow_coordination.values.blocks import dump_blocks
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.times import from_micros

HOUR = 3_600_000_000


def head(number: int) -> HeadRecord:
    """Return a head record of which every field says which it is."""
    return HeadRecord(
        source="flights|PARTITION",
        dataset=f"clean {number}",
        key=f"key {number}",
        blocks=tuple(Block("clean", f"/{number}/{each}", f"digest {each}") for each in range(number % 3)),
        rows=number,
        bytes=number + 1,
        generation=f"generation {number}",
        op=f"op {number}",
        token=number + 2,
        kind=f"kind {number}",
        state=f"state {number}",
        published_at=from_micros(number),
        accounting_text=f"accounting {number}" if number % 2 else None,
        interval_start=from_micros(number * HOUR) if number % 2 else None,
        interval_end=from_micros((number + 1) * HOUR) if number % 2 else None,
    )


def row(record: HeadRecord) -> tuple[Any, ...]:
    """Return its row, as a database has it."""
    stored = {
        "blocks": dump_blocks(record.blocks),
        "published_at": record.token - 2,
        "interval_start": record.interval_start and (record.token - 2) * HOUR,
        "interval_end": record.interval_end and (record.token - 1) * HOUR,
    }
    return tuple(stored.get(field.name, getattr(record, field.name)) for field in HEAD_FIELDS)


@pytest.mark.parametrize("number", [0, 1, 3, 4, 5, 8, 9])
def test_rows_are_read_in_their_order_whatever_the_batch(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(columns, "_BATCH", 4)
    expected = [head(each) for each in range(number)]
    assert heads_of([row(each) for each in expected]) == expected


def test_a_row_of_other_columns_is_refused() -> None:
    rows = [row(head(1)), row(head(2))[:-1]]
    with pytest.raises(ValueError, match="shorter"):
        heads_of(rows)


def test_blocks_that_are_corrupt_are_never_taken_for_none() -> None:
    rows = [list(row(head(number))) for number in range(3)]
    rows[1][[field.name for field in HEAD_FIELDS].index("blocks")] = "[["
    with pytest.raises(InvalidInputError, match="corrupt in the store"):
        heads_of(rows)
