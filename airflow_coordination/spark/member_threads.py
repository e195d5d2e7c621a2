"""The threads of a crew: each with job marks, and a pool of Spark's fair scheduler, of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from airflow_coordination.systems.spark.session import context_of
from airflow_coordination.values.input_errors import SettingsError

_POOL = "spark.scheduler.pool"


def check_threads(spark: Any) -> None:
    """Refuse a Spark whose JVM has one thread for all of Python's: cancelling one tenure would cancel another's jobs.

    :raises SettingsError: naming what to leave out.
    """
    context = context_of(spark)
    if context is None:  # a Spark Connect client keeps the tags of each thread apart
        return
    if type(context._gateway).__name__ != "ClientServer":  # py4j's, which keeps the threads of both sides together
        problem = "gives all threads of Python the same thread of the JVM, so that jobs cannot be told apart"
        remedy = "Leave PYSPARK_PIN_THREAD out of the driver's environment, or give concurrent_leases=1"
        raise SettingsError("PYSPARK_PIN_THREAD", "false", problem, remedy)


def member_thread(spark: Any, place: int, work: Callable[[], object]) -> threading.Thread:
    """Return a thread, not yet started, in which ``work`` runs Spark jobs beside those of other threads.

    :param place: which of the crew's places it has; names its pool where Spark shares executors fairly.
    """
    from pyspark import InheritableThread

    context = context_of(spark)

    def run() -> None:
        if context is not None:
            _enter_pool(context, place)
        work()

    session = spark if context is None else None
    thread: threading.Thread = InheritableThread(target=run, session=session, name=f"lease-{place}", daemon=True)
    return thread


def _enter_pool(context: Any, place: int) -> None:
    """Share executors between tenures, not jobs, with ``spark.scheduler.mode=FAIR``: in one pool the first job wins."""
    try:
        if context.getConf().get("spark.scheduler.mode") == "FAIR" and context.getLocalProperty(_POOL) is None:
            context.setLocalProperty(_POOL, f"lease-{place}")
    except Exception:  # the JVM is gone: the tenure finds out, and says so
        return
