"""Groups run again and again without Airflow, each in a thread of its own, until somebody stops it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Final

from airflow_coordination.duties.groups.running import Group, GroupRun, GroupRunner
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.input_errors import CoordinationError

log = logging.getLogger(__name__)
_LONGEST_WAIT: Final = timedelta(seconds=30)
"""So that a group that a person lets go on, or that somebody else gives up, does not wait for its whole period."""


def serve(
    runner: GroupRunner,
    groups: Sequence[Group],
    over: threading.Event,
    told: Callable[[GroupRun], object] = lambda run: None,
) -> None:
    """Run each group whenever it is due, until ``over`` is set; then each ends the run that it is in.

    A group that fails is tried again when its period is over: what went wrong is in the log and its status.

    :param runner: of all of them.
    :param told: is given what became of each call.
    """
    with ThreadPoolExecutor(len(groups), thread_name_prefix="duties") as threads:
        for found in [threads.submit(_serve_one, runner, group, over, told) for group in groups]:
            found.result()


def _serve_one(runner: GroupRunner, group: Group, over: threading.Event, told: Callable[[GroupRun], object]) -> None:
    while not over.is_set():
        try:
            run = runner.run(group)
            told(run)
            wait = _wait(runner.store, run)
        except CoordinationError as error:
            log.warning("Group %s: %s", group.name, error)
            wait = min(group.period, _LONGEST_WAIT)
        except BaseException:
            over.set()
            raise
        over.wait(wait.total_seconds())


def _wait(store: PartitionStore, run: GroupRun) -> timedelta:
    due = run.waits_until or run.state.next_at or run.rival_until
    left = _LONGEST_WAIT if due is None else due - store.now()
    return min(max(left, timedelta(seconds=1)), _LONGEST_WAIT)
