"""``airflow coordination`` finds what people have put into Airflow's own database, not only its environment."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from airflow_coordination.hooks.identity import AIRFLOW_ID
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store

pytestmark = pytest.mark.slow


@pytest.fixture
def command(capsys):
    """Run a command as a program of its own would: nothing of a task is here."""
    from airflow.cli import cli_parser

    def run(*words):
        capsys.readouterr()
        args = cli_parser.get_parser().parse_args(["coordination", *words, "-o", "json"])
        with suppress(SystemExit):  # doctor says by its code that something is wrong
            args.func(args)
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def kept(tmp_path):
    """A store whose connection is in Airflow's database, and the name of this Airflow."""
    from airflow.models import Connection, Variable
    from airflow.utils.session import create_session

    url = f"sqlite:///{tmp_path / 'kept.db'}"
    store = open_store(url)
    store.setup()
    SourceCoordinator(store, "flights", "test").create_partitions(["a"])
    store.close()
    with create_session() as session:
        session.add(Connection(conn_id="kept_here", conn_type="coordination", host=url))
    Variable.set(AIRFLOW_ID, "named")
    yield
    Variable.delete(AIRFLOW_ID)
    with create_session() as session:
        session.query(Connection).filter(Connection.conn_id == "kept_here").delete()


@pytest.mark.usefixtures("kept")
def test_b2_commands_find_connections_in_airflow_s_database(command) -> None:
    """B2: the command that is printed names a connection, and said that it is not defined."""
    [row] = command("status", "flights", "--conn-id", "kept_here")
    assert (row["source"], row["unassigned"]) == ("flights", 1)


@pytest.mark.usefixtures("kept")
def test_e6_doctor_says_the_name_that_the_tasks_have(command) -> None:
    """E6: it said that the first task is yet to make it."""
    rows = {row["check"]: row for row in command("doctor", "--conn-id", "kept_here")}
    assert rows["airflow name"]["found"] == "owners of leases name this Airflow 'named'"
