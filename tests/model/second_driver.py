"""A second driver process of one submission: it starts with what the first was handed, and knows nothing of it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.adversary import Step
from tests.model.rules import Scenario
from tests.model.sending import may_send, sent_as_seen, waiting
from tests.model.state import ASSIGNED, OWNS, REFUSED, State, with_message, with_worker


def starts(state: State, scenario: Scenario) -> Iterator[Step]:
    """Yield what worker 1 does: it starts, and retakes where it finds that it is the second."""
    handed = state.handed
    if handed is None:
        return
    item, begun = state.items[handed.part], [m for m in state.messages if m.by == 1]
    here = (item.status, item.token, item.nonce) == (ASSIGNED, handed.token, handed.nonce)
    if not begun:
        if scenario.rules.second_driver_joins and here:
            handed = handed._replace(last_op=item.last_op, progress=item.progress, staged=item.staged)
        yield ("W1, a second driver process, starts with what W0 was handed",), with_worker(state, 1, handed), ""
    elif here and begun[0].told == REFUSED and may_send(state, "retake", scenario):
        after, new = sent_as_seen(state, "retake", 1, handed.part)
        yield ("is sent:", new), waiting(with_message(after, new._replace(same_try=True)), new), ""


def hand_over(state: State, scenario: Scenario) -> State:
    """Remember what worker 0 got, for a second driver process."""
    if not scenario.second_driver or state.handed or state.workers[0].phase != OWNS:
        return state
    return state._replace(handed=state.workers[0])
