"""Parents and children: the steps that touch more than one partition (S19 and S20).

A child waits for those of its parents that have not finished when it is created. On SQL the step that completes a
parent releases, in its own commit, whoever waits at that moment. On DynamoDB its sender has read a stamp, then who
waits, and the step names both. Code of before releases nobody; a sweep does, which reads the child first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.model import cleaning
from tests.model.rules import Scenario
from tests.model.sending import may_send, sent
from tests.model.state import ABSENT, ACQUISITIONS, COMPLETED, SWEEP, TOMBSTONE, Item, Message, State, put, with_message

COMPLETES = ("complete", "fused", "close", "close_state", "finish")
GONE = (ABSENT, TOMBSTONE)
CHILD, MERGED, SPLIT, CHAIN = ((), (0,)), ((), (), (0, 1)), ((), (0,), (0,)), ((), (0,), (1,))
"""Whose parents are whose: of each partition, which ones."""
MOST_LISTS = 2
"""So often the sender of a completion reads who waits."""
Happening = tuple[tuple[object, ...], State, str]
Child = tuple[int, tuple[int, ...], str, str]
"""A child as it was read: which it is, what it waits for, its creation, its status."""


def children_of(state: State, part: int) -> tuple[Child, ...]:
    """Return who waits for ``part``."""
    return tuple(
        (child, item.waits, item.create_op, item.status) for child, item in enumerate(state.items) if part in item.waits
    )


def created_as_seen(state: State, new: Message, scenario: Scenario) -> tuple[State, Message]:
    """Return a creation with what its sender has seen of the parents."""
    if not scenario.parents or not scenario.parents[new.part]:
        return state, new
    return _noted(state, new._replace(saw=_statuses(state, scenario.parents[new.part])))


def acted_as_seen(state: State, new: Message, item: Item, scenario: Scenario) -> tuple[State, Message]:
    """Return a person's action with the stamp that the person has seen; finishing reads who waits, as completing."""
    state, new = _noted(state, new._replace(saw=(item.awaited,) if scenario.parents else ()))
    if new.kind == "clean_up":
        return _noted(state, new._replace(half=("family",)))
    return reading(state, new, scenario)


def reading(state: State, new: Message, scenario: Scenario) -> tuple[State, Message]:
    """Return a completion whose sender has read the first half of what its condition names."""
    if not scenario.parents or new.kind not in COMPLETES or scenario.rules.release != "as seen":
        return state, new
    return _noted(state, new._replace(half=_first_half(state, new.part, scenario)))


def _first_half(state: State, part: int, scenario: Scenario) -> tuple[Any, ...]:
    if scenario.rules.stamp_before_children:
        return "stamp", state.items[part].awaited
    return "children", children_of(state, part)


def _noted(state: State, new: Message) -> tuple[State, Message]:
    return with_message(state, new), new


def happenings(state: State, scenario: Scenario) -> Iterator[Happening]:
    """Yield what senders read of families, and what sweeps send about them."""
    if not scenario.parents:
        return
    for m in state.messages:
        if m.kind in COMPLETES:
            yield from _reads(state, m, scenario)
        elif m.kind == "heal" and m.half is not None:
            yield from _looks(state, m)
    yield from cleaning.looks(state, scenario)
    if scenario.rules.heals:
        yield from _sweeps(state, scenario)


def _reads(state: State, m: Message, scenario: Scenario) -> Iterator[Happening]:
    """Yield the second half of a look, and the look after a refusal: the operation and its own part stay the same."""
    if m.half is not None:
        kind, first = m.half
        both = (first, children_of(state, m.part)) if kind == "stamp" else (state.items[m.part].awaited, first)
        read = m._replace(half=None, lists=(*m.lists, both))
        yield ("lists who waits for", m), with_message(state, read), ""
    elif m.lists and len(m.lists) < MOST_LISTS and not m.told:
        item = state.items[m.part]
        stale = m.lists[-1] != (item.awaited, children_of(state, m.part))
        if stale and (item.token, item.nonce, item.last_op) == (m.token, m.nonce, m.prev):
            again = m._replace(half=_first_half(state, m.part, scenario))
            yield ("reads again who waits for", m), with_message(state, again), ""


def _looks(state: State, m: Message) -> Iterator[Happening]:
    """Yield a sweep's second look: at the parent, or at the child."""
    assert m.half is not None
    item = state.items[m.part]
    if m.half[0] == "child" and state.items[m.since].status == COMPLETED:
        yield ("sees the parent finished for", m), with_message(state, m._replace(half=None)), ""
    if m.half[0] == "parent" and m.since in item.waits:
        yield ("sees the child for", m), with_message(state, m._replace(half=None, prev=item.create_op)), ""


def _sweeps(state: State, scenario: Scenario) -> Iterator[Happening]:
    """Yield the releases of sweeps; ``since`` is the parent, ``prev`` the child's creation."""
    rules = scenario.rules
    for child, item in enumerate(state.items):
        for parent in scenario.parents[child] if may_send(state, "heal", scenario) else ():
            if rules.heal_sees_child_first and parent in item.waits:
                half = ("child",) if rules.heal_sees_parent else None
                after, new = sent(state, "heal", SWEEP, child, since=parent, prev=item.create_op, half=half)
                yield ("is sent:", new), after, ""
            elif not rules.heal_sees_child_first and state.items[parent].status == COMPLETED:
                after, new = sent(state, "heal", SWEEP, child, since=parent, half=("parent",))
                yield ("is sent:", new), after, ""


