"""The state table as data, and its diagram."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest

from airflow_coordination.protocol import steps
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.refreshing import Refresh
from airflow_coordination.protocol.transitions import PEOPLE, TRANSITIONS, Event, State, allowed, diagram
from airflow_coordination.protocol.writes import (
    AcquireHinted,
    Act,
    Action,
    Adopt,
    Ask,
    Begin,
    OnParked,
    Place,
    Renew,
    Retake,
    Save,
    Steal,
    Sweep,
    Tenancy,
)
from airflow_coordination.testing.clock import START
from airflow_coordination.values.fence import Fence, Owner
from airflow_coordination.values.status import PartitionStatus

HOUR: Final = timedelta(hours=1)
OWNER: Final = Owner("host/dag/run/task/0/1")
LATER: Final = Owner("host/dag/run/task/0/2")
ENDINGS: Final = (Event.COMPLETE, Event.CLOSE, Event.FAIL, Event.GIVE_UP)
"""Which status an ending leads to is the coordinator's policy: the rule takes it from the write."""


def test_every_event_has_its_row() -> None:
    assert set(TRANSITIONS) == set(Event)
    assert all(row and all(row.values()) for row in TRANSITIONS.values())


_STATES: list[tuple[State, Partition | None]] = [
    (None, None),
    *(
        (
            status,
            Partition(
                source="s",
                key="k",
                status=status,
                token=1,
                nonce="n",
                last_op="n",
                generation="n",
                priority=0,
                confirmed=True,
                **more,
            ),
        )
        for status, more in (
            (PartitionStatus.UNASSIGNED, {"available_at": START}),
            (PartitionStatus.ASSIGNED, {"owner": OWNER.text, "ownership_timeout": START, "lost_leases": 0}),
            (PartitionStatus.ASSIGNED, {"owner": OWNER.text, "ownership_timeout": START, "lost_leases": 1}),
            (PartitionStatus.CLOSED, {"reopen_at": START}),
            (PartitionStatus.CLOSED, {}),
            (PartitionStatus.COMPLETED, {}),
        )
    ),
]


def _stolen(partition: Partition) -> Partition | None:
    """Return the partition stolen by who has asked for it in time, an hour before its lease runs out."""
    asked = replace(partition, wanted_by=LATER.text, wanted_token=1, wanted_until=START - HOUR)
    tenancy = Tenancy(op="op", owner=LATER, timeout=HOUR, max_lost_leases=2)
    return steps.step(Steal(source="s", key="k", fence=Fence(1, "n"), tenancy=tenancy), asked, START - HOUR)


def _writes(event: Event, seen: Partition | None) -> Iterator[Callable[[Partition], Partition | None]]:
    """Yield what may cause an event to a partition that was seen so."""
    base = {"source": "s", "key": "k"}
    fence, tenancy = Fence(1, "n"), Tenancy(op="op", owner=LATER, timeout=HOUR, max_lost_leases=2)
    writes: dict[Event, Any] = {
        Event.ACQUIRE: AcquireHinted(**base, token=1, tenancy=tenancy),
        Event.RETAKE: Retake(**base, token=1, last_op="n", tenancy=tenancy),
        Event.ADOPT: Adopt(**base, fence=fence, owner=LATER),
        Event.BEGIN: Begin(**base, fence=fence, op="op", timeout=HOUR),
        Event.RENEW: Renew(**base, fence=fence, timeout=HOUR),
        Event.ASK: Ask(**base, fence=fence, by=LATER.text, patience=HOUR),
        Event.REFRESH: Refresh(**base, generation="n", seen=None, payload_text="{}"),
        Event.ON_PARKED: OnParked(**base, fence=fence, op="op", prev="n", text="g 1"),
        Event.SAVE: Save(**base, fence=fence, op="op", prev="n", progress_text=None, staged=(), timeout=HOUR),
    }
    sweep = Sweep(source="s", op="op", limit=1, max_lost_leases=2)
    sweeps = {Event.RECLAIM: steps.reclaim, Event.SWEEP_REOPEN: steps.reopen}
    if event in writes:
        yield lambda partition: steps.step(writes[event], partition, START)
    elif event is Event.STEAL:
        yield _stolen
    elif event in sweeps:
        yield lambda partition: sweeps[event](sweep, partition, START)
    elif event is Event.PLACE:
        for status in PartitionStatus:
            if status is not PartitionStatus.ASSIGNED:
                place = Place(**base, created="n", life=Partition(**base, status=status, token=3))
                yield lambda partition, place=place: steps.step(place, replace(partition, token=0), START)
    elif event in PEOPLE and seen is not None:
        act = Act(**base, op="op", action=Action[event.name], seen=seen, by="ada", why="asked")
        yield lambda partition: steps.step(act, partition, START)


@pytest.mark.parametrize("event", [event for event in Event if event not in (*ENDINGS, Event.CREATE)])
def test_the_rules_lead_where_the_table_says_and_nowhere_else(event: Event) -> None:
    reached: dict[State, set[State]] = {}
    for status, partition in _STATES:
        for write in _writes(event, partition) if partition else ():
            after = write(partition)
            if after is not None:
                reached.setdefault(status, set()).add(None if after.deleted else after.status)
    assert reached == {before: set(afters) for before, afters in TRANSITIONS[event].items()}


def test_people_can_do_what_the_actions_say() -> None:
    assert {event.name for event in PEOPLE} == {action.name for action in Action}


def test_s3_only_people_take_a_partition_out_of_completed() -> None:
    done = PartitionStatus.COMPLETED
    leaving = {event for event, row in TRANSITIONS.items() if set(row.get(done, ())) - {done}}
    assert leaving == {Event.RESET, Event.DELETE, Event.CLEAN_UP}
    assert leaving < set(PEOPLE)
    assert {event for event, row in TRANSITIONS.items() if done in row} == {*leaving, Event.RETRACT}


def test_every_status_is_reached_from_nothing() -> None:
    reached: set[State] = {None}
    while True:
        after = {
            status
            for row in TRANSITIONS.values()
            for before, afters in row.items()
            if before in reached
            for status in afters
        }
        if after <= reached:
            break
        reached |= after
    assert reached == {None, *PartitionStatus}


def test_owner_events_need_an_owner() -> None:
    owners: tuple[Event, ...] = (Event.RETAKE, Event.ADOPT, Event.BEGIN, Event.RENEW, Event.SAVE)
    owners += (Event.COMPLETE, Event.CLOSE, Event.FAIL, Event.GIVE_UP, Event.RELEASE)
    for event in owners:
        assert [status for status in (None, *PartitionStatus) if allowed(event, status)] == [PartitionStatus.ASSIGNED]


def test_the_diagram_draws_each_pair_of_statuses_once() -> None:
    drawn = diagram()
    lines = drawn.splitlines()
    assert lines[0] == "stateDiagram-v2"
    assert drawn.endswith("\n")
    assert "    [*] --> UNASSIGNED: create" in lines
    assert "    ASSIGNED --> COMPLETED: complete, close, finish" in lines
    assert "    ASSIGNED --> UNASSIGNED: fail, give up, reclaim, release, reset" in lines
    assert "    COMPLETED --> [*]: delete, clean up" in lines
    arrows = [line.partition(":")[0] for line in lines[1:]]
    assert len(arrows) == len(set(arrows))
    pairs = {(b, a) for row in TRANSITIONS.values() for b, afters in row.items() for a in afters}
    assert len(arrows) == len(pairs)
