"""E6: two Airflows on one store, which give a task instance the same dag, run, task and map index."""

from datetime import UTC, datetime

import pytest
from airflow.sdk import DAG, Variable

from airflow_coordination.hooks import identity
from airflow_coordination.hooks.identity import AIRFLOW_ID, airflow_id
from airflow_coordination.leases import DeploymentError, Owner, PartitionStatus, Place, SettingsError, SourceCoordinator
from airflow_coordination.operators import LeasedSparkSubmitOperator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

WHEN = datetime(2026, 11, 25, tzinfo=UTC)


@pytest.fixture
def flights(store_url):
    from airflow_coordination.stores import open_store

    coordinator = SourceCoordinator(open_store(store_url), "flights", "test")
    coordinator.create_partitions(["a", "b"])
    return coordinator


@pytest.fixture
def drain(tmp_path, spark_submit_stand_in, run_dag):
    """Run a task that may work under any number of leases; return its task instance."""
    (tmp_path / "job.py").write_text("print('knows nothing of leases')")
    with DAG("two_airflows", schedule=None) as dag:
        application = str(tmp_path / "job.py")
        LeasedSparkSubmitOperator(
            task_id="process", application=application, conn_id="spark_local", source="flights", max_leases=None
        )

    def run():
        [ti] = run_dag(dag, run_after=WHEN, logical_date=WHEN).get_task_instances()
        return ti

    return run


@pytest.fixture
def variable():
    """Read the Variable that names this Airflow, which is none at first and none in the end."""
    from airflow.models import Variable

    Variable.delete(AIRFLOW_ID)
    yield lambda: Variable.get(AIRFLOW_ID, default_var=None)
    Variable.delete(AIRFLOW_ID)


def test_e6_a_task_ends_no_lease_of_its_namesake_in_another_airflow(drain, flights, variable):
    """E6: the other's live lease was taken for one's own leftover, failed, and charged."""
    first = drain()
    made, mine = variable(), Owner(flights.history("a")[0].owner)
    assert mine.place.airflow == made is not None
    assert mine.place.process is not None
    place = Place("another")
    theirs = Owner.of_task("elsewhere", "two_airflows", first.run_id, "process", -1, 1, place).text
    held = SourceCoordinator(flights.store, "flights", theirs).acquire_partition("b")
    again = drain()
    assert (again.run_id, variable()) == (first.run_id, made)
    partition = flights.partition("b")
    assert (partition.status, partition.fence, partition.failures) == (PartitionStatus.ASSIGNED, held.fence, 0)


def test_e6_a_name_that_is_set_is_the_name_and_none_is_made(drain, flights, variable, monkeypatch):
    monkeypatch.setenv("AIRFLOW__COORDINATION__AIRFLOW_ID", "production")
    drain()
    assert Owner(flights.history("a")[0].owner).place.airflow == "production"
    assert variable() is None


@pytest.mark.parametrize("name", ["a b", "a;b", "x" * 65])
def test_e6_a_name_that_cannot_be_is_refused(monkeypatch, name):
    monkeypatch.setenv("AIRFLOW__COORDINATION__AIRFLOW_ID", name)
    with pytest.raises(SettingsError, match=r"\[coordination\] airflow_id=.* is not 1 to 64 letters"):
        airflow_id()


def test_e6_of_two_tasks_that_look_for_the_name_at_once_none_fails(drain, flights, variable, monkeypatch):
    """One finds none, the other makes it, the first finds that there is one: it had lost its try for that."""

    class Meanwhile(Variable):
        @classmethod
        def keys(cls, prefix=None):
            Variable.set(AIRFLOW_ID, "theirs")
            return super().keys(prefix)

    monkeypatch.setattr(identity, "Variable", Meanwhile)
    drain()
    assert Owner(flights.history("a")[0].owner).place.airflow == variable() == "theirs"


class SilentAirflow:
    """An API server that does not answer."""

    def send(self, _):
        raise ConnectionError("the API server is gone")


def test_e6_a_name_that_cannot_be_read_is_not_made_anew(monkeypatch):
    """E6: another one would make strangers of this Airflow's own tasks."""
    from airflow.sdk.execution_time import task_runner

    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", SilentAirflow(), raising=False)
    with pytest.raises(DeploymentError, match=r"Set \[coordination\] airflow_id"):
        airflow_id()
