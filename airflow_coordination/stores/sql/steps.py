"""From the protocol's writes to statements, their parameters, and the records beside the partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import singledispatch
from typing import Any, Final

from airflow_coordination.protocol.algebra import ring_entry
from airflow_coordination.protocol.fields import MOVED, Kind
from airflow_coordination.protocol.follow_up import FollowUp, Forget
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.refreshing import Refresh
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.rules import (
    ACQUIRE,
    ACQUIRE_AS_SEEN,
    ACT,
    END,
    GOES,
    PLACE,
    RECLAIM,
    REFRESH,
    RETAKE,
    STEAL,
)
from airflow_coordination.protocol.side_writes import (
    Audit,
    CountFailure,
    EmptyHeads,
    ForgetFailures,
    PutFollowUp,
    PutHeads,
    Record,
    TenureEnded,
    of_forgetting,
    of_pause,
)
from airflow_coordination.protocol.writes import (
    KEEP,
    AcquireNext,
    Act,
    Adopt,
    Ask,
    Begin,
    End,
    FencedWrite,
    KnownAcquisition,
    OnParked,
    Place,
    Renew,
    Retake,
    Save,
    SetPause,
    Steal,
    Sweep,
    Tenancy,
)
from airflow_coordination.stores.sql.columns import GIVEN_OF_HEAD, waits
from airflow_coordination.stores.sql.statements import acquire, writes
from airflow_coordination.stores.sql.statements.step import StepText
from airflow_coordination.values.blocks import Block, dump_blocks
from airflow_coordination.values.fence import RING_SIZE, Fence
from airflow_coordination.values.status import PartitionStatus, Rank
from airflow_coordination.values.times import to_micros

MICROSECOND: Final = timedelta(microseconds=1)


def _staged(blocks: tuple[Block, ...]) -> str | None:
    return dump_blocks(blocks) if blocks else None


def _fence(write: FencedWrite) -> dict[str, Any]:
    fence: Fence = write.fence
    return {"source": write.source, "key": write.key, "token": fence.token, "nonce": fence.nonce}


def _timeout(timeout: timedelta) -> dict[str, int]:
    micros = timeout // MICROSECOND
    return {"timeout": micros, "half": micros // 2}


def tenancy(tenancy: Tenancy) -> dict[str, Any]:
    """Return the parameters of a new tenure."""
    owner = tenancy.owner
    return {
        "op": tenancy.op,
        "owner": owner.text,
        "owner_task": owner.task,
        "owner_try": owner.try_number,
        "timeout": tenancy.timeout // MICROSECOND,
        "max_lost": tenancy.max_lost_leases,
        "max_failures": tenancy.max_failures,
        "owner_details": tenancy.owner_details,
    }


def acquire_next(write: AcquireNext) -> dict[str, Any]:
    """Return the parameters of an acquisition by query or by key."""
    return {"source": write.source, "key": write.key, **tenancy(write.tenancy)}


def acquire_known(write: KnownAcquisition) -> dict[str, Any]:
    """Return the parameters of an acquisition of a known partition."""
    parameters = {"source": write.source, "key": write.key, **tenancy(write.tenancy)}
    if isinstance(write, Steal):
        return parameters | {"token": write.fence.token, "nonce": write.fence.nonce}
    parameters["token"] = write.token
    if isinstance(write, Retake):
        parameters |= {"seen_op": write.last_op, "below_try": write.below_try}
    return parameters


def ask(write: Ask) -> dict[str, Any]:
    """Return the parameters of asking for another worker's lease."""
    return {**_fence(write), "by": write.by, "patience": write.patience // MICROSECOND}


def adopt(write: Adopt) -> dict[str, Any]:
    """Return the parameters of an adoption."""
    owner = write.owner
    return {**_fence(write), "owner": owner.text, "owner_task": owner.task, "owner_try": owner.try_number}


def renew(write: Renew) -> dict[str, Any]:
    """Return the parameters of a renewal."""
    return {**_fence(write), **_timeout(write.timeout)}


def begin(write: Begin) -> dict[str, Any]:
    """Return the parameters of a driver's first write."""
    told = {"op": write.op, "prev": write.prev, "owner_details": write.owner_details}
    return {**_fence(write), **_timeout(write.timeout), **told}


def save(write: Save) -> dict[str, Any]:
    """Return the parameters of a save."""
    saved = {"progress": write.progress_text, "staged": _staged(write.staged), "accounting": write.accounting}
    return {**_fence(write), **_timeout(write.timeout), **saved, "op": write.op, "prev": write.prev}


def on_parked(write: OnParked) -> dict[str, Any]:
    """Return the parameters of saying what follows a parking."""
    return {**_fence(write), "on_parked": write.text, "op": write.op, "prev": write.prev}


def _micros(delay: timedelta | None) -> int | None:
    return None if delay is None else delay // MICROSECOND


def _waits(write: End) -> dict[str, int | None]:
    """Return when and in which index the partition waits after its tenure."""
    closed, available = _micros(write.reopen_delay), _micros(write.available_delay)
    later = closed is not None or bool(available)
    ready, timed = waits(write.status, Rank.NEW, at_once=available == 0, later=later)
    return {
        "reopen_delay": closed,
        "available_delay": available,
        "due_delay": available if closed is None and timed is not None else closed,
        "ready": None if ready is None else int(ready),
        "timed": None if timed is None else int(timed),
    }


def end(write: End) -> dict[str, Any]:
    """Return the parameters of an ending."""
    fence, status = write.fence, write.status
    but_the_time = (fence.token, fence.nonce, write.outcome, write.op, write.prev, status, write.closed_count, "")
    return {
        **_fence(write),
        **_waits(write),
        "op": write.op,
        "prev": write.prev,
        "entry": ring_entry(but_the_time),
        "outcome": str(write.outcome),
        "status": str(status),
        "closed_count": write.closed_count,
        "failures": write.failures,
        "lost_leases": write.lost_leases,
        "last_error": write.last_error,
        "generation": write.generation,
        "progress": None if write.progress is KEEP else write.progress,
        "accounting": write.accounting,
    }


def head(record: HeadRecord) -> dict[str, Any]:
    """Return the parameters of a head record, by column; its time is the store's."""
    return {
        field.column: dump_blocks(record.blocks) if field.kind is Kind.BLOCKS else getattr(record, field.name)
        for field in GIVEN_OF_HEAD
    }


def sweep_parameters(write: Sweep) -> dict[str, Any]:
    """Return the parameters of a sweep."""
    return {"source": write.source, "op": write.op, "limit": write.limit, "max_lost": write.max_lost_leases}


def act(write: Act) -> dict[str, Any]:
    """Return the parameters of a person's action."""
    seen: Partition = write.seen
    return {
        "source": write.source,
        "key": write.key,
        "op": write.op,
        "token": seen.token,
        "nonce": seen.nonce,
        "status": str(seen.status),
        "seen_op": seen.last_op,
        "awaited_op": seen.awaited_op,
    }


def place(write: Place) -> dict[str, Any]:
    """Return the parameters of a life that goes on in this store."""
    life = write.life
    times = {name: _moment(getattr(life, name)) for name in ("reopen_at", "available_at", "created_at")}
    due = times["reopen_at" if life.status is PartitionStatus.CLOSED else "available_at"]
    # What is new waits for its time, which may have come: the clock that knows it is the store's.
    at_once = life.rank is not Rank.NEW
    ready, timed = waits(life.status, life.rank, at_once=at_once, later=due is not None)
    return {
        **{name: getattr(life, name) for name in MOVED},
        **times,
        "source": write.source,
        "key": write.key,
        "created": write.created,
        "placed_status": str(life.status),
        "rank": int(life.rank),
        "staged": _staged(life.staged),
        "ready": None if ready is None else int(ready),
        "timed": None if timed is None else int(timed),
        "due_at": None if timed is None else due,
        "position": None if life.rank is Rank.NEW else times["available_at"],
    }


def refresh(write: Refresh) -> dict[str, Any]:
    """Return the parameters of another payload."""
    texts = {"payload": write.payload_text} | ({} if write.seen is None else {"seen_payload": write.seen})
    return {"source": write.source, "key": write.key, "generation": write.generation, **texts}


def _moment(at: datetime | None) -> int | None:
    return None if at is None else to_micros(at)


def set_pause(write: SetPause) -> dict[str, Any]:
    """Return the parameters of pausing or resuming a source."""
    who = {"by": write.by, "why": write.why, "op": write.op}
    return {"source": write.source, "paused": int(write.paused), "seen_op": write.seen or "", **who}


@singledispatch
def rows(record: Record) -> list[dict[str, Any]]:
    """Return the parameters of a record, of each row that it writes."""
    raise TypeError(f"not a record of the protocol: {record!r}")


@rows.register
def _put_heads(record: PutHeads) -> list[dict[str, Any]]:
    return [head(each) for each in record.heads]


@rows.register
def _empty_heads(record: EmptyHeads) -> list[dict[str, Any]]:
    return [{"source": record.source, "key": record.key}]


@rows.register
def _audit(record: Audit) -> list[dict[str, Any]]:
    place = {"source": record.source, "key": record.key, "op": record.op}
    return [{**place, "action": record.action, "by": record.by, "why": record.why}]


@rows.register
def _tenure_ended(record: TenureEnded) -> list[dict[str, Any]]:
    return [{"error": record.error, "rows": record.rows, "bytes": record.bytes}]


@rows.register
def _put_follow_up(record: PutFollowUp) -> list[dict[str, Any]]:
    return [{**follow_up(record.follow_up), "follow_up": record.follow_up.text}]


@rows.register
def _count_failure(record: CountFailure) -> list[dict[str, Any]]:
    return [{"source": record.source, "failing_error": record.error, "failing_mark": record.mark}]


@rows.register
def _forget_failures(record: ForgetFailures) -> list[dict[str, Any]]:
    return [{"source": record.source}]


def follow_up(note: FollowUp) -> dict[str, Any]:
    """Return the parameters that name a note of what follows an ending."""
    return {"source": note.source, "key": note.key, "token": note.token, "op": note.op}


def together(record: Record) -> dict[str, Any]:
    """Return the parameters of a record for one statement: many rows as an array per column."""
    found = rows(record)
    if not isinstance(record, PutHeads):
        return found[0]
    return {f"heads_{field.column}": [row[field.column] for row in found] for field in GIVEN_OF_HEAD}


def prefixed(prefix: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``parameters`` under names of their own, for two writes in one statement."""
    return {prefix + name: value for name, value in parameters.items()}


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    :param build: makes its statement, of ``shape``.
    :param shape: which of its statements it is.
    :param parameters: of the statement.
    :param records: what the same commit writes beside the partition.
    """

    build: Callable[..., StepText]
    shape: Mapping[str, Any]
    parameters: dict[str, Any]
    records: tuple[Record, ...]


def acquisition(write: AcquireNext, parameters: dict[str, Any] | None = None) -> Step:
    """Return the step that acquires whatever is first in the order, or one partition by its key.

    :param parameters: for a look at the order.
    """
    records = tuple(ACQUIRE.records(write))
    if write.key is not None:
        return Step(acquire.acquire_key, {}, acquire_next(write), records)
    return Step(acquire.acquire_next, {"new_first": write.new_first}, parameters or {}, records)


def acquisition_of_known(write: KnownAcquisition) -> Step:
    """Return the step that acquires one known partition."""
    parameters = acquire_known(write)
    if isinstance(write, Retake):
        return Step(acquire.retake, {}, parameters, tuple(RETAKE.records(write)))
    if isinstance(write, Steal):
        return Step(acquire.steal, {}, parameters, tuple(STEAL.records(write)))
    return Step(acquire.acquire_hinted, {}, parameters, tuple(ACQUIRE_AS_SEEN.records(write)))


def reclaiming(write: Sweep, parameters: dict[str, Any]) -> Step:
    """Return the step that ends what has expired.

    :param parameters: of a sweep.
    """
    return Step(writes.reclaim, {}, parameters, tuple(RECLAIM.records(write)))


def ending(write: End, *, releases: bool = False) -> Step:
    """Return the step that ends a tenure.

    :param releases: it completes what others wait for; the statement that releases them follows.
    """
    shape = {
        "slot": write.fence.token % RING_SIZE,
        "keep_progress": write.progress is KEEP,
        "clear_staged": write.clear_staged,
        "accounted": write.accounting is not None,
        "completes": write.completes,
        "releases": releases,
    }
    return Step(writes.end, shape, end(write), tuple(END.records(write)))


def placement(write: Place) -> Step:
    """Return the step that gives a new partition the life that it had in another store."""
    return Step(writes.place, {}, place(write), tuple(PLACE.records(write)))


def refreshing(write: Refresh) -> Step:
    """Return the step that gives a partition which was reset another payload."""
    return Step(writes.refresh, {"bare": write.seen is None}, refresh(write), tuple(REFRESH.records(write)))


def setting_pause(write: SetPause) -> Step:
    """Return the step that pauses or resumes a source."""
    return Step(writes.set_pause, {}, set_pause(write), (of_pause(write),))


def forgetting(write: Forget, *, parked: bool = False) -> Step:
    """Return the step that takes a note away undone.

    :param parked: out of a partition that is parked.
    """
    build = writes.followed if parked else writes.forget_follow_up
    return Step(build, {}, follow_up(write.note), (of_forgetting(write),))


def action(write: Act, *, releases: bool = False) -> Step:
    """Return the step that a person takes.

    :param releases: it finishes what others wait for; the statement that releases them follows.
    """
    shape = {
        "action": write.action,
        "held": write.seen.status is PartitionStatus.ASSIGNED,
        "awaited": write.action in GOES and write.seen.awaited_op is not None,
        "releases": releases,
    }
    return Step(writes.act, shape, act(write), tuple(ACT.records(write)))
