"""The memory of each stream in the global state, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from airflow_coordination.planning.shards.coverage import Findings
from airflow_coordination.planning.shards.position import Position
from airflow_coordination.planning.shards.shard import HashRange
from airflow_coordination.systems.suppliers import remembered
from airflow_coordination.values.input_errors import ProgressStateError

KINESIS: Final = "KINESIS"


@dataclass(frozen=True, slots=True)
class StreamMemory:
    """The memory of a stream between two runs of the supplier.

    :param since: the instant that LATEST is pinned to.
    :param plan: the shards of a first plan at LATEST that may not all be created; ``None`` where none is open. A shard
        that was open at that instant and has been split since would otherwise be passed over.
    :param findings: the holes found so far.
    :param listed: when its shards were listed last.
    :param removed: since when nobody asks for it any more.
    """

    since: datetime | None = None
    plan: tuple[str, ...] | None = None
    findings: Findings = field(default_factory=Findings)
    listed: datetime | None = None
    removed: datetime | None = None

    def planned(self, position: Position, shards: tuple[str, ...]) -> StreamMemory:
        """Return it with a first plan at LATEST, before anything is created."""
        return replace(self, since=position.since, plan=shards)

    def listed_at(self, at: datetime) -> StreamMemory:
        """Return it after everything that a listing asks for was created."""
        return replace(self, plan=None, findings=Findings(), listed=at)

    def document(self) -> dict[str, Any]:
        """Return it as the global state keeps it."""
        found: dict[str, Any] = {
            name: value.isoformat()
            for name in ("since", "listed", "removed")
            if (value := getattr(self, name)) is not None
        }
        if self.plan is not None:
            found["plan"] = list(self.plan)
        if self.findings.hole:
            hole = [[str(each.first), str(each.last)] for each in self.findings.hole]
            found |= {"hole": hole, "times": self.findings.times}
        return found

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> StreamMemory:
        """Return what :meth:`document` made."""
        moments = {name: _moment(document.get(name)) for name in ("since", "listed", "removed")}
        plan = document.get("plan")
        hole = tuple(HashRange(int(first), int(last)) for first, last in document.get("hole", ()))
        findings = Findings(hole, int(document.get("times", 0)))
        return cls(plan=None if plan is None else tuple(map(str, plan)), findings=findings, **moments)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


class Memory:
    """All streams of a source, under the beginning of their keys.

    :param state: the global state; other things in it stay.
    :raises ProgressStateError: when it cannot be read.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._state = state
        documents = remembered(state, KINESIS)
        try:
            self.streams = {prefix: StreamMemory.of(each) for prefix, each in documents.items()}
        except (AttributeError, TypeError, ValueError) as error:
            problem = f"cannot be read: {error}"
            raise ProgressStateError(f"global_state.{KINESIS}", documents, problem, "Repair it in the store") from error

    def of(self, prefix: str) -> StreamMemory:
        """Return what is known of a stream."""
        return self.streams.get(prefix, StreamMemory())

    def document(self) -> dict[str, Any]:
        """Return the global state with what is known now."""
        return {**self._state, KINESIS: {prefix: each.document() for prefix, each in self.streams.items()}}
