"""What people's actions do to a partition: their part of the operation table."""

from __future__ import annotations

from typing import Any, Final

from airflow_coordination.leases.algebra import Algebra, Condition, Value
from airflow_coordination.leases.rule import Changes, ended
from airflow_coordination.leases.writes import Action
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
        **({"generation": w.op} if w.action is Action.RESET else {}),
        **noted,
    }
