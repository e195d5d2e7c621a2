"""W8: a driver is killed, and another one on the same machine looks for work once a second: when has it the partition?

No Airflow, no Spark, and the defaults of ``drain``: a lease would last for ten minutes.
"""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median
from typing import Any

from airflow_coordination import Complete, SourceCoordinator, drain, open_store
from benchmarks.goals import Reading, Readings
from benchmarks.harness.postgres import database_and_folder
from benchmarks.harness.run import Run

ROUNDS = 5
_PAUSE = 1.0
_FOR_EVER = 3_600


def measured(run: Run) -> Readings:
    """Return the seconds from a kill to the call of the function in the other driver."""
    seconds, rounds = [], run.scaled(ROUNDS, 2)
    with database_and_folder() as (url, _), run.progress("W8: rounds", rounds) as advance:
        store = open_store(url)
        store.setup()
        for number in range(rounds):
            source = f"killed-{number}"
            SourceCoordinator(store, source=source, owner="benchmark").create_partitions(["one"])
            seconds.append(_round(url, source))
            advance()
        store.close()
    shown = f"{median(seconds):.1f} ({min(seconds):.1f}–{max(seconds):.1f})"
    return {"W8": Reading(max(seconds), shown, f"{median(seconds):.1f} s", "its lease: 600 s")}


def _round(url: str, source: str) -> float:
    drivers: list[subprocess.Popen[str]] = []
    try:
        drivers.append(_driver(url, source))
        _heard(drivers[0], "working")
        drivers.append(_driver(url, source))
        _heard(drivers[1], "looking")
        drivers[0].kill()
        killed = time.monotonic()
        drivers[0].wait()
        _heard(drivers[1], "working")
        return time.monotonic() - killed
    finally:
        for driver in drivers:
            driver.kill()
            driver.communicate()


def _driver(url: str, source: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", __name__, url, source], stdout=subprocess.PIPE, text=True)


def _heard(driver: subprocess.Popen[str], word: str) -> None:
    assert driver.stdout is not None
    for line in driver.stdout:
        if line.strip() == word:
            return
    raise RuntimeError(f"the driver ended before it was {word}: what it said is above")


def _work(spark: Any, lease: Any) -> Complete:
    print("working", flush=True)
    time.sleep(_FOR_EVER)
    return Complete()


def main(url: str, source: str) -> None:
    """Be a driver that looks for work again and again."""
    while True:
        drain(_work, store=url, source=source, spark=None)
        print("looking", flush=True)
        time.sleep(_PAUSE)


if __name__ == "__main__":
    main(*sys.argv[1:])
