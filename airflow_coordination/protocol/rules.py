"""THE operation table: each operation's condition and changes, said once for every store.

A rule is two functions over the words of an :class:`~airflow_coordination.protocol.algebra.Algebra`: ``x`` says the
words, ``p`` is the partition as it is stored, ``w`` the write, ``now`` the store's clock. Changes are fields by name
(:mod:`~airflow_coordination.protocol.fields`). With plain values a rule is the reference step
(:mod:`~airflow_coordination.protocol.steps`); SQL's words make the statement of it, DynamoDB's the conditional update.

What a rule leaves to a store: how the row of an acquisition by query is found (measured plans), which of its own
columns follow from a partition's fields, creation, which is a page of rows, and who waits for a partition that
finishes: each of them is released (``RELEASE_CHILD``) in the same commit.

What a rule is, and what several share, is in :mod:`~airflow_coordination.protocol.algebra`; people's part in
:mod:`~airflow_coordination.protocol.rules`.

Tested against: ``transitions.py`` (tests/unit/leases), the model (tests/model), the history checker, the kit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from airflow_coordination.protocol.algebra import (
    PLAIN,
    Algebra,
    Changes,
    Condition,
    Rule,
    Value,
    chained,
    ended,
    entered,
    expired,
    held,
    phantom,
)
from airflow_coordination.protocol.fields import MOVED
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.refreshing import Refresh
from airflow_coordination.protocol.side_writes import of_action, of_ending, of_output, of_tenure
from airflow_coordination.protocol.writes import (
    KEEP,
    AcquireHinted,
    AcquireNext,
    Act,
    Action,
    Adopt,
    Ask,
    Begin,
    End,
    OnParked,
    Place,
    ReleaseChild,
    Renew,
    Retake,
    Save,
    Steal,
)
from airflow_coordination.values.accounting import accounted
from airflow_coordination.values.status import ASSIGNED, CLOSED, COMPLETED, UNASSIGNED, Outcome, PartitionStatus, Rank

GOES: Final = (Action.DELETE, Action.CLEAN_UP)
"""What leaves a tombstone."""


def as_seen(x: Algebra, p: Any, w: Any, _: Value) -> Condition:
    """Return the condition of people's actions: F as seen for ASSIGNED, otherwise status, token and last op as seen."""
    seen = w.seen
    last = x.same(p.nonce, seen.nonce) if seen.status is ASSIGNED else x.same(p.last_op, seen.last_op)
    as_seen = x.both(x.without(p.deleted), x.same(p.status, seen.status), x.same(p.token, seen.token), last)
    if w.action is Action.RETRACT:
        # A staged block may follow a published one, and would bring back what a retract has emptied.
        return x.both(as_seen, x.without(p.staged))
    if w.action in GOES:
        # The person has seen that nobody waits for it: nobody may have been created since who does.
        nobody_new = x.same(p.awaited_op, seen.awaited_op) if seen.awaited_op else x.without(p.awaited_op)
        return x.both(as_seen, nobody_new)
    return as_seen


_AFTER: Final[dict[Action, PartitionStatus]] = {
    Action.PARK: CLOSED,
    Action.FINISH: COMPLETED,
    Action.CLEAN_UP: COMPLETED,  # what tells its tombstone from one that a person has left
}
_HAS_NO_TIME: Final = (Action.PARK, Action.FINISH, *GOES)
_AWAITED_BY_NOBODY: Final[Changes] = {"awaited_op": None}
_STARTS_OVER: Final[Changes] = {
    "rank": Rank.NEW,
    "failures": 0,
    "lost_leases": 0,
    "closed_count": 0,
    "last_error": None,
    "progress_text": None,
    "staged": (),
}
_IS_GONE: Final[Changes] = {
    "deleted": True,
    "progress_text": None,
    "staged": (),
    "payload_text": None,
    "parents": (),
    "waits_for": (),
    "branch": None,
    **_AWAITED_BY_NOBODY,
}
_EFFECTS: Final[dict[Action, Changes]] = {
    Action.RELEASE: {"rank": Rank.NEW},
    Action.REOPEN: {"rank": Rank.REOPENED, "failures": 0, "lost_leases": 0},
    Action.PARK: {},
    Action.RESET: _STARTS_OVER,
    Action.FINISH: {
        "rank": Rank.NEW,
        "failures": 0,
        "lost_leases": 0,
        "last_error": None,
        "staged": (),
        **_AWAITED_BY_NOBODY,  # what it waits for itself stays: it may be reset
    },
    Action.DELETE: _IS_GONE,
    Action.CLEAN_UP: _IS_GONE,
}


