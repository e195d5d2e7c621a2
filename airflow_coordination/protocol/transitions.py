"""THE state table: which event may take a partition from where to where.

The steps in :mod:`~airflow_coordination.protocol.steps` are checked against it, the diagram in the docs and
the property tests are generated from it. Absent partitions and tombstones are ``None``; *parked* is CLOSED
without a time to reopen.
"""

from __future__ import annotations

from enum import StrEnum

from airflow_coordination.values.status import ASSIGNED, CLOSED, COMPLETED, UNASSIGNED, PartitionStatus


class Event(StrEnum):
    """Every step of the protocol that touches a partition."""

    CREATE = "create"
    ACQUIRE = "acquire"
    RETAKE = "retake"
    ASK = "ask"
    STEAL = "steal"
    ADOPT = "adopt"
    BEGIN = "begin"
    RENEW = "renew"
    SAVE = "save"
    ON_PARKED = "say what follows a parking"
    COMPLETE = "complete"
    CLOSE = "close"
    FAIL = "fail"
    GIVE_UP = "give up"
    RECLAIM = "reclaim"
    SWEEP_REOPEN = "reopen when due"
    RELEASE = "release"
    REOPEN = "reopen"
    PARK = "park"
    RESET = "reset"
    FINISH = "finish"
    RETRACT = "retract"
    DELETE = "delete"
    CLEAN_UP = "clean up"
    PLACE = "place"
    REFRESH = "refresh"


State = PartitionStatus | None

TRANSITIONS: dict[Event, dict[State, tuple[State, ...]]] = {
    Event.CREATE: {None: (UNASSIGNED,)},
    Event.ACQUIRE: {UNASSIGNED: (ASSIGNED,), CLOSED: (ASSIGNED,), ASSIGNED: (ASSIGNED,)},
    Event.RETAKE: {ASSIGNED: (ASSIGNED,)},
    Event.ASK: {ASSIGNED: (ASSIGNED,)},
    Event.STEAL: {ASSIGNED: (ASSIGNED,)},
    Event.ADOPT: {ASSIGNED: (ASSIGNED,)},
    Event.BEGIN: {ASSIGNED: (ASSIGNED,)},
    Event.RENEW: {ASSIGNED: (ASSIGNED,)},
    Event.SAVE: {ASSIGNED: (ASSIGNED,)},
    Event.ON_PARKED: {ASSIGNED: (ASSIGNED,)},
    Event.COMPLETE: {ASSIGNED: (COMPLETED,)},
    Event.CLOSE: {ASSIGNED: (CLOSED, COMPLETED)},
    Event.FAIL: {ASSIGNED: (UNASSIGNED, CLOSED)},
    Event.GIVE_UP: {ASSIGNED: (UNASSIGNED,)},
    Event.RECLAIM: {ASSIGNED: (UNASSIGNED, CLOSED)},
    Event.SWEEP_REOPEN: {CLOSED: (UNASSIGNED,)},
    Event.RELEASE: {ASSIGNED: (UNASSIGNED,)},
    Event.REOPEN: {CLOSED: (UNASSIGNED,), UNASSIGNED: (UNASSIGNED,)},
    Event.PARK: {UNASSIGNED: (CLOSED,), ASSIGNED: (CLOSED,), CLOSED: (CLOSED,)},
    Event.RESET: {UNASSIGNED: (UNASSIGNED,), ASSIGNED: (UNASSIGNED,), CLOSED: (UNASSIGNED,), COMPLETED: (UNASSIGNED,)},
    Event.FINISH: {UNASSIGNED: (COMPLETED,), ASSIGNED: (COMPLETED,), CLOSED: (COMPLETED,)},
    Event.RETRACT: {UNASSIGNED: (UNASSIGNED,), CLOSED: (CLOSED,), COMPLETED: (COMPLETED,)},
    Event.DELETE: {UNASSIGNED: (None,), ASSIGNED: (None,), CLOSED: (None,), COMPLETED: (None,)},
    Event.CLEAN_UP: {COMPLETED: (None,)},
    Event.PLACE: {UNASSIGNED: (UNASSIGNED, CLOSED, COMPLETED)},
    Event.REFRESH: {UNASSIGNED: (UNASSIGNED,)},
}
"""``TRANSITIONS[event][status before]`` = the possible statuses after."""

PEOPLE = (
    Event.RELEASE,
    Event.REOPEN,
    Event.PARK,
    Event.RESET,
    Event.FINISH,
    Event.RETRACT,
    Event.DELETE,
    Event.CLEAN_UP,
)
"""Events that only a person causes, or a clean-up that a person has asked for."""


def allowed(event: Event, before: State) -> bool:
    """Return whether ``event`` may happen to a partition in ``before``."""
    return before in TRANSITIONS[event]


def diagram() -> str:
    """Return the table as a Mermaid state diagram, one arrow per pair of statuses."""
    arrows: dict[tuple[State, State], list[str]] = {}
    for event, row in TRANSITIONS.items():
        for before, afters in row.items():
            for after in afters:
                arrows.setdefault((before, after), []).append(event)
    lines = ["stateDiagram-v2"]
    for (before, after), events in arrows.items():
        lines.append(f"    {before or '[*]'} --> {after or '[*]'}: {', '.join(events)}")
    return "\n".join(lines) + "\n"
