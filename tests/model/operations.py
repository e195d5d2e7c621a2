"""The operation table of the protocol: each function is one row, its condition first, then its effect.

``operation(item, m, due, scenario)`` returns the item after message ``m``, ``None`` if its condition refuses it.
``due`` is the free choice of the moment: expired, or due, by the store's clock. Creation and people: ``others``.
"""

from __future__ import annotations

from tests.model.rules import Rules, Scenario
from tests.model.state import (
    ASSIGNED,
    CLOSED,
    COMPLETED,
    PARKED,
    UNASSIGNED,
    Counts,
    Ending,
    Head,
    Item,
    Message,
    put,
)


def fenced(item: Item, m: Message, rules: Rules) -> bool:
    """Return F: ASSIGNED under the whole fence."""
    return (item.token, item.nonce) == (m.token, m.nonce) and (
        item.status == ASSIGNED or not rules.fence_needs_assigned
    )


def follows(item: Item, m: Message, rules: Rules) -> bool:
    """Return F and the chain: nothing was written since what the sender wrote last."""
    return fenced(item, m, rules) and (item.last_op == m.prev or not rules.chain)


def end(item: Item, outcome: str, op: str, status: str, slot: tuple[int, str] | None = None) -> Item:
    """Return END(outcome): the ending goes into the ring, owner and timeout are cleared."""
    token, nonce = slot or (item.token, item.nonce)
    entry = Ending(token, nonce, outcome, op, item.last_op)
    ring = put(item.ring, token % len(item.ring), entry)
    return item._replace(status=status, ring=ring, last_op=op, task=0, tries=0, timeout=0, confirmed=False)


def counted(item: Item, m: Message, *, over: bool = False) -> Item:
    """Return the item with the totals that a write carries, valid in the generation that it has then."""
    return item if m.counted is None else item._replace(counts=Counts(m.counted, item.generation, over))


def totals(counts: Counts, generation: str, rules: Rules) -> int:
    """Return what an owner adds to: the totals from before its tenure, where they are valid in its generation."""
    valid = counts.generation == generation or not rules.counts_of_one_generation
    return counts.rows if valid and not (counts.over and rules.passes_count_anew) else 0


def grant(item: Item, m: Message, scenario: Scenario) -> Item:
    """Return the item in the next tenure."""
    task, tries = scenario.task(m.by)
    return item._replace(
        status=ASSIGNED,
        token=item.token + 1,
        nonce=m.op,
        last_op=m.op,
        task=task,
        tries=tries,
        timeout=1,
        confirmed=False,
        limit=scenario.limit(m.by),
    )


def counts_as_lost(item: Item, rules: Rules) -> bool:
    """Return whether losing this tenure counts: only if its owner ever wrote."""
    return not rules.phantoms_count_nothing or item.confirmed or item.last_op != item.nonce


def limit_of(item: Item, judge: int, scenario: Scenario) -> int:
    """Return the limit in force for the item's lease, 0 = none: its own, and not that of who judges it."""
    return item.limit if scenario.rules.limit_travels else scenario.limit(judge)


def at_last(item: Item, judge: int, scenario: Scenario) -> bool:
    """Return whether one more lost lease parks the item."""
    limit = limit_of(item, judge, scenario)
    return bool(limit) and item.lost + 1 >= limit


def claimable(item: Item, due: bool, by: int, scenario: Scenario) -> bool:
    """Return whether an acquisition may take the item; at the last lost lease only a sweep may."""
    if item.waits and scenario.rules.blocked_waits:
        return False
    if item.status == ASSIGNED:
        return due and not (at_last(item, by, scenario) and scenario.rules.last_lease_needs_sweep)
    return item.status == UNASSIGNED or (item.status == CLOSED and due)


def take(item: Item, m: Message, scenario: Scenario, outcome: str = "lost") -> Item | None:
    """Return the item acquired; an old tenure is ended first."""
    if item.token >= scenario.max_token:
        return None
    if item.status == ASSIGNED:
        counts = outcome != "stolen" or not scenario.rules.stolen_counts_nothing
        lost = item.lost + (counts and counts_as_lost(item, scenario.rules))
        item = end(item, outcome, m.op, ASSIGNED)._replace(lost=lost)
    return grant(item, m, scenario)


