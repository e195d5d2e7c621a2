"""Steps that may write records beside their partition: the statement, its parameters, and the records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_coordination.protocol.follow_up import Forget
from airflow_coordination.protocol.refreshing import Refresh
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
from airflow_coordination.protocol.side_writes import Record, of_forgetting, of_pause
from airflow_coordination.protocol.writes import (
    KEEP,
    AcquireNext,
    Act,
    End,
    KnownAcquisition,
    Place,
    Retake,
    SetPause,
    Steal,
    Sweep,
)
from airflow_coordination.stores.sql import parameters as given
from airflow_coordination.stores.sql.statements import acquire, owner, parking, pausing, people, placing, sweep
from airflow_coordination.stores.sql.statements import records as statements
from airflow_coordination.stores.sql.statements.step import StepText
from airflow_coordination.values.fence import RING_SIZE
from airflow_coordination.values.status import PartitionStatus


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
        return Step(acquire.acquire_key, {}, given.acquire_next(write), records)
    return Step(acquire.acquire_next, {"new_first": write.new_first}, parameters or {}, records)


def acquisition_of_known(write: KnownAcquisition) -> Step:
    """Return the step that acquires one known partition."""
    parameters = given.acquire_known(write)
    if isinstance(write, Retake):
        return Step(acquire.retake, {}, parameters, tuple(RETAKE.records(write)))
    if isinstance(write, Steal):
        return Step(acquire.steal, {}, parameters, tuple(STEAL.records(write)))
    return Step(acquire.acquire_hinted, {}, parameters, tuple(ACQUIRE_AS_SEEN.records(write)))


def reclaiming(write: Sweep, parameters: dict[str, Any]) -> Step:
    """Return the step that ends what has expired.

    :param parameters: of a sweep.
    """
    return Step(sweep.reclaim, {}, parameters, tuple(RECLAIM.records(write)))


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
    return Step(owner.end, shape, given.end(write), tuple(END.records(write)))


def placement(write: Place) -> Step:
    """Return the step that gives a new partition the life that it had in another store."""
    return Step(placing.place, {}, given.place(write), tuple(PLACE.records(write)))


def refreshing(write: Refresh) -> Step:
    """Return the step that gives a partition which was reset another payload."""
    return Step(placing.refresh, {"bare": write.seen is None}, given.refresh(write), tuple(REFRESH.records(write)))


def setting_pause(write: SetPause) -> Step:
    """Return the step that pauses or resumes a source."""
    return Step(pausing.set_pause, {}, given.set_pause(write), (of_pause(write),))


def forgetting(write: Forget, *, parked: bool = False) -> Step:
    """Return the step that takes a note away undone.

    :param parked: out of a partition that is parked.
    """
    build = parking.followed if parked else statements.forget_follow_up
    return Step(build, {}, given.follow_up(write.note), (of_forgetting(write),))


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
    return Step(people.act, shape, given.act(write), tuple(ACT.records(write)))
