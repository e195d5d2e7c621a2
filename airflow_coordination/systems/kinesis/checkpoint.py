"""The checkpoint of a shard, up to which it has been read: a sequence number, and a place inside of an aggregate.

Source: KCL, ``ExtendedSequenceNumber``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Final

from airflow_coordination.values.input_errors import InvalidInputError

SEQUENCE_DIGITS: Final = 64
"""As many digits a sequence number may have; those of Kinesis have 56."""
SUB_DIGITS: Final = 12
"""As many digits a sub-sequence number may have; a record of 10 MiB has at most seven."""
_SEQUENCE: Final = re.compile(rf"0|[1-9][0-9]{{0,{SEQUENCE_DIGITS - 1}}}")
_PADDED: Final = re.compile(rf"([0-9]{{{SEQUENCE_DIGITS}}}):([0-9]{{{SUB_DIGITS}}})")


@total_ordering
@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A place in a shard: every user record up to it, and the one at it, is done.

    Checkpoints are compared as numbers. Sequence numbers are texts of differing length, too long for a DECIMAL(38):
    never compare them as text unless they are :attr:`padded`.

    :param sequence: a record's ``SequenceNumber``: decimal, at most :data:`SEQUENCE_DIGITS` digits, no leading zero.
    :param sub: the place of a user record inside of it, from 0; 0 for a plain record.
    :raises InvalidInputError: when one of them is no such number; TRIM_HORIZON and SHARD_END are no places here.
    """

    sequence: str
    sub: int = 0

    def __post_init__(self) -> None:
        if not _matched(_SEQUENCE, self.sequence):
            raise InvalidInputError(
                "sequence",
                self.sequence,
                f"is no decimal text of at most {SEQUENCE_DIGITS} digits without leading zeros",
                "Give a record's SequenceNumber as Kinesis tells it, as text.",
            )
        if type(self.sub) is not int or not 0 <= self.sub < 10**SUB_DIGITS:
            raise InvalidInputError(
                "sub",
                self.sub,
                f"is no integer from 0 to {10**SUB_DIGITS - 1}",
                "Give a user record's sub, which deaggregate counts from 0.",
            )

    def __lt__(self, other: Checkpoint) -> bool:
        """Say whether this place comes before another one of the same shard."""
        if not isinstance(other, Checkpoint):
            return NotImplemented
        return self._place < other._place

    @property
    def _place(self) -> tuple[int, int]:
        return int(self.sequence), self.sub

    @property
    def padded(self) -> str:
        """The place as text of one length, so that the greatest text is the greatest place: for Spark's ``max``.

        In SQL: ``lpad(sequence, 64, '0') || ':' || lpad(sub, 12, '0')``.
        """
        return f"{self.sequence:0>{SEQUENCE_DIGITS}}:{self.sub:0{SUB_DIGITS}}"

    @classmethod
    def from_padded(cls, text: object) -> Checkpoint:
        """Return the place that :attr:`padded` wrote down.

        :raises InvalidInputError: when it is no such text.
        """
        found = _matched(_PADDED, text)
        if not found:
            raise InvalidInputError(
                "padded",
                text,
                f"is not {SEQUENCE_DIGITS} digits, a colon and {SUB_DIGITS} digits",
                "Give what Checkpoint.padded returned.",
            )
        return cls(found[1].lstrip("0") or "0", int(found[2]))

    def to_json(self) -> list[str | int]:
        """Return ``[sequence, sub]``: the form for a lease's progress."""
        return [self.sequence, self.sub]

    @classmethod
    def from_json(cls, value: object) -> Checkpoint:
        """Return the place that :meth:`to_json` wrote down.

        :raises InvalidInputError: when it is no such list.
        """
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise InvalidInputError(
                "checkpoint", value, "is no list [sequence, sub]", "Give what Checkpoint.to_json returned."
            )
        return cls(*value)


def _matched(pattern: re.Pattern[str], value: object) -> re.Match[str] | None:
    """Match all of what came from outside; what is no text does not match."""
    return pattern.fullmatch(value) if isinstance(value, str) else None
