"""What a process that only works does not import: each task is one (decision 0026)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from airflow_coordination import SourceCoordinator, open_store

pytestmark = pytest.mark.slow
WORK = """
import sys
from airflow_coordination import SourceCoordinator, open_store
coordinator = SourceCoordinator(open_store(sys.argv[1]), "flights", "task")
coordinator.complete(coordinator.get_next_partition())
print(*sorted({name.partition(".")[0] for name in sys.modules} & set(sys.argv[2:])))
"""
HEAVY = ("sqlalchemy", "alembic", "airflow", "pyspark", "boto3", "fsspec", "pyarrow", "yaml", "pandas", "numpy")


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_a_worker_imports_nothing_heavy(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue("postgres_url") if engine == "postgresql" else f"sqlite:///{tmp_path}/store.db"
    store = open_store(url)
    store.setup()
    SourceCoordinator(store, "flights", "test").create_partitions(["a"])
    store.close()
    done = subprocess.run([sys.executable, "-c", WORK, url, *HEAVY], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("", "", 0)
