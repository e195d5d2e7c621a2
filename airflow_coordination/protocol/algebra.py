"""The words that the operation table is said in, their meaning for plain values, and what a rule is.

Each store says the same words in its engine's language: an SQL text, a condition of DynamoDB. So the table itself
(:mod:`~airflow_coordination.protocol.rules`) is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.side_writes import Record
from airflow_coordination.values.fence import RING_SIZE
from airflow_coordination.values.status import ASSIGNED, PartitionStatus
from airflow_coordination.values.times import to_micros

Value = Any
"""A plain value, or what stands for one in an engine's language."""
Condition = Any
"""A truth, or what stands for one in an engine's language."""


class Algebra(Protocol):
    """Comparing, choosing and computing. What is absent compares with nothing, as in SQL."""

    def same(self, one: Value, other: Value) -> Condition:
        """Return whether the two are equal."""

    def less(self, one: Value, other: Value) -> Condition:
        """Return whether ``one`` is smaller, or earlier."""

    def at_most(self, one: Value, other: Value) -> Condition:
        """Return whether ``one`` is not greater, or not later."""

    def without(self, value: Value) -> Condition:
        """Return whether a flag is not set, or a text not there."""

    def both(self, *conditions: Condition) -> Condition:
        """Return whether all hold."""

    def either(self, *conditions: Condition) -> Condition:
        """Return whether any holds."""

    def unless(self, condition: Condition) -> Condition:
        """Return whether a condition does not hold, as where it compares what is absent."""

    def ready(self, partition: Any, now: Value) -> Condition:
        """Return whether it waits or is closed, and can be acquired by now: a store says so by its index."""

    def within(self, count: Value, limit: Value, own: Value) -> Condition:
        """Return whether ``count`` and one more are below ``limit``, or below ``own`` where there is no limit."""

    def when(self, condition: Condition, then: Value, otherwise: Value) -> Value:
        """Return one of two values."""

    def plus(self, one: Value, other: Value) -> Value:
        """Return the sum: of numbers, or of a time and a duration, absent when either is."""

    def later(self, one: Value, other: Value) -> Value:
        """Return the later of two times."""

    def sentence(self, form: str, number: Value) -> Value:
        """Return ``form`` with a number in its braces."""

    def among(self, key: Value, keys: Value) -> Condition:
        """Return whether a list of keys has this one."""

    def lacking(self, keys: Value, key: Value) -> Value:
        """Return a list of keys without one of them."""

    def entered(self, partition: Any, ending: tuple[Value, ...], when: Condition = True) -> Value:
        """Return the ring of endings with one more, ``when`` that holds: its parts are joined by bars."""


class Plain:
    """The words on plain values: a :class:`~airflow_coordination.protocol.partition.Partition` and a write."""

    def same(self, one: Value, other: Value) -> bool:
        """Return whether the two are equal."""
        return bool(one == other)

    def less(self, one: Value, other: Value) -> bool:
        """Return whether both are there, and ``one`` is smaller."""
        return one is not None and other is not None and bool(one < other)

    def at_most(self, one: Value, other: Value) -> bool:
        """Return whether ``one`` is there, and not greater."""
        return one is not None and bool(one <= other)

    def without(self, value: Value) -> bool:
        """Return whether a flag is not set, or nothing is there."""
        return not value

    def both(self, *conditions: Condition) -> bool:
        """Return whether all hold."""
        return all(conditions)

    def either(self, *conditions: Condition) -> bool:
        """Return whether any holds."""
        return any(conditions)

    def unless(self, condition: Condition) -> bool:
        """Return whether a condition does not hold."""
        return not condition

    def ready(self, partition: Partition, now: datetime) -> bool:
        """Return whether it waits or is closed, and is due."""
        if partition.status is PartitionStatus.UNASSIGNED:
            return not partition.deleted and self.at_most(partition.available_at, now)
        return partition.status is PartitionStatus.CLOSED and self.at_most(partition.reopen_at, now)

    def within(self, count: int, limit: int | None, own: int) -> bool:
        """Return whether one more is below the limit."""
        return count + 1 < (own if limit is None else limit)

    def when(self, condition: Condition, then: Value, otherwise: Value) -> Value:
        """Return one of two values."""
        return then if condition else otherwise

    def plus(self, one: Value, other: Value) -> Value:
        """Return the sum, ``None`` when one is."""
        return None if one is None or other is None else one + other

    def later(self, one: datetime | None, other: datetime) -> datetime:
        """Return the later of two times."""
        return other if one is None or one < other else one

    def sentence(self, form: str, number: int) -> str:
        """Return ``form`` with a number in its braces."""
        return form.format(number)

    def among(self, key: str, keys: tuple[str, ...]) -> bool:
        """Return whether a list of keys has this one."""
        return key in keys

    def lacking(self, keys: tuple[str, ...], key: str) -> tuple[str, ...]:
        """Return a list of keys without one of them."""
        return tuple(each for each in keys if each != key)

    def entered(self, partition: Partition, ending: tuple[Value, ...], when: Condition = True) -> Value:
        """Return the ring with an ending in the slot of the partition's token."""
        if not when:
            return partition.ring
        slot = partition.token % RING_SIZE
        return (*partition.ring[:slot], ring_entry(ending), *partition.ring[slot + 1 :])


