"""The states in people's words: in a store a parked partition is CLOSED, and a blocked one UNASSIGNED."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.protocol.steps import due_at
from airflow_coordination.values.status import PartitionStatus

PARKED: Final = "PARKED"
"""The people's word for CLOSED without a time to reopen."""
BLOCKED: Final = "BLOCKED"
"""The people's word for UNASSIGNED while a parent has not finished."""
_WANTED: Final = {
    str(PartitionStatus.UNASSIGNED): (PartitionStatus.UNASSIGNED, None),
    BLOCKED: (PartitionStatus.UNASSIGNED, None),
    **{str(each): (each, None) for each in PartitionStatus},
    str(PartitionStatus.CLOSED): (PartitionStatus.CLOSED, False),
    PARKED: (PartitionStatus.CLOSED, True),
}
STATES: Final = tuple(_WANTED)
"""The states of the version before, by which a list can still be narrowed."""

_WAITING: Final = ((PartitionStatus.UNASSIGNED, None), (PartitionStatus.CLOSED, False))
_LEASED: Final = ((PartitionStatus.ASSIGNED, None),)
_AMONG: Final[Mapping[str, Sequence[tuple[PartitionStatus | None, bool | None]]]] = {
    "claimable": _WAITING,
    "held": _LEASED,
    "expired": _LEASED,
    "delayed": _WAITING,
    "blocked": ((PartitionStatus.UNASSIGNED, None),),
    "parked": ((PartitionStatus.CLOSED, True),),
    "completed": ((PartitionStatus.COMPLETED, None),),
}
WORDS: Final = tuple(_AMONG)
"""The seven words that counts have, and by which a list is narrowed: each partition is in one of them."""
RARE: Final = frozenset({BLOCKED, "expired", "delayed", "blocked"})
"""What is looked for among others, which may be many more; of the other words, others are among them now and then."""


def among(state: str | None) -> Sequence[tuple[PartitionStatus | None, bool | None]]:
    """Return what pages are asked for, each by its status and whether parked: of a word, of a state, or of any.

    What else is on them, no store is asked: :func:`state_of` and :func:`word_of` tell.
    """
    return _AMONG.get(state or "") or (_WANTED.get(state or "", (None, None)),)


def state_of(partition: Partition) -> str:
    """Return in which of :data:`STATES` a partition is."""
    if partition.parked:
        return PARKED
    return BLOCKED if partition.blocked else str(partition.status)


def word_of(partition: Partition, now: datetime) -> str:
    """Return in which of the seven words that counts have a partition is: docs/reference/glossary.md, *Counts*.

    :param now: the store's clock: it tells what has expired, and what is delayed.
    """
    if partition.parked:
        return "parked"
    if partition.status is PartitionStatus.COMPLETED:
        return "completed"
    due = due_at(partition)
    later = due is not None and due > now
    if partition.status is PartitionStatus.ASSIGNED:
        return "held" if later or due is None else "expired"
    if partition.blocked:
        return "blocked"
    return "delayed" if later else "claimable"


def by_state(counts: Mapping[PartitionStatus, int], outlook: Outlook) -> dict[str, int]:
    """Return how many partitions are in each of :data:`STATES`, each in one of them."""
    found = {str(each): counts[each] for each in PartitionStatus}
    found[str(PartitionStatus.CLOSED)] = max(0, counts[PartitionStatus.CLOSED] - outlook.parked)
    found[str(PartitionStatus.UNASSIGNED)] = max(0, counts[PartitionStatus.UNASSIGNED] - outlook.blocked)
    return {state: {**found, PARKED: outlook.parked, BLOCKED: outlook.blocked}[state] for state in STATES}
