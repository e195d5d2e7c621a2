"""Asking another worker for its lease, and stealing what was not handed over in time.

Who asks leaves a mark, which is no write of the owner's. The owner hands over by giving up. A mark names the tenure
that it was made for, so that no ending need clear it. After its deadline, a free choice of the moment here, the sender
of the newest mark may take the lease while it is still held; one that has run out is acquired as any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.model.operations import fenced, take
from tests.model.rules import Scenario
from tests.model.sending import may_send, sent, sent_as_seen, waiting
from tests.model.state import ASK, ASSIGNED, IDLE, Item, Message, State

Happening = tuple[tuple[object, ...], State, str]


def ask(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    """Mark a running tenure, where no other mark of it is young; how old one is, is a free choice."""
    return item._replace(wanted=(m.by, item.token)) if fenced(item, m, scenario.rules) else None


def steal(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    """Take a running tenure that was not handed over."""
    rules = scenario.rules
    if item.status != ASSIGNED or not due:
        return None
    if rules.steal_needs_mark and not _marked(item, m.by, scenario):
        return None
    if rules.steal_names_fence and not fenced(item, m, rules):
        return None
    return take(item, m, scenario, "stolen")


def _marked(item: Item, by: int, scenario: Scenario) -> bool:
    if not item.wanted:
        return False
    asker, token = item.wanted
    return asker == by and (token == item.token or not scenario.rules.mark_names_tenure)


def happenings(state: State, index: int, scenario: Scenario) -> Iterator[Happening]:
    """Yield a worker's questions for the leases of others, and its stealing after one."""
    for part, item in enumerate(state.items[: scenario.partitions]):
        if item.status != ASSIGNED or item.nonce.startswith(f"W{index}."):
            continue
        if may_send(state, ASK, scenario) and state.workers[index].phase == IDLE:
            after, new = sent_as_seen(state, ASK, index, part)
            yield ("is sent:", new), after, ""
        if may_send(state, "steal", scenario) and any(m.kind == ASK and m.by == index for m in state.messages):
            after, new = sent(state, "steal", index, part, **_seen(item))
            yield ("is sent:", new), waiting(after, new), ""


def _seen(item: Item) -> dict[str, Any]:
    return {"token": item.token, "nonce": item.nonce, "prev": item.last_op, "status": item.status}


def unasked(state: State, m: Message, before: Item) -> str:
    """Return what is wrong where a tenure is stolen that its thief has not asked for (promise S28)."""
    if m.kind != "steal":
        return ""
    tenure = (before.token, before.nonce)
    asked = any(
        one.kind == ASK and one.by == m.by and one.applied and (one.token, one.nonce) == tenure
        for one in state.messages
    )
    return "" if asked else f"S28: {m.op} steals tenure {before.token}-{before.nonce}, which its sender never asked for"
