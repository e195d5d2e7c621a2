"""The archive for ``--py-files`` works where nothing but Python is installed."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from airflow_coordination.spark import build_archive
from airflow_coordination.systems.spark.archive import NAMED_BY_JOBS, rooms
from tests.house.tree import PACKAGE, import_graph

USE_IT = """
import sys
sys.path.insert(0, sys.argv[1])
import airflow_coordination.spark
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.sources import spark_paths
from airflow_coordination.outputs import Attempt, collect, published_manifests
from airflow_coordination.spark import Close, Complete, GiveUp, drain, partition_application, read_completed
from airflow_coordination.spark.application import run_handed_over
from airflow_coordination.stores import open_store
import fsspec
from airflow_coordination.planning.periods import parse_period
assert str(parse_period("period", "P1M")) == "P1M"
assert all(sys.argv[1] in module.__file__ for module in (fsspec, airflow_coordination)), fsspec.__file__
assert not {"airflow", "pyspark", "sqlalchemy"} & set(sys.modules)
coordinator = SourceCoordinator(open_store("memory://"), source="s", owner="o")
coordinator.create_partitions(["k"])
lease = coordinator.get_next_partition()
attempt = Attempt(sys.argv[2], lease.partition.source, lease.key, lease.fence, coordinator.store.store_id)
coordinator.complete(lease, [attempt.finish(attempt.open("d"), allow_empty=True)])
print(len(published_manifests(coordinator.store, "s", "d")), collect(coordinator.store, "s", sys.argv[2]).kept)
"""


def test_it_works_in_an_interpreter_without_any_package(tmp_path: Path) -> None:
    archive = build_archive(tmp_path / "ship")
    command = [sys.executable, "-S", "-E", "-c", USE_IT, str(archive), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("1 1\n", 0), done.stderr


def test_the_same_code_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = build_archive(tmp_path / "one"), build_archive(tmp_path / "two")
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()
    assert build_archive(tmp_path / "one") == first


def test_it_holds_what_a_driver_needs_and_nothing_of_airflow(tmp_path: Path) -> None:
    names = zipfile.ZipFile(build_archive(tmp_path)).namelist()
    held = {name.split("/")[1].removesuffix(".py") for name in names if name.startswith("airflow_coordination/")}
    assert held == {"__init__", *rooms()}
    assert not held & {"board", "cli", "examples", "hooks", "operators", "sensors", "submission", "testing", "triggers"}
    assert not [name for name in names if "__pycache__" in name or "/versions/" in name]


def test_small_x1_its_rooms_are_all_that_a_driver_can_import() -> None:
    """X1: a list written by hand lacked what follows endings."""
    graph = import_graph(PACKAGE.rglob("*.py"))
    waiting = [name for name in graph if name.startswith(tuple(f"{PACKAGE.name}.{room}" for room in NAMED_BY_JOBS))]
    reached = set[str]()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph[name]
    assert {name.split(".")[1] for name in reached if "." in name} <= set(rooms())
    assert {"duties", "systems", "values"} <= set(rooms())


USE_EACH = """
import sys
sys.path.insert(0, sys.argv[1])
import importlib
lacking = []
for room in sys.argv[2:]:
    module = importlib.import_module(f"airflow_coordination.{room}")
    for name in module.__all__:
        try:
            getattr(module, name)
        except ModuleNotFoundError as error:  # a client library is the driver's image's business, our code is not
            lacking += [name] if error.name.startswith("airflow_coordination") else []
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.spark import CallUrl, Complete
from airflow_coordination.stores import open_store
from airflow_coordination.duties.follow_ups import note_of
coordinator = SourceCoordinator(open_store("memory://"), source="s", owner="o")
coordinator.create_partitions(["k"])
lease = coordinator.get_next_partition()
then = Complete(then=CallUrl("http://127.0.0.1:1/done")).then
coordinator.complete(lease, [], None, note_of(then, lease.partition, lease.fence, None))
print(lacking, coordinator.partition("k").status)
"""


def test_small_x1_a_driver_with_the_archive_alone_has_every_public_name(tmp_path: Path) -> None:
    """X1: ``DeleteObjects`` and an ending with ``then=`` raised ``ModuleNotFoundError``."""
    archive = build_archive(tmp_path / "ship")
    command = [sys.executable, "-S", "-E", "-c", USE_EACH, str(archive), *NAMED_BY_JOBS, "leases", "outputs", "stores"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("[] COMPLETED\n", 0), done.stderr
