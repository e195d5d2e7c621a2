"""The rows of the operation table that no owner and no sweep sends: creation, people, and TTL."""

from __future__ import annotations

from tests.model import asking, parking
from tests.model import operations as owners
from tests.model.operations import end
from tests.model.rules import Scenario
from tests.model.state import ABSENT, ASSIGNED, COMPLETED, PARKED, TOMBSTONE, UNASSIGNED, Item, Message


def create(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    """Create where there is nothing, or over a tombstone that another create had led to."""
    again = item.status == TOMBSTONE and item.create_op != m.op and scenario.rules.recreation
    if not (item.status == ABSENT or again) or (scenario.create_once and m.applied):
        return None
    return Item(UNASSIGNED, item.token, item.nonce, m.op, generation=m.op, create_op=m.op, ring=item.ring)


def as_seen(item: Item, m: Message, scenario: Scenario) -> bool:
    """Return people's condition: F as seen for ASSIGNED, otherwise status, token and last operation as seen."""
    if item.status in (ABSENT, TOMBSTONE):
        return False
    if not scenario.rules.people_see_version:
        return item.token == m.token
    if m.status == ASSIGNED:
        return (item.status, item.token, item.nonce) == (ASSIGNED, m.token, m.nonce)
    return (item.status, item.token, item.last_op) == (m.status, m.token, m.prev)


def released(item: Item, m: Message, status: str) -> Item:
    """Return the item in ``status``; its owner, if any, has lost it, and the token moves on."""
    if item.status != ASSIGNED:
        return item._replace(status=status, last_op=m.op)
    return end(item, "released", m.op, status)._replace(token=item.token + 1, nonce=m.op)


def release(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    if not as_seen(item, m, scenario) or item.status != ASSIGNED:
        return None
    return released(item, m, UNASSIGNED)


def park(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    return released(item, m, PARKED) if as_seen(item, m, scenario) else None


def reopen_parked(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    if not as_seen(item, m, scenario) or item.status in (ASSIGNED, COMPLETED):
        return None
    return released(item, m, UNASSIGNED)._replace(lost=0)


def reset(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    if not as_seen(item, m, scenario):
        return None
    after = released(item, m, UNASSIGNED)._replace(progress=0, closed=0, lost=0, generation=m.op)
    after = after._replace(staged=()) if scenario.rules.reset_clears_staged else after
    return after._replace(ttl=False) if scenario.rules.reset_clears_ttl else after


def finish(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    """Complete without the work: for a parked parent whose children should go on.

    What it waits for itself it goes on waiting for: it may be reset.
    """
    if not as_seen(item, m, scenario) or item.status == COMPLETED:
        return None
    return released(item, m, COMPLETED)._replace(staged=(), lost=0)


def retract(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    """Take back what is published; the head record is emptied in the same step."""
    held, rules = item.status == ASSIGNED, scenario.rules
    if not as_seen(item, m, scenario) or (held and rules.retract_needs_free):
        return None
    if item.staged and rules.retract_needs_nothing_staged:
        return None
    return item if held else item._replace(last_op=m.op)


def delete(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    if not as_seen(item, m, scenario):
        return None
    if not scenario.rules.tombstones:
        return nothing(scenario)
    after = released(item, m, TOMBSTONE)
    return Item(
        TOMBSTONE, item.token + 1, m.op, m.op, ttl=True, generation=item.generation, create_op=item.create_op,
        ring=after.ring,
    )  # fmt: skip


def clean_up(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    """Delete what has finished; who names it as a parent finds that it had."""
    after = delete(item, m, due, scenario)
    return after and after._replace(finished=True)


def place(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    """Give a partition that nobody has touched the life that it had in another store: its fence goes on."""
    untouched = item.status == UNASSIGNED and item.token == 0 and item.last_op == m.prev
    if item.status in (ABSENT, TOMBSTONE) or (scenario.rules.place_needs_untouched and not untouched):
        return None
    return item._replace(status=UNASSIGNED, token=1, nonce="elsewhere", last_op="elsewhere", task=0, timeout=0)


def refresh(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    """Give a partition that was reset, and that nobody has held since, another payload."""
    rules = scenario.rules
    as_reset = item.last_op == item.generation == m.generation or not rules.refresh_sees_reset
    as_offered = (item.payload,) == m.saw or not rules.refresh_sees_payload
    if item.status != UNASSIGNED or not as_reset or not as_offered:
        return None
    return item._replace(payload=m.op)


def nothing(scenario: Scenario) -> Item:
    """Return an absent partition."""
    return Item(ring=(None,) * scenario.ring)


TABLE = {
    "create": create,
    "acquire_hint": owners.acquire_hint,
    "acquire_query": owners.acquire_query,
    "retake": owners.retake,
    "steal": asking.steal,
    "ask": asking.ask,
    "adopt": owners.adopt,
    "begin": owners.begin,
    "renew": owners.renew,
    "save": owners.save,
    "say": parking.say,
    "save_state": owners.save_global_state,
    "complete": owners.complete,
    "fused": owners.complete,
    "close": owners.close,
    "close_state": owners.close_state,
    "fail": owners.fail,
    "give_up": owners.give_up,
    "reclaim": owners.reclaim,
    "reopen": owners.reopen,
    "release": release,
    "park": park,
    "reopen_parked": reopen_parked,
    "reset": reset,
    "finish": finish,
    "retract": retract,
    "delete": delete,
    "clean_up": clean_up,
    "place": place,
    "refresh": refresh,
}
"""Every operation by its name."""
