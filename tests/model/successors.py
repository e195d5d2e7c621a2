"""All that can happen next: deliveries, workers, suppliers, sweeps, people, a listing, TTL."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model import cleaning, families, parking
from tests.model.adversary import Step, deliveries, time_to_live
from tests.model.following import follows
from tests.model.others import nothing
from tests.model.rules import Scenario
from tests.model.second_driver import hand_over
from tests.model.sending import may_send, sent, sent_as_seen
from tests.model.state import (
    ABSENT,
    ANY,
    ASSIGNED,
    CLOSED,
    COMPLETED,
    LISTING,
    PARKED,
    PEOPLE,
    PERSON,
    SWEEP,
    TASK,
    TOMBSTONE,
    UNASSIGNED,
    Head,
    Item,
    Message,
    State,
    Truth,
    Worker,
)
from tests.model.supplier import supplies
from tests.model.workers import moves, settled_wish


def start(scenario: Scenario) -> State:
    """Return the state before anything happened: partitions wait to be acquired, or to be listed by a supplier."""
    op = "listing.0"
    made = Item(UNASSIGNED, last_op=op, generation=op, create_op=op, ring=(None,) * scenario.ring)
    parts = scenario.partitions
    items, truths = [made] * parts, [Truth(life=1)] * parts
    for part, parents in enumerate(scenario.parents):
        if parents:
            items[part], truths[part] = nothing(scenario), Truth()
    if scenario.pages:
        items, truths = [*[nothing(scenario)] * parts, made], [*[Truth()] * parts, Truth(life=1)]
    comes_again = not scenario.pages and (scenario.ttl or "delete" in scenario.sends)
    late = (Message("listing.9", "create", LISTING, 0),) if scenario.planned else ()
    return State(
        tuple(items),
        (Head(),) * len(items),
        tuple(truths),
        (Worker(),) * (scenario.workers + scenario.suppliers),
        (Message(op, "create", LISTING, 0, applied=True),) if comes_again else late,
    )


def successors(state: State, scenario: Scenario) -> Iterator[Step]:
    """Yield what can happen next, the state after it and what it breaks."""
    for label, after, broken in deliveries(state, scenario):
        yield label, settled_wish(hand_over(after, scenario), scenario), broken
    for index in range(len(state.workers)):
        yield from (moves if index < scenario.workers else supplies)(state, index, scenario)
    yield from people(state, scenario)
    yield from follows(state, scenario)
    yield from parking.happenings(state, scenario)
    yield from families.happenings(state, scenario)
    for part, item in enumerate(state.items):
        yield from sweep(state, part, item, scenario)
        if part < scenario.partitions:
            yield from others(state, part, item, scenario)
    if scenario.ttl:
        yield from time_to_live(state, scenario)


def sweep(state: State, part: int, item: Item, scenario: Scenario) -> Iterator[Step]:
    """Yield the sweep's messages about what it saw."""
    for kind, status in (("reclaim", ASSIGNED), ("reopen", CLOSED)):
        if item.status == status and may_send(state, kind, scenario):
            yield _sent(*sent_as_seen(state, kind, SWEEP, part))


def people(state: State, scenario: Scenario) -> Iterator[Step]:
    """Yield the messages of people about the whole source."""
    kind = "resume" if state.pauses[0].on else "pause"
    if may_send(state, kind, scenario):
        yield _sent(*sent(state, kind, PERSON, ANY, prev=state.pauses[0].op))


def others(state: State, part: int, item: Item, scenario: Scenario) -> Iterator[Step]:
    """Yield the messages of people, of a listing, and of a task that believes its driver dead."""
    if item.status not in (ABSENT, TOMBSTONE):
        for kind in PEOPLE:
            if item.status in _FITS[kind] and may_send(state, kind, scenario) and _asked(state, kind, part, scenario):
                yield _sent(*families.acted_as_seen(*sent_as_seen(state, kind, PERSON, part), item, scenario))
        if _was_reset(item) and may_send(state, "refresh", scenario):
            seen = {"generation": item.generation, "saw": (item.payload,)}
            yield _sent(*sent(state, "refresh", LISTING, part, **seen))
    if not scenario.pages and may_send(state, "create", scenario) and cleaning.plans(state, part, scenario):
        yield _sent(*families.created_as_seen(*sent(state, "create", LISTING, part), scenario))
    driven = item.status == ASSIGNED and item.nonce.startswith("W0.")
    if scenario.watched and driven and may_send(state, "fail", scenario):
        yield _sent(*sent_as_seen(state, "fail", TASK, part))


def _was_reset(item: Item) -> bool:
    """Return whether a listing that offers it again finds that it was reset, and that nobody has held it since."""
    return item.status == UNASSIGNED and item.last_op == item.generation != item.create_op


def _asked(state: State, kind: str, part: int, scenario: Scenario) -> bool:
    """Return whether anybody who has looked at its family asks for this."""
    if kind != "delete":
        return True
    awaited = scenario.rules.delete_sees_children and families.children_of(state, part)
    return not awaited and cleaning.may_be_deleted(state, part, scenario)


_FITS = {
    "release": (ASSIGNED,),
    "park": (UNASSIGNED, ASSIGNED, CLOSED, PARKED),
    "reopen_parked": (UNASSIGNED, CLOSED, PARKED),
    "reset": (UNASSIGNED, ASSIGNED, CLOSED, PARKED, COMPLETED),
    "finish": (UNASSIGNED, ASSIGNED, CLOSED, PARKED),
    "retract": (UNASSIGNED, ASSIGNED, CLOSED, PARKED, COMPLETED),
    "place": (UNASSIGNED,),
    "delete": (UNASSIGNED, ASSIGNED, CLOSED, PARKED, COMPLETED),
    "clean_up": (COMPLETED,),
}


def _sent(state: State, new: Message) -> Step:
    return ("is sent:", new), state, ""
