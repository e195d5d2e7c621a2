"""The roles of the PostgreSQL page: one migrates, one works and can do no more, one reads."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from airflow_coordination import PartitionStatus, SourceCoordinator, open_store
from tests.docs.pages import ROOT
from tests.engines.postgres import find_binaries

pytestmark = pytest.mark.postgres
BLOCK = re.compile(r"^```(sql|bash)\n(.*?)^```$", re.M | re.S)


def _as(url, role):
    return url.set(username=role, database="coordination").render_as_string(hide_password=False)


@pytest.fixture
def roles(postgres_cluster):
    """Do what the page says, block by block; return the URLs of the three roles."""
    url = make_url(postgres_cluster)
    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    page = (ROOT / "docs/how-to/postgresql.md").read_text()
    server = f"{url.host}:{url.port}"
    connection = {"PGHOST": url.host, "PGPORT": str(url.port), "PGUSER": url.username, "PGDATABASE": url.database}
    programs = os.pathsep.join([str(Path(sys.executable).parent), str(find_binaries()), os.environ["PATH"]])
    environment = os.environ | connection | {"PATH": programs, "PYTHONPATH": str(ROOT)}
    for kind, script in BLOCK.findall(page):
        program = ["psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1"] if kind == "sql" else ["bash", "-eu"]
        text = script.replace("db.example", server).replace("?sslmode=verify-full", "")
        subprocess.run(program, input=text, text=True, check=True, capture_output=True, env=environment, cwd="/")
    yield tuple(_as(url, f"coordination_{role}") for role in ("owner", "worker", "reader"))
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute("DROP DATABASE coordination WITH (FORCE)")
        connection.execute("DROP ROLE coordination_reader, coordination_worker, coordination_owner")


def test_x10_owner_migrates_worker_works_and_reader_reads(roles):
    """A partition's life under the worker's rights, which do not reach the tables themselves (B6)."""
    _, worker_url, reader_url = roles
    worker = open_store(worker_url)
    flights = SourceCoordinator(worker, source="flights", owner="worker")
    flights.supplying.register()
    flights.run_supplier(lambda state: ["2013-01"])
    flights.complete(flights.get_next_partition())
    flights.people.reset("2013-01", by="ana", why="again")
    worker.close()

    reader = open_store(reader_url)
    seen = SourceCoordinator(reader, source="flights", owner="reader").partition("2013-01")
    assert seen.status is PartitionStatus.UNASSIGNED
    reader.close()

    for role_url, statement in (
        (worker_url, "DROP TABLE coordination_partitions"),
        (worker_url, "DELETE FROM coordination_partitions"),
        (reader_url, "UPDATE coordination_partitions SET token = 7"),
    ):
        with (
            psycopg.connect(role_url.replace("+psycopg", "")) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(statement)
