"""THE state table: which event may take a partition from where to where.

The steps in :mod:`~airflow_coordination.leases.steps` are checked against it, the diagram in the docs and
the property tests are generated from it. Absent partitions and tombstones are ``None``; *parked* is CLOSED
without a time to reopen.
"""

from __future__ import annotations

from enum import StrEnum

from airflow_coordination.leases.partition import PartitionStatus

U, A, C, D = (
    PartitionStatus.UNASSIGNED,
    PartitionStatus.ASSIGNED,
    PartitionStatus.CLOSED,
    PartitionStatus.COMPLETED,
)


class Event(StrEnum):
    """Every step of the protocol that touches a partition."""

    CREATE = "create"
    ACQUIRE = "acquire"
    RETAKE = "retake"
    ADOPT = "adopt"
    BEGIN = "begin"
    RENEW = "renew"
    SAVE = "save"
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
    RETRACT = "retract"
    DELETE = "delete"


State = PartitionStatus | None

TRANSITIONS: dict[Event, dict[State, tuple[State, ...]]] = {
    Event.CREATE: {None: (U,)},
    Event.ACQUIRE: {U: (A,), C: (A,), A: (A,)},
    Event.RETAKE: {A: (A,)},
    Event.ADOPT: {A: (A,)},
    Event.BEGIN: {A: (A,)},
    Event.RENEW: {A: (A,)},
    Event.SAVE: {A: (A,)},
    Event.COMPLETE: {A: (D,)},
    Event.CLOSE: {A: (C, D)},
    Event.FAIL: {A: (U, C)},
    Event.GIVE_UP: {A: (U,)},
    Event.RECLAIM: {A: (U, C)},
    Event.SWEEP_REOPEN: {C: (U,)},
    Event.RELEASE: {A: (U,)},
    Event.REOPEN: {C: (U,), U: (U,)},
    Event.PARK: {U: (C,), A: (C,), C: (C,)},
    Event.RESET: {U: (U,), A: (U,), C: (U,), D: (U,)},
    Event.RETRACT: {U: (U,), C: (C,), D: (D,)},
    Event.DELETE: {U: (None,), A: (None,), C: (None,), D: (None,)},
}
"""``TRANSITIONS[event][status before]`` = the possible statuses after."""

PEOPLE = (Event.RELEASE, Event.REOPEN, Event.PARK, Event.RESET, Event.RETRACT, Event.DELETE)
"""Events that only a person causes."""


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
