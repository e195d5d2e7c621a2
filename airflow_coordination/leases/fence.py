"""Whose a tenure is and was: its fence, its owner, its ending. All frozen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote, unquote

from airflow_coordination.leases.clock import from_micros
from airflow_coordination.leases.input_errors import InvalidInputError
from airflow_coordination.leases.status import Outcome, PartitionStatus

RING_SIZE = 8
"""How many endings a partition remembers: entry ``token mod 8`` (protocol.md, *Words of the wire*)."""


@dataclass(frozen=True, slots=True)
class Fence:
    """One tenure's unforgeable number. The whole fence decides; the token only orders (promise S1).

    :param token: grows by one with every acquisition of the partition.
    :param nonce: random; the operation id of the acquisition.
    """

    token: int
    nonce: str

    def __str__(self) -> str:
        return f"{self.token}-{self.nonce}"

    @classmethod
    def parse(cls, text: str) -> Fence:
        """Return the fence written as ``token-nonce``.

        :raises InvalidInputError: when ``text`` is not of that form.
        """
        token, dash, nonce = text.partition("-")
        if not (dash and nonce and token.isascii() and token.isdigit()):
            raise InvalidInputError("fence", text, "is not of the form token-nonce", "Copy it whole")
        return cls(int(token), nonce)


@dataclass(frozen=True, slots=True)
class TaskInstance:
    """An Airflow task instance as an owner names it: each part decoded, as text."""

    hostname: str
    dag: str
    run: str
    task: str
    map_index: str
    try_number: str


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a lease. ``hostname/dag/run/task/map index/try``; other texts own without a task identity.

    :param text: the whole, as ``partitionOwner`` shows it; each of the six parts percent-encoded.
    """

    text: str

    @classmethod
    def of_task(cls, hostname: str, dag: str, run: str, task: str, map_index: int, try_number: int) -> Owner:
        """Return the owner that an Airflow task instance is."""
        parts = (hostname, dag, run, task, str(map_index), str(try_number))
        return cls("/".join(quote(part, safe=":+@ ") for part in parts))

    @property
    def _parts(self) -> list[str]:
        parts = self.text.split("/")
        return parts if len(parts) == 6 and parts[5].isascii() and parts[5].isdigit() else []

    @property
    def task(self) -> str:
        """The task identity: everything but hostname and try; the whole text for other owners."""
        return "/".join(self._parts[1:5]) or self.text

    @property
    def try_number(self) -> int:
        """The Airflow try, 0 for owners that are no Airflow task."""
        return int(self._parts[5]) if self._parts else 0

    @property
    def dag(self) -> str | None:
        """The dag id, ``None`` for owners that are no Airflow task."""
        instance = self.instance
        return instance.dag if instance else None

    @property
    def instance(self) -> TaskInstance | None:
        """The task instance with its parts decoded, ``None`` for owners that are no Airflow task."""
        parts = self._parts
        return TaskInstance(*map(unquote, parts)) if parts else None


@dataclass(frozen=True, slots=True)
class Ending:
    """How and when one tenure ended.

    :param outcome: the kind of ending.
    :param fence: the tenure's fence.
    :param at: when, by the store's clock.
    :param op: operation id of the write that ended it.
    :param last: the chain's last operation before that.
    :param status_after: the partition's status since.
    :param closed_count: the partition's ``closedCount`` since.
    """

    outcome: Outcome
    fence: Fence
    at: datetime | None = None
    op: str = ""
    last: str = ""
    status_after: PartitionStatus | None = None
    closed_count: int = 0

    @property
    def time(self) -> datetime | None:
        """When, by the store's clock: the same as ``at``."""
        return self.at

    def __str__(self) -> str:
        when = f" at {self.at.isoformat(timespec='seconds')}" if self.at else ""
        return f"{self.outcome}{when}"

    @classmethod
    def parse(cls, entry: str) -> Ending:
        """Return the ending in a ring entry: ``token|nonce|outcome|op|last|status after|closedCount|microseconds``."""
        token, nonce, outcome, op, last, status, closed, at = entry.split("|")
        return cls(
            Outcome(outcome),
            Fence(int(token), nonce),
            from_micros(int(at)),
            op,
            last,
            PartitionStatus(status),
            int(closed),
        )
