"""People's actions on partitions: tried first, carried out only on what was counted, and told one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Final, TypeVar

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.people import moved_on
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.transitions import TRANSITIONS, Event
from airflow_coordination.protocol.writes import Action
from airflow_coordination.values.errors import PartitionNotFoundError
from airflow_coordination.values.input_errors import CoordinationError, shown
from airflow_coordination.values.names import dataset_in_words
from airflow_coordination.values.status import PartitionStatus

TOLD: Final = 10
"""Refusals that are printed in full."""
MOST_CHILDREN: Final = 1_000
"""The most children of a partition that are looked at."""
NAMED: Final = 10
OFFERED: Final = {
    Action.RELEASE: "Take a partition from its owner; whatever the owner still writes does not count",
    Action.REOPEN: "Make a closed or parked partition claimable now",
    Action.PARK: "Set a partition aside until a person reopens it; its owner, if any, loses the lease",
    Action.RESET: "Start a partition afresh, completed ones too; its output stays until it is replaced",
    Action.FINISH: "Complete a partition without its work; what waits for it may start, and it publishes nothing more",
    Action.RETRACT: "Take back what a partition has published: readers do not see it any more",
}
"""What people are offered, each with what it does."""
_TAKES_UP_AGAIN: Final = (Action.RESET, Action.REOPEN, Action.PARK)
"""What may be done to a partition that had finished before: a release of its children is final."""

Each = TypeVar("Each")


def each(items: Iterable[Each], do: Callable[[Each], object]) -> Iterator[CoordinationError | None]:
    """Do something with every item; yield ``None``, or why that one was refused, which keeps no other from it."""
    for item in items:
        try:
            do(item)
            yield None
        except CoordinationError as error:
            yield error


def offered(partition: Partition | None = None) -> dict[Action, str]:
    """Return what people are offered: of a partition, what fits its status."""
    return {
        action: does
        for action, does in OFFERED.items()
        if partition is None or partition.status in TRANSITIONS[Event[action.name]]
    }


def stamp(partition: Partition) -> str:
    """Return what an action is conditioned on, as a short text: it outlives a renewal, and nothing else.

    These are the fields of the rule ``ACT`` of the store; who has nothing but this text can still say what was seen.
    """
    held = partition.status is PartitionStatus.ASSIGNED
    last = partition.nonce if held else partition.last_op
    return sha256(f"{partition.status} {partition.token} {last}".encode()).hexdigest()[:32]


def as_counted(coordinator: SourceCoordinator, action: Action, key: str, stamped: str) -> Partition:
    """Return a partition if it still is what was counted.

    :param stamped: its :func:`stamp` then.
    :raises PartitionNotFoundError: when there is none any more.
    :raises PartitionUpdateError: when it changed, saying what it is now.
    """
    now = coordinator.partition(key)
    if now is None:
        raise PartitionNotFoundError(key, coordinator.source)
    if stamp(now) != stamped:
        raise moved_on(action, now)
    return now


def at_stake(store: PartitionStore, action: Action, partition: Partition) -> dict[str, str | int | None]:
    """Return the datasets and rows that a retract takes back, whom a finish lets start, and nothing otherwise.

    What has parents that were done with goes on when one of them is taken up again: then it is named, too.
    """
    if action in (Action.FINISH, *_TAKES_UP_AGAIN):
        children = store.children(partition.source, partition.key, None, MOST_CHILDREN)
        waiting = [child.key for child in children if partition.key in child.waits_for]
        if action is Action.FINISH:
            return {"children": len(waiting), "named": _named(waiting)}
        released = [child.key for child in children if child.key not in waiting]
        return {"released": len(released), "named": _named(released)} if released else {}
    if action is not Action.RETRACT:
        return {}
    heads = [head for head in every_head(store, partition.source, key=partition.key) if head.blocks]
    datasets = ", ".join(sorted(dataset_in_words(head.dataset) for head in heads))
    return {"datasets": datasets or None, "rows": sum(head.rows for head in heads)}


def _named(keys: list[str]) -> str | None:
    return ", ".join(map(shown, keys[:NAMED])) or None
