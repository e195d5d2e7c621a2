"""A copy as a partition: its key, what its payload says, and its place in the order of work.

Plans write payloads, the worker reads them. Which blocks are copied they do not say: the worker decides that under its
lease.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from airflow_coordination.planning.intervals import Interval, parse_interval
from airflow_coordination.values.input_errors import InvalidInputError

_SEPARATOR: Final = "|"
_MOVES: Final = 2**30
"""Where the places of moves begin, behind those of all loads."""
_FIRST, _LAST = -(2**30), 2**29
"""Between them lie the places of loads: minus the minutes of their chunk's end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyWork:
    """What the worker of a copy needs to know.

    :param location: the name of the location that it goes into.
    :param dataset: of what.
    :param chunk: the interval of its chunk; that of all times also for what has none.
    :param bytes: about how many it takes.
    :param instead_of: the name of the location whose copy goes afterwards, if this is a move.
    :param wanted: a digest of what the plan has seen of the chunk, by which the next one knows what was asked for.
    """

    location: str
    dataset: str
    chunk: Interval
    bytes: int = 0
    instead_of: str | None = None
    wanted: str = ""

    @property
    def key(self) -> str:
        """The key of its partition."""
        return _SEPARATOR.join((self.location, self.dataset, str(self.chunk)))

    @property
    def priority(self) -> int:
        """Its place: minus the minutes of its chunk's end, so that the newest comes first; moves below all loads."""
        minutes = -int(self.chunk.end.timestamp() // 60) if self.chunk.is_bounded else _FIRST
        place = min(_LAST, max(_FIRST, minutes))
        return place if self.instead_of is None else _MOVES + place // 4

    def to_payload(self) -> dict[str, Any]:
        """Return the payload of its partition."""
        return {
            "location": self.location,
            "dataset": self.dataset,
            "chunk": str(self.chunk),
            "bytes": self.bytes,
            **({"instead_of": self.instead_of} if self.instead_of else {}),
            **({"wanted": self.wanted} if self.wanted else {}),
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any] | None) -> CopyWork:
        """Return what a copy's payload says.

        :raises InvalidInputError: when it is no payload of a copy, or has what this code does not know.
        """
        try:
            said = dict(payload or {})
            chunk = parse_interval("payload.chunk", said.pop("chunk"))
            work = cls(chunk=chunk, **said)
            if not all(isinstance(each, str) for each in (work.location, work.dataset, work.wanted)):
                raise TypeError("names are not text")
        except (KeyError, TypeError) as error:
            problem = f"is not that of a copy ({error})"
            raise InvalidInputError("payload", payload, problem, "Let the duty runRules make copies") from None
        return work


def location_of(key: str) -> str:
    """Return the location of a copy, by its key."""
    return key.partition(_SEPARATOR)[0]


def dataset_of(key: str) -> str:
    """Return the dataset of a copy, by its key."""
    return key.partition(_SEPARATOR)[2].rpartition(_SEPARATOR)[0]


def chunk_of(key: str) -> Interval:
    """Return the chunk of a copy, by its key.

    :raises InvalidInputError: when it is no copy's.
    """
    return parse_interval("key", key.rpartition(_SEPARATOR)[2])
