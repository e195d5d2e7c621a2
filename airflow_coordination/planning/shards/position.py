"""The position where the first leases of a stream begin to read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from airflow_coordination.values.input_errors import InvalidInputError


class Start(StrEnum):
    """The three initial positions, by their names in Kinesis and the KCL."""

    TRIM_HORIZON = "TRIM_HORIZON"
    LATEST = "LATEST"
    AT_TIMESTAMP = "AT_TIMESTAMP"


@dataclass(frozen=True, slots=True)
class Position:
    """An initial position.

    Use :data:`TRIM_HORIZON`, :meth:`latest` or :meth:`at_timestamp`. Source of the words: KCL,
    ``InitialPositionInStreamExtended``.

    :param start: which of the three.
    :param since: the instant that belongs to it, timezone-aware; ``None`` at TRIM_HORIZON. At LATEST, too, it is a
        fixed instant: the KCL's LATEST is "now" whenever somebody begins to read, so that it skips what came between
        two owners before the first checkpoint (decision 48).
    :raises InvalidInputError: when ``since`` is missing, naive, or given at TRIM_HORIZON.
    """

    start: Start
    since: datetime | None = None

    def __post_init__(self) -> None:
        if (self.since is None) is not (self.start is Start.TRIM_HORIZON):
            raise InvalidInputError(
                "since",
                self.since,
                f"does not go with {self.start}",
                "TRIM_HORIZON has no instant, AT_TIMESTAMP has its own, LATEST that of the listing's answer.",
            )
        if self.since is not None and self.since.utcoffset() is None:
            raise InvalidInputError(
                "since", self.since, "has no time zone", "Give a timezone-aware datetime, such as datetime.now(UTC)."
            )

    @classmethod
    def latest(cls, listed_at: datetime) -> Position:
        """Return LATEST, pinned.

        :param listed_at: when the source answered the listing (Kinesis: the answer's ``Date``). Whoever finishes an
            interrupted first plan gives the instant of the first listing again, so that nothing between is skipped.
        :raises InvalidInputError: when it has no time zone.
        """
        return cls(Start.LATEST, listed_at)

    @classmethod
    def at_timestamp(cls, since: datetime) -> Position:
        """Return AT_TIMESTAMP.

        :param since: the first record's time of arrival at the earliest.
        :raises InvalidInputError: when it has no time zone.
        """
        return cls(Start.AT_TIMESTAMP, since)

    @property
    def of_descendants(self) -> Position:
        """Where a shard begins whose parents are read: at its first record, but never before an AT_TIMESTAMP.

        Source: KCL, ``HierarchicalShardSyncer``: descendants start at TRIM_HORIZON, AT_TIMESTAMP stays AT_TIMESTAMP.
        """
        return self if self.start is Start.AT_TIMESTAMP else TRIM_HORIZON


TRIM_HORIZON: Final = Position(Start.TRIM_HORIZON)
"""The oldest record that the source still has."""
