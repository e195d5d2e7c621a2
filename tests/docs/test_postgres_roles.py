"""The roles of the PostgreSQL page: one migrates, the other works and can do no more."""

from __future__ import annotations

import re
import subprocess

import psycopg
import pytest
from sqlalchemy.engine import make_url

from airflow_coordination import PartitionStatus, SourceCoordinator, open_store
from airflow_coordination.testing.postgres import find_binaries
from tests.docs.pages import ROOT

pytestmark = pytest.mark.postgres
SQL = re.compile(r"^```sql\n(.*?)^```$", re.M | re.S)


def _as(url, role):
    return url.set(username=role, database="coordination").render_as_string(hide_password=False)


@pytest.fixture
def roles(postgres_cluster):
    """Run the page's SQL as it stands; return the URLs of both roles."""
    url = make_url(postgres_cluster)
    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    [script] = SQL.findall((ROOT / "docs/how-to/postgresql.md").read_text())
    psql = [str(find_binaries() / "psql"), "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", plain]
    subprocess.run(psql, input=script, text=True, check=True, capture_output=True)
    yield _as(url, "coordination_owner"), _as(url, "coordination_worker")
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute("DROP DATABASE coordination")
        connection.execute("DROP ROLE coordination_worker, coordination_owner")


def test_x10_owner_migrates_and_worker_works(roles):
    """A whole life of a partition under the worker's rights, which do not reach the tables themselves."""
    owner_url, worker_url = roles
    owner = open_store(owner_url)
    owner.setup()
    owner.close()

    worker = open_store(worker_url)
    flights = SourceCoordinator(worker, source="flights", owner="worker")
    flights.register()
    flights.run_supplier(lambda state: ["2013-01"])
    flights.complete(flights.get_next_partition())
    flights.reset("2013-01", by="ana", why="again")
    assert flights.partition("2013-01").status is PartitionStatus.UNASSIGNED
    worker.close()

    with (
        psycopg.connect(worker_url.replace("+psycopg", "")) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("DROP TABLE coordination_partitions")
