"""What must hold, checked at every write that is applied: the promises S1, S2, S3, S6, S7, S8, S10, S11, S12, S26, L5.

:func:`witness` compares what a write did with what really happened so far (:class:`Truth`, which the protocol does not
know) and returns the truth after it together with the first broken promise, empty where all are kept.
"""

from __future__ import annotations

from tests.model.rules import Scenario
from tests.model.state import (
    ACQUISITIONS,
    ASK,
    ASSIGNED,
    COMPLETED,
    OWNED,
    PARKED,
    PEOPLE,
    PUBLISHING,
    REFUSED,
    TOMBSTONE,
    Head,
    Item,
    Message,
    State,
    Truth,
)

Seen = tuple[Truth, str]


def witness(truth: Truth, m: Message, before: Item, after: Item, head: Head, scenario: Scenario) -> Seen:
    """Return the truth after ``m`` was applied, and what it broke."""
    broken = _message_twice(m, scenario) or _tenure(truth, m, before)
    if m.kind in ("renew", "adopt"):
        truth, more = truth, ""
        if m.kind == "adopt":
            truth = truth._replace(adopted=max(truth.adopted, scenario.task(m.by)[1]))
    elif m.kind in ("save", "save_state"):
        truth, more = _saved(truth, m, before, after)
    elif m.kind in PUBLISHING:
        truth, more = _published(truth, m, before, after, head, scenario)
    else:
        truth, more = _moved(truth, m, before, after)
    if before.status == ASSIGNED and (after.status != ASSIGNED or after.token != before.token):
        truth = truth._replace(tenure=None, promised=0, adopted=0)
    return truth, "; ".join(filter(None, (broken, more)))


def granted(truth: Truth, m: Message, before: Item, after: Item, scenario: Scenario) -> Seen:
    """Return the truth after an acquisition, and what it broke. ``m`` is as it was before it."""
    broken = ""
    if after.token in m.granted:
        broken = f"S1: fence ({after.token}, {after.nonce}) given a second time"
    elif m.applied and m.kind in ("acquire_hint", "steal"):
        broken = f"applied twice: {m.kind}, a phantom under a nonce already used"
    elif m.granted and m.kind == "fused":
        broken = "fused: the acquire half was applied a second time"
    elif m.told and m.kind == "fused":
        broken = "fused: acquires after its sender learnt that there was no next"
    elif m.kind == "retake" and truth.adopted > scenario.task(m.by)[1]:
        broken = f"adopt: a retake by try {scenario.task(m.by)[1]} cuts off what try {truth.adopted} has adopted"
    elif before.status == ASSIGNED and m.kind != "steal" and truth.limit and truth.lost + driven(before) >= truth.limit:
        broken = "L5: acquired at the last lost lease instead of parked"
    limit = scenario.limit(m.by)
    loses = before.status == ASSIGNED and m.kind != "steal"
    lost = truth.lost + (bool(limit) and loses and driven(before))
    truth = truth._replace(tenure=(after.token, after.nonce), promised=0, adopted=0, lost=lost, limit=limit, begun=True)
    return truth, broken


def driven(item: Item) -> bool:
    """Return whether the item's owner ever wrote."""
    return item.confirmed or item.last_op != item.nonce


def _message_twice(m: Message, scenario: Scenario) -> str:
    once = m.kind not in ("renew", "adopt", "acquire_query", "create", ASK, *ACQUISITIONS)
    once &= not (m.kind == "reclaim" and scenario.rules.reclaim in ("row", "message"))
    once &= not (m.kind == "reopen" and not scenario.rules.reopen_sees_version)
    if once and m.applied:
        return f"applied twice: {m.kind} {m.op}"
    if m.kind == "create" and m.applied:
        return "create applied twice: the same create message makes a second life"
    if m.told == REFUSED and m.kind not in ACQUISITIONS:
        return f"S6: {m.kind} {m.op} applied after its sender had concluded 'refused'"
    return ""


def _tenure(truth: Truth, m: Message, before: Item) -> str:
    if m.kind not in OWNED and m.kind != "save_state":
        return ""
    if truth.tenure != (m.token, m.nonce):
        return f"S2: {m.kind} {m.op} accepted when its tenure had ended (item {before.status})"
    return ""


def _saved(truth: Truth, m: Message, before: Item, after: Item) -> Seen:
    new = [block for block in m.blocks or () if block[1] == m.op]
    truth = truth._replace(path=(*truth.path, *new))
    if m.kind == "save_state" and after.progress < before.progress:
        return truth, f"S10: the global state moves back from {before.progress} to {after.progress}"
    if m.since != before.progress:
        return (
            truth,
            f"progress: {m.kind} starts from {m.since}, the item is at {before.progress}",
        )
    if after.timeout < truth.promised:
        return truth, "S8: the timeout moved back below an acknowledged renewal"
    return truth, _counted(truth, after) if m.kind == "save" else ""


