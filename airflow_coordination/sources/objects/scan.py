"""One scan of a listing: what it remembers between its pages, and what it has left to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from airflow_coordination.sources.planned_pass import remembered
from airflow_coordination.sources.schedule import moment, written
from airflow_coordination.values.input_errors import ProgressStateError

LISTING: Final = "LISTING"
"""The name in the global state of a scan that is under way, and of the options that all scans have in common."""


@dataclass(frozen=True, slots=True)
class Scan:
    """A scan that is under way.

    :param started: when, by the storage's clock, in whole seconds: some storages stamp objects no finer.
    :param first: the first moment that any scan of the source looks back to; ``None`` for all.
    :param since: objects are wanted from this moment on; ``None`` for all.
    :param until: objects are wanted up to, not including, this moment; ``None`` for all.
    :param after: the last name that is dealt with.
    :param plan: documents of the groups that are planned and perhaps not created.
    """

    started: datetime
    first: datetime | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: str = ""
    plan: tuple[Mapping[str, Any], ...] = ()

    def at(self, after: str, plan: list[dict[str, Any]] | None = None) -> Scan:
        """Return the scan when it has dealt with all names up to ``after``, but for the partitions of ``plan``."""
        return replace(self, after=after, plan=tuple(plan or ()))

    def document(self) -> dict[str, Any]:
        """Return the scan as the global state keeps it."""
        moments = {"started": self.started, "first": self.first, "since": self.since, "until": self.until}
        texts = {name: written(value) for name, value in moments.items() if value}
        return {**texts, "after": self.after, "plan": list(self.plan)}


def unfinished_scan(state: Mapping[str, Any]) -> Scan | None:
    """Return the scan that the state says is under way, ``None`` when there is none.

    :raises ProgressStateError: when what it says cannot be read.
    """
    found = remembered(state, LISTING)
    started = moment(found, "started")
    if started is None:
        return None
    after, plan = found.get("after"), found.get("plan")
    if not isinstance(after, str) or not isinstance(plan, list):
        raise ProgressStateError(f"global_state.{LISTING}", found, "is no scan", "Repair it in the store")
    since, until = moment(found, "since"), moment(found, "until")
    return Scan(started, moment(found, "first"), since, until, after, tuple(plan))
