"""The slowest partitions of late: whose tenures took longest, those that are still held among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from heapq import nsmallest

from airflow_coordination.monitoring.owners import Holding
from airflow_coordination.monitoring.throughput import Lately
from airflow_coordination.values.status import Outcome


@dataclass(frozen=True, slots=True)
class Slow:
    """The longest tenure of a partition.

    :param key: the partition's.
    :param lasted: how long it took, or has taken so far.
    :param ended: how; ``None`` while it is held.
    :param owner: whose it was.
    """

    key: str
    lasted: timedelta
    ended: Outcome | None
    owner: str | None


def slowest(known: Lately, held: Sequence[Holding], most: int) -> list[Slow]:
    """Return the partitions whose tenures took longest, each once, the longest first.

    What is held counts with the time it has taken so far, unless its lease is over: then nobody works on it. A tenure
    whose beginning nobody knows is left out.

    :param known: what ended in the last day.
    :param held: what is held now, perhaps the first part of it.
    :param most: so many at most.
    """
    longest = dict[str, Slow]()
    for each in _all(known, held):
        if each.key not in longest or longest[each.key].lasted < each.lasted:
            longest[each.key] = each
    return nsmallest(most, longest.values(), key=lambda one: (-one.lasted, one.key))


def _all(known: Lately, held: Sequence[Holding]) -> Iterator[Slow]:
    for now in held:
        if now.since is not None and not now.expired:
            yield Slow(now.key, known.now - now.since, None, now.owner)
    for past in known.past:
        if past.lasted is not None:
            yield Slow(past.key, past.lasted, past.outcome, past.owner)
