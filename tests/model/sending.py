"""Sending: a write gets an id of its own, and names what its sender knows or saw."""

from __future__ import annotations

from typing import Any

from tests.model import pausing
from tests.model.rules import Scenario
from tests.model.state import LISTING, PERSON, SWEEP, TASK, WAITS, Message, State, with_message, with_worker

NAMES = {SWEEP: "sweep", TASK: "task", PERSON: "person", LISTING: "listing"}


def may_send(state: State, kind: str, scenario: Scenario) -> bool:
    """Return whether another write of this kind is within the scenario's bounds."""
    limit = scenario.sends.get(kind, 0)
    return limit > 0 and sum(m.kind == kind for m in state.messages) < limit


def sent(state: State, kind: str, by: int, part: int, **names: Any) -> tuple[State, Message]:
    """Return the state with one more message in the bag, and that message."""
    number = sum(m.by == by for m in state.messages) + 1
    names.setdefault("life", state.truths[part].life if part >= 0 else 0)
    names.setdefault("under", pausing.in_force(state))
    new = Message(f"{NAMES.get(by, f'W{by}')}.{number}", kind, by, part, **names)
    return with_message(state, new), new


def sent_as_seen(state: State, kind: str, by: int, part: int) -> tuple[State, Message]:
    """Return the same, conditioned on the partition as it is now."""
    item = state.items[part]
    return sent(state, kind, by, part, token=item.token, nonce=item.nonce, prev=item.last_op, status=item.status)


def waiting(state: State, new: Message) -> State:
    """Return the state in which the sender of ``new`` waits for its answer."""
    worker = state.workers[new.by]
    return with_worker(state, new.by, worker._replace(phase=WAITS, call=new.op, wish=""))
