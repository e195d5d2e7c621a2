"""The words that the operation table is said in, and what they mean for plain values.

Each store says the same words in its engine's language: an SQL text, a condition of DynamoDB. So the table itself
(:mod:`~airflow_coordination.leases.rules`) is written once.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Protocol

from airflow_coordination.leases.partition import Partition
from airflow_coordination.values.fence import RING_SIZE
from airflow_coordination.values.status import PartitionStatus
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
    """The words on plain values: a :class:`~airflow_coordination.leases.partition.Partition` and a write."""

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
