"""THE operation table: each operation's condition and changes, said once for every store.

A rule is two functions over the words of an :class:`~airflow_coordination.leases.algebra.Algebra`: ``x`` says the
words, ``p`` is the partition as it is stored, ``w`` the write, ``now`` the store's clock. Changes are fields by name
(:mod:`~airflow_coordination.leases.fields`). With plain values a rule is the reference step
(:mod:`~airflow_coordination.leases.steps`); SQL's words make the statement of it, DynamoDB's the conditional update.

What a rule leaves to a store: how the row of an acquisition by query is found (measured plans), which of its own
columns follow from a partition's fields, and creation, which is a page of rows.

Tested against: ``transitions.py`` (tests/unit/leases), the model (tests/model), the history checker, the kit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from airflow_coordination.leases.accounts import accounted
from airflow_coordination.leases.algebra import Algebra, Condition, Value
from airflow_coordination.leases.fields import MOVED
from airflow_coordination.leases.records import Record, of_action, of_ending, of_output, of_tenure
from airflow_coordination.leases.status import ASSIGNED, CLOSED, UNASSIGNED, Outcome, PartitionStatus, Rank
from airflow_coordination.leases.writes import (
    KEEP,
    AcquireHinted,
    AcquireNext,
    Act,
    Action,
    Adopt,
    Begin,
    End,
    Place,
    Renew,
    Retake,
    Save,
)

LOST_LEASES_ERROR: Final = "lost its lease {} times without an ending"

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


# Conditions, and what several operations change.


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


def claimable(x: Algebra, p: Any, now: Value, max_lost_leases: Value) -> Condition:
    """Return whether it can be acquired; at the last lost lease only a sweep may act, because it parks."""
    may_be_lost = x.within(p.lost_leases, p.max_lost_leases, max_lost_leases)
    return x.either(x.ready(p, now), x.both(expired(x, p, now), may_be_lost))


def _lost_leases(x: Algebra, p: Any, when: Condition = True) -> Value:
    return x.plus(p.lost_leases, x.when(when, x.when(phantom(x, p), 0, 1), 0))


def _entered(x: Algebra, p: Any, ending: tuple[Value, ...], now: Value, when: Condition = True) -> Value:
    """Return the ring with the ending of the present tenure: outcome, operation, status and ``closedCount`` after."""
    outcome, op, status, closed_count = ending
    return x.entered(p, (p.token, p.nonce, outcome, op, p.last_op, status, closed_count, now), when)


def _ended(x: Algebra, p: Any, ending: tuple[Value, ...], now: Value) -> Changes:
    """Return END of the table: nobody owns it."""
    _, op, status, closed_count = ending
    return {
        "ring": _entered(x, p, ending, now),
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


# Starting tenures.


def _acquirable(x: Algebra, p: Any, w: Any, now: Value) -> Condition:
    return claimable(x, p, now, w.tenancy.max_lost_leases)


def _acquirable_as_seen(x: Algebra, p: Any, w: Any, now: Value) -> Condition:
    return x.both(x.same(p.token, w.token), _acquirable(x, p, w, now))


def _retakeable(x: Algebra, p: Any, w: Any, _: Value) -> Condition:
    return x.both(
        x.same(p.status, ASSIGNED),
        x.same(p.token, w.token),
        x.same(p.last_op, w.last_op),
        x.same(p.owner_task, w.tenancy.owner.task),
        x.less(p.owner_try, w.below_try),
        x.within(p.lost_leases, p.max_lost_leases, w.tenancy.max_lost_leases),
    )


def _started(outcome: Outcome) -> Callable[[Algebra, Any, Any, Value], Changes]:
    """Return the changes that start a tenure; one that still runs is ended with ``outcome`` in the same step."""

    def started(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
        tenancy, runs = w.tenancy, x.same(p.status, ASSIGNED)
        return {
            "ring": _entered(x, p, (outcome, tenancy.op, ASSIGNED, p.closed_count), now, when=runs),
            "lost_leases": _lost_leases(x, p, when=runs),
            "status": ASSIGNED,
            "token": x.plus(p.token, 1),
            "nonce": tenancy.op,
            "last_op": tenancy.op,
            "max_lost_leases": tenancy.max_lost_leases,
            "max_failures": tenancy.max_failures,
            "owner": tenancy.owner.text,
            "ownership_timeout": x.plus(now, tenancy.timeout),
            "acquired_at": now,
            "owner_details": tenancy.owner_details,
            "reopen_at": None,
            "available_at": None,
            "confirmed": False,
            "updated_at": now,
        }

    return started


# The owner's.


def _adoptable(x: Algebra, p: Any, w: Any, now: Value) -> Condition:
    return x.both(held(x, p, w, now), x.at_most(p.owner_try, w.owner.try_number))


def _adopted(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    return {"owner": w.owner.text}


def _longer(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    return {"ownership_timeout": x.later(p.ownership_timeout, x.plus(now, w.timeout))}


def _renewed(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    return {**_longer(x, p, w, now), "confirmed": True}


def _written(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    return {**_longer(x, p, w, now), "last_op": w.op, "updated_at": now}


def _begun(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    return {**_written(x, p, w, now), "owner_details": w.owner_details}


def _saved(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    return {**_written(x, p, w, now), "progress_text": w.progress_text, "staged": w.staged, **accounted(w)}


def _finished(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    changes = {
        **_ended(x, p, (w.outcome, w.op, w.status, w.closed_count), now),
        "failures": w.failures,
        "lost_leases": w.lost_leases,
        "last_error": w.last_error,
        "rank": Rank.NEW,
        "reopen_at": x.plus(now, w.reopen_delay),
        "available_at": x.plus(now, w.available_delay),
        "generation": w.generation,
        **accounted(w),
    }
    if w.progress is not KEEP:
        changes["progress_text"] = w.progress
    if w.clear_staged:
        changes["staged"] = ()
    return changes


# The sweep's.


def _reclaimable(x: Algebra, p: Any, w: Any, now: Value) -> Condition:
    return expired(x, p, now)


def _reclaimed(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    """Return what a lost lease changes: the partition waits first in line, and is parked at the last lost lease."""
    may_be_lost = x.within(p.lost_leases, p.max_lost_leases, w.max_lost_leases)
    stays = x.either(may_be_lost, phantom(x, p))
    status = x.when(stays, UNASSIGNED, CLOSED)
    return {
        **_ended(x, p, (Outcome.LOST, w.op, status, p.closed_count), now),
        "lost_leases": _lost_leases(x, p),
        "last_error": x.when(stays, p.last_error, x.sentence(LOST_LEASES_ERROR, x.plus(p.lost_leases, 1))),
        "rank": x.when(stays, Rank.CRASHED, p.rank),
        # The order inside "crashed" is that of the lost leases.
        "available_at": x.when(stays, p.ownership_timeout, None),
    }


def _reopenable(x: Algebra, p: Any, w: Any, now: Value) -> Condition:
    return x.both(x.same(p.status, CLOSED), x.at_most(p.reopen_at, now))


def _reopened(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    return {
        "status": UNASSIGNED,
        "rank": Rank.REOPENED,
        "available_at": p.reopen_at,
        "reopen_at": None,
        "last_op": w.op,
        "updated_at": now,
    }


# People's.


def _as_seen(x: Algebra, p: Any, w: Any, _: Value) -> Condition:
    """Return the condition of people's actions: F as seen for ASSIGNED, otherwise status, token and last op as seen."""
    seen = w.seen
    last = x.same(p.nonce, seen.nonce) if seen.status is ASSIGNED else x.same(p.last_op, seen.last_op)
    as_seen = x.both(x.without(p.deleted), x.same(p.status, seen.status), x.same(p.token, seen.token), last)
    # A staged block may follow a published one, and would bring back what a retract has emptied.
    return x.both(as_seen, x.without(p.staged)) if w.action is Action.RETRACT else as_seen


