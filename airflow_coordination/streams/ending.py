"""What is done when a shard has been read to its end, and when its finished lease may go."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from airflow_coordination.streams.plan import NewLease
from airflow_coordination.streams.position import TRIM_HORIZON, Position
from airflow_coordination.streams.shard import Shard, by_id

CLEAN_AFTER: Final = timedelta(hours=24)
"""How long a finished lease stays at least, so that people can look at it."""


@dataclass(frozen=True, slots=True)
class ShardEnd:
    """What to do.

    :param create: these leases first, in this order.
    :param complete: then complete the lease; ``False``: the shard is not finished, or the lease is somebody else's.
    """

    create: tuple[NewLease, ...] = ()
    complete: bool = False


def at_shard_end(
    children: Iterable[Shard],
    leased: Collection[str],
    position: Position = TRIM_HORIZON,
    *,
    read_to_end: bool = True,
    held: bool = True,
) -> ShardEnd:
    """Return what the holder of a lease does when its source says that the shard ends here.

    It creates the children that can be created, blocked by their parents, and completes. It never waits for a child:
    the child of a merge whose other parent has no lease is left to the next
    :func:`~airflow_coordination.streams.plan`, which starts the missing parent first. Source: KCL, ``ShutdownTask``;
        there such a lease is tried again for ever and cannot
    end.

    :param children: what the source lists as the shard's children, with *all* their parents (Kinesis: ``ChildShards``);
        empty where it lists none, then the next plan finds them. Empty also where leases are missing that others wait
        for, as after an old backup: only a plan sees the whole lineage.
    :param leased: every shard that has a lease, finished or not, the ending one among them.
    :param position: where the ending lease itself began. Its children begin at their first record, but never before an
        AT_TIMESTAMP (the KCL's always begin at TRIM_HORIZON, and read what came before the time).
    :param read_to_end: whether everything up to the end is saved; otherwise nothing is done.
    :param held: whether the lease is still the caller's own; the store's fence says so once more.
    :raises InvalidInputError: when a child is there twice.
    """
    if not (read_to_end and held):
        return ShardEnd()
    there = frozenset(leased)
    wanted = [one for one in by_id(children).values() if one.id not in there and there.issuperset(one.parents)]
    wanted.sort(key=lambda one: one.place)
    return ShardEnd(tuple(NewLease(one.id, position.of_descendants, one.parents) for one in wanted), complete=True)


def may_go(
    children: Mapping[str, bool | None] | None,
    parents_there: Collection[str],
    finished_for: timedelta,
    *,
    clean_after: timedelta = CLEAN_AFTER,
    enabled: bool = True,
    source_gone: bool = False,
) -> bool:
    """Tell whether a finished lease may be removed.

    Its lease tells the planner that the shard is done with, so it stays until its children have taken that over, and
    until none of its own parents is left. Source: KCL, ``LeaseCleanupManager``; there a child must have a checkpoint,
    and an ended parent of quiet children stays for ever (#752). Here it must have been acquired once.

    :param children: of each child whether its lease was acquired once, ``None`` if it has no lease; ``None`` when
        nobody knows the children.
    :param parents_there: those of its own parents that still have a lease.
    :param finished_for: for how long it has been finished.
    :param clean_after: how long it stays at least.
    :param enabled: whether finished leases are removed at all (KCL: ``cleanupLeasesUponShardCompletion``).
    :param source_gone: whether the source says that there is no such shard any more: then it goes at once.
    """
    if source_gone:
        return True
    if not enabled or not children or parents_there or finished_for < clean_after:
        return False
    return all(children.values())
