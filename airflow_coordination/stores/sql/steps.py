"""From the protocol's writes to statements, their parameters, and the records beside the partition."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from airflow_coordination.protocol.algebra import ring_entry
from airflow_coordination.protocol.fields import MOVED, Kind
from airflow_coordination.protocol.follow_up import Forget
from airflow_coordination.protocol.refreshing import Refresh
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.rules import (
    ACQUIRE,
    ACT,
    END,
    GOES,
    PLACE,
    RECLAIM,
    REFRESH,
    RULES,
)
from airflow_coordination.protocol.side_writes import (
    EmptyHeads,
    PutHeads,
    Record,
    of_forgetting,
    of_interval,
    of_pause,
)
from airflow_coordination.protocol.writes import (
    KEEP,
    AcquireHinted,
    AcquireNext,
    Act,
    End,
    FencedWrite,
    KnownAcquisition,
    Place,
    Retake,
    SetInterval,
    SetPause,
    Steal,
    Sweep,
)
from airflow_coordination.stores.sql.columns import GIVEN_OF_HEAD, waits
from airflow_coordination.stores.sql.statements import acquire, writes
from airflow_coordination.stores.sql.statements.step import StepText, given, parameters
from airflow_coordination.values.blocks import dump_blocks
from airflow_coordination.values.fence import RING_SIZE
from airflow_coordination.values.status import PartitionStatus, Rank


def owners(write: FencedWrite) -> dict[str, Any]:
    """Return the parameters of a write under a fence; the indexed time moves when half of the lease is over."""
    found = parameters(write)
    return found | {"half": found["timeout"] // 2} if "timeout" in found else found


def _waits(write: End, closed: int | None, available: int | None) -> dict[str, int | None]:
    """Return when and in which index the partition waits after its tenure.

    :param closed: microseconds until it reopens.
    :param available: microseconds until it is available.
    """
    later = closed is not None or bool(available)
    ready, timed = waits(write.status, Rank.NEW, at_once=available == 0, later=later)
    return {
        "due_delay": available if closed is None and timed is not None else closed,
        "ready": given(ready),
        "timed": given(timed),
    }


def end(write: End) -> dict[str, Any]:
    """Return the parameters of an ending."""
    fence, status = write.fence, write.status
    but_the_time = (fence.token, fence.nonce, write.outcome, write.op, write.prev, status, write.closed_count, "")
    found = parameters(write)
    waits = _waits(write, found["reopen_delay"], found["available_delay"])
    return {**found, **waits, "entry": ring_entry(but_the_time)}


def head(record: HeadRecord) -> dict[str, Any]:
    """Return the parameters of a head record, by column; its time is the store's."""
    return {
        field.column: dump_blocks(record.blocks) if field.kind is Kind.BLOCKS else given(getattr(record, field.name))
        for field in GIVEN_OF_HEAD
    }


def place(write: Place) -> dict[str, Any]:
    """Return the parameters of a life that goes on in this store."""
    life = write.life
    moved = {name: given(getattr(life, name)) for name in MOVED}
    due = moved["reopen_at" if life.status is PartitionStatus.CLOSED else "available_at"]
    # What is new waits for its time, which may have come: the clock that knows it is the store's.
    at_once = life.rank is not Rank.NEW
    ready, timed = waits(life.status, life.rank, at_once=at_once, later=due is not None)
    return {
        **moved,
        "source": write.source,
        "key": write.key,
        "created": write.created,
        "placed_status": moved["status"],
        "ready": given(ready),
        "timed": given(timed),
        "due_at": None if timed is None else due,
        "position": None if life.rank is Rank.NEW else moved["available_at"],
    }


def set_pause(write: SetPause) -> dict[str, Any]:
    """Return the parameters of pausing or resuming a source."""
    return parameters(write) | {"seen_op": write.seen or ""}


def empty(record: EmptyHeads) -> dict[str, Any]:
    """Return the parameters of what empties head records: of some datasets, or of all."""
    named = None if record.datasets is None else json.dumps(record.datasets)
    return parameters(record) | {"datasets": named}


def rows(record: Record) -> list[dict[str, Any]]:
    """Return the parameters of a record, of each row that it writes."""
    if isinstance(record, PutHeads):
        return [head(each) for each in record.heads]
    return [empty(record)] if isinstance(record, EmptyHeads) else [parameters(record)]


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


def acquisition(write: AcquireNext, queued: dict[str, Any] | None = None) -> Step:
    """Return the step that acquires whatever is first in the order, or one partition by its key.

    :param queued: the parameters of a look at the order.
    """
    records = tuple(ACQUIRE.records(write))
    if write.key is not None:
        return Step(acquire.acquire_key, {}, parameters(write), records)
    return Step(acquire.acquire_next, {"new_first": write.new_first}, queued or {}, records)


_ACQUIRING: Final = {AcquireHinted: acquire.acquire_hinted, Retake: acquire.retake, Steal: acquire.steal}


def acquisition_of_known(write: KnownAcquisition) -> Step:
    """Return the step that acquires one known partition."""
    build = _ACQUIRING[type(write)]
    return Step(build, {}, parameters(write), tuple(RULES[type(write)].records(write)))


def reclaiming(write: Sweep, given: dict[str, Any]) -> Step:
    """Return the step that ends what has expired.

    :param given: the parameters of a sweep.
    """
    return Step(writes.reclaim, {}, given, tuple(RECLAIM.records(write)))


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
    return Step(writes.refresh, {"bare": write.seen is None}, parameters(write), tuple(REFRESH.records(write)))


def setting_pause(write: SetPause) -> Step:
    """Return the step that pauses or resumes a source."""
    return Step(writes.set_pause, {}, set_pause(write), (of_pause(write),))


def forgetting(write: Forget, *, parked: bool = False) -> Step:
    """Return the step that takes a note away undone.

    :param parked: out of a partition that is parked.
    """
    build = writes.followed if parked else writes.forget_follow_up
    return Step(build, {}, parameters(write.note), (of_forgetting(write),))


def setting_interval(write: SetInterval) -> Step:
    """Return the step in which a person says of which time published rows are."""
    return Step(writes.set_interval, {}, parameters(write), (of_interval(write),))


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
    return Step(writes.act, shape, parameters(write), tuple(ACT.records(write)))
