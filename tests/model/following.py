"""What follows an accepted ending at the source (an object is deleted, an offset committed): the promise S27.

The ending's own commit notes it. Somebody reads the note, does it, and takes the note away; whoever did not live to do
so leaves it to the next. That it was done by whom, and how often, the protocol does not know.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.rules import Scenario
from tests.model.sending import may_send, sent
from tests.model.state import PERSON, PUBLISHING, FollowUp, Message, State

Following = Iterator[tuple[tuple[object, ...], State, str]]


def noted(state: State, m: Message, part: int, scenario: Scenario) -> State:
    """Return the state in which an ending that was applied has its follow-up beside it, in the same commit."""
    if m.kind not in PUBLISHING or not scenario.follow_ups:
        return state
    return _with(state, FollowUp(m.op, part, stored=scenario.rules.noted_by_commit))


def follows(state: State, scenario: Scenario) -> Following:
    """Yield what anybody may do about a follow-up that they have read."""
    if not scenario.follow_ups:
        return
    yield from _too_early(state, scenario)
    for one in state.follow_ups:
        if one.stored and not one.done:
            yield ("somebody does what follows", one.op), _with(state, one._replace(done=True)), ""
        if one.stored and (one.done or not scenario.rules.done_before_cleared) and may_send(state, "clear", scenario):
            after, new = sent(state, "clear", PERSON, one.part, prev=one.op)
            yield ("is sent:", new), after, ""


def _too_early(state: State, scenario: Scenario) -> Following:
    """Yield doing it when the ending is sent, in the hope that it will be accepted."""
    for m in state.messages if not scenario.rules.done_after_commit else ():
        if m.kind in PUBLISHING and not any(one.op == m.op for one in state.follow_ups):
            yield ("somebody does what follows", m), state, f"S27: done for {m.op}, which was not accepted"


def cleared(state: State, m: Message, scenario: Scenario) -> State:
    """Return the state without the note that ``m`` takes away; twice, it takes nothing more away."""
    by_op = scenario.rules.cleared_by_op
    for one in state.follow_ups:
        if one.part == m.part and (one.op == m.prev or not by_op):
            state = _with(state, one._replace(stored=False))
    return state


def lost(state: State) -> str:
    """Return what nobody will ever do any more: it is not done, and nothing says so."""
    for one in state.follow_ups:
        if not one.stored and not one.done:
            return f"S27: what follows {one.op} is not done, and nobody knows of it"
    return ""


def _with(state: State, new: FollowUp) -> State:
    """Return the state with ``new`` in the place of what was known of its operation."""
    others = [one for one in state.follow_ups if one.op != new.op]
    return state._replace(follow_ups=tuple(sorted([*others, new])))
