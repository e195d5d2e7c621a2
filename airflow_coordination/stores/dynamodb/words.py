"""The words of the operation table in DynamoDB: what a condition pins is known here, the rest is another attribute's.

A rule is asked twice. Its condition becomes boto3's, out of all that is not known yet. Its changes are computed from
what the condition pins (*V* in ``protocol.md``: an update cannot compute the text of an ending), and what else they
need is a path to an attribute.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import reduce
from operator import and_, or_
from types import SimpleNamespace
from typing import Any, Final

from boto3.dynamodb.conditions import Attr, Not

from airflow_coordination.protocol.algebra import Condition, Plain, Value, ring_entry
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.expressions import Path, Sum
from airflow_coordination.values.fence import RING_SIZE
from airflow_coordination.values.status import PartitionStatus

_FIELD_OF: Final = {it.attribute_of(field.name): field.name for field in it.KEPT_FIELDS if field.name not in it.PLACED}
_PATHS: Final = {field: Path(attribute) for attribute, field in _FIELD_OF.items()} | {"owner_try": Path(it.TRY)}


def partition(**known: Any) -> Any:
    """Return a partition of which a condition pins the fields that are given; the others are paths."""
    return SimpleNamespace(**{**_PATHS, **known})


@dataclass(frozen=True, slots=True)
class Unset:
    """Says that a flag is 0: what chooses between 0 and 1 by it is the flag itself."""

    flag: Path


class _Unknown(Enum):
    """What no update can compute, and none needs: a rule that asks for it is not for this view of a partition."""

    UNKNOWN = "unknown"


UNKNOWN: Final = _Unknown.UNKNOWN


class DynamoWords(Plain):
    """The words on what is known and on paths."""

    def same(self, one: Value, other: Value) -> Condition:
        """Return whether the two are equal."""
        return Attr(one.name).eq(_encoded(one, other)) if isinstance(one, Path) else one == other

    def less(self, one: Value, other: Value) -> Condition:
        """Return whether both are there, and ``one`` is smaller; only the second is another attribute's, if any."""
        return Attr(other.name).gt(_encoded(other, one)) if isinstance(other, Path) else super().less(one, other)

    def at_most(self, one: Value, other: Value) -> Condition:
        """Return whether ``one`` is there, and not greater."""
        if isinstance(one, Path):
            return Attr(one.name).lte(_encoded(one, other))
        return super().at_most(one, other)

    def without(self, value: Value) -> Condition:
        """Return whether a flag is not set."""
        return Unset(value) if isinstance(value, Path) else not value

    def both(self, *conditions: Condition) -> Condition:
        """Return whether all hold; what is known to hold is left out."""
        open_ones = [condition for condition in conditions if condition is not True]
        if any(condition is False for condition in open_ones):
            return False
        if len(open_ones) > 1 and any(isinstance(condition, Unset) for condition in open_ones):
            return UNKNOWN
        return reduce(and_, open_ones) if open_ones else True

    def either(self, *conditions: Condition) -> Condition:
        """Return whether any holds; what is known not to hold is left out."""
        open_ones = [condition for condition in conditions if condition is not False]
        if any(condition is True for condition in open_ones):
            return True
        return reduce(or_, open_ones) if open_ones else False

    def unless(self, condition: Condition) -> Condition:
        """Return whether a condition does not hold, as where it compares what is absent."""
        return not condition if isinstance(condition, bool) else Not(condition)

    def ready(self, partition: Any, now: Value) -> Condition:
        """Return whether it waits or is closed, and is due."""
        if partition.status is PartitionStatus.ASSIGNED:
            return False
        due = Attr(it.AVAILABLE).not_exists() | self.at_most(partition.available_at, now)
        waits = self.same(_STATUS, PartitionStatus.UNASSIGNED) & Attr(it.DELETED).not_exists() & due
        closed = self.same(_STATUS, PartitionStatus.CLOSED) & self.at_most(partition.reopen_at, now)
        return waits | closed

    def within(self, count: Value, limit: Value, own: Value) -> Condition:
        """Return whether one more is below the limit; what is stored of it is less one."""
        by_own = Attr(limit.name).not_exists() & Attr(count.name).lt(own - 1)
        return Attr(count.name).lt(Attr(limit.name)) | by_own

    def when(self, condition: Condition, then: Value, otherwise: Value) -> Value:
        """Return one of two values, if it is known which."""
        if isinstance(condition, bool):
            return then if condition else otherwise
        return condition.flag if isinstance(condition, Unset) and (then, otherwise) == (0, 1) else UNKNOWN

    def plus(self, one: Value, other: Value) -> Value:
        """Return the sum."""
        if isinstance(one, Path):
            return Sum(one.name, other) if other != 0 else one
        return super().plus(one, other)

    def later(self, one: Value, other: Value) -> Value:
        """Return the other one: that it is later is a condition of the update."""
        return other

    def sentence(self, form: str, number: Value) -> Value:
        """Return nothing: what is parked at its last lost lease was read before."""

    def entered(self, partition: Any, ending: tuple[Value, ...], when: Condition = True) -> it.Item:
        """Return the attribute of the ring that gets an ending."""
        return {slot(partition.token): ring_entry(ending)} if when else {}


_STATUS: Final = Path(it.STATUS)


def slot(token: int) -> str:
    """Return the ring's attribute for a tenure."""
    return it.RING[token % RING_SIZE]


def _encoded(path: Path, value: Value) -> Any:
    return it.encoded({_FIELD_OF[path.name]: value})[path.name] if path.name in _FIELD_OF else value
