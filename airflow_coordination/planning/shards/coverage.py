"""The coverage of hash keys by unfinished leases, so that most listings need not be asked for.

Source: KCL, ``PeriodicShardSyncManager``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from airflow_coordination.planning.shards.shard import MAX_HASH_KEY, HashRange
from airflow_coordination.values.input_errors import InvalidInputError

CONFIDENCE: Final = 3
"""How many identical findings running make a hole (KCL: ``leasesRecoveryAuditorInconsistencyConfidenceThreshold``)."""


def holes(ranges: Iterable[HashRange]) -> tuple[HashRange, ...]:
    """Return what these ranges leave out of 0…2^128-1, in order.

    It is the exact union, in whatever order they come and however they overlap. The KCL compares the end of the range
    that sorts last, and so sees a hole behind a short range inside of a long one.

    :param ranges: of every lease that is not finished; those that wait for parents cover, too.
    """
    found: list[HashRange] = []
    reached = 0
    for one in sorted(ranges):
        if one.first > reached:
            found.append(HashRange(reached, one.first - 1))
        reached = max(reached, one.last + 1)
    if reached <= MAX_HASH_KEY:
        found.append(HashRange(reached, MAX_HASH_KEY))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings so far about one stream; a value, to be kept in the supplier's global state.

    While a shard ends and its children are created, a look may fall between the two: a hole counts when it has been
    seen often enough running, without a change. Source: KCL, ``HashRangeHoleTracker``.

    :param hole: what the latest finding was; empty when nothing was left out.
    :param times: how often running.
    """

    hole: tuple[HashRange, ...] = ()
    times: int = 0

    def then(self, hole: tuple[HashRange, ...]) -> Findings:
        """Return the findings after one more; a different hole, or none, begins anew.

        :param hole: the result of :func:`holes`.
        """
        if not hole:
            return Findings()
        return Findings(hole, self.times + 1 if hole == self.hole else 1)

    def sure(self, confidence: int = CONFIDENCE) -> bool:
        """Tell whether the stream is to be listed and planned now.

        :param confidence: how many identical findings running it takes, at least 1.
        :raises InvalidInputError: when it is less than 1.
        """
        if confidence < 1:
            raise InvalidInputError("confidence", confidence, "is less than 1", "Give a whole number from 1 on.")
        return self.times >= confidence


def look(findings: Findings, unfinished: Iterable[HashRange], confidence: int = CONFIDENCE) -> tuple[Findings, bool]:
    """Return the findings after a look at a stream's leases, and whether to list and plan it now.

    A stream without any unfinished lease is listed at once, and that is no finding (KCL: the same).

    :param unfinished: the ranges of all its leases that are not finished.
    :raises InvalidInputError: when ``confidence`` is less than 1.
    """
    ranges = list(unfinished)
    if not ranges:
        return findings, True
    after = findings.then(holes(ranges))
    return after, after.sure(confidence)
