"""The adversary: whatever was sent may be applied any number of times, at any later moment, in any order.

Each answer may be lost. A process that crashes is one that never acts again; a lease that expires, or a time that
comes, is a free choice of the moment at which a message is applied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model import asking, checks, cleaning, families, following, parking, pausing, settling
from tests.model.operations import claimable, publish, take
from tests.model.others import TABLE, nothing
from tests.model.rules import Scenario
from tests.model.state import (
    ACQUISITIONS,
    ANY,
    CHAIN,
    CLEAR,
    COMPLETED,
    FOLLOWED,
    HEAL,
    STEERING,
    TASK,
    TOMBSTONE,
    WAITS,
    Head,
    Item,
    Message,
    State,
    Truth,
    put,
    with_message,
)

Label = tuple[object, ...]
Step = tuple[Label, State, str]
"""What happens, the state after it, and the promise that it breaks (empty: none)."""


class Applied(NamedTuple):
    """One delivery of a message: the state after it, and what it did."""

    state: State
    part: int | None
    following: int | None = None
    broken: str = ""


def applications(state: State, m: Message, scenario: Scenario) -> Iterator[Applied]:
    """Yield everything that the store may do with ``m`` now; refusals have no ``part``.

    That something is not yet due makes a difference only where the sender hears of it.
    """
    if m.dead:
        yield Applied(state, None)
        return
    if m.kind in _OF_NO_LIFE:
        yield _OF_NO_LIFE[m.kind](state, m, scenario)
        return
    for due in (True, False) if m.kind == "fused" or (m.kind in ACQUISITIONS and listens(state, m)) else (True,):
        parts = range(scenario.partitions) if m.part == ANY else (m.part,)
        done = [found for part in parts if (found := applied_to(state, m, part, due, scenario))]
        if pausing.holds_back(state, m, scenario):
            yield Applied(state, None, broken=pausing.of_owner(m) if done else "")
            continue
        for one in done:
            yield from _with_second_half(one, m, due, scenario) if m.kind == "fused" else (one,)
        if not done:
            refused = Applied(state, None)
            unconditional = m.kind == "fused" and not scenario.rules.fused_needs_completion
            yield from _with_second_half(refused, m, due, scenario) if unconditional else (refused,)


def _steered(state: State, m: Message, scenario: Scenario) -> Applied:
    after, broken = pausing.steered(state, m, scenario)
    return Applied(after, None if after is state else ANY, None, broken)


def _followed(state: State, m: Message, scenario: Scenario) -> Applied:
    after, broken = parking.taken_out(state, m, scenario)
    return Applied(after, m.part, None, broken)


_OF_NO_LIFE = {
    **dict.fromkeys(STEERING, _steered),
    CLEAR: lambda state, m, scenario: Applied(following.cleared(state, m, scenario), m.part),
    FOLLOWED: _followed,
    HEAL: lambda state, m, scenario: Applied(families.healed(state, m, scenario), m.part),
}
"""Messages that are no step in a partition's life."""


def applied_to(state: State, m: Message, part: int, due: bool, scenario: Scenario) -> Applied | None:
    """Return the state after ``m`` is applied to ``part``, ``None`` if its condition refuses it."""
    before, truth, head = state.items[part], state.truths[part], state.heads[part]
    chosen = families.admitted(state, m, part, scenario)
    after = None if chosen is None else TABLE[m.kind](before, m, due, scenario)
    if after is None or chosen is None:
        return None
    if m.blocks is not None and m.kind in CHAIN and m.kind != "save":
        head = publish(head, m, scenario.rules)
        if head is None:
            return None
    if m.kind == "retract":
        head = head._replace(blocks=())
    if m.kind in ACQUISITIONS:
        truth, broken = checks.granted(truth, m, before, after, scenario)
        broken = broken or pausing.acquired(state, m) or asking.unasked(state, m, before)
        m = m._replace(granted=(*m.granted, after.token))
    else:
        truth, broken = checks.witness(truth, m, before, after, head, scenario)
        broken = broken or checks.of_sweep(truth, m, before, after) or checks.of_supplier(m, state, scenario)
    noted = _stored(following.noted(state, m, part, scenario), m, part, after, head, truth)
    whole = families.followed(state, noted, m, part, chosen, scenario)
    broken = broken or families.early(state, m, part) or cleaning.planned_again(before, m, scenario)
    return Applied(whole, part, None, broken)


