"""What a duty has seen of a source, so that it looks at everything only when something is new."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from airflow_coordination.duties.compaction.remembered import A_DAY
from airflow_coordination.duties.compaction.snapshot import newest_tenures
from airflow_coordination.duties.groups.round import Cluster
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.values.times import from_micros, to_micros

_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class Mark:
    """What was there when a duty had nothing left to do in a source.

    :param seen: a digest of what it depends on.
    :param until: when time alone makes something new, or it is looked anyhow, by the store's clock.
    """

    seen: str
    until: datetime

    def is_news(self, seen: str | None, now: datetime) -> bool:
        """Return whether everything has to be looked at.

        :param seen: the digest of now; ``None`` where that cannot be told.
        """
        return seen is None or seen != self.seen or now >= self.until


class Marks:
    """The marks of a duty by source, as they travel from one run to the next.

    :param remembered: what :meth:`to_json` has said; what is no such thing is forgotten.
    """

    def __init__(self, remembered: Any) -> None:
        self._before: dict[str, Mark] = {}
        self._now: dict[str, Mark] = {}
        for name, said in remembered.items() if isinstance(remembered, Mapping) else ():
            try:
                self._before[name] = Mark(str(said[0]), from_micros(int(said[1])))
            except (IndexError, OverflowError, TypeError, ValueError):
                continue  # of another version: it is looked at again

    def is_news(self, source: str, seen: str | None, now: datetime) -> bool:
        """Return whether a source has to be looked at; if it has not, its mark stays."""
        mark = self._before.get(source)
        if mark is None or mark.is_news(seen, now):
            return True
        self._now[source] = mark
        return False

    def put(self, source: str, seen: str | None, now: datetime, until: datetime | None = None) -> None:
        """Remember that a source was looked at, and nothing is left to do; in a day it is looked at again anyhow.

        :param until: when time alone makes something new, if it does.
        """
        if seen is not None:
            self._now[source] = Mark(seen, min(until or now + A_DAY, now + A_DAY))

    def to_json(self) -> dict[str, list[Any]]:
        """Return the marks of the sources that were there in this run."""
        return {name: [mark.seen, to_micros(mark.until)] for name, mark in self._now.items()}


def digest(*parts: object) -> str:
    """Return a short digest of JSON values."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def versions(coordinator: SourceCoordinator) -> dict[str, int]:
    """Return the versions of the documents of a source, one request."""
    return {each.name: each.version for each in coordinator.documents.all()}


def seen_once(cluster: Cluster, coordinator: SourceCoordinator) -> tuple[str | None, dict[str, int]]:
    """Return what has ended last in a source, and the versions of its documents: asked for once in a run.

    What a duty before has changed may be missing in it. Whoever remembers it looks once more than it had to, then.
    """
    name = coordinator.source
    ended = cluster.once(f"ended last in {name}", lambda: newest_tenures(coordinator))
    return ended, cluster.once(f"said of {name}", lambda: versions(coordinator))
