"""The board's application on Airflow's real auth manager, with tokens that it has signed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from airflow_coordination.board import counting
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from tests.integration.board.auth_managers import OPEN_DAG, SIMPLE, TEAM_DAG, Tokens, users_of

__all__ = ["OPEN_DAG", "OURS", "TEAM_DAG"]
OURS = {"X-Coordination-Action": "1"}
"""What our page sends with what changes something."""


@pytest.fixture(scope="session", autouse=True)
def airflow_database() -> None:
    """Airflow's own database, which knows two DAGs: one belongs to a team."""
    from airflow.models.dag import DagModel
    from airflow.models.dagbundle import DagBundleModel
    from airflow.models.team import Team
    from airflow.utils.db import initdb
    from airflow.utils.session import create_session

    initdb()
    with create_session() as session:
        number = {"id": uuid.UUID(int=1)} if hasattr(Team, "id") else {}  # up to Airflow 3.1
        team = session.merge(Team(name="ours", **number))
        owned = session.merge(DagBundleModel(name="board_team"))
        owned.teams = [team]
        session.merge(DagBundleModel(name="board_open"))
        session.flush()
        for dag, bundle in ((TEAM_DAG, "board_team"), (OPEN_DAG, "board_open")):
            session.merge(DagModel(dag_id=dag, bundle_name=bundle, is_stale=False))


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look waits until all is counted, however busy this machine is."""
    monkeypatch.setattr(counting, "PATIENCE", 30.0)


@pytest.fixture(scope="module")
def auth_manager() -> str:
    """Airflow's auth manager; a module may ask for each of them."""
    return SIMPLE


@pytest.fixture(scope="module")
def token(auth_manager: str, airflow_database: None) -> Iterator[Tokens]:
    """Return what makes the token of a role in some teams."""
    with users_of(auth_manager) as tokens:
        yield tokens


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PartitionStore]:
    """The store of the only connection that the board shows."""
    from airflow_coordination.stores import open_store

    url = f"sqlite:///{tmp_path / 'store.db'}"
    monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_DEFAULT", json.dumps({"conn_type": "coordination", "host": url}))
    store = open_store(url)
    store.setup()
    yield store
    store.close()


@pytest.fixture
def flights(store: PartitionStore) -> SourceCoordinator:
    """A source of the team's DAG with one partition."""
    flights = SourceCoordinator(store, "flights", "somebody")
    flights.create_partitions(["a-secret-key"])
    flights.supplying.register(dag_id=TEAM_DAG)
    return flights


@pytest.fixture(scope="session")
def app() -> FastAPI:
    """The application."""
    from airflow_coordination.board.app import create_app

    return create_app()


@pytest.fixture
def client(app: FastAPI) -> TestClient:
    """What sends requests to it, with no token."""
    return TestClient(app)