def _stored(state: State, m: Message, part: int, item: Item, head: Head, truth: Truth) -> State:
    state = state._replace(
        items=put(state.items, part, item), heads=put(state.heads, part, head), truths=put(state.truths, part, truth)
    )
    return with_message(state, m if m.applied else m._replace(applied=True))


def _with_second_half(first: Applied, m: Message, due: bool, scenario: Scenario) -> Iterator[Applied]:
    """Yield "acquire next" in the same commit: whatever is claimable then, nothing if nothing is."""
    state, nothing_claimable = first.state, True
    if pausing.holds_back_the_next(state, m, scenario):
        yield first
        return
    for part in range(scenario.partitions):
        before = state.items[part]
        if part == m.part or not claimable(before, due, m.by, scenario):
            continue
        after = take(before, m._replace(op=m.op + "+"), scenario)
        if after is None:
            continue
        nothing_claimable = False
        truth, broken = checks.granted(state.truths[part], m, before, after, scenario)
        broken = broken or pausing.acquired(state, m)
        sent = m._replace(granted=(*m.granted, after.token))
        yield Applied(
            _stored(state, sent, part, after, state.heads[part], truth), first.part, part, first.broken or broken
        )
    if nothing_claimable or m.halved:
        yield first


def deliveries(state: State, scenario: Scenario) -> Iterator[Step]:
    """Yield every delivery of every message, with its answer lost and with its answer heard."""
    for m in state.messages:
        for one in applications(state, m, scenario):
            if one.part is not None or one.following is not None or one.broken:
                yield ("store applies", m, "(answer lost)"), one.state, one.broken
            yield from answers(one, m, scenario)


def answers(one: Applied, m: Message, scenario: Scenario) -> Iterator[Step]:
    """Yield what the sender does when it hears this answer, if it still listens."""
    if not listens(one.state, m):
        return
    applied = one.part is not None
    sent = next(found for found in one.state.messages if found.op == m.op)
    after, broken = conclude(one, sent, applied, scenario)
    if after is not one.state:
        told = next(found.told for found in after.messages if found.op == m.op)
        heard = ("store applies" if applied else "store refuses", m, f"and its sender learns: {told}")
        yield heard, after, one.broken or broken


def listens(state: State, m: Message) -> bool:
    """Return whether anybody waits for the answer to ``m``."""
    if m.kind == "renew" or m.by == TASK:
        return not m.told
    return m.by >= 0 and state.workers[m.by].phase == WAITS and state.workers[m.by].call == m.op


def conclude(one: Applied, m: Message, applied: bool, scenario: Scenario) -> settling.Learnt:
    """Return the state in which the sender of ``m`` knows this answer."""
    if m.kind == "renew":
        return settling.renewal(one.state, m, scenario, applied=applied)
    if m.kind == "create":
        return settling.created(one.state, m), ""
    if m.kind in ACQUISITIONS:
        return settling.acquisition(one.state, m, one.part)
    return settling.chain_write(one.state, m, scenario, applied=applied, following=one.following)


def time_to_live(state: State, scenario: Scenario) -> Iterator[Step]:
    """Yield the deletions by TTL. No message outlives one: TTLs stay well above the age that a server accepts."""
    for part, item in enumerate(state.items):
        if not item.ttl or state.truths[part].life >= scenario.max_token:
            continue
        broken = "" if item.status in (COMPLETED, TOMBSTONE) else f"TTL deletes a live partition ({item.status})"
        messages = state.messages
        if scenario.rules.ttl_outlives_messages:
            messages = tuple(m._replace(dead=m.dead or m.part in (part, ANY)) for m in messages)
        gone = state._replace(
            items=put(state.items, part, nothing(scenario)),
            truths=put(state.truths, part, Truth(life=state.truths[part].life)),
            messages=messages,
        )
        yield ("TTL deletes the item", part), gone, broken
