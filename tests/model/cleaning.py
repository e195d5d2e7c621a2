"""Cleaning up: a finished parent goes when its children have begun, and leaves a tombstone that says it had finished.

Its sender has seen the parent, then its family; the write names the parent alone. Whoever plans partitions goes by
what is there: it starts nothing whose descendant is there, and whatever else is not there it starts.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.rules import Scenario
from tests.model.state import ABSENT, ASSIGNED, COMPLETED, TOMBSTONE, Item, Message, State, with_message

GONE = (ABSENT, TOMBSTONE)


def finished(item: Item) -> bool:
    """Return whether nobody need wait for a parent: it has completed, or had when it was cleaned up."""
    return item.status == COMPLETED or item.finished


def begun(item: Item) -> bool:
    """Return whether a child was acquired once, or has finished without."""
    if item.status in (ASSIGNED, COMPLETED):
        return True
    return item.status not in GONE and item.token > 0 and item.last_op != item.create_op


def looks(state: State, scenario: Scenario) -> Iterator[tuple[tuple[object, ...], State, str]]:
    """Yield the looks at the families of what was seen completed, long after that: no creation of before is left."""
    for m in state.messages:
        if m.kind != "clean_up" or m.half is None or not _may_go(state, m.part, scenario):
            continue
        messages = state.messages
        if scenario.rules.clean_after_outlives_messages:
            messages = tuple(
                old._replace(dead=True) if old.kind == "create" and old.part == m.part else old for old in messages
            )
        after = with_message(state._replace(messages=messages), m._replace(half=None))
        yield ("sees that it may go:", m), after, ""


def _may_go(state: State, part: int, scenario: Scenario) -> bool:
    rules = scenario.rules
    if rules.clean_sees_waiting and any(part in item.waits for item in state.items):
        return False
    children = [state.items[child] for child in _children(part, scenario)]
    if rules.clean_needs_children and (not children or any(child.status in GONE for child in children)):
        return False
    if rules.clean_needs_begun and any(child.status not in GONE and not begun(child) for child in children):
        return False
    left = any(state.items[parent].status not in GONE for parent in scenario.parents[part])
    return not (left and rules.clean_needs_no_parent)


def refuses(state: State, m: Message, part: int) -> bool:
    """Return whether a clean-up is refused: its sender has not looked yet, or the stamp is not the one it has seen."""
    return m.half is not None or m.saw != (state.items[part].awaited,)


def plans(state: State, part: int, scenario: Scenario) -> bool:
    """Return whether whoever lists partitions creates one: a planner only what is not there, nor any descendant."""
    if not scenario.planned:
        return True
    return state.items[part].status in GONE and not any(
        state.items[each].status not in GONE for each in _descendants(part, scenario)
    )


def may_be_deleted(state: State, part: int, scenario: Scenario) -> bool:
    """Return whether people delete it: beside a planner only what has not begun, which is planned again."""
    return not (scenario.planned and begun(state.items[part]))


def planned_again(before: Item, m: Message, scenario: Scenario) -> str:
    """Return what is wrong where a planner's creation makes anew what had finished."""
    if m.kind != "create" or not scenario.planned or not before.finished:
        return ""
    return f"CLEAN: partition {m.part} had finished, and is planned again"


def stays_for_ever(state: State, scenario: Scenario) -> str:
    """Return what can never be cleaned up any more, because its child is not there to be asked whether it has begun."""
    for part, item in enumerate(state.items if scenario.planned else ()):
        gone = [child for child in _children(part, scenario) if state.items[child].finished]
        if item.status == COMPLETED and gone:
            return f"CLEAN: partition {part} stays for ever, its child {gone[0]} has gone before it"
    return ""


def _children(part: int, scenario: Scenario) -> list[int]:
    return [child for child, parents in enumerate(scenario.parents) if part in parents]


def _descendants(part: int, scenario: Scenario) -> set[int]:
    found = set(_children(part, scenario))
    return found.union(*(_descendants(child, scenario) for child in found))
