"""Airflow for the demo: started, awaited, and its troubles told with the logs that show them."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from demo.api import RUN, AirflowApi
from demo.place import Place
from demo.problems import DemoError, tail
from demo.processes import end_all, of_demo, start_airflow

START_UP = 600.0
"""Seconds that Airflow may take to start; 15 to 60 are usual."""
DAG = "flights"


class Airflow:
    """A running ``airflow standalone``.

    :param place: the demo's folder, ports and log-in.
    :param process: it.
    """

    def __init__(self, place: Place, process: subprocess.Popen[bytes]) -> None:
        self._place, self._process = place, process
        self.api = AirflowApi(f"http://127.0.0.1:{place.ports[0]}", place.password)

    def wait_until_ready(self) -> None:
        """Wait until every component answers and the DAG is known.

        :raises DemoError: when that takes too long, Airflow ended, or the DAG cannot be imported.
        """
        deadline = time.monotonic() + START_UP
        self._await(self.api.is_healthy, deadline, "Airflow did not become healthy")
        self._await(self._knows_dag, deadline, f"Airflow did not find the DAG {DAG}")

    def check_running(self) -> None:
        """Check that Airflow is still there.

        :raises DemoError: with the end of its log when it is not.
        """
        if self._process.poll() is None:
            return
        log = tail(self._place.log)
        remedy = f"Its log is {self._place.log}."
        if "address already in use" in log.lower():
            remedy = "Another program took one of its ports meanwhile. Run it again: it looks for free ones."
        raise DemoError(f"Airflow ended by itself, with code {self._process.returncode}.", remedy, log)

    def check_run(self) -> bool:
        """Return whether the run has succeeded.

        :raises DemoError: with the ends of the failed tasks' logs when it has failed.
        """
        state = self.api.run_state(DAG)
        if state != "failed":
            return state == "success"
        failed = [ti for ti in self.api.task_instances(DAG) if ti["state"] == "failed"]
        names = ", ".join(
            f"{ti['task_id']}[{ti['map_index']}]" if ti["map_index"] >= 0 else ti["task_id"] for ti in failed
        )
        details = "\n".join(task_log(self._place.home, ti) for ti in failed)
        raise DemoError(
            f"The run failed: {names or 'no task'}.", f"All logs are in {self._place.home / 'logs'}.", details
        )

    def _knows_dag(self) -> bool:
        errors = self.api.import_errors()
        if errors:
            raise DemoError("A file in dags/ cannot be imported.", "Correct it and run it again.", "\n".join(errors))
        return self.api.knows(DAG)

    def _await(self, condition: Callable[[], bool], deadline: float, problem: str) -> None:
        while not condition():
            self.check_running()
            if time.monotonic() > deadline:
                raise DemoError(
                    f"{problem} within {START_UP:.0f} seconds.", f"Its log is {self._place.log}.", tail(self._place.log)
                )
            time.sleep(0.5)


def task_log(home: Path, ti: dict[str, object]) -> str:
    """Return the end of the log of a task instance's last try, readable."""
    folder = home / "logs" / f"dag_id={DAG}" / f"run_id={RUN}" / f"task_id={ti['task_id']}"
    if ti["map_index"] != -1:
        folder /= f"map_index={ti['map_index']}"
    path = folder / f"attempt={ti['try_number']}.log"
    return f"--- {path}\n" + "\n".join(readable(line) for line in tail(path).splitlines())


def readable(line: str) -> str:
    """Return a line of a task's log without its JSON."""
    try:
        entry = json.loads(line)
    except ValueError:
        return line
    details = [f"{error['exc_type']}: {error['exc_value']}" for error in entry.get("error_detail") or []]
    return " ".join(
        [str(entry.get("timestamp", ""))[11:19], str(entry.get("level", "")), str(entry["event"]), *details]
    )


@contextmanager
def airflow_running(place: Place) -> Iterator[Airflow]:
    """Give a started Airflow, and end it with all that it has started, whatever happens."""
    process = start_airflow(place.environment(), place.log)
    try:
        yield Airflow(place, process)
    finally:
        left = end_all(process, place.root)
        if left:
            pids = " ".join(str(one.pid) for one in left)
            raise DemoError(f"These processes could not be ended: {pids}.", f"End them by hand: kill -9 {pids}")


def end_leftovers(root: Path) -> int:
    """End what a demo left that was killed itself; return how many processes it was."""
    left = of_demo(root)
    end_all(None, root)
    return len(left)
