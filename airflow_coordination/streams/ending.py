"""What is done when a shard has been read to its end.

When its finished lease may go is said with parents and children of every kind:
:mod:`~airflow_coordination.protocol.hierarchy`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from airflow_coordination.protocol.hierarchy import CLEAN_AFTER, may_go
from airflow_coordination.streams.plan import NewLease
from airflow_coordination.streams.position import TRIM_HORIZON, Position
from airflow_coordination.streams.shard import Shard, by_id

__all__ = ["CLEAN_AFTER", "ShardEnd", "at_shard_end", "may_go"]


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
