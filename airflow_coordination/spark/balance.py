"""The workers of a source as its store shows them, how many leases this one takes, and whom it asks for some.

The rules are in ``streams/shares``, the steps in ``leases/wanting``.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.workers import Membership
from airflow_coordination.planning.shares import LOOKS, Free, shares, wish
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.settings import Balancing
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import Clock, Randomness, SystemClock

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
    capacity = {member.owner: member.capacity for member in coordinator.workers.members()}
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


log = logging.getLogger(__name__)

VERY_OLD: Final = 3
"""What has been free for so many ownership timeouts is very old (KCL 2.x: the same number)."""

ASKS: Final = 3
"""So often a worker that does not steal asks for one tenure: its owner may be slower than it was given time for."""


class Heeded:
    """For which of its own leases a worker heeds the question of another one; safe under threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._short: Mapping[str, int] = {}
        self._keys: dict[str, list[str]] = {}

    def look(self, short: Mapping[str, int], mine: Iterable[Partition]) -> None:
        """Note how many leases each worker that is alive is short of, and what is still held of what they asked for."""
        asked = {(one.wanted, one.key) for one in mine}
        with self._lock:
            self._short = short
            for asker, keys in self._keys.items():
                self._keys[asker] = [key for key in keys if (asker, key) in asked][: max(short.get(asker, 0), 0)]

    def __call__(self, asker: str, key: str) -> bool:
        """Return whether a lease is one of as many as its asker is short of."""
        with self._lock:
            keys = self._keys.setdefault(asker, [])
            if key not in keys and len(keys) < self._short.get(asker, 0):
                keys.append(key)
            return key in keys


