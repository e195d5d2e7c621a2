"""The memory of a sensor in the mode ``reschedule``, whose looks are each a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from airflow_coordination.monitoring.waiting.idleness import Idleness

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

_MEMORY: Final = "coordination_looks"


class RescheduleMemory:
    """Keeps the newest :class:`Idleness` of one try in Airflow's task state store."""

    def __init__(self, context: Context) -> None:
        self._store, self._try = context.get("task_state_store"), context["ti"].try_number

    def recall(self) -> Idleness | None:
        """Return what the look before saw, ``None`` before the first of this try."""
        found = self._store.get(_MEMORY) if self._store is not None else None
        if not isinstance(found, dict) or found.get("try") != self._try:
            return None
        return Idleness.from_json(found.get("still"))

    def remember(self, idleness: Idleness | None) -> None:
        """Keep what this look saw."""
        if self._store is not None:
            self._store.set(_MEMORY, {"try": self._try, "still": idleness.to_json() if idleness else None})
