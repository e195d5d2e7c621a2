"""The walls of the house that import-linter does not see: ``__init__`` files and what is loaded at run time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import PACKAGE, ROOT, imported, is_standard, room_of

MODULES = sorted(PACKAGE.rglob("*.py"))
AIRFLOW_SIDE = ("operators", "sensors", "triggers", "submission", "hooks", "links", "decorators", "board", "examples")

# What each room may import that is not in the standard library. The rooms on the Airflow side have no such list.
CLIENTS = {
    "": set(),
    "values": set(),
    "protocol": set(),
    "planning": {"isodate", "javaproperties"},
    "leases": set(),
    "stores": {"alembic", "boto3", "botocore", "psycopg", "sqlalchemy", "yaml"},
    "monitoring": set(),
    "transfer": set(),
    "systems": {"pyarrow", "tenacity"},
    "systems.http": set(),
    "systems.kafka": {"confluent_kafka", "pyspark"},
    "systems.kinesis": {"boto3", "botocore", "pyarrow", "pyspark"},
    "systems.objects": {"boto3", "fsspec", "pyarrow"},
    "systems.opensearch": {"opensearchpy"},
    "systems.spark": {"pyspark"},
    "systems.sql": {"psycopg", "pyarrow", "sqlalchemy"},
    "systems.sqs": {"boto3", "botocore"},
    "outputs": set(),
    "delivery": {"pyarrow", "pyspark"},
    "duties": set(),
    "spark": {"pyspark"},
    "cli": {"airflow", "psutil", "rich", "yaml"},
    "testing": {"pyarrow", "pytest", "rich"},
}
HEAVY = {"airflow", "boto3", "botocore", "pyspark", "sqlalchemy"}
NOT_LOADED = {
    "airflow_coordination": HEAVY,
    "airflow_coordination.get_provider_info": HEAVY,
    "airflow_coordination.leases": HEAVY | {"fsspec", "isodate", "rich"},
    "airflow_coordination.protocol.port": HEAVY | {"fsspec", "rich"},
    "airflow_coordination.planning.timeline": HEAVY | {"fsspec", "rich"},
    "airflow_coordination.acknowledgments": HEAVY | {"fsspec"},
    "airflow_coordination.compaction": HEAVY | {"fsspec", "isodate", "rich"},
    "airflow_coordination.branches": HEAVY | {"rich"},
    "airflow_coordination.outputs": HEAVY,
    "airflow_coordination.monitoring.owners": HEAVY,
    "airflow_coordination.sources": HEAVY | {"fsspec"},
    "airflow_coordination.sinks": HEAVY | {"psycopg", "pyarrow", "tenacity"},
    "airflow_coordination.duties.follow_ups": HEAVY,
    "airflow_coordination.duties.standing": HEAVY | {"fsspec", "rich"},
    "airflow_coordination.delivery.task_pass": HEAVY,
    "airflow_coordination.systems.kinesis.landing": HEAVY,
    "airflow_coordination.systems.sql.postgres_sink": HEAVY | {"psycopg"},
    "airflow_coordination.systems.sql.postgres_upsert": HEAVY | {"psycopg"},
    "airflow_coordination.stores": HEAVY - {"sqlalchemy"},
    "airflow_coordination.stores.sql": {"alembic"},
    "airflow_coordination.streams": HEAVY | {"fsspec", "rich"},
    "airflow_coordination.monitoring": HEAVY | {"rich"},
    "airflow_coordination.spark": HEAVY - {"pyspark", "sqlalchemy"},
    "airflow_coordination.testing": HEAVY,
    "airflow_coordination.cli": HEAVY,
    "airflow_coordination.cli.standalone": HEAVY - {"sqlalchemy"},
}


def place_of(module: Path) -> str:
    """Return the room of a module; of an outside system with its folder."""
    room, inside = room_of(module), module.relative_to(PACKAGE).parts[1:-1]
    return ".".join([room, *inside]) if room == "systems" else room


def test_every_room_has_a_place_in_the_walls():
    """A new room must say what it may import."""
    assert {place_of(module) for module in MODULES} <= CLIENTS.keys() | set(AIRFLOW_SIDE)


def test_rooms_import_only_their_own_clients():
    """Walls 1 to 4, for what is not ours."""
    strangers = [
        f"{module.relative_to(ROOT)}:{line} imports {name}"
        for module in MODULES
        if (room := place_of(module)) in CLIENTS
        for line, name in imported(module)
        if not is_standard(name) and name.partition(".")[0] not in CLIENTS[room] | {"airflow_coordination"}
    ]
    assert strangers == []


def test_only_what_airflow_loads_of_the_command_line_imports_airflow():
    """The command line works without Airflow, but for the modules that Airflow itself loads."""
    cli = [module for module in MODULES if room_of(module) == "cli"]
    guests = {module.name for module in cli for _, name in imported(module) if name.partition(".")[0] == "airflow"}
    assert guests <= {"airflow_commands.py", "doctor_airflow.py"}


@pytest.mark.parametrize("module", NOT_LOADED)
def test_importing_a_room_loads_no_library_it_must_do_without(module):
    """A Spark driver that imports our rooms gets no Airflow with them, whatever is installed."""
    report = "import json, sys, importlib; importlib.import_module(sys.argv[1]); print(json.dumps(list(sys.modules)))"
    command = [sys.executable, "-c", report, module]
    loaded = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout)
    assert {name.partition(".")[0] for name in loaded} & NOT_LOADED[module] == set()