def acquire_hint(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    seen = {
        "claimable": True,
        "token": item.token == m.token,
        "token and last op": (item.token, item.last_op) == (m.token, m.prev),
    }
    if not claimable(item, due, m.by, scenario) or not seen[scenario.rules.hint]:
        return None
    return take(item, m, scenario)


def acquire_query(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    if not claimable(item, due, m.by, scenario) or (m.applied and scenario.rules.query_once):
        return None
    return take(item, m, scenario)


def retake(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    task, tries = scenario.task(m.by)
    if item.status != ASSIGNED:
        return None
    if scenario.rules.retake_sees_version and (item.token, item.last_op) != (m.token, m.prev):
        return None
    if not m.same_try and (item.task != task or item.tries >= tries):
        return None
    if at_last(item, m.by, scenario):
        return None
    return take(item, m, scenario, "retaken")


def adopt(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    _, tries = scenario.task(m.by)
    if not fenced(item, m, scenario.rules) or (scenario.rules.adopt_writes and item.tries > tries):
        return None
    return item._replace(tries=tries) if scenario.rules.adopt_writes else item


def begin(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    if not fenced(item, m, scenario.rules) or item.last_op != m.nonce:
        return None
    return item._replace(last_op=m.op)


def renew(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    if not fenced(item, m, scenario.rules) or item.timeout >= m.timeout:
        return None
    return item._replace(timeout=m.timeout, confirmed=True)


def save(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    if not follows(item, m, scenario.rules):
        return None
    timeout = max(item.timeout, m.timeout) if scenario.rules.save_keeps_later_timeout else m.timeout
    item = item._replace(progress=m.progress, staged=m.blocks or (), timeout=timeout, last_op=m.op)
    return counted(item, m)


def save_global_state(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    if scenario.rules.state_under_fence and not follows(item, m, scenario.rules):
        return None
    return item._replace(progress=m.progress, last_op=m.op)


def complete(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    if not follows(item, m, scenario.rules):
        return None
    item = end(item, "completed", m.op, COMPLETED)._replace(staged=(), ttl=True)
    return succeeded(counted(item, m), scenario)


def close(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    """Close without state: the next pass starts fresh, in a generation of its own."""
    after = close_state(item, m, due, scenario)
    return after and counted(after._replace(progress=0, generation=m.op), m, over=True)


def close_state(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    if not follows(item, m, scenario.rules):
        return None
    last = m.closed >= scenario.max_closed
    item = end(item, "completed" if last else "closed", m.op, COMPLETED if last else CLOSED)
    item = item._replace(closed=m.closed, progress=m.progress, staged=(), ttl=last)
    return succeeded(counted(item, m), scenario)


def succeeded(item: Item, scenario: Scenario) -> Item:
    """Return the item after a success: lost leases count in a row."""
    return item._replace(lost=0) if scenario.rules.counts_in_a_row else item


def fail(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    return counted(end(item, "failed", m.op, UNASSIGNED), m) if follows(item, m, scenario.rules) else None


def give_up(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    return end(item, "given up", m.op, UNASSIGNED) if follows(item, m, scenario.rules) else None


def publish(head: Head, m: Message, rules: Rules) -> Head | None:
    """Return the head record after a publishing ending, ``None`` where it refuses the whole transaction."""
    if rules.head == "once per token" and m.token in head.used:
        return None
    hidden = rules.head == "by token" and head.op and m.token < head.token
    if m.blocks is None or hidden:
        return head
    return Head(m.op, m.token, m.generation, m.blocks, (*head.used, m.token))


def reclaim(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    rule = scenario.rules.reclaim
    if item.status != ASSIGNED or not due:
        return None
    if rule in ("fence", "version") and (item.token, item.nonce) != (m.token, m.nonce):
        return None
    if rule == "version" and item.last_op != m.prev:
        return None
    counts = counts_as_lost(item, scenario.rules)
    lost, limit = item.lost + counts, limit_of(item, m.by, scenario)
    status = PARKED if counts and limit and lost >= limit else UNASSIGNED
    slot = (m.token, m.nonce) if rule == "message" else None
    return end(item, "lost", m.op, status, slot)._replace(lost=lost)


def reopen(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    if item.status != CLOSED or not due or (scenario.rules.reopen_sees_version and item.last_op != m.prev):
        return None
    return item._replace(status=UNASSIGNED, last_op=m.op)
