"""Steps that may write records beside their partition: the statement, its parameters, and the records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_coordination.leases.fence import RING_SIZE
from airflow_coordination.leases.records import Record
from airflow_coordination.leases.rules import ACT, END
from airflow_coordination.leases.status import PartitionStatus
from airflow_coordination.leases.writes import KEEP, Act, End
from airflow_coordination.stores.sql import parameters as given
from airflow_coordination.stores.sql.statements import owner, people


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    :param build: makes its statement, of ``shape``.
    :param shape: which of its statements it is.
    :param parameters: of the statement.
    :param records: what the same commit writes beside the partition.
    """

    build: Callable[..., str]
    shape: Mapping[str, Any]
    parameters: dict[str, Any]
    records: tuple[Record, ...]


def ending(write: End) -> Step:
    """Return the step that ends a tenure."""
    shape = {
        "slot": write.fence.token % RING_SIZE,
        "keep_progress": write.progress is KEEP,
        "clear_staged": write.clear_staged,
    }
    return Step(owner.end, shape, given.end(write), tuple(END.records(write)))


def action(write: Act) -> Step:
    """Return the step that a person takes."""
    shape = {"action": write.action, "held": write.seen.status is PartitionStatus.ASSIGNED}
    return Step(people.act, shape, given.act(write), tuple(ACT.records(write)))
