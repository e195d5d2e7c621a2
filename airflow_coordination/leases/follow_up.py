"""A note of what follows an accepted ending at its source: objects to delete, offsets to commit. A value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from airflow_coordination.leases.partition import Partition
from airflow_coordination.values.input_errors import InvalidInputError

FORGET: Final = "forget"
"""What the audit calls it."""
MAX_BYTES: Final = 4 * 1024
"""Of a note, in UTF-8: on DynamoDB it costs a write unit for each of its kilobytes."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """One note, which the commit of an ending, or of a parking, has written.

    :param source: the stored source identifier.
    :param key: the partition key.
    :param token: of the tenure that has ended: the notes of a partition are in the order of its tenures.
    :param op: operation id of the ending, or of the parking.
    :param text: what is to be done, as JSON.
    :param noted_at: when the ending was accepted, by the store's clock; ``None`` before.
    """

    source: str
    key: str
    token: int
    op: str
    text: str
    noted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Forget:
    """A person takes a note away although what it says is not done.

    :param note: as it was read.
    :param by: who does it.
    :param why: what they said.
    """

    note: FollowUp
    by: str
    why: str


def promised(partition: Partition, text: str | None) -> str | None:
    """Return what a partition keeps of what is to follow when it is parked: it goes with its generation."""
    return None if text is None else f"{partition.generation} {text}"


def of_parked(partition: Partition) -> FollowUp | None:
    """Return the note of what follows a parking: a parked partition is the note itself, until that is done.

    So it was written by whatever has parked it: its owner's failure, the sweep of a lost lease, a person, older code.
    """
    if not partition.parked or partition.on_parked is None:
        return None
    said, at = partition.on_parked, partition.updated_at
    return FollowUp(partition.source, partition.key, partition.token, partition.last_op, said, at)


def check_text(text: str | None, field: str = "then") -> str | None:
    """Return the text of a note, if the stores keep it.

    :param field: what it was given to.
    :raises InvalidInputError: when it is too long.
    """
    size = 0 if text is None else len(text.encode())
    if size > MAX_BYTES:
        problem = f"is {size:,} bytes of JSON, of which {MAX_BYTES:,} fit beside an ending"
        raise InvalidInputError(field, text, problem, "Keep the list in a file and its address here")
    return text