def admitted(state: State, m: Message, part: int, scenario: Scenario) -> tuple[Any, ...] | None:
    """Return what a write goes by beyond its own partition, ``None`` where that refuses it.

    For a creation what it waits for, for a completion who is released by name.
    """
    rules = scenario.rules
    if not scenario.parents:
        return ()
    if m.kind == "create" and scenario.parents[part]:
        return _waits(state, m, part, scenario)
    if m.kind == "delete" and rules.delete_sees_children:
        return () if m.saw == (state.items[part].awaited,) else None
    if m.kind == "clean_up":
        return None if cleaning.refuses(state, m, part) else ()
    if m.kind not in COMPLETES or rules.release != "as seen":
        return ()
    for stamp, children in m.lists:
        same = not rules.stamp_in_condition or stamp == state.items[part].awaited
        if same and (not rules.children_as_seen or all(_as_seen(state, child) for child in children)):
            return children
    return None


def _waits(state: State, m: Message, part: int, scenario: Scenario) -> tuple[int, ...] | None:
    parents, rules = scenario.parents[part], scenario.rules
    statuses = _statuses(state, parents) if rules.create_sees_parents else m.saw
    if any(status in GONE for status in statuses) and rules.absent_parents_refuse:
        return None
    both = zip(parents, statuses, strict=True)
    return tuple(parent for parent, status in both if status != COMPLETED and status not in GONE)


def _statuses(state: State, parents: tuple[int, ...]) -> tuple[str, ...]:
    """Return what parents are to a creation: what was cleaned up had finished."""
    items = (state.items[parent] for parent in parents)
    return tuple(COMPLETED if item.finished else item.status for item in items)


def _as_seen(state: State, child: Child) -> bool:
    place, waits, create_op, status = child
    item = state.items[place]
    return (item.waits, item.create_op, item.status) == (waits, create_op, status)


def early(state: State, m: Message, part: int) -> str:
    """Return the broken S19 where somebody acquires a child too early."""
    owed = state.truths[part].owed
    if m.kind not in ACQUISITIONS or not owed:
        return ""
    return f"S19: partition {part} starts before its parent {owed[0]} has finished"


def followed(before: State, after: State, m: Message, part: int, chosen: tuple[Any, ...], scenario: Scenario) -> State:
    """Return the state with what a write does to other partitions."""
    if not scenario.parents:
        return after
    if m.kind == "create":
        return _born(before, after, m, part, chosen, scenario)
    if after.items[part].status != COMPLETED or before.items[part].status == COMPLETED:
        return after
    truths = tuple(truth._replace(owed=_without(truth.owed, part)) for truth in after.truths)
    return _released(after._replace(truths=truths), part, chosen, scenario)


def _born(before: State, after: State, m: Message, part: int, waits: tuple[int, ...], scenario: Scenario) -> State:
    items = put(after.items, part, after.items[part]._replace(waits=waits))
    for parent in waits if scenario.rules.create_sees_parents else ():
        items = put(items, parent, items[parent]._replace(awaited=m.op))
    owed = tuple(parent for parent in scenario.parents[part] if not cleaning.finished(before.items[parent]))
    return after._replace(items=items, truths=put(after.truths, part, after.truths[part]._replace(owed=owed)))


def _released(state: State, part: int, chosen: tuple[Any, ...], scenario: Scenario) -> State:
    rules, items = scenario.rules, list(state.items)
    if rules.release == "never":
        return state
    if rules.release == "as seen":
        for child, waits, _, _ in chosen:
            items[child] = items[child]._replace(waits=_without(waits, part))
    else:
        items = [item._replace(waits=_without(item.waits, part)) for item in items]
    items[part] = items[part]._replace(awaited="")
    return state._replace(items=tuple(items))


def healed(state: State, m: Message, scenario: Scenario) -> State:
    """Return the state after a sweep has released a child, unless its condition refuses that."""
    item = state.items[m.part]
    if m.half is not None or m.since not in item.waits or item.status in GONE:
        return state
    if scenario.rules.heal_names_creation and item.create_op != m.prev:
        return state
    free = item._replace(waits=_without(item.waits, m.since))
    return with_message(state._replace(items=put(state.items, m.part, free)), m._replace(applied=True))


def waits_for_ever(state: State, scenario: Scenario) -> str:
    """Return the broken S20: a child that nothing will ever release, when all messages are lost and workers gone."""
    for child, item in enumerate(state.items):
        for parent in item.waits if item.status not in GONE else ():
            status = state.items[parent].status
            if status in GONE:
                return f"S20: {child} waits for ever for {parent}, which is {status}"
            if status == COMPLETED and not scenario.rules.heals:
                return f"S20: {child} waits for ever for {parent}, which has finished"
    return ""


def _without(parts: tuple[int, ...], part: int) -> tuple[int, ...]:
    return tuple(each for each in parts if each != part)
