"""One task at work on one partition, seen from outside."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psutil
import pyarrow.parquet as pq

from airflow_coordination.leases import Ending, Fence, Partition, PartitionIdentifier, SourceCoordinator
from airflow_coordination.leases.handover import HANDOVER_VARIABLE
from airflow_coordination.outputs.published import published_manifests
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.fence import Owner
from tests.system.events import NEXT_RUN, SAME_TASK, Event
from tests.system.harness import Airflow, is_gone, marked, wait_for

ROWS = list(range(20))
LAST_SAID = 6000
"""Characters of a task's logs that a failed test shows."""


@dataclass(frozen=True)
class Result:
    """What was seen of one event.

    :param free: seconds from the event until the lease was free.
    :param gone: seconds from the event until no process of the attempt was alive.
    """

    event: Event
    free: float
    gone: float
    ending: str
    next_owner: str
    state: str
    rows: list[int]

    @property
    def exact(self) -> bool:
        """Whether readers see each row once."""
        return self.rows == ROWS


class Case:
    """The partition of one event, and the task that works on it first."""

    def __init__(self, airflow: Airflow, store: PartitionStore, event: Event) -> None:
        self.airflow, self.store, self.event, self.name = airflow, store, event, event.name
        self.lines = airflow.home / f"{self.name}.lines"
        self.coordinator = SourceCoordinator(store, self.name, "test")
        self.coordinator.create_partitions([PartitionIdentifier(self.name, payload={"lines": str(self.lines)})])
        self.run_id = airflow.trigger(self.name)

    def wait_until_at_work(self) -> None:
        wait_for(self._at_work, 300, f"{self.name} is at work")
        self.fence: Fence = self.partition.fence
        java = [process for process in self.processes() if process.info["name"] == "java"]
        [self.jvm] = java
        self.task = self.jvm.parent()
        self.supervisor = self.task.parent()
        [self.driver] = [child for child in self.jvm.children() if "python" in child.name()]
        assert self.instance["rendered_map_index"] == self.name

    def _at_work(self) -> bool:
        return self.lines.exists() and self.lines.stat().st_size > 60

    @property
    def partition(self) -> Partition:
        return self.coordinator.partition(self.name)

    @property
    def ending(self) -> Ending | None:
        return self.partition.ending_of(self.fence)

    @property
    def instance(self) -> dict[str, Any]:
        return self.airflow.task(self.name, self.run_id, map_index=0)

    def mark(self, state: str) -> None:
        """Do what the button in the grid does."""
        path = f"/api/v2/dags/{self.name}/dagRuns/{self.run_id}/taskInstances/process/0"
        self.airflow.call("PATCH", path, {"new_state": state})

    def clear(self) -> None:
        """Do what the button in the grid does."""
        what = {"dag_run_id": self.run_id, "task_ids": [["process", 0]], "dry_run": False, "only_failed": False}
        self.airflow.call("POST", f"/api/v2/dags/{self.name}/clearTaskInstances", what)

    def link(self, name: str) -> str:
        """Return where a button of the task instance leads."""
        path = f"/api/v2/dags/{self.name}/dagRuns/{self.run_id}/taskInstances/process/links?map_index=0"
        return str(self.airflow.call("GET", path)["extra_links"][name])

    def timed_out_at(self) -> float:
        """Return when Airflow noticed that the time was up."""
        if self.event.dag:
            return moment(self.airflow.call("GET", f"/api/v2/dags/{self.name}/dagRuns/{self.run_id}")["end_date"])
        return moment(self.airflow.said(self.name, self.run_id, "timed out")["timestamp"])

    def processes(self) -> list[psutil.Process]:
        """The processes of this very tenure."""
        return marked(HANDOVER_VARIABLE, str(self.fence))

    def watch_the_end(self, seconds: float) -> tuple[float, float]:
        """Return when the lease was free and when the last writer was gone, as wall clock times."""
        free = gone = 0.0
        deadline = time.monotonic() + seconds
        alive = self.processes()
        while not (free and gone):
            assert time.monotonic() < deadline, f"{self.name}: lease free {free}, writers gone {gone}"
            alive = [process for process in alive if not is_gone(process)]
            if not gone and not alive:
                alive = self.processes()  # of the whole machine, which costs more than asking the known ones
                gone = 0.0 if alive else time.time()
            if not free and self.ending is not None:
                free = time.time()
            time.sleep(0.05)
        return free, gone

    def see_it_completed(self) -> None:
        """Let the next owner start, and wait until it has done the rest."""
        self.airflow.unpause(self.name)
        if self.event.next_owner == NEXT_RUN:
            self.airflow.trigger(self.name)
        state = self.event.state
        wait_for(lambda: str(self.partition.status) == "COMPLETED", 300, f"{self.name} is completed", self.seen)
        wait_for(lambda: self.instance["state"] == state, 120, f"{self.name} is {state}", self.seen)

    def seen(self) -> str:
        """Say how partition and task stand, and how the task's logs end: for whoever reads that a wait was in vain."""
        run = self.airflow.call("GET", f"/api/v2/dags/{self.name}/dagRuns/{self.run_id}")
        dag = self.airflow.call("GET", f"/api/v2/dags/{self.name}")
        said = self.airflow.log(self.name, self.run_id)[-LAST_SAID:]
        return "\n".join(map(str, (self.partition, self.instance, run, dag, said)))

    def next_owner(self) -> str:
        """Return who worked on the partition after the first owner."""
        said = [json.loads(line) for line in self.lines.with_suffix(".owners").read_text().splitlines()]
        first, second = (Owner(entry["owner"]) for entry in said)
        return SAME_TASK if first.task == second.task else NEXT_RUN

    def rows(self) -> list[int]:
        """Return the rows that readers see."""
        manifests = published_manifests(self.store, self.name, "rows")
        files = [f"{manifest.directory}/{file.path}" for manifest in manifests for file in manifest.files]
        return sorted(row for file in files for row in pq.read_table(file).column("id").to_pylist())


def moment(text: str) -> float:
    """Return an Airflow timestamp as a wall clock time."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
