"""Airflow's REST API, as far as the demo needs it."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from demo.problems import DemoError

RUN = "demo"
"""The id of the run that the demo triggers."""
PATIENCE = 60.0
"""Seconds in which a request is made again: SQLite under load may refuse one now and then."""
COMPONENTS = ("metadatabase", "scheduler", "triggerer", "dag_processor")


@dataclass(slots=True)
class AirflowApi:
    """Asks and tells an Airflow on this machine.

    :param url: where its pages are.
    :param password: of the user ``admin``.
    """

    url: str
    password: str
    _token: str | None = None

    def is_healthy(self) -> bool:
        """Return whether every component answers."""
        try:
            health = self._call("GET", "/api/v2/monitor/health")
        except OSError:
            return False
        return all(health.get(name, {}).get("status") == "healthy" for name in COMPONENTS)

    def knows(self, dag_id: str) -> bool:
        """Return whether the DAG was parsed."""
        try:
            self._get(f"/dags/{dag_id}")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return False
            raise
        return True

    def import_errors(self) -> list[str]:
        """Return what kept DAG files from being parsed."""
        return [error["stack_trace"] for error in self._get("/importErrors")["import_errors"]]

    def trigger(self, dag_id: str, run: str = RUN) -> None:
        """Trigger the run and let the DAG go."""
        try:
            self._send("POST", f"/dags/{dag_id}/dagRuns", {"dag_run_id": run, "logical_date": None})
        except urllib.error.HTTPError as error:
            if error.code != 409:  # an earlier request whose answer was lost
                raise
        self._send("PATCH", f"/dags/{dag_id}", {"is_paused": False})

    def run_state(self, dag_id: str, run: str = RUN) -> str:
        """Return the state of the run."""
        return str(self._get(f"/dags/{dag_id}/dagRuns/{run}")["state"])

    def task_instances(self, dag_id: str) -> list[dict[str, Any]]:
        """Return the task instances of the run."""
        found: list[dict[str, Any]] = self._get(f"/dags/{dag_id}/dagRuns/{RUN}/taskInstances")["task_instances"]
        return found

    def _get(self, path: str) -> Any:
        return self._send("GET", path, None)

    def _send(self, method: str, path: str, body: Any) -> Any:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._call(method, f"/api/v2{path}", body, self._log_in())
            except OSError as error:
                if isinstance(error, urllib.error.HTTPError) and error.code < 500:
                    raise
                if time.monotonic() > deadline:
                    raise DemoError(f"Airflow does not answer {method} {self.url}{path}: {error}.") from error
            time.sleep(1)

    def _log_in(self) -> str:
        if self._token is None:
            login = {"username": "admin", "password": self.password}
            self._token = self._call("POST", "/auth/token", login)["access_token"]
        return self._token

    def _call(self, method: str, path: str, body: Any = None, token: str | None = None) -> Any:
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Content-Type", "application/json")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        content = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(request, content, timeout=30) as answer:
            return json.load(answer)
