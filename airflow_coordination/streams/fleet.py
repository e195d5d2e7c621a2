"""The workers of a source as its store shows them: who is there, who holds how many leases, and what is free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.streams.shares import shares
from airflow_coordination.values.status import PartitionStatus

_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Fleet:
    """One look at the workers of a source.

    :param capacity: how many leases each worker that is alive can hold.
    :param leases: those that it holds.
    :param free: what can be taken now, as hints, in the acquisition order; not more than all workers can hold.
    """

    capacity: Mapping[str, int]
    leases: Mapping[str, tuple[Partition, ...]]
    free: tuple[str, ...]

    @property
    def held(self) -> dict[str, int]:
        """How many leases each of them holds."""
        return {name: len(self.leases[name]) for name in self.capacity}

    @property
    def shares(self) -> dict[str, int]:
        """How many leases each of them should hold; see :func:`~.shares.shares`."""
        return self.shares_of(self.capacity, self.held, len(self.free))

    @staticmethod
    def shares_of(capacity: Mapping[str, int], held: Mapping[str, int], free: int) -> dict[str, int]:
        """Return the same for other numbers than those of a look."""
        return shares(capacity, sum(held.values()) + free)


def look_at(coordinator: SourceCoordinator) -> Fleet:
    """Return who works on a source: four requests, and one more for every thousand leases that are held.

    On DynamoDB six, and one more for every hundred; a lease that began in this moment may be missing there, because the
    index is late. Then a worker asks for less, never for more: its own number it knows, and whom it asks for a lease
    was read to hold it.

    Leases of workers that are no members, or whose membership has run out, are nobody's here: they come back when they
    end or run out themselves.

    :param coordinator: of the source, in whose name nothing is written.
    """
    capacity = {member.owner: member.capacity for member in coordinator.members()}
    leases: dict[str, list[Partition]] = {name: [] for name in capacity}
    now = coordinator.store.now()
    after: str | None = None
    while capacity and (page := coordinator.partitions(PartitionStatus.ASSIGNED, after, _PAGE)):
        for one in page:
            alive = one.ownership_timeout is not None and one.ownership_timeout > now
            if alive and one.owner in capacity:
                leases[one.owner].append(one)
        if len(page) < _PAGE:
            break
        after = page[-1].key
    free = coordinator.claimable(sum(capacity.values())) if capacity else []
    return Fleet(capacity, {name: tuple(held) for name, held in leases.items()}, tuple(free))