def ring_entry(ending: tuple[Value, ...]) -> str:
    """Return the text of an ending's parts; times are microseconds since 1970."""
    return "|".join(str(to_micros(part) if isinstance(part, datetime) else part) for part in ending)


PLAIN: Final = Plain()


Changes = dict[str, Value]


def _nothing(_: Any) -> Iterator[Record]:
    return iter(())


@dataclass(frozen=True, slots=True)
class Rule:
    """One operation.

    :param condition: whether it may happen to a partition; otherwise nothing changes.
    :param changes: the fields that have another value after it.
    :param records: what the same commit writes beside the partition, from the write.
    :param held_back: whether it is refused while the source is paused (promise X12).
    """

    condition: Callable[[Algebra, Any, Any, Value], Condition]
    changes: Callable[[Algebra, Any, Any, Value], Changes]
    records: Callable[[Any], Iterator[Record]] = _nothing
    held_back: bool = False


def held(x: Algebra, p: Any, w: Any, _: Value) -> Condition:
    """Return condition *F*: ASSIGNED under exactly the write's fence."""
    return x.both(x.same(p.status, ASSIGNED), x.same(p.token, w.fence.token), x.same(p.nonce, w.fence.nonce))


def chained(x: Algebra, p: Any, w: Any, now: Value) -> Condition:
    """Return the condition of the chain's writes: *F*, and nothing was written since the operation before."""
    return x.both(held(x, p, w, now), x.same(p.last_op, w.prev))


def phantom(x: Algebra, p: Any) -> Condition:
    """Return whether the tenure's owner never wrote: losing it counts nothing, so that phantoms park nothing."""
    return x.both(x.without(p.confirmed), x.same(p.last_op, p.nonce))


def expired(x: Algebra, p: Any, now: Value) -> Condition:
    """Return whether it is held by a lease that has ended."""
    return x.both(x.same(p.status, ASSIGNED), x.at_most(p.ownership_timeout, now))


def entered(x: Algebra, p: Any, ending: tuple[Value, ...], now: Value, when: Condition = True) -> Value:
    """Return the ring with the ending of the present tenure: outcome, operation, status and ``closedCount`` after."""
    outcome, op, status, closed_count = ending
    return x.entered(p, (p.token, p.nonce, outcome, op, p.last_op, status, closed_count, now), when)


def ended(x: Algebra, p: Any, ending: tuple[Value, ...], now: Value) -> Changes:
    """Return END of the table: nobody owns it."""
    _, op, status, closed_count = ending
    return {
        "ring": entered(x, p, ending, now),
        "status": status,
        "closed_count": closed_count,
        "reopen_at": None,
        "owner": None,
        "ownership_timeout": None,
        "acquired_at": None,
        "owner_details": None,
        "confirmed": False,
        "last_op": op,
        "updated_at": now,
    }
