"""What became of records, in a few words."""

from __future__ import annotations

from typing import Final, Protocol

from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.input_errors import InvalidInputError

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
