"""What a worker may do next, knowing what it knows: acquire, renew, save, end, settle, give phantoms back."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model import asking, families, second_driver
from tests.model.adversary import Step
from tests.model.operations import totals
from tests.model.rules import Rules, Scenario
from tests.model.sending import may_send, sent, sent_as_seen, waiting
from tests.model.settling import found, own, stop
from tests.model.state import (
    ABSENT,
    ACQUISITIONS,
    ANY,
    ASSIGNED,
    CHAIN,
    COMPLETED,
    LEFT,
    OWNS,
    PARKED,
    PUBLISHING,
    TOMBSTONE,
    WAITS,
    Message,
    State,
    Worker,
    message,
    with_message,
    with_worker,
)

ENDS = ("complete", "fused", "close", "close_state", "fail", "give_up")
SAME_WISH = {"fused": "complete"}
"""Completing, with or without acquiring the next, is one intent."""


def moves(state: State, index: int, scenario: Scenario) -> Iterator[Step]:
    """Yield everything that one worker may do now."""
    worker = state.workers[index]
    if worker.phase == WAITS:
        yield from while_waiting(state, index, worker, scenario)
    elif worker.phase == OWNS:
        yield from while_owning(state, index, worker, scenario)
    elif index == 1 and scenario.second_driver:
        yield from second_driver.starts(state, scenario)
    elif _its_turn(state, index, scenario):
        yield from while_idle(state, index, scenario)


def _its_turn(state: State, index: int, scenario: Scenario) -> bool:
    """Return whether the worker may start: of workers that are all alike, the first starts first."""
    alike = not (scenario.own_try or scenario.second_driver or scenario.watched)
    return index == 0 or not alike or any(m.by == index - 1 for m in state.messages)


def while_idle(state: State, index: int, scenario: Scenario) -> Iterator[Step]:
    """Yield the ways to a lease."""
    for part in range(scenario.partitions):
        item = state.items[part]
        if item.status not in (ABSENT, COMPLETED, PARKED, TOMBSTONE) and may_send(state, "acquire_hint", scenario):
            yield _asked(*sent_as_seen(state, "acquire_hint", index, part))
        task, tries = scenario.task(index)
        earlier = item.status == ASSIGNED and item.task == task and item.tries < tries
        if earlier and may_send(state, "retake", scenario):
            yield _asked(*sent_as_seen(state, "retake", index, part))
        if earlier and may_send(state, "adopt", scenario):
            after, new = sent_as_seen(state, "adopt", index, part)
            yield ("is sent:", new), after, ""
    yield from asking.happenings(state, index, scenario)
    if may_send(state, "acquire_query", scenario):
        part = 0 if scenario.partitions == 1 else ANY
        yield _asked(*sent(state, "acquire_query", index, part))
    yield from phantoms(state, index, scenario)


def _asked(state: State, new: Message) -> Step:
    return ("is sent:", new), waiting(state, new), ""


def phantoms(state: State, index: int, scenario: Scenario) -> Iterator[Step]:
    """Yield giving back what an acquisition with a lost answer turns out to have taken."""
    for nonce in state.workers[index].phantoms:
        part = found(state, nonce)
        if part is not None and may_send(state, "give_up", scenario):
            mine = own(state, index, part)
            rest = tuple(other for other in mine.workers[index].phantoms if other != nonce)
            mine = with_worker(mine, index, mine.workers[index]._replace(phantoms=rest))
            label, after, _ = send_owned(mine, index, "give_up", scenario)
            yield ("finds its phantom", nonce, "and gives it back:", *label[1:]), after, ""


def while_waiting(state: State, index: int, worker: Worker, scenario: Scenario) -> Iterator[Step]:
    """Yield what is done without an answer: renewing beside the call, and going on when its time is up."""
    m = message(state, worker.call)
    assert m is not None
    if m.kind in ACQUISITIONS:
        remembers = "give_up" in scenario.sends  # otherwise it makes no difference within these bounds
        remembered = worker._replace(phantoms=(*worker.phantoms, m.op)) if remembers else worker
        left = with_message(with_worker(state, index, remembered), m._replace(told=LEFT))
        yield (f"W{index} hears nothing of", m, "and goes on"), stop(left, index), ""
        return
    if m.kind in CHAIN and may_send(state, "renew", scenario):
        yield renewal(state, index, worker)
    if scenario.unknown and m.kind in (CHAIN | {"save_state"}) - {"begin"}:
        fused = (m.op + "+",) if m.kind == "fused" and not m.halved else ()
        kept = worker._replace(
            phase=OWNS, call="", wish="", unsettled=m.op, phantoms=tuple(dict.fromkeys(worker.phantoms + fused))
        )
        yield (f"W{index}'s call of", m, "ends with OutcomeUnknownError"), with_worker(state, index, kept), ""


def renewal(state: State, index: int, worker: Worker) -> Step:
    """Return a renewal, which is no write of the chain."""
    timeout = worker.timeout + 2
    state = with_worker(state, index, worker._replace(timeout=timeout))
    after, new = sent(state, "renew", index, worker.part, token=worker.token, nonce=worker.nonce, timeout=timeout)
    return ("is sent:", new), after, ""


def while_owning(state: State, index: int, worker: Worker, scenario: Scenario) -> Iterator[Step]:
    """Yield an owner's calls. The first settles what the call before has left unknown."""
    if may_send(state, "renew", scenario):
        yield renewal(state, index, worker)
    if scenario.second_driver and scenario.rules.begin and not worker.begun:
        if may_send(state, "begin", scenario):
            yield send_owned(state, index, "begin", scenario)
        return
    for kind in ("save", "say", *ENDS):
        if worker.unsettled:
            yield from after_unknown(state, index, kind, scenario)
        elif may_send(state, kind, scenario) and _sensible(worker, kind, scenario):
            yield send_owned(state, index, kind, scenario)


