"""``reset --run``: one partition, then a run of its DAG; a dry run first."""

import json

import pytest

from airflow_coordination.cli.commands import COMMANDS
from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.standalone import parser, run
from airflow_coordination.leases import PartitionStatus
from airflow_coordination.stores import open_store
from airflow_coordination.values.asking import asked_for, asking_for
from airflow_coordination.values.input_errors import SettingsError
from tests.unit.typed import words

[RESET] = [command for command in COMMANDS if command.name == "reset"]


class Dags:
    """Airflow's DAGs as far as the command sees them; the real ones are in tests/integration/airflow/test_again.py."""

    def __init__(self, paused=False, broken=False):
        self.paused, self.broken, self.triggered = paused, broken, []

    def is_paused(self, dag_id):
        if dag_id == "nope":
            raise SettingsError("--dag", dag_id, "is no DAG of this Airflow", "Name one")
        return self.paused

    def trigger(self, dag_id, conf, by):
        if self.broken:
            raise RuntimeError("the database is locked")
        self.triggered.append((dag_id, conf, by))
        return "manual__1"


@pytest.fixture
def again(flights, url, capsys):
    """Type ``reset`` with more, where these DAGs are."""
    flights.supplying.register_dag("load")
    flights.complete(flights.acquire_partition("2013-01"))

    def typed(*more, dags=None):
        args = parser().parse_args(["reset", "flights", *more, "--why", "mended", "--by", "ana", "--store", url])
        code = run(RESET, args, lambda _: CommandContext(lambda: open_store(url), runs=dags))
        said = capsys.readouterr()
        return code, said.err

    return typed


def status(coordinator):
    return coordinator.partition("2013-01").status


def test_a_dry_run_changes_nothing_and_says_what_would_run(again, flights):
    code, said = again("2013-01", "--run", "--dry-run", dags=(dags := Dags()))
    assert (code, dags.triggered, status(flights)) == (0, [], PartitionStatus.COMPLETED)
    assert "would reset 1 of 1 partition(s) of source flights, and trigger DAG load, whose tasks try it first" in said


def test_it_is_reset_and_its_dag_is_triggered_for_it(again, flights):
    code, said = again("2013-01", "--run", "--yes", dags=(dags := Dags(paused=True)))
    conf = {"coordination": {"source": "flights|PARTITION", "hint": "2013-01"}}
    assert (code, dags.triggered) == (0, [("load", conf, "ana")])
    assert status(flights) is PartitionStatus.UNASSIGNED
    assert "DAG load is paused: its run waits until somebody unpauses it." in said
    assert "Done: triggered run manual__1 of DAG load." in said


def test_what_cannot_be_triggered_can_be_typed(again, flights):
    code, said = again("2013-01", "--run", "--yes", dags=Dags(broken=True))
    assert (code, status(flights)) == (1, PartitionStatus.UNASSIGNED)
    line = words(said.partition("By hand: ")[2].strip())
    assert line[:5] == ["airflow", "dags", "trigger", "load", "--conf"]
    assert asked_for(json.loads(line[5]), "flights|PARTITION") == "2013-01"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["2013-01", "2013-02", "--run"], "is for one partition, not for 2"),
        (["--status", "parked", "--run"], "is for one partition, not for 0"),
        (["2013-01", "--dag", "load"], "is for --run"),
        (["2013-01", "--run", "--dag", "nope"], "is no DAG of this Airflow"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_changed(again, flights, more, told):
    code, said = again(*more, "--yes", dags=(dags := Dags()))
    assert (code, dags.triggered, status(flights)) == (1, [], PartitionStatus.COMPLETED)
    assert told in said


def test_several_dags_and_none_want_a_name(again, flights, url):
    flights.supplying.register_dag("backfill")
    code, said = again("2013-01", "--run", "--yes", dags=(dags := Dags()))
    assert (code, "does not say which of ['backfill', 'load']" in said) == (1, True)
    assert again("2013-01", "--run", "--yes", "--dag", "backfill", dags=dags)[0] == 0
    assert [dag for dag, _, _ in dags.triggered] == ["backfill"]


def test_without_airflow_it_is_refused(again, flights):
    code, said = again("2013-01", "--run", "--yes")
    assert (code, status(flights)) == (1, PartitionStatus.COMPLETED)
    assert "needs Airflow" in said


@pytest.mark.parametrize(
    "conf",
    [
        None,
        "x",
        {},
        {"coordination": "k"},
        {"coordination": {"source": "flights|PARTITION"}},
        {"coordination": {"source": "other|PARTITION", "hint": "k"}},
        {"coordination": {"source": "flights|PARTITION", "hint": 7}},
    ],
)
def test_a_run_for_something_else_asks_for_nothing(conf):
    assert asked_for(conf, "flights|PARTITION") is None
    assert asked_for(asking_for("flights|PARTITION", "-k"), "flights|PARTITION") == "-k"
