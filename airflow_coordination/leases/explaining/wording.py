"""Times, durations, owners and errors in plain words."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from airflow_coordination.values.fence import Owner
from airflow_coordination.values.input_errors import printable, shown

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
