"""The state table as data, and its diagram."""

from __future__ import annotations

from airflow_coordination.leases.partition import PartitionStatus
from airflow_coordination.leases.transitions import PEOPLE, TRANSITIONS, Event, State, allowed, diagram
from airflow_coordination.leases.writes import Action


def test_every_event_has_its_row() -> None:
    assert set(TRANSITIONS) == set(Event)
    assert all(row and all(row.values()) for row in TRANSITIONS.values())


def test_people_can_do_what_the_actions_say() -> None:
    assert {event.name for event in PEOPLE} == {action.name for action in Action}


def test_s3_only_people_take_a_partition_out_of_completed() -> None:
    done = PartitionStatus.COMPLETED
    leaving = {event for event, row in TRANSITIONS.items() if set(row.get(done, ())) - {done}}
    assert leaving == {Event.RESET, Event.DELETE}
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
    assert "    ASSIGNED --> COMPLETED: complete, close" in lines
    assert "    ASSIGNED --> UNASSIGNED: fail, give up, reclaim, release, reset" in lines
    assert "    COMPLETED --> [*]: delete" in lines
    arrows = [line.partition(":")[0] for line in lines[1:]]
    assert len(arrows) == len(set(arrows))
    pairs = {(b, a) for row in TRANSITIONS.values() for b, afters in row.items() for a in afters}
    assert len(arrows) == len(pairs)
