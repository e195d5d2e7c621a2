"""Advice on what to look at or to set otherwise, each with its reason: concluded from the tenures that ended lately.

Pure functions: what they know they are given. Where too little has ended to tell, they say nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import Final

from airflow_coordination.leases.explaining.wording import counted, holder, span
from airflow_coordination.monitoring.owners import Holding
from airflow_coordination.monitoring.throughput import Lately
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.values.fence import Owner
from airflow_coordination.values.input_errors import shown
from airflow_coordination.values.status import Outcome

ENOUGH: Final = 20
"""Ended tenures without which nothing is concluded: the 95th percentile is one of them."""
PERCENTILE: Final = 95
MOST_NAMED: Final = 10
"""The most partitions or owners named of each kind, the worst first."""
HOT: Final = 1.5
STARVED: Final = 0.5
"""What an owner has done, in shares of equal size: above the one it is called hot, below the other starved."""
SHORTEST_TIMEOUT: Final = timedelta(minutes=1)
LONGEST_TIMEOUT: Final = timedelta(minutes=10)
"""What is recommended as ownership timeout lies between these; the longer one is the default."""
OFTEN_LOST: Final = 0.05
"""Such a part of all tenures lost without a word is worth a look."""
WITHIN: Final = timedelta(hours=1)
"""In so long the recommended number of tasks finishes what is left."""


class Kind(StrEnum):
    """What an advice is about."""

    STRAGGLER = "straggler"
    """A partition that is held longer than 95 of 100 finished ones were."""
    HOT_OWNER = "hot owner"
    """A task that does far more than its share."""
    STARVED_OWNER = "starved owner"
    """A task at work that does far less than its share."""
    OWNERSHIP_TIMEOUT = "ownership timeout"
    TASKS = "tasks"
    """How many tasks one might map."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing that one might look at or set.

    :param kind: what it is about.
    :param about: the partition's key or the owner; the value to choose for a setting.
    :param sentence: the reason, printable, on one line.
    """

    kind: Kind
    about: str
    sentence: str


def advise(known: Lately, held: Sequence[Holding], outlook: Outlook) -> tuple[Advice, ...]:
    """Return what follows from the tenures of the last day.

    :param known: the tenures that ended, and the store's clock.
    :param held: what is held now, perhaps the first part of it.
    :param outlook: what is still to be done.
    """
    found = (
        *_first(stragglers(known, held)),
        *_first(unequal_owners(known, held)),
        ownership_timeout(known),
        number_of_tasks(known, held, outlook),
    )
    return tuple(each for each in found if each is not None)


def _first(found: Iterable[Advice]) -> list[Advice]:
    return [advice for advice, _ in zip(found, range(MOST_NAMED), strict=False)]


def percentile(durations: Sequence[timedelta], rank: int = PERCENTILE) -> timedelta:
    """Return the smallest of some durations which at least ``rank`` of 100 do not exceed (nearest rank)."""
    return sorted(durations)[max(0, ceil(len(durations) * rank / 100) - 1)]


def finished(known: Lately) -> list[timedelta]:
    """Return how long the tenures took that did what they were to do, as far as their beginning is known."""
    ended = (each.lasted for each in known.past if each.outcome in (Outcome.COMPLETED, Outcome.CLOSED))
    return [each for each in ended if each is not None]


def stragglers(known: Lately, held: Sequence[Holding]) -> Iterator[Advice]:
    """Yield what is held longer than the 95th percentile of what was finished, the longest first; ended leases not."""
    took = finished(known)
    if len(took) < ENOUGH:
        return
    usual = percentile(took)
    slow = [(known.now - each.since, each) for each in _living(held) if each.since and known.now - each.since > usual]
    for since, each in sorted(slow, key=lambda one: one[0], reverse=True):
        sentence = (
            f"Partition {shown(each.key)} is held for {span(since)} by {holder(each.owner)}; "
            f"{PERCENTILE} of 100 finished tenures took {span(usual)} at most ({counted(len(took), 'tenure')})."
        )
        yield Advice(Kind.STRAGGLER, each.key, sentence)


def _living(held: Sequence[Holding]) -> Iterator[Holding]:
    return (each for each in held if not each.expired)


def unequal_owners(known: Lately, held: Sequence[Holding]) -> Iterator[Advice]:
    """Yield which of those at work have done far more than an equal share, and which far less.

    Compared is what they ended since all of them have been at work; the tries of a task count as one.
    """
    at_work = {Owner(each.owner).identity: each for each in held if not each.expired}
    since = max(_first_seen(known, held, at_work), default=known.now)
    mine = (Owner(each.owner).identity for each in known.past if each.owner and (each.acquired_at or since) >= since)
    done = Counter(dict.fromkeys(at_work, 0))
    done.update(task for task in mine if task in at_work)
    total = done.total()
    if total < ENOUGH or len(at_work) < 2:
        return
    share = total / len(at_work)
    for task, number in sorted(done.items(), key=lambda one: (-abs(one[1] - share), one[0])):
        if STARVED * share <= number <= HOT * share:
            continue
        kind, why = (
            (Kind.HOT_OWNER, "the others get too little, or have the long ones")
            if number > share
            else (Kind.STARVED_OWNER, "its host is slow, or it has the long ones")
        )
        sentence = (
            f"{_capital(holder(at_work[task].owner))} has ended {number:,} of the {counted(total, 'tenure')} since "
            f"{span(known.now - since)} ago, and an equal share of {len(at_work)} is {share:.0f}: {why}."
        )
        yield Advice(kind, task, sentence)


def _first_seen(known: Lately, held: Sequence[Holding], tasks: Container[str]) -> Iterable[datetime]:
    """Return since when each of some tasks has been at work, as far as that is known."""
    began = [(each.owner, each.since) for each in held]
    began += [(each.owner, each.acquired_at) for each in known.past if each.owner]
    first: dict[str, datetime] = {}
    for owner, at in began:
        task = Owner(owner or "").identity
        if at is not None and task in tasks:
            first[task] = min(at, first.get(task, at))
    return first.values()


def ownership_timeout(known: Lately) -> Advice | None:
    """Return how long a lease should last without renewal: as long as the work does, within sensible bounds.

    A partition whose owner has died waits so long; an owner that stalls longer loses it.
    """
    took = finished(known)
    if len(took) < ENOUGH:
        return None
    usual = percentile(took)
    minutes = ceil(min(max(usual, SHORTEST_TIMEOUT), LONGEST_TIMEOUT) / timedelta(minutes=1))
    chosen = span(timedelta(minutes=minutes))
    sentence = (
        f"{PERCENTILE} of 100 finished tenures took {span(usual)} at most: with a lease of {chosen}, which is renewed, "
        "the partition of an owner that has died is free again after about that time."
    )
    lost = sum(each.outcome is Outcome.LOST for each in known.past)
    if lost >= OFTEN_LOST * len(known.past):
        sentence += (
            f" But {lost:,} of {counted(len(known.past), 'tenure')} were lost without a word: if their drivers were "
            "alive, choose twice as long; if they had died, look at their logs."
        )
    return Advice(Kind.OWNERSHIP_TIMEOUT, chosen, sentence)


def number_of_tasks(known: Lately, held: Sequence[Holding], outlook: Outlook) -> Advice | None:
    """Return how many tasks finish what is left within an hour, by the time that one completion took.

    Time of attempts that failed is part of it. A task is one, however many leases it holds and in whatever try.
    """
    left = outlook.claimable + outlook.assigned + outlook.waiting
    done = len(known.completions)
    if done < ENOUGH or not left:
        return None
    spent = sum((each.lasted for each in known.past if each.lasted is not None), timedelta(0))
    each_took = spent / done
    tasks = min(left, max(1, ceil(left * each_took / WITHIN)))
    sentence = (
        f"{counted(left, 'partition')} are left, and one took {span(each_took)} of work, failed attempts included: "
        f"{counted(tasks, 'task')} would finish them in {span(max(left * each_took / tasks, timedelta(seconds=1)))}; "
        f"{counted(len({Owner(each.owner).identity for each in _living(held)}), 'is', 'are')} at work now."
    )
    return Advice(Kind.TASKS, str(tasks), sentence)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
