"""What can happen to a task at work, and what must come of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

SAME_TASK, NEXT_RUN = "the same task's next try", "the next run's task"
HEARTBEAT = 2
"""Seconds; Airflow's ``[workers] min_heartbeat_interval``, with which a supervisor learns what people do."""
GIVEN_UP, FAILED, RELEASED, LOST = "given up", "failed", "released", "lost"
OWNERSHIP_TIMEOUT = 20
WITH_SPARK_UI = "clear"
"""The one event whose job has Spark's own pages."""


@dataclass(frozen=True)
class Event:
    """One way in which a task's work ends early.

    :param name: of the DAG, too.
    :param what: for people.
    :param ending: how the tenure must end.
    :param next_owner: who must have the partition next.
    :param state: what the grid must show of the task instance in the end.
    :param clean: whether somebody is left to end the tenure at once.
    :param task: arguments of the task.
    :param dag: arguments of the DAG.
    :param long: whether CI leaves it to ``make test-all``: another event takes the same way through the code.
    """

    name: str
    what: str
    ending: str = GIVEN_UP
    next_owner: str = SAME_TASK
    state: str = "success"
    clean: bool = True
    task: dict[str, Any] = field(default_factory=dict)
    dag: dict[str, Any] = field(default_factory=dict)
    long: bool = False

    @property
    def is_timeout(self) -> bool:
        """Whether it comes by itself, some time after the start."""
        return bool(self.dag) or "execution_timeout" in self.task


TIMEOUT = timedelta(seconds=150)
"""Enough for two Spark applications to start on a busy machine."""

EVENTS = (
    Event("sigterm_task", "SIGTERM to the task process", long=True),
    Event("sigterm_supervisor", "SIGTERM to the supervisor", long=True),
    Event("kill_task", "SIGKILL of the task process (out of memory)"),
    Event("kill_supervisor", "SIGKILL of the supervisor", long=True),
    Event("kill_jvm", "SIGKILL of the JVM (out of memory)", ending=FAILED, long=True),
    Event("kill_driver", "SIGKILL of the Python driver", ending=FAILED),
    Event("job_fails", "The job raises an exception", ending=FAILED, long=True),
    Event("lease_lost", "A person releases the lease", ending=RELEASED, next_owner=NEXT_RUN, state="failed", long=True),
    Event("mark_failed", "A person marks the task failed", next_owner=NEXT_RUN, state="failed", long=True),
    Event("mark_success", "A person marks the task successful", next_owner=NEXT_RUN, long=True),
    Event("clear", "A person clears the running task"),
    Event("host_stops", "The worker host shuts down: SIGTERM to all, SIGKILL after 5 s", long=True),
    Event("host_lost", "The worker host is gone: SIGKILL of all at once", ending=LOST, clean=False),
    Event("execution_timeout", "The task's execution_timeout", task={"execution_timeout": TIMEOUT}, long=True),
    Event(
        "dagrun_timeout",
        "The DAG run's dagrun_timeout",
        next_owner=NEXT_RUN,
        state="skipped",
        dag={"dagrun_timeout": TIMEOUT},
        long=True,
    ),
)
