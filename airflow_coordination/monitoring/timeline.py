"""The timeline of one partition: it was created, held, taken, ended; and what people did to it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.monitoring.owners import began
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.values.fence import Fence


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened to a partition; times are the store's.

    :param at: when; of a tenure: when it ended, ``None`` while it runs.
    :param what: ``created``, ``held`` while it is, the outcome of a tenure, or a person's action.
    :param who: the owner, or the person; ``None`` where that is unknown.
    :param since: when a tenure began, ``None`` where that is unknown and for everything else.
    :param why: the error of a tenure that failed, or what the person said.
    :param tenure: the ended tenure itself.
    :param owner_facts: what the owner's driver said of itself: ``application``, ``url``.
    """

    at: datetime | None
    what: str
    who: str | None = None
    since: datetime | None = None
    why: str | None = None
    tenure: PastTenure | None = None
    owner_facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What happened to a partition, oldest first.

    :param key: the partition's.
    :param events: as far as the store remembers: see ``history_retention``.
    """

    key: str
    events: tuple[Event, ...]


def timeline(coordinator: SourceCoordinator, key: str, limit: int = 100) -> Timeline:
    """Return what happened to a partition.

    Sends four requests, and gets at most ``limit`` rows of the history.

    :param key: also of one that was deleted.
    :param limit: so many of the newest tenures.
    :raises InvalidKeyError: when no partition can have the key.
    """
    partition = coordinator.partition(key)
    past = coordinator.history(key, limit)
    ended = {tenure.fence for tenure in past}
    events = [
        *_of_partition(partition, ended),
        *map(_of_tenure, past),
        *map(_of_action, coordinator.looking.actions(key)),
    ]
    running = [event for event in events if event.at is None]
    dated = sorted((event for event in events if event.at is not None), key=_by_time)
    return Timeline(key=key, events=(*dated, *running))


def _by_time(event: Event) -> datetime:
    assert event.at is not None, "what runs stands at the end"
    return event.at


def _of_partition(partition: Partition | None, ended: Collection[Fence]) -> Iterator[Event]:
    """Yield what the partition tells; a tenure that has ended since it was read is among the ended ones."""
    if partition is None:
        return
    if partition.created_at is not None:
        yield Event(at=partition.created_at, what="created")
    if partition.owner is not None and partition.fence not in ended:
        since, facts = began(partition), partition.owner_facts
        yield Event(at=None, what="held", who=partition.owner, since=since, owner_facts=facts)


def _of_tenure(past: PastTenure) -> Event:
    return Event(
        at=past.ended_at,
        what=str(past.outcome),
        who=past.owner,
        since=past.acquired_at,
        why=past.error,
        tenure=past,
        owner_facts=past.owner_facts,
    )


def _of_action(action: dict[str, Any]) -> Event:
    return Event(at=action["at"], what=action["action"], who=action["by"], why=action["why"])
