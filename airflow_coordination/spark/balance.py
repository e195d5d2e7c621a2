"""How many leases a worker takes now, so that all workers of a source end up with as many (rules: ``streams/shares``).

Nothing is taken from a worker that has it: who comes late gets what becomes free.
"""

from __future__ import annotations

from typing import Final

from airflow_coordination.leases.clock import Clock, Randomness, SystemClock
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.members import Membership
from airflow_coordination.streams.fleet import look_at
from airflow_coordination.streams.shares import LOOKS, Free, wish

TICK: Final = 10.0
"""Seconds between two looks, jittered (KCL 2.x: the lease taker's interval, twice the failover time)."""
VERY_OLD: Final = 3
"""What has been free for so many ownership timeouts is very old (KCL 2.x: the same number)."""


class Balance:
    """One worker's membership, and its looks at the others.

    At its first look a worker takes one lease, and the rest of its share one tick later: workers that are started
    within a tick of each other know of each other by then, and share evenly.

    :param coordinator: in the worker's name, which is the one its leases carry.
    :param capacity: how many leases it can hold at a time.
    :param tick: seconds between two looks, before jitter.
    """

    def __init__(
        self,
        coordinator: SourceCoordinator,
        capacity: int,
        *,
        tick: float = TICK,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        self._coordinator, self._capacity, self._tick = coordinator, capacity, tick
        self._clock, self._randomness = clock or SystemClock(), randomness or Randomness()
        self._member: Membership | None = None
        self._ticks, self._looks, self._due = 0, 0, self._clock.monotonic()
        self._since: dict[str, float] = {}
        self.share = 0
        """How many leases it should hold, as of the last look."""
        self.free = 0
        """How many could be taken, by whomever, at the last look."""

    def room(self, mine: int) -> int:
        """Look at the others, and return how many free leases to take now.

        :param mine: how many this worker holds.
        """
        ticks = self._clock.monotonic() >= self._due
        if ticks:
            self._due = self._clock.monotonic() + self._randomness.jitter(self._tick)
        self._join()
        name = self._coordinator.owner.text
        fleet = look_at(self._coordinator)
        now = self._clock.monotonic()
        capacity, held = {**fleet.capacity, name: self._capacity}, {**fleet.held, name: mine}
        self.free = len(fleet.free)
        self.share = type(fleet)(capacity, held, fleet.free).shares[name]
        self._count_look(now, fleet.free, ticks=ticks)
        free = Free(self.free, self._very_old(now), self._looks)
        take = min(wish(name, held, capacity, free).take, self._capacity - mine)
        if take > 0 and self._looks >= LOOKS:
            self._looks = 0  # the next one above the share after as many looks again
        return take if self._ticks > 1 else max(min(take, 1 - mine), 0)

    def may_follow(self, mine: int) -> bool:
        """Return whether a tenure that completes may go on with the next partition: this worker is not above its share.

        :param mine: how many it holds, that one among them.
        """
        return mine <= self.share

    @property
    def next_look(self) -> float | None:
        """Seconds until the next tick, ``None`` for who is no member."""
        return None if self._member is None else max(self._due - self._clock.monotonic(), 0.0)

    def leave(self) -> None:
        """Stop being a member: this worker takes nothing more. Another look joins again."""
        member, self._member = self._member, None
        if member is not None:
            member.leave()

    def _join(self) -> None:
        if self._member is not None and self._member.lost:
            self.leave()
        if self._member is None:
            self._member = self._coordinator.join(self._capacity)

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
