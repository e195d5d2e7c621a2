"""Times, durations, owners, errors and counts of records in plain words."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final, Protocol

from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.errors import first_line
from airflow_coordination.values.fence import Owner
from airflow_coordination.values.input_errors import InvalidInputError, printable, shown

_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_NOT_MAPPED: Final = "-1"


def span(duration: timedelta) -> str:
    """Return a duration in its two largest units, rounded down: ``3 d 4 h``, ``48 s``."""
    seconds = int(abs(duration).total_seconds())
    place = next((place for place, (size, _) in enumerate(_UNITS) if seconds >= size), len(_UNITS) - 1)
    words: list[str] = []
    for size, unit in _UNITS[place : place + 2]:
        number, seconds = divmod(seconds, size)
        if number or not words:
            words.append(f"{number} {unit}")
    return " ".join(words)


def moment(at: datetime) -> str:
    """Return a time to the second."""
    return at.isoformat(timespec="seconds")


def ahead(at: datetime, now: datetime) -> str:
    """Return a time that has not come, and how long it is until then."""
    return f"{moment(at)} (in {span(at - now)})"


def past(at: datetime, now: datetime) -> str:
    """Return a time that has come, and how long ago that was."""
    return f"{moment(at)} ({span(now - at)} ago)"


def as_sentence(text: str) -> str:
    """Return a text that may end with somebody else's as a sentence."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def counted(number: int, thing: str, things: str | None = None) -> str:
    """Return ``1 failure``, ``2 failures``."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def holder(owner: str | None) -> str:
    """Return who holds a lease: an Airflow task instance by its parts, anybody else by name."""
    instance = Owner(owner or "").instance
    if instance is None:
        return shown(owner) if owner else "an owner without a name"
    mapped = "" if instance.map_index == _NOT_MAPPED else f" map index {printable(instance.map_index)},"
    dag, run, task, host = map(shown, (instance.dag, instance.run, instance.task, instance.hostname))
    airflow = Owner(owner or "").place.airflow
    named = "" if airflow is None else f" of Airflow {shown(airflow)}"
    return f"task {task},{mapped} try {instance.try_number}, of run {run} of DAG {dag} on host {host}{named}"


UNREADABLE: Final = "corrupt in the store"


class Accounted(Protocol):
    """What has an accounting: a partition, a tenure that has ended, what was published."""

    @property
    def accounting(self) -> Accounting | None:
        """Its counts; raises when they are corrupt."""


def records_told(of: Accounted) -> str | None:
    """Return what became of the records in a few words, ``None`` when none were delivered.

    It never raises: one corrupt text must not hide the rest of a page.
    """
    try:
        found = of.accounting
    except InvalidInputError:
        return UNREADABLE
    return None if found is None else in_short(found)


def in_short(counted: Accounting) -> str:
    """Return how many records were read, and what became of them; what happened to none is left out."""
    parts = (
        (counted.delivered_everywhere, "delivered everywhere"),
        (sum(counted.dropped.values()), "dropped"),
        (counted.unrouted, "unrouted"),
        (counted.dead_lettered, "dead-lettered"),
        (counted.failed, "failed"),
    )
    told = ", ".join(f"{number:,} {what}" for number, what in parts if number)
    return f"{counted.read:,} read{': ' if told else ''}{told}"


_NEGATIVE: Final = re.compile(
    r"\A(?:NegativeAcknowledgmentError: )?Not every record of partition (?P<key>.*?) was delivered: (?P<problems>.*)"
    r"\. Nothing after the last save counts\. (?P<remedy>.*?)\.?\s*\Z",
    re.DOTALL,
)


def told(error: str | None, otherwise: str) -> str:
    """Return a stored error as a part of a sentence: of a failed delivery each sink, its number, and what to do.

    The partition is named already; the remedy stands even where the problems are too long to be told in full.

    :param otherwise: what to say where there is no error.
    """
    found = _NEGATIVE.match(error or "")
    if found is None:
        return first_line(error, otherwise)
    problems = first_line(found["problems"], otherwise)
    return f"not every record was delivered: {problems}. {first_line(found['remedy'], otherwise)}"
