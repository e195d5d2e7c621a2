"""The supplier: creates its listing page by page under a lease of its own, and saves how far it has come."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.adversary import Step
from tests.model.rules import Scenario
from tests.model.sending import may_send, sent, waiting
from tests.model.state import OWNS, WAITS, State, Worker, with_worker
from tests.model.workers import after_unknown, send_owned, while_waiting


def supplies(state: State, index: int, scenario: Scenario) -> Iterator[Step]:
    """Yield everything that one supplier may do now. Killed, it does nothing any more."""
    worker = state.workers[index]
    if worker.phase == WAITS:
        yield from while_waiting(state, index, worker, scenario)
    elif worker.phase == OWNS:
        yield from pages(state, index, worker, scenario)
    elif may_send(state, "acquire_query", scenario) and _its_turn(state, index, scenario):
        after, new = sent(state, "acquire_query", index, scenario.global_state)
        yield ("is sent:", new), waiting(after, new), ""


def _its_turn(state: State, index: int, scenario: Scenario) -> bool:
    return index == scenario.workers or any(m.by == index - 1 for m in state.messages)


def pages(state: State, index: int, worker: Worker, scenario: Scenario) -> Iterator[Step]:
    """Yield the next create of the page, the save after its last, and giving the lease back after the last page."""
    if worker.unsettled:
        yield from after_unknown(state, index, "give_up", scenario)
        return
    if worker.progress == len(scenario.pages):
        if may_send(state, "give_up", scenario):
            yield send_owned(state, index, "give_up", scenario)
        return
    page = scenario.pages[worker.progress]
    if worker.pages < len(page):
        yield create(state, index, worker, page[worker.pages], scenario)
    elif may_send(state, "save_state", scenario):
        yield save(state, index, worker)


def create(state: State, index: int, worker: Worker, part: int, scenario: Scenario) -> Step:
    """Return a create. The state that covers it is saved only once it is known to exist."""
    after, new = sent(state, "create", index, part)
    if scenario.rules.state_after_pages:
        return ("is sent:", new), waiting(after, new), ""
    return ("is sent:", new), with_worker(after, index, worker._replace(pages=worker.pages + 1)), ""


def save(state: State, index: int, worker: Worker) -> Step:
    """Return the save of the global state after one more page, in the supplier's chain."""
    after, new = sent(
        state, "save_state", index, worker.part, token=worker.token, nonce=worker.nonce, prev=worker.last_op,
        since=worker.progress, progress=worker.progress + 1, life=worker.life,
    )  # fmt: skip
    return ("is sent:", new), waiting(after, new), ""
