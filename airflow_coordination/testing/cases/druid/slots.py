"""The area ``compaction_slots``: how many groups run at once, and what each costs."""

from __future__ import annotations

from airflow_coordination.planning.compaction.slots import Slots, first, slots_of, works_in_parallel
from airflow_coordination.testing.cases.druid.lines import Checks
from airflow_coordination.testing.cases.reading import Fields


def slots_line(line: Fields, checks: Checks) -> None:
    """Compare the limit and what is free, or the slots of a group."""
    if line.has("capacity"):
        slots = Slots(line.number("ratio"), line.whole("max_slots"))
        limited(line, slots, checks, line.whole("capacity"), line.whole("busy"))
    if line.has("slots") or line.has("parallel"):
        subtasks = line.whole("max_subtasks") if line.has("max_subtasks") else None
        by_range = line.truth("range_partitioned", False)
        if line.has("slots"):
            checks.check(line.at("slots"), line.whole("slots"), slots_of(subtasks, by_range=by_range))
        if line.has("parallel"):
            checks.check(line.at("parallel"), line.truth("parallel"), works_in_parallel(subtasks, by_range=by_range))


def limited(line: Fields, slots: Slots, checks: Checks, capacity: int, busy: int) -> None:
    """Compare what of a limit is free, and how many begin if there are plenty."""
    free = slots.available(capacity, busy)
    if line.has("limit"):
        checks.check(line.at("limit"), line.whole("limit"), slots.limit(capacity))
    if line.has("available"):
        checks.check(line.at("available"), line.whole("available"), free)
    if line.has("submitted_if_plenty"):
        plenty = [(number, 1) for number in range(capacity + busy + 2)]
        began, _ = first(plenty, free, most=len(plenty))
        checks.check(line.at("submitted_if_plenty"), line.whole("submitted_if_plenty"), len(began))
