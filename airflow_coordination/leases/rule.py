"""What a rule of the operation table is, and the conditions and changes that several operations share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from airflow_coordination.leases.algebra import Algebra, Condition, Value
from airflow_coordination.leases.records import Record
from airflow_coordination.values.status import ASSIGNED

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
