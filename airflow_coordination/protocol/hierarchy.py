"""Parents and children: in which order they are created, what a child waits for, when a parent may go. Pure.

A child waits for those of its parents that have not finished when it is created (Kinesis Client Library: a child
shard is processed after its parents). What it waits for only ever shrinks: resetting a parent takes nothing back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from graphlib import CycleError, TopologicalSorter
from typing import Final

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import NewPartition
from airflow_coordination.values.input_errors import ParentCycleError, UnknownParentError
from airflow_coordination.values.status import PartitionStatus

CLEAN_AFTER: Final = timedelta(hours=24)
"""How long what has finished stays at least, so that people can look at it."""


def unfinished(new: NewPartition, status_of: Callable[[str], PartitionStatus | None]) -> tuple[str, ...]:
    """Return those of a new partition's parents that it waits for.

    :param status_of: tells the status of a partition by its key, ``None`` where there is none.
    :raises UnknownParentError: when a parent does not exist.
    """
    statuses = {parent: status_of(parent) for parent in new.parents}
    for parent, status in statuses.items():
        if status is None:
            raise UnknownParentError(new.key, parent)
    return tuple(parent for parent, status in statuses.items() if status is not PartitionStatus.COMPLETED)


def status_in(found: Mapping[str, Partition], key: str) -> PartitionStatus | None:
    """Return the status of a parent that was read, ``None`` where there is none but perhaps a tombstone.

    What was cleaned up is COMPLETED still: it had finished, so that nobody need wait for it.
    """
    seen = found.get(key)
    return None if seen is None or (seen.deleted and not seen.cleaned_up) else seen.status


def waves(page: Sequence[NewPartition]) -> Iterator[tuple[NewPartition, ...]]:
    """Yield a page in parts that are created one after the other, so that no parent is in one with its child.

    A page in which nobody is anybody's parent is one part. Inside a part the order of the page stays.

    :param page: each key once.
    :raises ParentCycleError: when some of them could never start, before anything is yielded.
    """
    within = {new.key for new in page}
    if not any(within.intersection(new.parents) for new in page):
        yield tuple(page)
        return
    sorter = TopologicalSorter({new.key: within.intersection(new.parents) for new in page})
    try:
        sorter.prepare()
    except CycleError as error:
        circle = error.args[1]  # the first one stands at its end again, and each comes before the one that it follows
        raise ParentCycleError(tuple(reversed(circle[1:]))) from None
    while sorter.is_active():
        ready = set(sorter.get_ready())
        yield tuple(new for new in page if new.key in ready)
        sorter.done(*ready)


def has_begun(child: Partition) -> bool:
    """Return whether a child was acquired once, or has finished without: it has taken over from its parents.

    A token alone does not tell: that of a tombstone goes on. What was only created has its creation as last operation.
    """
    if child.status in (PartitionStatus.ASSIGNED, PartitionStatus.COMPLETED):
        return True
    return child.token > 0 and child.last_op != child.create_op


def may_go(
    children: Mapping[str, bool | None] | None,
    parents_there: Collection[str],
    finished_for: timedelta,
    *,
    clean_after: timedelta = CLEAN_AFTER,
    enabled: bool = True,
    source_gone: bool = False,
) -> bool:
    """Tell whether a finished partition, or the lease of a finished shard, may be removed.

    It tells whoever plans that its work is done with, so it stays until its children have taken that over, and until
    none of its own parents is left. Source: KCL, ``LeaseCleanupManager``; there a child must have a checkpoint,
    and an ended parent of quiet children stays for ever (#752). Here it must have been acquired once.

    :param children: of each child whether it was acquired once, ``None`` if there is no such partition; ``None`` when
        nobody knows the children.
    :param parents_there: those of its own parents that are still there.
    :param finished_for: for how long it has been finished.
    :param clean_after: how long it stays at least.
    :param enabled: whether what has finished is removed at all (KCL: ``cleanupLeasesUponShardCompletion``).
    :param source_gone: whether the source says that it knows nothing of it any more: then it goes at once.
    """
    if source_gone:
        return True
    if not enabled or not children or parents_there or finished_for < clean_after:
        return False
    return all(children.values())
