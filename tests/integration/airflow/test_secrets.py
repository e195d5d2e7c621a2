"""Promise X4: the store's password is in the driver's environment and nowhere else; logs: tests/system."""

import json

import pytest
from sqlalchemy import text

from airflow_coordination.leases import PartitionStatus, SourceCoordinator

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.timeout(600)]

CANARY = "canary-5d1f"


@pytest.fixture
def flights(postgres_url, monkeypatch):
    from airflow_coordination.stores import open_store

    connection = {"conn_type": "coordination", "host": postgres_url, "password": CANARY}
    monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_DEFAULT", json.dumps(connection))
    store = open_store(postgres_url)
    store.setup()
    coordinator = SourceCoordinator(store, "flights", "test")
    coordinator.create_partitions(["a"])
    yield coordinator
    store.close()


def test_the_stores_password_is_no_argument_and_in_no_template_or_xcom(process, flights, tmp_path):
    ti = process(
        f"""
        import os, pathlib
        store = os.environ["COORDINATION_STORE"]
        print("the job prints", store)
        pathlib.Path({str(tmp_path / "store")!r}).write_text(store)
        raise SystemExit("failed with " + store)
        """
    )
    assert CANARY in (tmp_path / "store").read_text()
    assert CANARY not in (tmp_path / "argv.json").read_text()
    assert ti.state == "failed"
    assert CANARY not in str(flights.partition("a").last_error)
    assert _rows_with(CANARY) == []


def _rows_with(secret):
    """Return the names of the tables of Airflow's own database that hold the text anywhere."""
    from airflow.utils.session import create_session

    with create_session() as session:
        tables = [row[0] for row in session.execute(text("select name from sqlite_master where type = 'table'"))]
        return [name for name in tables if secret in str(session.execute(text(f'select * from "{name}"')).all())]


def test_the_same_job_runs_on_postgresql(process, flights):
    assert process("print('hello')", complete_on_success=True).state == "success"
    assert flights.partition("a").status is PartitionStatus.COMPLETED
