"""A note of what follows an accepted ending at its source: objects to delete, offsets to commit. A value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from airflow_coordination.leases.errors import InvalidInputError

FORGET: Final = "forget"
"""What the audit calls it."""
MAX_BYTES: Final = 4 * 1024
"""Of a note, in UTF-8: on DynamoDB it costs a write unit for each of its kilobytes."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """One note, which the commit of an ending has written.

    :param source: the stored source identifier.
    :param key: the partition key.
    :param token: of the tenure that has ended: the notes of a partition are in the order of its tenures.
    :param op: operation id of the ending.
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


def check_text(text: str | None) -> str | None:
    """Return the text of a note, if the stores keep it.

    :raises InvalidInputError: when it is too long.
    """
    size = 0 if text is None else len(text.encode())
    if size > MAX_BYTES:
        problem = f"is {size:,} bytes of JSON, of which {MAX_BYTES:,} fit beside an ending"
        raise InvalidInputError("then", text, problem, "Keep the list in a file and its address here")
    return text