def _sensible(worker: Worker, kind: str, scenario: Scenario) -> bool:
    if kind == "save":
        return worker.progress < scenario.rows
    return kind != "close_state" or (worker.progress == 1 and worker.closed + 1 < scenario.max_closed)


def after_unknown(state: State, index: int, kind: str, scenario: Scenario) -> Iterator[Step]:
    """Yield the call after an unknown outcome: the write before is settled, then ``kind`` is sent if it is another."""
    worker = state.workers[index]
    earlier = message(state, worker.unsettled)
    assert earlier is not None
    same = kind not in ("save", "say") and SAME_WISH.get(kind, kind) == SAME_WISH.get(earlier.kind, earlier.kind)
    same &= scenario.rules.same_wish_is_same_write
    if not same and not (may_send(state, kind, scenario) and _sensible(worker, kind, scenario)):
        return
    if not scenario.rules.settle_before_next and not same:
        yield send_owned(with_worker(state, index, worker._replace(unsettled="")), index, kind, scenario)
        return
    halved = with_message(state, earlier._replace(halved=earlier.kind == "fused"))
    again = worker._replace(phase=WAITS, call=earlier.op, wish="" if same else kind)
    yield (f"W{index} is asked for {kind} and settles first:", earlier), with_worker(halved, index, again), ""


def send_owned(state: State, index: int, kind: str, scenario: Scenario) -> Step:
    """Return an owner's chain write, built on what the owner knows."""
    worker = state.workers[index]
    number = sum(m.by == index for m in state.messages) + 1
    progress, blocks = _content(state, worker, kind, f"W{index}.{number}", scenario)
    after, new = sent(
        state, kind, index, worker.part, token=worker.token, nonce=worker.nonce, prev=worker.last_op,
        since=worker.progress, progress=progress, blocks=blocks, generation=worker.generation,
        closed=worker.closed + (kind in ("close", "close_state")), timeout=worker.timeout + 1,
        life=worker.life, counted=_counted(worker, kind, progress, scenario.rules),
    )  # fmt: skip
    after, new = families.reading(after, new, scenario)
    return ("is sent:", new), waiting(after, new), ""


def _counted(worker: Worker, kind: str, progress: int, rules: Rules) -> int | None:
    """Return the totals that a write carries: those from before the tenure, and what it has counted since it began."""
    fails = kind == "fail" and not rules.failures_count_nothing
    if kind != "save" and kind not in PUBLISHING and not fails:
        return None
    done = progress - worker.began + fails  # a failure: with the row at work
    return totals(worker.counts, worker.generation, rules) + done


def _content(state: State, worker: Worker, kind: str, op: str, scenario: Scenario) -> tuple[int, tuple | None]:
    """Return progress after the write, and its blocks: all staged ones for a save, the whole head for an ending."""
    if kind == "save":
        return worker.progress + 1, (*worker.staged, (worker.progress, op))
    if kind not in PUBLISHING:
        return worker.progress, None
    upto = worker.progress if kind == "close_state" else scenario.rows
    published = (*worker.staged, *((row, op) for row in range(worker.progress, upto)))
    head = state.heads[worker.part]
    adds = head.op and head.generation == worker.generation and scenario.rules.same_generation_adds
    progress = worker.progress if kind == "close_state" else scenario.rows
    return progress, ((*head.blocks, *published) if adds else published) if published else None


def settled_wish(state: State, scenario: Scenario) -> State:
    """Send what a worker was asked for, once the write before is settled."""
    for index, worker in enumerate(state.workers):
        if worker.phase == OWNS and worker.wish:
            cleared = with_worker(state, index, worker._replace(wish=""))
            return send_owned(cleared, index, worker.wish, scenario)[1]
    return state
