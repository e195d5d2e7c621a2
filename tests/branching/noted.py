"""What histories lack by themselves: tenures that commands of branches take, and reads of all head records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from airflow_coordination.leases import Lease
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.beside.documents import Document
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.testing.history import Kind, RecordedCoordinator, Told
from airflow_coordination.testing.history.operations import Operation
from airflow_coordination.testing.history.recorder import NO_RESULT
from airflow_coordination.testing.history.views import Views
from airflow_coordination.values.input_errors import CoordinationError

T = TypeVar("T")


class BranchRecorder(RecordedCoordinator):
    """Notes also who completes a partition that has nothing, and who reads all head records."""

    def complete_without(self, lease: Lease, datasets: Sequence[str]) -> None:
        """Complete a partition that has nothing of some datasets."""
        given = {"blocks": (), "empty": list(datasets), "branch": lease.partition.branch}
        made = self._call(Kind.COMPLETE, lease.key, lease.fence, given)
        self._told(made, lambda: self.coordinator.complete(lease, empty=datasets))

    def change_view(self, call: Callable[[str], T], what: str) -> T:
        """Change the view; a command that failed may have written a part of its versions."""
        self._changes += 1
        comment = f"{what} ({self._changes} of {self.process})"
        made = self._call(Kind.VIEW, given={"comment": comment})
        try:
            changed = call(comment)
        except CoordinationError:
            self.log.answer(made, Told.UNKNOWN, NO_RESULT)
            raise
        self.log.answer(made, Told.OK, self._version())
        return changed

    def every_head(self, keys: Iterable[str], read: Callable[[], list[HeadRecord]]) -> list[HeadRecord]:
        """Read all head records; noted as a read of what each partition has published, in the base and in branches."""
        made = [self._call(Kind.PUBLISHED, key) for key in keys]
        try:
            found = read()
        except CoordinationError:
            for each in made:
                self.log.answer(each, Told.NOT_DONE, NO_RESULT)
            raise
        named: dict[str, dict[str, tuple[str, ...]]] = {}
        for head in found:
            named.setdefault(head.key, {})[head.dataset] = tuple(block.digest for block in head.blocks)
        for each in made:
            self.log.answer(each, Told.OK, {"published": named.get(each.key, {})})
        return found


class KnownViews(Views):
    """What the view said, looked up once for each time: a search asks again and again.

    Kept by what the answer depends on, the times of a call. Not by the call itself: a long history is read in parts,
    and calls of one part may stand in memory where those of the part before did.
    """

    def __init__(self, documents: Iterable[Document], operations: Sequence[Operation]) -> None:
        super().__init__(documents, operations)
        self._during: dict[tuple[float, float], View | None] = {}

    def during(self, made: Operation) -> View | None:
        """Return the view that was in force during all of a call, ``None`` where that is not sure."""
        time = made.invoked, made.answered
        if time not in self._during:
            self._during[time] = super().during(made)
        return self._during[time]


class Commands:
    """A coordinator as the product's commands take it, whose calls on partitions are noted, all of them.

    :param one: notes them.
    :param watched: is given each purge of head records: the partition as it was seen, their names, and what purges.
    """

    def __init__(self, one: BranchRecorder, watched: Callable[..., Any] | None = None) -> None:
        self._one, self.people = one, _People(one, watched)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._one.coordinator, name)

    def partition(self, key: str) -> Partition | None:
        """See :class:`SourceCoordinator`, here and below."""
        return self._one.partition(key)

    def acquire_partition(self, key: str) -> Lease | None:
        return self._one.acquire_partition(key)

    def save_progress_state(self, lease: Lease, state: object) -> Lease:
        return self._one.save_progress_state(lease, state)

    def give_up(self, lease: Lease) -> None:
        self._one.give_up(lease)

    def complete(self, lease: Lease, empty: Sequence[str] = ()) -> None:
        self._one.complete_without(lease, empty)


class _People:
    def __init__(self, one: BranchRecorder, watched: Callable[..., Any] | None) -> None:
        self._one, self._watched = one, watched

    def __getattr__(self, name: str) -> Any:
        return getattr(self._one.people, name)

    def purge(self, seen: Partition, datasets: Iterable[str], by: str, why: str) -> Any:
        names = sorted(datasets)

        def call() -> Partition:
            return self._one.people.purge(seen, names, by, why)

        return call() if self._watched is None else self._watched(seen, names, call)
