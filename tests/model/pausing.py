"""Pausing a source: what it holds back, what it must not, and the promise X12."""

from __future__ import annotations

from tests.model.rules import Scenario
from tests.model.state import Message, Pause, State, with_message

HELD_BACK = frozenset(("acquire_hint", "acquire_query", "steal"))
"""New tenures. A retake goes on with what its own task has begun, and is none."""


def in_force(state: State) -> str:
    """Return the operation that has paused the source, empty while it is not."""
    pause = state.pauses[0]
    return pause.op if pause.on else ""


def steered(state: State, m: Message, scenario: Scenario) -> tuple[State, str]:
    """Return the state after a pause or resume, and what is wrong with it; the same state if it is refused."""
    pause, wanted = state.pauses[0], m.kind == "pause"
    if (pause.op != m.prev) if scenario.rules.pause_sees_version else (pause.on == wanted):
        return state, ""
    broken = f"applied twice: {m.kind} {m.op}" if m.applied else ""
    return with_message(state._replace(pauses=(Pause(m.op, wanted),)), m._replace(applied=True)), broken


def holds_back(state: State, m: Message, scenario: Scenario) -> bool:
    """Return whether the pause refuses a message as a whole."""
    if m.kind == "acquire_hint" and scenario.rules.pause == "but hints":
        return False
    refused = HELD_BACK | {"fused"} if scenario.rules.pause == "endings, too" else HELD_BACK
    return m.kind in refused and _holds(state, m, scenario)


def holds_back_the_next(state: State, m: Message, scenario: Scenario) -> bool:
    """Return whether "complete and acquire next" completes only."""
    return _holds(state, m, scenario)


def _holds(state: State, m: Message, scenario: Scenario) -> bool:
    return bool(m.under if scenario.rules.pause == "when sent" else in_force(state))


def of_owner(m: Message) -> str:
    """Return what is wrong where a pause refuses what would be applied without it: X12."""
    return "" if m.kind in HELD_BACK else f"X12: a pause keeps an owner from its {m.kind}"


def acquired(state: State, m: Message) -> str:
    """Return what is wrong with a new tenure: X12. What was under way when the source was paused may still begin."""
    pause = in_force(state)
    if not pause or m.under != pause or m.kind == "retake":
        return ""
    return f"X12: {m.kind} {m.op} acquires under {pause}, which was there before it was sent"
