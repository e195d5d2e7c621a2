"""The memory of a task instance over its tries: a mirror in Airflow, never the authority."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from airflow_coordination.values.fence import Fence

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

_MEMORY: Final = "coordination"


class TaskMemory:
    """Keeps the lease that a task instance works under, in Airflow's task state store."""

    def __init__(self, context: Context) -> None:
        self._store = context.get("task_state_store")

    def recall(self) -> Mapping[str, Any] | None:
        """Return ``{"key", "fence", "reported"}``, ``None`` before the first lease."""
        found = self._store.get(_MEMORY) if self._store is not None else None
        return found if isinstance(found, dict) else None

    def remember(self, key: str, fence: Fence, *, reported: bool = False) -> None:
        """Keep the lease; ``reported`` once this instance has told its end to Airflow."""
        if self._store is not None:
            self._store.set(_MEMORY, {"key": key, "fence": str(fence), "reported": reported})

    def forget(self) -> None:
        """Let the next try take whatever comes first: no partition is left to go on with."""
        if self._store is not None:
            self._store.set(_MEMORY, "")
