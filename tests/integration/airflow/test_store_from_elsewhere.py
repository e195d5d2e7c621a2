"""A store that another package brings: from the Airflow connection to the driver that drains a partition with it."""

from __future__ import annotations

import json
import textwrap

import pytest
from airflow.sdk import Connection

from airflow_coordination.hooks.connection import read_connection
from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.leases import PartitionStatus, SettingsError, SourceCoordinator
from airflow_coordination.submission.credential_routes import Driver
from airflow_coordination.submission.driver_inputs import inputs_for
from tests.integration.airflow.test_slice import JOB
from tests.integration.stores.elsewhere import build_package


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return build_package(tmp_path_factory.mktemp("elsewhere"))


@pytest.fixture
def installed(package, monkeypatch):
    """Here only: a driver that this process starts does not inherit it."""
    monkeypatch.syspath_prepend(package.site)
    return package


def connection(**fields):
    return read_connection(Connection(conn_id="c", conn_type="coordination", **fields))


@pytest.mark.usefixtures("installed")
def test_the_connection_opens_it(tmp_path, monkeypatch):
    url = f"mystore://{tmp_path}/s.db"
    monkeypatch.setenv("AIRFLOW_CONN_ELSEWHERE", json.dumps({"conn_type": "coordination", "host": url}))
    hook = CoordinationHook("elsewhere")
    hook.get_conn().setup()
    assert hook.test_connection() == (True, f"Store {hook.get_conn().store_id} answers at {url}")


def test_a_connection_to_one_that_is_not_installed_is_refused():
    with pytest.raises(SettingsError, match="no package that is installed here registers 'mystore'"):
        connection(host="mystore:///s.db")


@pytest.mark.usefixtures("installed")
def test_x4_its_secrets_are_masked_and_never_go_in_the_open():
    from airflow.sdk.log import redact

    said = connection(host="mystore://me@h/d", password="sTr4nge/word")
    assert said.driver_environment() == {"COORDINATION_STORE": "mystore://me:sTr4nge%2Fword@h/d"}
    assert redact("sTr4nge/word, mystore://me:sTr4nge%2Fword@h/d") == "***, mystore://me:***@h/d"
    with pytest.raises(SettingsError, match=r"\(a store from elsewhere, secret\).* Leave the secret out of what names"):
        inputs_for(said, Driver.YARN)
    with pytest.raises(SettingsError, match="Put the store, whole, into a secret of the driver's namespace"):
        inputs_for(said, Driver.KUBERNETES)


@pytest.mark.usefixtures("installed")
def test_x4_a_secret_among_its_options_is_one_too():
    block = {"store": {"mystore": {"url": "mystore://h/d", "api_token": "sTr4nge-token"}}}
    said = connection(extra=json.dumps({"source_coordination": block}))
    assert json.loads(said.driver_environment()["COORDINATION_STORE"]) == block
    with pytest.raises(SettingsError, match=r"\(a store from elsewhere, secret\)"):
        inputs_for(said, Driver.YARN)


@pytest.mark.usefixtures("installed")
def test_without_a_secret_it_goes_to_a_driver_elsewhere_by_its_configuration():
    sent = inputs_for(connection(host="mystore://h/d"), Driver.YARN)
    assert list(sent.configuration) == ["spark.yarn.appMasterEnv.COORDINATION_STORE"]


@pytest.fixture
def process(tmp_path, monkeypatch, run_dag):
    """Run one task with a real Spark driver on a partition of this store; return its instance and the coordinator."""
    from airflow.sdk import DAG

    from airflow_coordination.operators import LeasedSparkSubmitOperator

    host = f"mystore://{tmp_path}/s.db"
    monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_DEFAULT", json.dumps({"conn_type": "coordination", "host": host}))
    job = tmp_path / "job.py"
    job.write_text(textwrap.dedent(JOB))

    def run(**arguments):
        store = CoordinationHook().get_conn()
        store.setup()
        coordinator = SourceCoordinator(store, source="numbers", owner="test")
        create(coordinator)
        with DAG("elsewhere", schedule=None) as dag:
            LeasedSparkSubmitOperator(
                task_id="process",
                source="numbers",
                application=str(job),
                conn_id="spark_local",
                output_root=str(tmp_path / "out"),
                conf={"spark.ui.enabled": "false"},
                **arguments,
            )
        [instance] = run_dag(dag).get_task_instances()
        return instance, coordinator

    return run


def create(coordinator):
    from airflow_coordination.leases import PartitionIdentifier

    coordinator.create_partitions([PartitionIdentifier("k", payload={"from": 0})])


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_driver_that_gets_the_package_sent_drains_a_partition(installed, process):
    instance, coordinator = process(py_files=str(installed.wheel))
    assert instance.state == "success"
    assert coordinator.counts()[PartitionStatus.COMPLETED] == 1
    [head] = coordinator.store.heads(coordinator.partition("k").source, "squares")
    assert head.rows == 10


@pytest.mark.slow
@pytest.mark.usefixtures("installed", "spark_submit_stand_in")
def test_a_driver_without_the_package_says_what_it_needs_and_gives_the_partition_back(process, capfd):
    """It comes no further than the store, so that it needs no Spark."""
    instance, coordinator = process()
    assert instance.state == "failed"
    told = capfd.readouterr()
    assert "send it along with py_files" in " ".join(f"{told.out} {told.err}".split())
    partition = coordinator.partition("k")
    assert (partition.status, partition.failures) == (PartitionStatus.UNASSIGNED, 0)
    assert [str(ending.outcome) for ending in partition.endings] == ["given up"]
