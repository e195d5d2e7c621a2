"""Faults that tasks of a partition meet: which task meets which, the partition's key decides."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark import TaskContext
from signs import DIRECTORY, executor, here, wait_until

TASKS, RECORDS, BULK = 8, 100, 20
"""Spark tasks; records of each; records of a bulk, so that a fault finds some of them delivered."""
RAISES, DIES, SLOW = "raises", "dies", "slow"
SLOW_SECONDS = 20
"""A slow task is overtaken by its copy by then, or goes on: Spark starts none where attempts died on both hosts."""


def faults(partition: str) -> list[str | None]:
    """Return the fault of each task: one executor dies, one task is overtaken by its copy, some just fail."""
    drawn = random.Random(partition)
    found = [drawn.choice([None, None, RAISES]) for _ in range(TASKS)]
    dies, slow = drawn.sample(range(TASKS), 2)
    found[dies], found[slow] = DIES, SLOW
    return found


@dataclass(frozen=True)
class OnTheWay:
    """Records whose tasks meet their faults while they are read, in each query that reads them."""

    partition: str

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for number, batch in enumerate(batches):
            if number == 2:
                meet(self.partition)
            yield batch


def meet(partition: str) -> None:
    """Meet the fault of this task, once a query: a first attempt does, its copies and repetitions do not."""
    context = TaskContext.get()
    number, query = context.partitionId(), context.getLocalProperty("spark.sql.execution.id")
    fault, name = faults(partition)[number], f"{partition} {query} {number}"
    if fault is None:
        return
    if (DIRECTORY / name).exists():
        here(f"{name} again")
        return
    here(name)
    if fault == RAISES:
        raise RuntimeError("the first attempt of this task fails")
    if fault == DIES:
        os.kill(executor(), signal.SIGKILL)
    slow_until = time.monotonic() + SLOW_SECONDS
    wait_until(lambda: (DIRECTORY / f"{name} again").exists() or time.monotonic() > slow_until)
