"""Fair shares: how many leases each worker should hold, and how it gets there. Leases count, not records, not CPU.

Source: KCL 2.x, ``DynamoDBLeaseTaker``, which steals without asking; asking, handing over and stealing after a
deadline are steps of the protocol (``leases/wanting``), and not decided here.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.settings import AT_ONE_TIME

LOOKS: Final = 3
"""After how many looks running at free leases a worker that has its share takes one more."""


def shares(capacity: Mapping[str, int], leases: int) -> dict[str, int]:
    """Return how many leases each worker should hold: as even as the capacities allow, the odd ones by name.

    Any two shares differ by at most 1 unless a capacity binds.

    :param capacity: how many each worker can hold, from 0 on.
    :param leases: how many there are, free ones and held ones.
    :raises InvalidInputError: when a number is negative.
    """
    for name, number in [*capacity.items(), ("leases", leases)]:
        if number < 0:
            raise InvalidInputError(name, number, "is negative", "Give a whole number from 0 on.")
    share = dict.fromkeys(capacity, 0)
    below = [(0, name) for name in sorted(capacity) if capacity[name]]
    for _ in range(min(leases, sum(capacity.values()))):
        number, name = heapq.heappop(below)
        share[name] = number + 1
        if share[name] < capacity[name]:
            heapq.heappush(below, (share[name], name))
    return share


@dataclass(frozen=True, slots=True)
class Free:
    """The leases that can be taken now, expired ones among them.

    :param count: how many.
    :param very_old: how many of them have been free for more than three ownership timeouts (KCL: "very old" leases).
    :param looks: in how many looks running, this one included, the worker has seen free ones.
    :raises InvalidInputError: when a number is negative, or more are very old than there are.
    """

    count: int = 0
    very_old: int = 0
    looks: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.very_old <= self.count or self.looks < 0:
            raise InvalidInputError(
                "free",
                f"count={self.count}, very_old={self.very_old}, looks={self.looks}",
                "has a negative number, or more very old leases than leases",
                "Count each free lease once, and those that are very old among them.",
            )


@dataclass(frozen=True, slots=True)
class Wish:
    """The next move of a worker towards its share.

    :param take: how many of the free leases it takes.
    :param ask: how many it asks which worker for; empty while anything is free.
    """

    take: int = 0
    ask: Mapping[str, int] = field(default_factory=dict)


def wish(
    me: str,
    held: Mapping[str, int],
    capacity: Mapping[str, int],
    free: Free,
    *,
    asked: int = 0,
    max_leases_to_steal_at_one_time: int = AT_ONE_TIME,
) -> Wish:
    """Return what a worker does at one look.

    1. Below its share it takes free leases, up to its share.
    2. At its share, too, it takes what has been free for long, up to its capacity: a worker that died, or cannot take
       any, must not keep work waiting. One after three looks at free ones, all that are very old at once. A rule of
       ours: the KCL counts no looks.
    3. Below its share, and nothing is free: it asks those who are farthest above *their* share, never for more than
       what they have above it, nor for more than half of the difference to itself. So no move makes it less even, and
       for a difference of one nothing moves.

    :param me: its name.
    :param held: how many leases each worker holds that is alive; whoever asks counts, with 0 at the beginning.
    :param capacity: how many each of them can hold.
    :param free: what can be taken now.
    :param asked: how many it has asked for and not got yet.
    :param max_leases_to_steal_at_one_time: the most it asks for at once (KCL: ``maxLeasesToStealAtOneTime``).
    :raises InvalidInputError: when it is not among the workers, or they are not the same in both, or a number is
        negative.
    """
    _check(me, held, capacity, asked, max_leases_to_steal_at_one_time)
    share = shares(capacity, sum(held.values()) + free.count)
    mine = held[me]
    if free.count:
        waiting = max(free.very_old, 1 if free.looks >= LOOKS else 0)
        above = min(waiting, capacity[me] - mine)
        return Wish(take=min(free.count, max(share[me] - mine, above, 0)))
    need = min(share[me] - mine - asked, max_leases_to_steal_at_one_time)
    return Wish(ask=_asked_of(me, held, share, need, mine + asked))


def _asked_of(me: str, held: Mapping[str, int], share: Mapping[str, int], need: int, mine: int) -> dict[str, int]:
    ask: dict[str, int] = {}
    above = sorted(((held[name] - share[name], name) for name in held if name != me), reverse=True)
    for excess, name in above:
        number = min(need, excess, (held[name] - mine) // 2)
        if number > 0:
            ask[name] = number
            need, mine = need - number, mine + number
    return ask


def _check(me: str, held: Mapping[str, int], capacity: Mapping[str, int], asked: int, most: int) -> None:
    if me not in held or held.keys() != capacity.keys():
        raise InvalidInputError(
            "held",
            sorted(held),
            f"is not the workers with a capacity, {sorted(capacity)}, and {me!r} among them",
            "Name every worker that is alive in both, also those that hold nothing.",
        )
    for name, number in [*held.items(), ("asked", asked), ("max_leases_to_steal_at_one_time", most)]:
        if number < 0:
            raise InvalidInputError(name, number, "is negative", "Give a whole number from 0 on.")
