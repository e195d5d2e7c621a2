"""A real Airflow of the tests' own, asked through its REST API."""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import psutil
import pytest

from tests.engines.ports import free_ports
from tests.share import SHARE
from tests.system.events import HEARTBEAT

START_UP = 300.0
PATIENCE = 180.0
"""Seconds for one answer: eight drivers and others' tests may leave Airflow's server little of two cores."""
LOOK_EVERY = 0.4
"""Seconds between two looks: most ask Airflow's API server, which takes 20 ms of CPU to answer."""
HOME_VARIABLE = "COORDINATION_SYSTEM_HOME"
"""Tells DAG files and jobs where the tests' Airflow lives; its processes are found again by it."""
DAGS = Path(__file__).parent / "dags"
CANARY = "canary-7c2e"
"""The store's password; the server lets everyone in, and whoever finds it in a log has found a leak."""


def wait_for(condition: Callable[[], Any], seconds: float, what: str, seen: Callable[[], str] = str) -> Any:
    """Return what ``condition`` returns once it is true; fail the test after ``seconds``, and say what is ``seen``."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            pytest.fail(f"{what}: not within {seconds:.0f} s\n{seen()}".rstrip())
        time.sleep(LOOK_EVERY)


@dataclass
class Airflow:
    """A running Airflow, asked through its REST API."""

    home: Path
    url: str
    files: frozenset[str]
    token: str = field(default="", repr=False)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(request, data, timeout=PATIENCE) as answer:
            return json.load(answer)

    def healthy(self) -> bool:
        try:
            health = self.call("GET", "/api/v2/monitor/health")
        except OSError:
            return False
        return all(part.get("status") == "healthy" for part in health.values() if part.get("status"))

    def log_in(self) -> None:
        self.token = self.call("POST", "/auth/token", {"username": "admin", "password": "admin"})["access_token"]

    def knows_all_dags(self) -> bool:
        """Return whether every file with a DAG was read; one that cannot be read fails the test."""
        errors = self.call("GET", "/api/v2/importErrors")["import_errors"]
        assert errors == [], errors[0]["stack_trace"]
        known = {Path(dag["fileloc"]).name for dag in self.call("GET", "/api/v2/dags?limit=100")["dags"]}
        return self.files <= known

    def pause(self, dag_id: str) -> None:
        """Let no further task of the DAG start; those that run go on."""
        self.call("PATCH", f"/api/v2/dags/{dag_id}", {"is_paused": True})

    def unpause(self, dag_id: str) -> None:
        self.call("PATCH", f"/api/v2/dags/{dag_id}", {"is_paused": False})

    def trigger(self, dag_id: str) -> str:
        self.unpause(dag_id)
        return str(self.call("POST", f"/api/v2/dags/{dag_id}/dagRuns", {"logical_date": None})["dag_run_id"])

    def task(self, dag_id: str, run_id: str, task_id: str = "process", map_index: int | None = None) -> dict[str, Any]:
        instance = task_id if map_index is None else f"{task_id}/{map_index}"
        return dict(self.call("GET", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{instance}"))

    def is_over(self, dag_id: str, run_id: str) -> str:
        """Return the state of a DAG run that is over, empty while it goes on."""
        state = str(self.call("GET", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}")["state"])
        return state if state in ("success", "failed") else ""

    def mapped(self, dag_id: str, run_id: str, task_id: str) -> list[dict[str, Any]]:
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/listMapped"
        return list(self.call("GET", path)["task_instances"])

    def xcom(self, dag_id: str, run_id: str, task_id: str, map_index: int) -> Any:
        """Return what a task instance returned, ``None`` if that was nothing."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries"
        try:
            return self.call("GET", f"{path}/return_value?map_index={map_index}&deserialize=true")["value"]
        except HTTPError as error:
            if error.code != 404:
                raise
            return None

    def log(self, dag_id: str, run_id: str) -> str:
        folder = self.home / "logs" / f"dag_id={dag_id}" / f"run_id={run_id}"
        return "\n".join(path.read_text() for path in sorted(folder.rglob("*.log")))

    def said(self, dag_id: str, run_id: str, what: str) -> dict[str, Any]:
        """Return the first entry of the task's log whose event contains ``what``."""
        entries = (json.loads(line) for line in self.log(dag_id, run_id).splitlines())
        return next(entry for entry in entries if what in str(entry.get("event")))


def environment(home: Path, metadata_url: str, store_url: str) -> dict[str, str]:
    """Return the environment of every process of this Airflow; nothing of it is shared with another.

    :param metadata_url: Airflow's own database, on PostgreSQL.
    """
    port, worker_logs, trigger_logs, scheduler_health = free_ports(4)
    (home / "passwords.json").write_text(json.dumps({"admin": "admin"}))
    settings = {
        "CORE__LOAD_EXAMPLES": "False",
        "CORE__DAGS_FOLDER": str(DAGS),
        "CORE__EXECUTOR": "LocalExecutor",
        "CORE__PARALLELISM": "24",
        "CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin",
        "CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
        "DATABASE__SQL_ALCHEMY_CONN": metadata_url,
        "DATABASE__SQL_ALCHEMY_CONN_ASYNC": metadata_url,
        "API__PORT": str(port),
        "API__HOST": "127.0.0.1",
        "API__BASE_URL": f"http://127.0.0.1:{port}",
        "API__WORKERS": "1",
        "LOGGING__WORKER_LOG_SERVER_PORT": str(worker_logs),
        "LOGGING__TRIGGER_LOG_SERVER_PORT": str(trigger_logs),
        "SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT": str(scheduler_health),
        "DAG_PROCESSOR__REFRESH_INTERVAL": "10",
        # A file that is read while its DAG's only active run ends can leave the DAG held back until it is read again.
        "DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
        "SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",
        "SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
        "WORKERS__EXECUTION_API_TIMEOUT": "30",
        "WORKERS__MIN_HEARTBEAT_INTERVAL": str(HEARTBEAT),
        "WORKERS__MAX_FAILED_HEARTBEATS": "10",
        "TRIGGERER__JOB_HEARTBEAT_SEC": "2",
        "TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "10",
        "COORDINATION__SWEEP_INTERVAL": "2",
        "COORDINATION__OUTPUT_ROOT": str(home / "published"),
    }
    spark = {"conn_type": "spark", "host": "local[1]", "extra": {"deploy-mode": "client"}}
    store = {"conn_type": "coordination", "host": store_url, "password": CANARY}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")},
        **{f"AIRFLOW__{name}": value for name, value in settings.items()},
        "AIRFLOW_HOME": str(home),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(spark),
        "AIRFLOW_CONN_COORDINATION_DEFAULT": json.dumps(store),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).parents[2]),
        HOME_VARIABLE: str(home),
        "COORDINATION_SYSTEM_TESTS": str(DAGS.parent),
        "COORDINATION_SYSTEM_MILLION": str(int(1_000_000 * SHARE)),
    }


def marked(name: str, text: str) -> list[psutil.Process]:
    """Return the processes whose variable ``name`` contains ``text``; ``info`` has their arguments and names."""
    return [
        one
        for one in psutil.process_iter(["environ", "cmdline", "name"])
        if text in (one.info["environ"] or {}).get(name, "")
    ]


def is_gone(process: psutil.Process) -> bool:
    """Return whether a process has ended: one that nobody waits for, as standalone does not, stays a zombie."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
