"""Histories of calls, and whether they keep the promises: record, then check.

>>> log = MemoryLog()
>>> one = RecordedCoordinator(coordinator, log, "worker 1, first start")
>>> lease = one.get_next_partition()
>>> one.complete(lease)
>>> check(log.operations, coordinator.settings)
[]

Every process of a real run writes a :class:`FileLog` of its own; :func:`read_logs` puts them together.
"""

from airflow_coordination.testing.history.check import (
    Violation,
    branches_show_whole,
    check,
    children_come_after_their_parents,
    fences_are_unique,
    metrics_are_exact,
    pauses_hold,
    the_global_state_grows,
    views_are_those_that_were,
    work_is_not_denied,
)
from airflow_coordination.testing.history.linearizability import Stuck, Undecided, explain
from airflow_coordination.testing.history.log import FileLog, MemoryLog, read_logs
from airflow_coordination.testing.history.model import Model
from airflow_coordination.testing.history.operations import Kind, Operation, Output, Told
from airflow_coordination.testing.history.recorder import CountedCoordinator, RecordedCoordinator
from airflow_coordination.testing.history.state import State
from airflow_coordination.testing.history.views import Views

__all__ = [
    "CountedCoordinator",
    "FileLog",
    "Kind",
    "MemoryLog",
    "Model",
    "Operation",
    "Output",
    "RecordedCoordinator",
    "State",
    "Stuck",
    "Told",
    "Undecided",
    "Views",
    "Violation",
    "branches_show_whole",
    "check",
    "children_come_after_their_parents",
    "explain",
    "fences_are_unique",
    "metrics_are_exact",
    "pauses_hold",
    "read_logs",
    "the_global_state_grows",
    "views_are_those_that_were",
    "work_is_not_denied",
]