def acted(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    """Return what an action changes; what waits for its parents goes on waiting, and has no time until then."""
    noted = {"last_op": w.op, "updated_at": now}
    if w.action is Action.RETRACT:
        return noted
    runs = w.seen.status is ASSIGNED
    after = _AFTER.get(w.action, UNASSIGNED)
    over = ended(x, p, (Outcome.RELEASED, w.op, after, p.closed_count), now) if runs else {}
    fence = {"token": x.plus(p.token, 1), "nonce": w.op} if runs or w.action in GOES else {}
    return {
        **over,
        **fence,
        "status": after,
        "reopen_at": None,
        "available_at": None if w.action in _HAS_NO_TIME else x.when(x.without(p.waits_for), now, None),
        **_EFFECTS[w.action],
        **({"generation": w.op, "branch": w.branch} if w.action is Action.RESET else {}),
        **noted,
    }


LOST_LEASES_ERROR: Final = "lost its lease {} times without an ending"


def claimable(x: Algebra, p: Any, now: Value, max_lost_leases: Value) -> Condition:
    """Return whether it can be acquired; at the last lost lease only a sweep may act, because it parks."""
    may_be_lost = x.within(p.lost_leases, p.max_lost_leases, max_lost_leases)
    return x.either(x.ready(p, now), x.both(expired(x, p, now), may_be_lost))


def _lost_leases(x: Algebra, p: Any, when: Condition = True) -> Value:
    return x.plus(p.lost_leases, x.when(when, x.when(phantom(x, p), 0, 1), 0))


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


def _wanted(x: Algebra, p: Any, w: Any, now: Value) -> Condition:
    """Return whether the tenure of the write's fence was asked for, and may still be handed over."""
    return x.both(x.same(p.wanted_token, w.fence.token), x.less(now, p.wanted_until))


def _askable(x: Algebra, p: Any, w: Any, now: Value) -> Condition:
    return x.both(held(x, p, w, now), x.unless(_wanted(x, p, w, now)))


def _asked(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    return {"wanted_by": w.by, "wanted_token": w.fence.token, "wanted_until": x.plus(now, w.patience)}


def _stealable(x: Algebra, p: Any, w: Any, now: Value) -> Condition:
    """Return whether its owner had its time; a lease that has run out is acquired as any other, and counts as lost."""
    return x.both(
        held(x, p, w, now),
        x.less(now, p.ownership_timeout),
        x.same(p.wanted_by, w.tenancy.owner.text),
        x.same(p.wanted_token, w.fence.token),
        x.at_most(p.wanted_until, now),
    )


def _stolen(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    """Return the changes that start a tenure in the place of a healthy one: nothing counts as lost."""
    changes = _started(Outcome.STOLEN)(x, p, w, now)
    del changes["lost_leases"]
    return changes


def _started(outcome: Outcome) -> Callable[[Algebra, Any, Any, Value], Changes]:
    """Return the changes that start a tenure; one that still runs is ended with ``outcome`` in the same step."""

    def started(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
        tenancy, runs = w.tenancy, x.same(p.status, ASSIGNED)
        return {
            "ring": entered(x, p, (outcome, tenancy.op, ASSIGNED, p.closed_count), now, when=runs),
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


def _said_to_follow(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    return {"on_parked_text": w.text, "last_op": w.op, "updated_at": now}


def _finished(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    changes = {
        **ended(x, p, (w.outcome, w.op, w.status, w.closed_count), now),
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
    if w.completes:
        changes["awaited_op"] = None  # the same step releases those who wait for it
    return changes


# Children's.


def _waiting_for(x: Algebra, p: Any, w: Any, _: Value) -> Condition:
    return x.among(w.parent, p.waits_for)


def _released(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    """Return a child without one parent to wait for; after the last one it waits in line at its own place."""
    left = x.lacking(p.waits_for, w.parent)
    last = x.both(x.without(left), x.same(p.status, UNASSIGNED))
    return {"waits_for": left, "rank": Rank.NEW, "available_at": x.when(last, now, p.available_at), "updated_at": now}


# The sweep's.


def _reclaimable(x: Algebra, p: Any, w: Any, now: Value) -> Condition:
    return expired(x, p, now)


def _reclaimed(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    """Return what a lost lease changes: the partition waits first in line, and is parked at the last lost lease."""
    may_be_lost = x.within(p.lost_leases, p.max_lost_leases, w.max_lost_leases)
    stays = x.either(may_be_lost, phantom(x, p))
    status = x.when(stays, UNASSIGNED, CLOSED)
    return {
        **ended(x, p, (Outcome.LOST, w.op, status, p.closed_count), now),
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


# What follows a parking.


def _parked_by(x: Algebra, p: Any, w: Any, _: Value) -> Condition:
    """Return whether it is parked still as the note says that is taken away."""
    parked = x.both(x.same(p.status, CLOSED), x.without(p.reopen_at))
    return x.both(parked, x.same(p.token, w.token), x.same(p.last_op, w.op))


def _followed(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    return {"on_parked_text": None}


# Moving to another store.


def _untouched(x: Algebra, p: Any, w: Any, _: Value) -> Condition:
    return x.both(x.without(p.deleted), x.same(p.status, UNASSIGNED), x.same(p.token, 0), x.same(p.last_op, w.created))


def _placed(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    """Return the life of another store: its fence goes on there, its generation, its counts, and its work so far."""
    return {name: getattr(w.life, name) for name in MOVED} | {"updated_at": now}


# The supplier's.


def _refreshable(x: Algebra, p: Any, w: Any, _: Value) -> Condition:
    """Return whether nothing has happened since the reset that was seen, or since its creation, but other refreshes."""
    as_offered = x.without(p.payload_text) if w.seen is None else x.same(p.payload_text, w.seen)
    reset = x.both(x.same(p.generation, w.generation), x.same(p.last_op, w.generation))
    return x.both(x.without(p.deleted), x.same(p.status, UNASSIGNED), reset, as_offered)


def _refreshed(x: Algebra, p: Any, w: Any, now: Value) -> Changes:
    return {"payload_text": w.payload_text, "updated_at": now}


ACQUIRE: Final = Rule(_acquirable, _started(Outcome.LOST), of_tenure, held_back=True)
ACQUIRE_AS_SEEN: Final = Rule(_acquirable_as_seen, _started(Outcome.LOST), of_tenure, held_back=True)
RETAKE: Final = Rule(_retakeable, _started(Outcome.RETAKEN), of_tenure)
ASK: Final = Rule(_askable, _asked)
STEAL: Final = Rule(_stealable, _stolen, of_tenure, held_back=True)
ADOPT: Final = Rule(_adoptable, _adopted)
RENEW: Final = Rule(held, _renewed)
BEGIN: Final = Rule(chained, _begun)
SAVE: Final = Rule(chained, _saved)
ON_PARKED: Final = Rule(chained, _said_to_follow)
END: Final = Rule(chained, _finished, of_ending)
RELEASE_CHILD: Final = Rule(_waiting_for, _released)
RECLAIM: Final = Rule(_reclaimable, _reclaimed, of_tenure)
REOPEN: Final = Rule(_reopenable, _reopened)
FOLLOWED: Final = Rule(_parked_by, _followed)
ACT: Final = Rule(as_seen, acted, of_action)
PLACE: Final = Rule(_untouched, _placed, of_output)
REFRESH: Final = Rule(_refreshable, _refreshed)

RULES: Final[dict[type, Rule]] = {
    AcquireNext: ACQUIRE,
    AcquireHinted: ACQUIRE_AS_SEEN,
    Retake: RETAKE,
    Ask: ASK,
    Steal: STEAL,
    Adopt: ADOPT,
    Renew: RENEW,
    Begin: BEGIN,
    Save: SAVE,
    OnParked: ON_PARKED,
    End: END,
    Act: ACT,
    Place: PLACE,
    Refresh: REFRESH,
    ReleaseChild: RELEASE_CHILD,
}
"""The rule of each write but creations and sweeps: a sweep is ``RECLAIM`` and ``REOPEN`` of what it finds.

``FOLLOWED`` is what becomes of a parked partition whose note is taken away.
"""


def waited_for(write: End | Act, seen: Partition | None) -> bool:
    """Return whether a write that completes a partition fits it as it was seen, and somebody waits for it.

    A store's usual statement refuses such a partition, because another one has to release who waits.
    """
    if seen is None or seen.awaited_op is None:
        return False
    completes = write.completes if isinstance(write, End) else write.action is Action.FINISH
    return completes and bool(RULES[type(write)].condition(PLAIN, seen, write, None))
