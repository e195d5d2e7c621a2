"""What a sender learns from an answer: *Settle* of the protocol, and what it does then."""

from __future__ import annotations

from tests.model import checks
from tests.model.rules import Rules, Scenario
from tests.model.state import (
    ABSENT,
    ASSIGNED,
    CHAIN,
    ENDINGS,
    OK,
    OWNS,
    REFUSED,
    REPEAT,
    UNKNOWN,
    Head,
    Item,
    Message,
    State,
    Worker,
    with_message,
    with_worker,
)

Learnt = tuple[State, str]


def held_under(item: Item, m: Message) -> bool:
    """Return F, as the sender judges it by the item that came with the refusal."""
    return (item.status, item.token, item.nonce) == (ASSIGNED, m.token, m.nonce)


def judge(item: Item, head: Head, m: Message, rules: Rules) -> str:
    """Return what a refusal means (protocol, *Settle* 1 to 3)."""
    if held_under(item, m):
        if item.last_op == m.op:
            return OK
        return REFUSED if rules.overtaken_stops and item.last_op != m.prev else REPEAT
    ending = item.ring[m.token % len(item.ring)]
    if item.status != ABSENT and ending and (ending.token, ending.nonce) == (m.token, m.nonce):
        known = ending.op == m.op or (rules.ring_keeps_last and ending.last == m.op)
        return OK if known else REFUSED
    if item.status == ABSENT and not rules.absent_is_unknown:
        return REFUSED
    return OK if head.op == m.op else UNKNOWN


def own(state: State, index: int, part: int) -> State:
    """Return the state in which a worker knows that it has acquired a partition."""
    item, before = state.items[part], state.workers[index]
    worker = Worker(
        OWNS, part=part, token=item.token, nonce=item.nonce, last_op=item.last_op, progress=item.progress,
        staged=item.staged, closed=item.closed, generation=item.generation, timeout=1, phantoms=before.phantoms,
        life=state.truths[part].life, counts=item.counts, began=item.progress,
    )  # fmt: skip
    return with_worker(state, index, worker)


def stop(state: State, index: int) -> State:
    """Return the state in which a worker is free again. What it remembers of phantoms stays."""
    return with_worker(state, index, Worker(phantoms=state.workers[index].phantoms))


def acquisition(state: State, m: Message, part: int | None) -> Learnt:
    """Return what the sender of an acquisition does with the answer; ``part`` is what it applied to just now."""
    if part is None:
        part = found(state, m.op, m.part)
    if part is None:
        return stop(with_message(state, m._replace(told=REFUSED)), m.by), ""
    return own(with_message(state, m._replace(told=OK)), m.by, part), ""


def found(state: State, nonce: str, part: int = -1) -> int | None:
    """Return the partition that is held under ``nonce`` and has seen no owner write."""
    for index, item in enumerate(state.items):
        if part in (-1, index) and (item.status, item.nonce, item.last_op) == (ASSIGNED, nonce, nonce):
            return index
    return None


def chain_write(state: State, m: Message, scenario: Scenario, *, applied: bool, following: int | None) -> Learnt:
    """Return what the sender of a chain write does with the answer."""
    item = state.items[m.part]
    told = OK if applied else judge(item, state.heads[m.part], m, scenario.rules)
    if told == REPEAT:
        return state, ""
    broken = checks.conclusion(m, told, item, state.truths[m.part], scenario)
    broken = broken or _own_doing(state, m, told, scenario)
    state = with_message(state, m._replace(told=told))
    worker = state.workers[m.by] if m.by >= 0 else None
    if worker is None or worker.call != m.op:
        return state, broken
    if told != OK:
        return stop(state, m.by), broken
    if m.kind == "fused":
        return _next(state, m, following if applied else found(state, m.op + "+")), broken
    over = m.kind in ENDINGS or not held_under(item, m)
    if over and not worker.wish:
        return stop(state, m.by), broken
    return with_worker(state, m.by, gone_on(worker, m)), broken


def created(state: State, m: Message) -> State:
    """Return the state in which a supplier knows that the partition exists, whoever made it."""
    worker = state.workers[m.by]
    worker = worker._replace(phase=OWNS, call="", pages=worker.pages + 1)
    return with_worker(with_message(state, m._replace(told=OK)), m.by, worker)


def gone_on(worker: Worker, m: Message) -> Worker:
    """Return the worker whose chain has moved to ``m``."""
    worker = worker._replace(phase=OWNS, call="", unsettled="", last_op=m.op)
    if m.kind == "save":
        return worker._replace(progress=m.progress, staged=m.blocks or ())
    if m.kind == "save_state":
        return worker._replace(progress=m.progress, pages=0)
    return worker._replace(begun=True) if m.kind == "begin" else worker


def _next(state: State, m: Message, part: int | None) -> State:
    """Return the state in which the sender of "complete and acquire next" has, or has not, its next partition."""
    return own(state, m.by, part) if part is not None and not m.halved else stop(state, m.by)


def _own_doing(state: State, m: Message, told: str, scenario: Scenario) -> str:
    """Return what is wrong where a worker is refused because of a write of its own."""
    if told != REFUSED or scenario.second_driver or m.by < 0:
        return ""
    item = state.items[m.part]
    own = {sent.op: sent.kind for sent in state.messages if sent.by == m.by and sent.kind in CHAIN}
    if held_under(item, m):
        return f"S6: {m.op} is told 'overtaken' by {item.last_op}, its sender's own" if item.last_op in own else ""
    ending = item.ring[m.token % len(item.ring)]
    if ending and (ending.token, ending.nonce) == (m.token, m.nonce) and own.get(ending.op) == m.kind:
        return f"S6: {m.kind} is told 'refused', although {ending.op}, the same call before, ended the tenure so"
    return ""


def renewal(state: State, m: Message, scenario: Scenario, *, applied: bool) -> Learnt:
    """Return what a worker does with the answer to a renewal."""
    item, truth = state.items[m.part], state.truths[m.part]
    mine = held_under(item, m)
    held = applied or (scenario.rules.renewal_judged_by_timeout and mine and item.timeout >= m.timeout)
    state = with_message(state, m._replace(told=OK if held else REFUSED))
    if held:
        if mine:
            promised = max(truth.promised, m.timeout)
            truths = (*state.truths[: m.part], truth._replace(promised=promised), *state.truths[m.part + 1 :])
            state = state._replace(truths=truths)
        return state, ""
    broken = "S6: a renewal is 'refused' although the lease is still its sender's" if mine else ""
    worker = state.workers[m.by]
    if worker.phase == OWNS and (worker.token, worker.nonce) == (m.token, m.nonce):
        state = stop(state, m.by)
    return state, broken
