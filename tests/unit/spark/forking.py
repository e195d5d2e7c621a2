"""A driver whose partition function forks: ``forking.py MODE DIRECTORY``."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.spark import Complete
from airflow_coordination.spark.tenure import DriverContext, run_tenure
from airflow_coordination.stores import open_store

MODE, PLACE = sys.argv[1], Path(sys.argv[2])
ROUNDS, WORKERS = 20, 2
FORK = multiprocessing.get_context("fork")


class Spark:
    """The four calls of Spark Connect; notes who cancels."""

    def __init__(self) -> None:
        self.cancelled: list[int] = []

    def addTag(self, tag: str) -> None: ...  # noqa: N802
    def removeTag(self, tag: str) -> None: ...  # noqa: N802
    def registerProgressHandler(self, handler: object) -> None: ...  # noqa: N802
    def removeProgressHandler(self, handler: object) -> None: ...  # noqa: N802

    def interruptAll(self) -> None:  # noqa: N802
        self.cancelled.append(os.getpid())


def terminated() -> list[int | None]:
    child = FORK.Process(target=time.sleep, args=(60,))
    child.start()
    child.terminate()
    child.join()
    return [child.exitcode]


def say_and_sleep(said: Any) -> None:
    said.set()
    time.sleep(60)


def interrupted() -> list[int | None]:
    said = FORK.Event()
    child = FORK.Process(target=say_and_sleep, args=(said,))
    child.start()
    said.wait()  # a signal that comes while Python forks is forgotten
    os.kill(child.pid or 0, signal.SIGINT)
    child.join()
    return [child.exitcode]


def pools() -> list[int | None]:
    codes: list[int | None] = []
    for _ in range(ROUNDS):
        with FORK.Pool(WORKERS) as pool:
            workers = list(pool._pool)  # type: ignore[attr-defined]
            pool.map(abs, [-1, -2])
        codes.extend(worker.exitcode for worker in workers)
    return codes


def writes(coordinator: SourceCoordinator, lease: Any) -> None:
    """Try every write of the lease in the child, and tell how they were refused."""
    held = lease._lease
    calls = {
        "save": lambda: lease.save({"n": 1}),
        "alive": lease.alive,
        "publish": lambda: lease.publish("rows").__enter__(),
        "renew": lambda: coordinator.renew(held),
        "complete": lambda: coordinator.complete(held),
        "fail": lambda: coordinator.fail(held, "by the child"),
        "give up": lambda: coordinator.give_up(held),
        "complete on": lambda: coordinator.complete_and_get_next(held),
    }
    for name, call in calls.items():
        try:
            call()
        except Exception as error:
            tell(name, error)


def tell(name: str, error: Exception) -> None:
    with (PLACE / "refused").open("a") as refused:
        refused.write(json.dumps([name, os.getpid(), f"{type(error).__name__}: {error}"]) + "\n")


def leave_open_block(lease: Any) -> int:
    try:
        with lease.publish("rows", allow_empty=True) as block:
            if child := os.fork():
                Path(block.path).mkdir(parents=True)
    except Exception as error:
        tell("leave an open block", error)
        writes(coordinator, lease)
        os._exit(0)
    return child


def main(spark: Spark, lease: Any) -> Complete:
    (PLACE / "parent").write_text(str(os.getpid()))
    ways = {"terminated": terminated, "interrupted": interrupted, "pool": pools}
    if MODE in ways:
        codes = ways[MODE]()
    else:
        child = leave_open_block(lease) if MODE == "writes" else os.fork()
        if child == 0:
            if MODE == "exits":
                sys.exit(7)
            if MODE == "closes and exits":
                sys.stdout.close()
                sys.exit(0)
            if MODE == "raises":
                raise RuntimeError("in the child")
            return Complete()
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]
    (PLACE / "codes").write_text(json.dumps(codes))
    return Complete()


store = open_store(f"sqlite:///{PLACE}/c.db")
store.setup()
coordinator = SourceCoordinator(store, "s", "host/dag/run/task/-1/1")
coordinator.create_partitions(["p"])
spark = Spark()
driver = DriverContext(spark=spark, coordinator=coordinator, output_root=str(PLACE / "out"), alone=True)
lease = coordinator.get_next_partition()
assert lease is not None
try:
    ended = run_tenure(main, lease, driver)
finally:
    with (PLACE / "unwound").open("a") as unwound:
        unwound.write(f"{os.getpid()} ")
partition = coordinator.partition("p")
assert partition is not None
facts = {
    "status": partition.status,
    "failures": partition.failures,
    "outcome": ended.outcome,
    "cancelled": spark.cancelled,
    "codes": json.loads((PLACE / "codes").read_text()),
}
(PLACE / "seen").write_text(json.dumps(facts))
