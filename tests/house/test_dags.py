"""Wall 5: importing a DAG file touches neither the store nor the network."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.house.tree import PACKAGE, ROOT

WATCHED_IMPORTS = """
import gc, os, runpy, sys
from airflow.sdk import DAG  # whatever Airflow itself opens, it opens here

gc.freeze()  # what a DAG file makes is looked through, not all that Airflow is

def watched(path):
    touched = []
    sys.addaudithook(lambda event, args: touched.append((event, args)) if event in {
        "socket.connect", "socket.getaddrinfo", "sqlite3.connect"} else None)
    runpy.run_path(path)
    dags = [each for each in gc.get_objects() if issubclass(type(each), DAG)]  # no question to lazy objects
    sys.exit(f"touched {touched}" if touched else None if dags else "no DAG in it")

for path in sys.argv[1:]:
    if not os.fork():  # for each a process that has imported Airflow and no other DAG
        watched(path)
    _, status = os.wait()
    if status:
        sys.exit(f"{path}: see above")
print(len(sys.argv) - 1)
"""


@pytest.mark.slow  # a process that imports Airflow
def test_importing_a_dag_file_opens_no_database_and_no_connection(tmp_path):
    """The DAG processor does it all the time, and so does every task."""
    dag_files = sorted([*(ROOT / "dags").glob("*.py"), *(PACKAGE / "examples").glob("*.py")])
    says_dag = [str(path) for path in dag_files if "DAG(" in path.read_text() or "@dag" in path.read_text()]
    assert says_dag
    command = [sys.executable, "-c", WATCHED_IMPORTS, *says_dag]
    environment = {**os.environ, "AIRFLOW_HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "dags")}
    finished = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert finished.returncode == 0, finished.stderr[-2000:]
    assert finished.stdout == f"{len(says_dag)}\n"
