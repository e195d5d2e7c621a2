"""One Spark Connect server for all these tests, an Airflow, and a store per test."""

from __future__ import annotations

import json

import pytest

from tests.integration.airflow.conftest import airflow_database, run_dag, store_url  # noqa: F401
from tests.integration.spark_connect.server import connect_server


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/integration/spark_connect/"):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The server; its sessions are each test's own."""
    with connect_server(tmp_path_factory.mktemp("connect")) as server:
        yield server


@pytest.fixture
def connection(server, monkeypatch):
    """The Airflow connection ``spark_connect_default`` to the server."""
    said = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": server.port}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_CONNECT_DEFAULT", json.dumps(said))


@pytest.fixture
def session(server):
    """A session of somebody else on the same server."""
    from airflow_coordination.systems.spark.connect import connect_session

    with connect_session(server.url, {}) as session:
        yield session
