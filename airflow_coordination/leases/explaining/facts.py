"""The facts that explain one partition, as asked of the store: about a thousand rows at most, however large the source.

Asked is only what the partition's status makes of use: the place of one that waits, the output of one that is done,
people's actions on one that is parked or deleted, the neighbours of one that is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.follow_up import FORGET
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import NEVER_PAUSED, Pause
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.remedies import AIRFLOW, Shell, shell_of
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.writes import Action
from airflow_coordination.values.names import split_source
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.status import PartitionStatus

MOST_ABOVE: Final = 20
"""The most ancestors of a partition that are read, its parents first."""


def above(partition: Partition, read: Callable[[str], Partition | None]) -> tuple[Partition, ...]:
    """Return what a partition waits for, and what that waits for itself, nearest first; at most ``MOST_ABOVE``.

    :param read: returns a partition by its key.
    """
    found: dict[str, Partition] = {}
    asked = list(partition.waits_for)
    for key in asked:
        if key in found or len(found) == MOST_ABOVE:
            continue
        seen = read(key)
        if seen is not None:
            found[key] = seen
            asked += seen.waits_for
    return tuple(found.values())


PLACES: Final = 1_000
"""So far a place in the order is counted."""
MOST_HEADS: Final = 100
"""The most datasets of one partition that are looked at."""
HELD: Final = 50
"""The most owners looked at to know whether anybody works in the source; with as many, somebody does."""
LONG: Final = timedelta(minutes=10)
"""What could be acquired for so long, and was not, waits for long: that is how long a lease lasts by default."""
NEIGHBOURS: Final = 3
"""Keys named on each side of one that is not there."""
_PAGE: Final = 20
T = TypeVar("T")
_CUTS: Final = (1, 2, 4, 8)
"""Characters cut off a key, one after the other, to look for keys below it."""
_CHANGE_NOTHING: Final = (Action.RETRACT, FORGET)
"""What people do that leaves a partition where it is."""


@dataclass(frozen=True, slots=True)
class Place:
    """A partition's place among those that can be acquired now.

    :param before: how many go before it.
    :param exact: false where it was not counted any further: at least so many.
    """

    before: int
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Signs:
    """Since when nobody has acquired anything in a source, as its history and its owners tell.

    :param last: nobody has acquired, and no sweep has taken a lease back, after this moment; ``None`` when the history
        remembers no tenure and nobody holds anything.
    :param at_work: how many partitions are held under leases that last.
    """

    last: datetime | None
    at_work: int


@dataclass(frozen=True, slots=True)
class PersonsAct:
    """The last action of a person on a partition.

    :param action: what was done, in the words of :class:`~airflow_coordination.protocol.writes.Action`.
    :param by: who did it.
    :param why: what they said.
    :param at: when, by the store's clock.
    """

    action: str
    by: str
    why: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """The facts about a source that explain one of its partitions.

    :param key: the key that was asked for.
    :param source: the source's name.
    :param max_failures: this many failures in a row park where the partition does not say how many.
    :param max_lost_leases: this many lost leases in a row park where the partition has no limit of its own.
    :param prefix: the deployment's partition prefix, if it has one.
    :param shell: how commands reach its store.
    :param place: in the order, ``None`` where it was not found or not asked for.
    :param heads: the head records of what it has published, at most :data:`MOST_HEADS`.
    :param act: what a person did to it last, taking back its output left out.
    :param nearest: the nearest keys there are, in byte order.
    :param pause: of the source, where the partition waits to be acquired.
    :param follow_ups: how many notes of what follows its endings are left, where it is done.
    :param above: what it waits for, and what that waits for itself, nearest first.
    :param grace: ``reassign_grace``, as whoever asks is set: how long before a lease ends its owner is late.
    :param signs: of those who work in the source; ``None`` where they are not known or not asked for.
    """

    key: str
    source: str
    max_failures: int
    max_lost_leases: int
    prefix: str | None = None
    shell: Shell = AIRFLOW
    place: Place | None = None
    heads: tuple[HeadRecord, ...] = ()
    act: PersonsAct | None = None
    nearest: tuple[str, ...] = ()
    pause: Pause = NEVER_PAUSED
    follow_ups: int = 0
    above: tuple[Partition, ...] = ()
    signs: Signs | None = None
    grace: timedelta = timedelta(0)


class Hears(Protocol):
    """Sends a read, and may repeat it while the store cannot be heard."""

    def __call__(self, action: str, send: Callable[[], T]) -> T:
        """Return the answer."""


def once(action: str, send: Callable[[], T]) -> T:
    """Send a read once: for those who are asked again anyway."""
    return send()


class Inquiry:
    """Asks a store about one source.

    :param source: the stored source identifier.
    :param settings: the limits that may park a partition.
    :param hear: sends each read.
    """

    def __init__(self, store: PartitionStore, source: str, settings: Settings, hear: Hears = once) -> None:
        self._store, self._source, self._settings, self._hear = store, source, settings, hear
        self._has = parts_of(store)

    def about(self, key: str) -> tuple[Partition | None, SourceFacts, datetime]:
        """Return the partition, tombstones included, what explains it, and the time by the store's clock."""
        found = self._read(key)
        now = self._hear("read the clock", self._store.now)
        prefix, source, _ = split_source(self._source)
        limits = self._settings
        facts = SourceFacts(
            key=key,
            source=source,
            prefix=prefix,
            shell=shell_of(self._store),
            max_failures=limits.max_failures,
            max_lost_leases=limits.max_lost_leases,
            grace=limits.reassign_grace,
        )
        return found, replace(facts, **self._of_use(found, key, now)), now

    def _of_use(self, found: Partition | None, key: str, now: datetime) -> dict[str, Any]:
        if found is None:
            return {"nearest": self._nearest(key)}
        if found.deleted or found.parked:
            return {"act": self._act(key)}
        if found.blocked:
            return {"above": above(found, self._read)}
        if found.status is not PartitionStatus.COMPLETED:
            pause = self._pause()
            asked = found.status is PartitionStatus.UNASSIGNED and not pause.paused
            late = not pause.paused and _late(found, now)
            place, signs = self._place(key) if asked else None, self._signs(now) if late else None
            return {"pause": pause, "place": place, "signs": signs}
        read = lambda: self._store.heads(self._source, key=key, limit=MOST_HEADS)  # noqa: E731
        return {"heads": tuple(self._hear("read the output", read)), "follow_ups": self._follow_ups(key)}

    def _read(self, key: str) -> Partition | None:
        return self._hear("read the partition", lambda: self._store.get(self._source, key))

    def _pause(self) -> Pause:
        if self._has.pauses is None:
            return NEVER_PAUSED
        return self._hear("look for a pause", partial(self._has.pauses.pause, self._source))

    def _follow_ups(self, key: str) -> int:
        if self._has.follow_ups is None:
            return 0
        read = partial(self._has.follow_ups.follow_ups, self._source, key, None, _PAGE)
        return len(self._hear("read the follow-ups", read))

    def _place(self, key: str) -> Place | None:
        ordered = self._hear("list hints", lambda: self._store.claimable(self._source, PLACES))
        before = next((place for place, (other, _) in enumerate(ordered) if other == key), None)
        if before is not None:
            return Place(before)
        return Place(PLACES, exact=False) if len(ordered) == PLACES else None

    def _signs(self, now: datetime) -> Signs | None:
        """Return the signs of those who work here: a tenure that began after the last ending is still held."""
        if self._has.history is None:
            return None
        held = self._hear(
            "list partitions", lambda: self._store.page(self._source, PartitionStatus.ASSIGNED, None, HELD)
        )
        if len(held) == HELD:
            return None
        ended = self._hear("read the history", partial(self._has.history.history, self._source, None, 1))
        moments = [each.held_since or each.updated_at for each in held] + [each.ended_at for each in ended]
        lasting = sum(each.ownership_timeout is None or each.ownership_timeout > now for each in held)
        return Signs(max(filter(None, moments), default=None), lasting)

    def _act(self, key: str) -> PersonsAct | None:
        entries = self._hear("read the audit", lambda: self._store.audit(self._source, key))
        acts = (PersonsAct(each["action"], each["by"], each["why"], each["at"]) for each in reversed(entries))
        return next((act for act in acts if act.action not in _CHANGE_NOTHING), None)

    def _nearest(self, key: str) -> tuple[str, ...]:
        above = self._keys(key, NEIGHBOURS)
        return (*self._below(key), *above)

    def _below(self, key: str) -> tuple[str, ...]:
        """Return keys below one that is not there. Pages go upwards only, so they begin at what the key begins with."""
        for start in _beginnings(key):
            below = [other for other in self._keys(start, _PAGE) if other < key]
            if below:
                return tuple(below[-NEIGHBOURS:])
        return ()

    def _keys(self, after: str, limit: int) -> Sequence[str]:
        read: Callable[[], Sequence[Partition]] = lambda: self._store.page(self._source, None, after or None, limit)  # noqa: E731
        return [each.key for each in self._hear("list partitions", read)]


def waits_since(partition: Partition) -> datetime | None:
    """Return since when others could have acquired a partition, as far as it tells."""
    if partition.status is PartitionStatus.ASSIGNED:
        return partition.ownership_timeout
    known = (partition.available_at, partition.reopen_at, partition.updated_at)
    return max(filter(None, known), default=None)


def _late(partition: Partition, now: datetime) -> bool:
    since = waits_since(partition)
    return since is not None and now - since >= LONG


def _beginnings(key: str) -> Iterator[str]:
    """Yield shorter and shorter beginnings of a key, the empty one last."""
    yield from dict.fromkeys(key[:-cut] for cut in (*_CUTS, len(key)))
