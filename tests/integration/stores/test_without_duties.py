"""Ingest and reading go on when no duty ever runs, and know nothing of duties (S24)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from airflow_coordination.duties.groups.running import GroupRunner
from airflow_coordination.stores import open_store
from tests.house.test_imports import imports, layers, room_of

GROUPS = "airflow_coordination.duties.groups"
APART = {"board", "cli", "examples", "testing", "duties"}
"""Rooms that show or run duties, or that nobody needs for ingest."""
DOORS = {"airflow_coordination.operators", "airflow_coordination.operators.duties"}
"""The first names the second for type checkers, and loads it for who asks for it."""

DRAIN = """
import sys
from pathlib import Path
from airflow_coordination.stores import open_store
from tests.backfills import Month
month = Month(open_store(sys.argv[1]), Path(sys.argv[2]))
month.c.supplying.register_dag("ingest")
month.filled(1, 2, 3)
month.c.people.reset("2013-01-01", "ana", "again")
month.work("2013-01-01", ["2013-01-01 new"], interval="2013-01-01/P1D")
print(sorted(month.read()))
print([name for name in sys.modules if name.startswith("airflow_coordination.duties.groups")])
"""


def reached(module: str) -> set[str]:
    """Return what a module imports, and what that imports in turn."""
    found: set[str] = set()
    left = [module]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += [other for other in imports().get(name, ()) if other not in DOORS]
    return found


def leading(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if name.startswith(GROUPS))


def test_s24_nothing_that_ingests_or_reads_imports_a_group_of_duties() -> None:
    modules = [name for name in imports() if room_of(name) in layers().keys() - APART and name not in DOORS]
    assert len(modules) > 300
    assert {name: found for name in modules if (found := leading(reached(name)))} == {}
    assert leading(reached("airflow_coordination.operators.duties")), "who runs them does"


@pytest.mark.slow
@pytest.mark.parametrize("store_url", ["sqlite_url", pytest.param("postgres_store_url", marks=pytest.mark.postgres)])
def test_s24_a_source_is_filled_read_and_filled_again_while_a_dead_leader_has_its_group(
    store_url: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = request.getfixturevalue(store_url)
    store = open_store(url)
    store.setup()
    duties = GroupRunner(store, "dead").duties
    duties.create_partitions(["group|HistoricalManagementDuties"])
    assert duties.acquire_partition("group|HistoricalManagementDuties") is not None
    done = subprocess.run([sys.executable, "-c", DRAIN, url, str(tmp_path / "out")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["['2013-01-01 new', '2013-01-02 old', '2013-01-03 old']", "[]"]
    [(partition, state)] = GroupRunner(store, "ana").states().values()
    assert (partition.owner, state.ran_at) == ("dead", None), "and nobody has run any"
    store.close()
