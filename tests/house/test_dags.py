"""Wall 5: importing a DAG file touches neither the store nor the network."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.house.tree import PACKAGE, ROOT

WATCHED_IMPORT = """
import gc, runpy, sys
from airflow.sdk import DAG  # whatever Airflow itself opens, it opens here
touched = []
sys.addaudithook(lambda event, args: touched.append((event, args)) if event in {
    "socket.connect", "socket.getaddrinfo", "sqlite3.connect"} else None)
found = runpy.run_path(sys.argv[1])
dags = [each for each in gc.get_objects() if issubclass(type(each), DAG)]  # no question to lazy objects
sys.exit(f"touched {touched}" if touched else None if dags else "no DAG in it")
"""


@pytest.mark.slow  # a process that imports Airflow, for each
def test_importing_a_dag_file_opens_no_database_and_no_connection(tmp_path):
    """The DAG processor does it all the time, and so does every task."""
    dag_files = sorted([*(ROOT / "dags").glob("*.py"), *(PACKAGE / "examples").glob("*.py")])
    says_dag = [path for path in dag_files if "DAG(" in path.read_text() or "@dag" in path.read_text()]
    assert says_dag
    for path in says_dag:
        command = [sys.executable, "-c", WATCHED_IMPORT, str(path)]
        environment = {**os.environ, "AIRFLOW_HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "dags")}
        finished = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert finished.returncode == 0, f"{path.name}: {finished.stderr[-2000:]}"
