"""The plugin: what Airflow loads of the board, in each process of a task; nothing is imported until it is asked for."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from airflow.providers.common.compat.sdk import AirflowPlugin

URL_PREFIX: Final = "/coordination"
PAGE: Final = "Partitions"
"""The page's name in the navigation and on its tabs, and the global under which Airflow finds its component."""

ROUTES: Final = {
    "nav": "partitions",
    "dag": "partitions-of-dag",
    "dag_run": "partitions-of-dag-run",
    "task_instance": "partitions-of-task-instance",
}
"""Where it stands, and the last part of its address there, which no other plugin may have."""


class CoordinationPlugin(AirflowPlugin):
    """Registers the board's page and API."""

    name = "airflow_coordination"
    react_apps: ClassVar[list[dict[str, Any]]] = [  # type: ignore[misc]
        {
            "name": PAGE,
            "bundle_url": f"{URL_PREFIX[1:]}/static/partitions.js",
            "destination": destination,
            "url_route": route,
            **({"category": "browse"} if destination == "nav" else {}),
        }
        for destination, route in ROUTES.items()
    ]

    @property
    def fastapi_apps(self) -> list[dict[str, Any]]:  # type: ignore[override]
        """The API; only an API server asks for it, and only there FastAPI and Airflow's models are imported."""
        from airflow_coordination.board.app import create_app

        return [{"app": create_app(), "url_prefix": URL_PREFIX, "name": f"{PAGE} API"}]
