"""An Airflow of the tests' own."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.integration.airflow.setup import store_dag

SUBMIT = """\
#!{python}
import json, os, sys
application = next(argument for argument in sys.argv if argument.endswith("job.py"))
json.dump(sys.argv, open("{folder}/argv.json", "w"))
os.execv(sys.executable, [sys.executable, application])
"""

os.environ["AIRFLOW_CONN_SPARK_LOCAL"] = (
    '{"conn_type": "spark", "host": "local[1]", "extra": {"deploy-mode": "client"}}'
)


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
        store_dag(dag)
        return dag.test(**kwargs)

    return run


@pytest.fixture
def spark_submit_stand_in(tmp_path, monkeypatch):
    """Put a spark-submit on PATH that runs ``job.py`` in Python, without Spark."""
    submit = tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(SUBMIT.format(python=sys.executable, folder=tmp_path))
    submit.chmod(0o755)
    monkeypatch.setenv("PATH", str(submit.parent), prepend=":")


@pytest.fixture
def process(tmp_path, spark_submit_stand_in, run_dag, request):
    """Run one mapped task around a job with this body, with a stand-in for spark-submit; return its task instance."""
    from airflow.sdk import DAG

    from airflow_coordination.operators import LeasedSparkSubmitOperator

    job = tmp_path / "job.py"

    def run(body, hint="a", native=False, run_conf=None, **arguments):
        job.write_text(textwrap.dedent(body))
        own = {"application": str(job), "conn_id": "spark_local", "retry_delay": timedelta(0), "source": "flights"}
        name = request.node.name.replace("[", "_").replace("]", "")
        with DAG(name, schedule=None, render_template_as_native_obj=native) as dag:
            LeasedSparkSubmitOperator.partial(task_id="process", **own | arguments).expand(hint=[hint])
        run = run_dag(dag, run_conf=run_conf)
        [ti] = run.get_task_instances()
        return ti

    return run
