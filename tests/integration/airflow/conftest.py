"""An Airflow of the tests' own: its home is made before Airflow is imported for the first time."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="airflow-home-"))
os.environ |= {
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW_CONN_SPARK_LOCAL": '{"conn_type": "spark", "host": "local[1]", "extra": {"deploy-mode": "client"}}',
}


@pytest.fixture(scope="session", autouse=True)
def airflow_database() -> None:
    """Create Airflow's own database once."""
    from airflow.utils.db import initdb

    initdb()


@pytest.fixture(autouse=True)
def spark_submit_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the Spark provider find pyspark's own spark-submit."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def store_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new SQLite store, set up, behind the connection ``coordination_default``."""
    from airflow_coordination.stores import open_store

    url = f"sqlite:///{tmp_path / 'coordination.db'}"
    store = open_store(url)
    store.setup()
    store.close()
    monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_DEFAULT", f'{{"conn_type": "coordination", "host": "{url}"}}')
    return url


@pytest.fixture
def run_dag() -> Callable[..., object]:
    """Run a DAG in this process, after storing it as a scheduler would find it; return the DAG run."""

    def run(dag, **kwargs):
        from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
        from airflow.models.dagbundle import DagBundleModel
        from airflow.utils.session import create_session

        with create_session() as session:
            session.merge(DagBundleModel(name="testing"))
        bag = DagBag(dag_folder=os.devnull)
        bag.bag_dag(dag)
        sync_bag_to_db(bag, "testing", None)
        return dag.test(**kwargs)

    return run