def _published(truth: Truth, m: Message, before: Item, after: Item, head: Head, scenario: Scenario) -> Seen:
    new = [block for block in m.blocks or () if block[1] == m.op]
    truth = truth._replace(path=(*truth.path, *new), lost=0)
    broken = _read_exactly(truth, head, scenario, whole=m.kind != "close_state" and not truth.retracted)
    broken = broken or _counted(truth, after)
    if scenario.max_lost and after.lost:
        broken = broken or "L5: lost leases outlive a success"
    if m.since != before.progress:
        broken = broken or "progress: the ending was built on another progress than the item's"
    if m.kind in ("close", "close_state"):
        truth = truth._replace(closed=truth.closed + 1)
        if after.closed != truth.closed:
            broken = broken or "S7: closedCount is not the number of applied closes"
        if (after.status == COMPLETED) != (after.closed >= scenario.max_closed):
            broken = broken or "S7: COMPLETED although the closes have not reached the maximum"
    if after.status == COMPLETED:
        truth = truth._replace(completions=truth.completions + 1)
        if truth.completions > 1:
            broken = broken or "S3: a second accepted completion in one life"
    return (truth._replace(path=(), retracted=False) if m.kind == "close" else truth), broken


def _read_exactly(truth: Truth, head: Head, scenario: Scenario, *, whole: bool) -> str:
    """Return how what a reader sees differs from the blocks of the accepted writes."""
    seen = sorted(head.blocks)
    rows = [row for row, _ in seen]
    if len(rows) > len(set(rows)):
        return "S12: a reader sees a row twice"
    if seen != sorted(truth.path):
        return "S12: a reader sees other blocks than those of the accepted writes"
    if whole and len(rows) < scenario.rows:
        return "S12: completed with a row never processed"
    return ""


def _counted(truth: Truth, after: Item) -> str:
    """Return how the totals differ from the rows of the accepted writes, which a person may have taken back."""
    if truth.retracted or after.counts.rows == len(truth.path):
        return ""
    return f"S26: {after.counts.rows} rows are counted, {len(truth.path)} were accepted"


def _moved(truth: Truth, m: Message, before: Item, after: Item) -> Seen:
    """Return what creation, people, a sweep, begin, fail and give up did."""
    if m.kind == "create":
        return Truth(life=truth.life + 1), ""
    if m.kind in ("delete", "clean_up"):
        broken = f"{m.kind}: applied to {before.status}, having seen {m.status}" if before.status != m.status else ""
        return Truth(life=truth.life), broken
    if m.kind == "place" and after.token <= before.token:
        return truth, f"S1: placed under token {after.token}, where {before.token} was given already"
    if m.kind == "refresh":
        return truth, "S29: another payload for what somebody has begun" if truth.begun else ""
    if m.kind == "reclaim" and truth.limit:
        return truth._replace(lost=truth.lost + driven(before)), ""
    return _acted(truth, m, before) if m.kind in PEOPLE else (truth, "")


def _acted(truth: Truth, m: Message, before: Item) -> Seen:
    """Return what a person did."""
    if m.kind in ("reset", "reopen_parked"):
        truth = truth._replace(lost=0)
    if m.kind == "reset":
        truth = truth._replace(path=(), closed=0, completions=0, retracted=False, begun=False)
    if m.kind == "retract":
        truth = truth._replace(path=(), retracted=True)
    wrong = f"people's {m.kind} applied to {before.status}, having seen {m.status}" if before.status != m.status else ""
    return truth, wrong


def of_sweep(truth: Truth, m: Message, before: Item, after: Item) -> str:
    """Return the broken L5 where a sweep parks what nobody ever drove, or not by the lease's limit in a row."""
    if m.kind != "reclaim":
        return ""
    parked = after.status == PARKED
    if parked and not driven(before):
        return "L5: parked by a phantom nobody ever drove"
    if parked != (driven(before) and bool(truth.limit) and truth.lost >= truth.limit):
        return f"L5: {'parked' if parked else 'not parked'} after {truth.lost} lost leases in a row of {truth.limit}"
    return ""


def of_supplier(m: Message, state: State, scenario: Scenario) -> str:
    """Return the broken S11 where the global state covers a partition that was never created."""
    if m.kind != "save_state":
        return ""
    covered = [part for page in scenario.pages[: m.progress] for part in page]
    missing = [part for part in covered if not state.truths[part].life]
    return f"S11: the global state covers partition {missing[0]}, which was never created" if missing else ""


def conclusion(m: Message, told: str, item: Item, truth: Truth, scenario: Scenario) -> str:
    """Return what is wrong with what a sender concludes about its write: S6."""
    if told == "ok" and not m.applied:
        return f"S6: 'ok' for {m.kind} {m.op}, which was not applied"
    if told == REFUSED and m.applied:
        return f"S6: 'refused' for {m.kind} {m.op}, which WAS applied"
    remembered = item.status not in ("absent", TOMBSTONE) and m.life == truth.life
    if told == "unknown" and remembered and item.token < m.token + scenario.ring:
        return f"S6: 'unknown' for {m.kind} {m.op}, although the ring should know"
    return ""
