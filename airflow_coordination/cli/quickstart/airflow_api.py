"""The REST API of an Airflow on this host, as far as the quickstart asks it."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import dataclass
from http.client import NOT_FOUND
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlencode

_COMPONENTS: Final = ("metadatabase", "scheduler", "triggerer", "dag_processor")


@dataclass(slots=True)
class AirflowApi:
    """Asks in the name of the user ``admin``. Every method raises ``OSError`` when there is no answer.

    :param url: where Airflow's pages are.
    """

    url: str
    password: str
    _token: str | None = None

    def is_healthy(self) -> bool:
        """Return whether every component runs."""
        health = self._call("GET", "/api/v2/monitor/health")
        return all((health.get(name) or {}).get("status") == "healthy" for name in _COMPONENTS)

    def let_go(self, dag: str) -> bool:
        """Switch a DAG on; return whether Airflow knows it already."""
        try:
            self._send("PATCH", f"/api/v2/dags/{dag}", {"is_paused": False})
        except HTTPError as error:
            if error.code != NOT_FOUND:
                raise
            return False
        return True

    def import_errors(self) -> list[str]:
        """Return what kept DAG files from being read."""
        return [error["stack_trace"] for error in self._get("/api/v2/importErrors")["import_errors"]]

    def failed_tasks(self, dag: str) -> list[str]:
        """Return the tasks of a DAG's runs that have failed."""
        found = self._get(f"/api/v2/dags/{dag}/dagRuns/~/taskInstances?state=failed")["task_instances"]
        return [str(each["task_id"]) for each in found]

    def on_the_board(self, store: str, source: str, state: str) -> list[str]:
        """Return the keys of a source's partitions that the page Partitions shows in a state, of its first page.

        :param store: the connection.
        :param source: the stored source identifier.
        """
        query = urlencode({"store": store, "source": source, "status": state})
        return [str(each["key"]) for each in self._get(f"/coordination/api/v1/partitions?{query}")["partitions"]]

    def _get(self, path: str) -> Any:
        return self._send("GET", path)

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        if self._token is None:
            login = {"username": "admin", "password": self.password}
            self._token = self._call("POST", "/auth/token", login)["access_token"]
        return self._call(method, path, body, self._token)

    def _call(self, method: str, path: str, body: Any = None, token: str | None = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, content, {"Content-Type": "application/json"}, method=method)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
