"""Starts an Airflow with all its processes, and ends every one of them."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.system.harness import HOME_VARIABLE, START_UP, Airflow, is_gone, marked, wait_for


@contextmanager
def running(home: Path, environ: Mapping[str, str], files: Iterable[str]) -> Iterator[Airflow]:
    """Run ``airflow standalone`` until the block ends, and give it once it has read its DAGs.

    :param home: where it lives, by which its processes are found again.
    :param environ: the environment of all of them.
    :param files: the names of the files that have a DAG.
    """
    with (home / "standalone.log").open("wb") as log:
        process = subprocess.Popen(
            ["airflow", "standalone"], env=environ, stdout=log, stderr=log, preexec_fn=_hear_interrupts
        )
        try:
            yield _ready(Airflow(home, environ["AIRFLOW__API__BASE_URL"], frozenset(files)))
        finally:
            _end(process, home)


def _hear_interrupts() -> None:
    """Undo what a shell does to its background jobs: they ignore SIGINT, and so would Airflow."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _ready(airflow: Airflow) -> Airflow:
    wait_for(airflow.healthy, START_UP, f"Airflow is healthy (see {airflow.home}/standalone.log)")
    airflow.log_in()
    wait_for(airflow.knows_all_dags, START_UP, "the DAGs are known")
    return airflow


def _end(standalone: subprocess.Popen[bytes], home: Path) -> None:
    """Kill all of it: in order it may take a minute, for its executor waits for workers, also where one was killed."""
    left = psutil.Process(standalone.pid).children(recursive=True)  # a worker's title hides its environment
    while left := [process for process in left if not is_gone(process)] + marked(HOME_VARIABLE, str(home)):
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        time.sleep(0.05)
    standalone.wait()
