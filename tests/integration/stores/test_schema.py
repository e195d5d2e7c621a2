"""Setting up a database as a store, by one process and by several. Versions: ``tests/integration/upgrade``."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import airflow_coordination
from airflow_coordination.stores import open_store
from airflow_coordination.values.errors import SchemaVersionError
from tests.integration.stores.conftest import SOURCE, creation

URLS = ["sqlite_url", pytest.param("postgres_url", marks=pytest.mark.postgres)]


@pytest.fixture(params=URLS)
def empty_url(request: pytest.FixtureRequest) -> str:
    """URL of a place where no store was ever set up."""
    url: str = request.getfixturevalue(request.param)
    return url


def test_s16_a_store_that_was_never_set_up_names_the_command(empty_url: str) -> None:
    store = open_store(empty_url)
    with pytest.raises(SchemaVersionError, match="airflow coordination store migrate") as caught:
        store.counts(SOURCE)
    assert "exist" in str(caught.value)
    store.setup()
    assert store.counts(SOURCE)["COMPLETED"] == 0  # type: ignore[index]
    store.close()


def test_setting_up_twice_keeps_everything(empty_url: str) -> None:
    store = open_store(empty_url)
    store.setup()
    store.create(creation(["a"]))
    again = open_store(empty_url)
    again.setup()
    assert again.store_id == store.store_id
    assert len(again.store_id) == 16
    assert again.get(SOURCE, "a") is not None
    store.close()
    again.close()


def _set_up(url: str, barrier: object, ids: object) -> None:
    store = open_store(url)
    barrier.wait()  # type: ignore[attr-defined]
    store.setup()
    ids.put(store.store_id)  # type: ignore[attr-defined]


def test_four_processes_set_one_store_up(empty_url: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    barrier, ids = spawn.Barrier(4), spawn.Queue()
    processes = [spawn.Process(target=_set_up, args=(empty_url, barrier, ids)) for _ in range(4)]
    for process in processes:
        process.start()
    found = {ids.get(timeout=90) for _ in processes}
    for process in processes:
        process.join(30)
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    assert len(found) == 1


def test_a_package_that_nobody_may_write_sets_stores_up(tmp_path: Path) -> None:
    package = tmp_path / "installed" / "airflow_coordination"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(airflow_coordination.__file__).parent, package, ignore=ignore)
    for directory in [package.parent, package, *(path for path in package.rglob("*") if path.is_dir())]:
        directory.chmod(0o555)
    code = f"from airflow_coordination.stores import open_store; open_store('sqlite:///{tmp_path}/s.db').setup()"
    as_others = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
    subprocess.run(
        [*as_others, sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(package.parent)}, check=True
    )
    written = list(package.rglob("__pycache__"))
    for directory in package.parent.rglob("*"):
        directory.chmod(0o755)
    assert written == []
    assert open_store(f"sqlite:///{tmp_path}/s.db").counts(SOURCE)
