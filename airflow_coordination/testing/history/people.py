"""What commands do to partitions, noted: a branch that begins resets them, a purge empties some head records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.people import People
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.history.operations import Kind

Noted = Callable[[Kind, str, Mapping[str, Any], Callable[[], Partition]], Partition]


class RecordedPeople(People):
    """The same part of a coordinator, which notes each call.

    :param coordinator: whose part.
    :param noted: makes a call on a partition and notes what came of it.
    """

    def __init__(self, coordinator: SourceCoordinator, noted: Noted) -> None:
        super().__init__(coordinator._core, coordinator._has.follow_ups, coordinator._has.head_intervals)
        self._noted = noted

    def act(  # noqa: D102
        self,
        action: Action,
        key: str,
        by: str,
        why: str,
        seen: Partition | None = None,
        *,
        branch: int | None = None,
        out_of_branch: bool = False,
        batch: str | None = None,
    ) -> Partition:
        more: dict[str, Any] = {"branch": branch, "out_of_branch": out_of_branch, "batch": batch}
        call = lambda: People.act(self, action, key, by, why, seen, **more)  # noqa: E731
        given = {"branch": branch} if action is Action.RESET else {}
        return self._noted(Kind(action.value), key, given, call)

    def purge(self, seen: Partition, datasets: Iterable[str], by: str, why: str) -> Partition:  # noqa: D102
        stored = sorted(datasets)
        call = lambda: People.purge(self, seen, stored, by, why)  # noqa: E731
        return self._noted(Kind.RETRACT, seen.key, {"datasets": stored}, call)
