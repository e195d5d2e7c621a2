"""The columns of a partition's row, and the way from a row to a value.

The seed's attributes keep their names in snake case (Data Prepper: ``sourcePartitionKey`` is
``source_partition_key``). Times are whole microseconds since 1970, documents are texts.

Two small columns drive two narrow partial indexes, so that what nobody waits for (COMPLETED, parked,
deleted) is in neither: ``ready`` for what can be acquired at once, ``timed`` for what becomes due.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import IntEnum
from typing import Any, Final

from airflow_coordination.leases.blocks import load_blocks
from airflow_coordination.leases.clock import from_micros
from airflow_coordination.leases.partition import RING_SIZE, Partition, PartitionStatus, Rank
from airflow_coordination.leases.results import HeadRecord


class Ready(IntEnum):
    """Why a partition can be acquired at once; the order of the classes, "new" in two branches."""

    CRASHED = 0
    REOPENED = 1
    RETURNED = 2
    """New, but held before: it comes back below the place up to which the fresh ones are used up."""
    FRESH = 3


class Timed(IntEnum):
    """What happens to a partition at its time."""

    DELAYED = 0
    """UNASSIGNED until ``available_at``."""
    HELD = 1
    """ASSIGNED until ``partition_ownership_timeout``; ``due_at`` may lie before it, never after."""
    CLOSED = 2
    """CLOSED until ``reopen_at``."""


PARTITIONS: Final = "coordination_partitions"
HEADS: Final = "coordination_heads"
SOURCES: Final = "coordination_sources"
AUDIT: Final = "coordination_audit"
META: Final = "coordination_meta"

VALUES: Final = (
    "source_identifier",
    "source_partition_key",
    "source_partition_status",
    "payload",
    "priority",
    "ordinal",
    "rank",
    "partition_progress_state",
    "closed_count",
    "failures",
    "lost_leases",
    "last_error",
    "reopen_at",
    "available_at",
    "partition_owner",
    "partition_ownership_timeout",
    "created_at",
    "updated_at",
    "token",
    "nonce",
    "last_op",
    "create_op",
    "generation",
    "confirmed",
    "deleted",
    "staged",
    "max_lost_leases",
)
RING: Final = tuple(f"ring_{slot}" for slot in range(RING_SIZE))
PARTITION: Final = ", ".join((*VALUES, *RING))
"""The select list that :func:`partition_of` reads."""

HEAD: Final = (
    "source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token,"
    " kind, state, published_at"
)
"""The select list that :func:`head_of` reads."""


def moment(micros: int | None) -> datetime | None:
    """Return a stored time as a datetime in UTC."""
    return None if micros is None else from_micros(micros)


def partition_of(row: Sequence[Any]) -> Partition:
    """Return the partition in a row of ``PARTITION``."""
    return Partition(
        source=row[0],
        key=row[1],
        status=PartitionStatus(row[2]),
        payload_text=row[3],
        priority=row[4],
        ordinal=row[5],
        rank=Rank(row[6]),
        progress_text=row[7],
        closed_count=row[8],
        failures=row[9],
        lost_leases=row[10],
        last_error=row[11],
        reopen_at=moment(row[12]),
        available_at=moment(row[13]),
        owner=row[14],
        ownership_timeout=moment(row[15]),
        created_at=moment(row[16]),
        updated_at=moment(row[17]),
        token=row[18],
        nonce=row[19],
        last_op=row[20],
        create_op=row[21],
        generation=row[22],
        confirmed=bool(row[23]),
        deleted=bool(row[24]),
        staged=load_blocks(row[25]),
        max_lost_leases=row[26],
        ring=tuple(row[len(VALUES) : len(VALUES) + RING_SIZE]),
    )


def head_of(row: Sequence[Any]) -> HeadRecord:
    """Return the head record in a row of ``HEAD``."""
    source, dataset, key, blocks, *rest, published_at = row
    rows, size, generation, op, token, kind, state = rest
    return HeadRecord(
        source, dataset, key, load_blocks(blocks), rows, size, generation, op, token, kind, state, moment(published_at)
    )