_AFTER: Final[dict[Action, PartitionStatus]] = {Action.PARK: CLOSED}
_STARTS_OVER: Final[Changes] = {
    "rank": Rank.NEW,
    "failures": 0,
    "lost_leases": 0,
    "closed_count": 0,
    "last_error": None,
    "progress_text": None,
    "staged": (),
}
_EFFECTS: Final[dict[Action, Changes]] = {
    Action.RELEASE: {"rank": Rank.NEW},
    Action.REOPEN: {"rank": Rank.REOPENED, "failures": 0, "lost_leases": 0},
    Action.PARK: {},
    Action.RESET: _STARTS_OVER,
    Action.DELETE: {"deleted": True, "progress_text": None, "staged": (), "payload_text": None},
}


def _acted(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    noted = {"last_op": w.op, "updated_at": now}
    if w.action is Action.RETRACT:
        return noted
    runs = w.seen.status is ASSIGNED
    after = _AFTER.get(w.action, UNASSIGNED)
    ended = _ended(x, p, (Outcome.RELEASED, w.op, after, p.closed_count), now) if runs else {}
    fence = {"token": x.plus(p.token, 1), "nonce": w.op} if runs or w.action is Action.DELETE else {}
    return {
        **ended,
        **fence,
        "status": after,
        "reopen_at": None,
        "available_at": None if w.action in (Action.PARK, Action.DELETE) else now,
        **_EFFECTS[w.action],
        **({"generation": w.op} if w.action is Action.RESET else {}),
        **noted,
    }


# Moving to another store.


def _untouched(x: Algebra, p: Any, w: Any, _: Value) -> Condition:
    return x.both(x.without(p.deleted), x.same(p.status, UNASSIGNED), x.same(p.token, 0), x.same(p.last_op, w.created))


def _placed(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    """Return the life of another store: its fence goes on there, its generation, its counts, and its work so far."""
    return {name: getattr(w.life, name) for name in MOVED} | {"updated_at": now}


ACQUIRE: Final = Rule(_acquirable, _started(Outcome.LOST), of_tenure, held_back=True)
ACQUIRE_AS_SEEN: Final = Rule(_acquirable_as_seen, _started(Outcome.LOST), of_tenure, held_back=True)
RETAKE: Final = Rule(_retakeable, _started(Outcome.RETAKEN), of_tenure)
ADOPT: Final = Rule(_adoptable, _adopted)
RENEW: Final = Rule(held, _renewed)
BEGIN: Final = Rule(chained, _begun)
SAVE: Final = Rule(chained, _saved)
END: Final = Rule(chained, _finished, of_ending)
RECLAIM: Final = Rule(_reclaimable, _reclaimed, of_tenure)
REOPEN: Final = Rule(_reopenable, _reopened)
ACT: Final = Rule(_as_seen, _acted, of_action)
PLACE: Final = Rule(_untouched, _placed, of_output)

RULES: Final[dict[type, Rule]] = {
    AcquireNext: ACQUIRE,
    AcquireHinted: ACQUIRE_AS_SEEN,
    Retake: RETAKE,
    Adopt: ADOPT,
    Renew: RENEW,
    Begin: BEGIN,
    Save: SAVE,
    End: END,
    Act: ACT,
    Place: PLACE,
}
"""The rule of each write but creations and sweeps: a sweep is ``RECLAIM`` and ``REOPEN`` of what it finds."""
