"""One leased task whose driver works on YARN, seen from outside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psutil

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from tests.engines.yarn import Yarn
from tests.system import case as system
from tests.system.harness import Airflow, is_gone, wait_for

SECONDS = 600.0


class Case(system.Case):
    """The partition of one event, and the task that works on it.

    :param place: where its job says who it is, and is told to go on.
    """

    def __init__(self, airflow: Airflow, store: PartitionStore, yarn: Yarn, name: str, place: Path) -> None:
        self.airflow, self.store, self.yarn, self.name, self.place = airflow, store, yarn, name, place
        place.mkdir()
        self.coordinator = SourceCoordinator(store, name, "test")
        self.coordinator.create_partitions([PartitionIdentifier(name, payload={"place": str(place)})])
        self.run_id = airflow.trigger(name)

    def wait(self, condition: Any, what: str) -> Any:
        """Wait for a state, and say in vain how everything stands."""
        return wait_for(condition, SECONDS, f"{self.name}: {what}", self.seen)

    def wait_until_at_work(self) -> None:
        self.wait(lambda: self.drivers, "a driver is at work")
        self.driver, self.jvm = (psutil.Process(self.drivers[0][who]) for who in ("driver", "jvm"))
        assert self.jvm.name() == "java"

    def go(self) -> None:
        """Let the driver do the rest."""
        (self.place / "go").touch()

    def kill_task(self) -> None:
        psutil.Process(self.instance["pid"]).kill()

    def kill_driver(self) -> None:
        for process in (self.jvm, self.driver):
            process.kill()

    @property
    def drivers(self) -> list[dict[str, Any]]:
        """What each driver has said of itself."""
        said = self.place / "drivers"
        return [json.loads(line) for line in said.read_text().splitlines()] if said.exists() else []

    @property
    def applications(self) -> list[str]:
        """The applications that its drivers belong to, each once."""
        return list(dict.fromkeys(driver["application"] for driver in self.drivers))

    @property
    def application(self) -> dict[str, Any]:
        """The first of them, as YARN sees it now."""
        return self.yarn.application(self.applications[0])

    @property
    def endings(self) -> list[str]:
        return [str(ending.outcome) for ending in self.partition.endings]

    @property
    def is_gone(self) -> bool:
        """Whether no process of the first driver is alive."""
        return is_gone(self.driver) and is_gone(self.jvm)

    def see_it_completed(self) -> None:
        """Wait for the end of partition and task, and look at what readers see."""
        self.wait(lambda: str(self.partition.status) == "COMPLETED", "completed")
        self.wait(lambda: self.instance["state"] == "success", "its task is green")
        assert self.rows() == system.ROWS

    def seen(self) -> str:
        """Say what YARN knows, too."""
        return "\n".join(map(str, (self.drivers, self.yarn.applications(), super().seen())))