class Balance:
    """One worker's membership, and its looks at the others.

    At its first look a worker takes one lease, and the rest of its share one tick later: workers that are started
    within a tick of each other know of each other by then, and share evenly. Who comes later asks those who have more.

    :param coordinator: in the worker's name, which is the one its leases carry.
    :param capacity: how many leases it can hold at a time.
    :param options: how it asks the others, and how often it looks.
    """

    def __init__(
        self,
        coordinator: SourceCoordinator,
        capacity: int,
        options: Balancing | None = None,
        *,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        self._coordinator, self._capacity = coordinator, capacity
        self._options = options or Balancing()
        self._tick = self._options.balance_interval.total_seconds()
        self._patience = self._options.hand_over_timeout or coordinator.settings.ownership_timeout
        self._clock, self._randomness = clock or SystemClock(), randomness or Randomness()
        self._member: Membership | None = None
        self._ticks, self._looks, self._due = 0, 0, self._clock.monotonic()
        self._since: dict[str, float] = {}
        self._asked: dict[str, tuple[Partition, float]] = {}
        """Whose leases were asked for, and until when their owners have time, by this process's clock."""
        self._in_vain: Counter[tuple[str, Fence | None]] = Counter()
        """How often which tenure was not handed over in time."""
        self._need = 0
        """How many leases of others it is short of, as of the last look."""
        self._heeded = Heeded()
        self.share = 0
        """How many leases it should hold, as of the last look."""
        self.free = 0
        """How many could be taken, by whomever, at the last look."""

    def room(self, mine: int) -> int:
        """Look at the others, ask for what they have too much, and return how many free leases to take now.

        :param mine: how many this worker holds.
        """
        ticks = self._clock.monotonic() >= self._due
        if ticks:
            self._due = self._clock.monotonic() + self._randomness.jitter(self._tick)
        self._need = 0  # until the others are seen: a look that fails takes nothing from anybody
        self._join()
        name = self._coordinator.owner.text
        fleet = look_at(self._coordinator)
        now = self._clock.monotonic()
        capacity, held = {**fleet.capacity, name: self._capacity}, {**fleet.held, name: mine}
        self.free = len(fleet.free)
        shares = Fleet.shares_of(capacity, held, self.free)
        self.share = shares[name]
        self._heeded.look({each: shares[each] - held[each] for each in capacity}, fleet.leases.get(name, ()))
        self._count_look(now, fleet.free, ticks=ticks)
        self._forget_answered(fleet)
        free = Free(self.free, self._very_old(now), self._looks)
        take = min(wish(name, held, capacity, free).take, self._capacity - mine)
        self._need = max(self.share - mine - take, 0) if take == self.free else 0
        self._take_back()
        if ticks and self._ticks > 1 and take == self.free:  # nothing is free then
            most = self._options.max_leases_to_steal_at_one_time
            held[name] += take
            number = len(self._asked)
            wants = wish(name, held, capacity, Free(), asked=number, max_leases_to_steal_at_one_time=most)
            self._ask(fleet, wants.ask)
        if ticks and self._asked:  # what is handed over is taken soon, and the next ones are asked for
            self._due = now + self._randomness.jitter(self._tick / 2)
        if take > 0 and self._looks >= LOOKS:
            self._looks = 0  # the next one above the share after as many looks again
        if self._ticks == 1:
            take = max(min(take, 1 - mine), 0)
        if take >= self.free:
            self._looks = 0  # nothing is left for the others, whose looks these three are to wait for
        return take

    def first(self) -> Lease | None:
        """Return a lease to begin with, ``None`` when there is none to be had; waits for what others are asked for.

        Under a pause nobody is waited for: what is free stays so until it ends.
        """
        try:
            while True:
                if self.room(0) and (lease := self._coordinator.get_next_partition()) is not None:
                    return lease
                if (lease := self.overdue()) is not None:
                    return lease
                if not self.expects or self._coordinator.pausing.holds_back():
                    return None
                self._clock.sleep(self.next_look or 0)
        finally:
            self.leave()

    def may_follow(self, mine: int) -> bool:
        """Return whether a tenure that completes may go on with the next partition: this worker is not above its share.

        :param mine: how many it holds, that one among them.
        """
        return mine <= self.share

    @property
    def expects(self) -> bool:
        """Whether a later look may bring a lease, though nothing could be taken now.

        Something is free that is another's share, others were asked for some of theirs, or are at the next look.
        """
        return bool(self.free or self._asked or (self._ticks == 1 and self.share))

    def overdue(self) -> Lease | None:
        """Return a lease that was asked for, not handed over in time, and is taken now; ``None`` when there is none."""
        now = self._clock.monotonic()
        for key, (seen, until) in list(self._asked.items()):
            if now < until or not self._need:
                continue
            if not self._options.steal:
                self._ask_again(seen)
                continue
            lease = self._coordinator.workers.steal(seen)
            if lease is not None:
                del self._asked[key]
                self._need -= 1
                log.warning("Partition %r was not handed over in time; its lease is taken from %s", key, seen.owner)
                return lease
            self._asked[key] = seen, now + self._tick  # it is over, which the next look shows, or the clocks differ
        return None

    @property
    def next_look(self) -> float | None:
        """Seconds until the next tick, ``None`` for who is no member."""
        return None if self._member is None else max(self._due - self._clock.monotonic(), 0.0)

    def leave(self) -> None:
        """Stop being a member: this worker takes nothing more. Another look joins again."""
        member, self._member = self._member, None
        self._asked = {}
        if member is not None:
            member.leave()

    def _join(self) -> None:
        if self._member is not None and self._member.lost:
            self.leave()
        if self._member is None:
            self._member = self._coordinator.workers.join(self._capacity)

    def _ask(self, fleet: Fleet, ask: Mapping[str, int]) -> None:
        for owner, number in ask.items():
            known = {(key, seen.fence) for key, (seen, _) in self._asked.items()}
            known |= {tenure for tenure, times in self._in_vain.items() if times >= ASKS}
            others = [one for one in fleet.leases[owner] if (one.key, one.fence) not in known]
            self._randomness.shuffle(others)  # two that ask the same owner seldom ask for the same leases
            marked = (seen for seen in others if self._coordinator.workers.ask(seen, self._patience))
            for seen in islice(marked, number):
                self._await(seen)

    def _ask_again(self, seen: Partition) -> None:
        """Ask once more for what was not handed over in time, while it is needed; not for ever."""
        del self._asked[seen.key]
        self._in_vain[seen.key, seen.fence] += 1
        if self._in_vain[seen.key, seen.fence] < ASKS and self._coordinator.workers.ask(seen, self._patience):
            self._await(seen)

    def _await(self, seen: Partition) -> None:
        self._asked[seen.key] = seen, self._clock.monotonic() + self._patience.total_seconds()

    def _forget_answered(self, fleet: Fleet) -> None:
        """Forget what was handed over, has ended or was lost, and what others have asked for since."""
        name = self._coordinator.owner.text
        wanted = {(one.key, one.fence) for held in fleet.leases.values() for one in held if one.wanted == name}
        self._asked = {key: one for key, one in self._asked.items() if (key, one[0].fence) in wanted}

    def _take_back(self) -> None:
        """Forget the questions that are not needed any more, the newest first: nothing is taken for them."""
        for key in list(self._asked)[self._need :]:
            del self._asked[key]

    def heeds(self, asker: str, key: str) -> bool:
        """Return whether a lease of this worker's is to be handed over to who has asked for it.

        Only while that one is alive and short of so many, as of the last look: a mark outlives who has made it.
        """
        return self._heeded(asker, key)

    def _count_look(self, now: float, free: tuple[str, ...], *, ticks: bool) -> None:
        """Note what is free since when. Looks between two ticks, as a tenure ends, are none of the three."""
        self._since = {hint: self._since.get(hint, now) for hint in free}
        self._ticks += ticks
        self._looks += ticks
        if not free:
            self._looks = 0

    def _very_old(self, now: float) -> int:
        limit = VERY_OLD * self._coordinator.settings.ownership_timeout.total_seconds()
        return sum(now - since > limit for since in self._since.values())
