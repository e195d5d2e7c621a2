"""The fence of a tenure, its owner and where that one is, and its ending. All frozen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, unquote

from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.scrubbing import without_known
from airflow_coordination.values.status import Outcome, PartitionStatus
from airflow_coordination.values.times import from_micros

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
class Place:
    """The place of an owner, beside its hostname: what tells it from a namesake. What is unknown is ``None``.

    :param airflow: the name of its Airflow: the same task instance of another one is somebody else.
    :param boot: of its machine and its process ids: equal where a process id means the same process.
    :param process: its process id and, after a dot, what tells it from a later process of that id.
    """

    airflow: str | None = None
    boot: str | None = None
    process: str | None = None


_PLACE: Final = tuple(field.name for field in fields(Place))
_NOWHERE: Final = Place()


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of a lease. ``hostname/dag/run/task/map index/try``; other texts own without a task identity.

    After the hostname it may say where that is: ``hostname;airflow=production;boot=5f0c1d2e;process=4711.88/dag/…``.

    :param text: the whole, as ``partitionOwner`` shows it; each of the six parts percent-encoded.
    """

    text: str

    @classmethod
    def of_task(
        cls, hostname: str, dag: str, run: str, task: str, map_index: int, try_number: int, place: Place = _NOWHERE
    ) -> Owner:
        """Return the owner that an Airflow task instance is."""
        parts = (dag, run, task, str(map_index), str(try_number))
        return cls("/".join([_located(hostname, place), *map(_quoted, parts)]))

    @classmethod
    def of_process(cls, name: str, place: Place = _NOWHERE) -> Owner:
        """Return an owner that is no Airflow task: its name, and where it is."""
        return cls(_located(name, place))

    @property
    def place(self) -> Place:
        """Where it is, as far as it says so: older code says nothing."""
        said = (each.partition("=") for each in self.text.split("/", 1)[0].split(";")[1:])
        return Place(**{name: unquote(value) for name, _, value in said if name in _PLACE and value})

    @property
    def plain(self) -> str:
        """The text without the place, as people are shown it."""
        head, slash, rest = self.text.partition("/")
        return head.split(";", 1)[0] + slash + rest if self.place != _NOWHERE else self.text

    def is_also(self, holder: str | None) -> bool:
        """Return whether who holds a lease is a try of this task instance, so that this try may act for it.

        A holder that does not name its Airflow is older code, whose word is taken as it was: until its lease ends.

        :param holder: as the partition's ``owner``.
        """
        other = Owner(holder or "")
        return self.task == other.task and other.place.airflow in (None, self.place.airflow)

    @property
    def identity(self) -> str:
        """The task identity, before it the Airflow's name where that is known: what tries of one task share."""
        airflow = self.place.airflow
        return self.task if airflow is None else f"{airflow}:{self.task}"

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
        parts = Owner(self.plain)._parts
        return TaskInstance(*map(unquote, parts)) if parts else None


def _quoted(part: str) -> str:
    return quote(part, safe=":+@ ")


def _located(name: str, place: Place) -> str:
    said = ((each, getattr(place, each)) for each in _PLACE)
    return _quoted(name) + "".join(f";{each}={_quoted(value)}" for each, value in said if value)


@dataclass(frozen=True, slots=True)
class Ending:
    """An ending: how and when one tenure ended.

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


MAX_BYTES: Final = 512
"""It is stored with the partition, whose item costs DynamoDB users by the kilobyte."""


def details_of(facts: Mapping[str, str | int | None]) -> str | None:
    """Return the facts as they are stored, without what is unknown; ``None`` when nothing is left.

    What does not fit is left out from the end, and so is what is neither text nor number: nothing depends on it, and no
    write may fail for it. Known secrets are hidden, because it is shown to everybody who may look (promise X4).

    :param facts: short texts and numbers by name, the most useful first: ``application``, ``url``, ``process``.
    """
    plain = {name: value for name, value in facts.items() if isinstance(value, str | int) and value != ""}
    known = {name: without_known(value) if isinstance(value, str) else value for name, value in plain.items()}
    while known:
        text = json.dumps(known, ensure_ascii=True, separators=(",", ":"))
        if len(text) <= MAX_BYTES:
            return text
        known.popitem()
    return None


def facts_of(text: str | None) -> dict[str, Any]:
    """Return the stored facts; empty when there are none, or something else than an object is stored.

    Other software may have written it: a fact that is neither text nor number is left out, and half a character, which
    no answer of the board could hold, becomes a question mark.
    """
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    facts = found if isinstance(found, dict) else {}
    return {name: _whole(value) for name, value in facts.items() if isinstance(value, str | int)}


def _whole(value: str | int) -> str | int:
    return value.encode(errors="replace").decode() if isinstance(value, str) else value
