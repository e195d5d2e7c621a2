"""A leased task whose driver runs on Hadoop's own YARN: whatever ends one of both early loses and doubles no row.

A real scheduler, a ResourceManager, two NodeManagers, real Spark. Each event has its DAG; all are at work at once.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from scripts.java_packages import jars
from tests.engines.postgres import fresh_database
from tests.engines.yarn import yarn as running_yarn
from tests.system.harness import environment
from tests.system.standalone import running
from tests.system.yarn.case import SECONDS, Case
from tests.system.yarn.events import (
    CLEARED,
    CLIENT,
    DEPLOY_MODES,
    DRIVER_KILLED,
    HOST_LOST,
    LATE_DRIVER,
    TASK_KILLED,
)

pytestmark = [
    pytest.mark.slow, pytest.mark.spark, pytest.mark.postgres, pytest.mark.timed, pytest.mark.long,
    pytest.mark.timeout(3 * SECONDS),
]  # fmt: skip
DAGS = Path(__file__).parent / "dags"


@pytest.fixture(scope="module")
def yarn(tmp_path_factory):
    with running_yarn(jars("yarn"), tmp_path_factory.mktemp("yarn")) as yarn:
        yield yarn


@pytest.fixture(scope="module")
def home(tmp_path_factory, yarn):
    """The home of this Airflow, with what Spark's defaults are for everybody who submits to this YARN."""
    home = tmp_path_factory.mktemp("airflow")
    spark = Path(str(find_spec("pyspark").origin)).parent
    defaults = {
        "spark.yarn.jars": f"local:{spark}/jars/*",
        "spark.yarn.stagingDir": (home / "staging").as_uri(),
        "spark.pyspark.python": sys.executable,
        "spark.executor.instances": "1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.network.timeout": "600s",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.heartbeatInterval": "20s",
    }
    (home / "spark").mkdir()
    (home / "spark/spark-defaults.conf").write_text("".join(f"{name} {text}\n" for name, text in defaults.items()))
    return home


@pytest.fixture(scope="module")
def airflow(home, yarn, postgres_cluster, store_url):
    with fresh_database(postgres_cluster) as metadata_url:
        environ = environment(home, metadata_url, store_url) | {
            "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
            "AIRFLOW_CONN_COORDINATION_DEFAULT": json.dumps({"conn_type": "coordination", "host": store_url}),
            "HADOOP_CONF_DIR": str(yarn.settings),
            "SPARK_CONF_DIR": str(home / "spark"),
        }
        for mode in set(DEPLOY_MODES.values()):
            extra = {"deploy-mode": mode, "yarn_resourcemanager_webapp_address": yarn.url}
            said = {"conn_type": "spark", "host": "yarn", "extra": extra}
            environ[f"AIRFLOW_CONN_YARN_{mode.upper()}"] = json.dumps(said)
        with running(home, environ, [path.name for path in DAGS.glob("*.py")]) as airflow:
            yield airflow


ACTS = {TASK_KILLED: Case.kill_task, DRIVER_KILLED: Case.kill_driver, CLEARED: Case.clear, LATE_DRIVER: Case.kill_task}
"""What happens to the jobs at work; to those of the others something does in their own tests."""


@pytest.fixture(scope="module")
def cases(request, airflow, store, yarn, tmp_path_factory):
    """The chosen events: first all jobs get to work, then everything happens, then it is looked at one by one."""
    chosen = {item.callspec.params.get("case") for item in request.session.items if hasattr(item, "callspec")}
    place = tmp_path_factory.mktemp("cases")
    cases = {name: Case(airflow, store, yarn, name, place / name) for name in DEPLOY_MODES if name in chosen}
    for case in cases.values():
        case.wait_until_at_work()
    for name in ACTS.keys() & cases.keys():
        ACTS[name](cases[name])
    return cases


@pytest.fixture
def case(request, cases):
    """The case of this test's event."""
    return cases[request.param]


def on(name):
    """A test of one event."""
    return pytest.mark.parametrize("case", [name], indirect=True)


@on(TASK_KILLED)
def test_l2_a_killed_task_leaves_its_driver_and_the_next_try_adopts_it(case):
    case.wait(lambda: str(case.partition.owner).endswith("/2"), "adopted by the next try")
    case.go()
    case.see_it_completed()
    assert (case.endings, case.partition.token, len(case.drivers)) == (["completed"], 1, 1)


@on(DRIVER_KILLED)
def test_yarn_s_second_driver_takes_over_from_a_killed_one(case):
    case.see_it_completed()
    assert case.endings == ["retaken", "completed"]
    assert (len(case.applications), case.yarn.attempts(case.applications[0])) == (1, 2)


@on(CLEARED)
def test_clearing_the_task_ends_the_application_and_frees_the_lease(case):
    case.wait(lambda: case.is_gone and case.application["finalStatus"] == "KILLED", "YARN has killed it")
    case.see_it_completed()
    assert case.endings == ["given up", "completed"]
    assert len(case.applications) == 2


@on(LATE_DRIVER)
def test_a_driver_that_is_late_changes_nothing(case):
    """Its task is gone, it is paused for longer than its lease; then it wakes up in the middle of its work."""
    case.wait(lambda: case.instance["state"] == "failed", "nobody watches the driver")
    for process in (case.driver, case.jvm):
        process.suspend()
    case.coordinator.people.release(case.name, by="ana", why="its host does not answer")
    lease = case.coordinator.acquire_partition(case.name)
    case.coordinator.complete(lease)
    before = case.rows()
    for process in (case.jvm, case.driver):
        process.resume()
    case.go()
    case.wait(lambda: case.is_gone, "the late driver has left")
    case.wait(lambda: case.application["finalStatus"] != "UNDEFINED", "YARN knows it")
    assert case.application["finalStatus"] == "FAILED"
    assert case.endings == ["released", "completed"]
    assert case.rows() == before
    assert len(case.drivers) == 1


@on(CLIENT)
def test_in_client_mode_the_link_leads_to_the_application_and_yarn_has_its_executors(case):
    """YARN sends whoever opens Spark's UI to its own proxy, by the application's name; the rest is Hadoop's."""
    with urllib.request.urlopen(case.link("Spark UI"), timeout=60) as answer:
        led_to = urlsplit(answer.url)
    assert led_to.port == urlsplit(case.yarn.url).port
    assert case.applications[0] in led_to.path
    assert case.application["state"] == "RUNNING"
    case.go()
    case.see_it_completed()
    assert (case.endings, len(case.drivers)) == (["completed"], 1)


@on(HOST_LOST)
def test_the_last_a_lost_host_s_driver_is_started_again_on_another(case):
    log = case.application["amContainerLogs"]
    with urllib.request.urlopen(f"{log}/stderr/?start=0", timeout=60) as answer:
        assert case.applications[0] in answer.read().decode()
    case.yarn.lose_the_host_of(case.jvm)
    case.see_it_completed()
    assert case.endings == ["retaken", "completed"]
    assert len(case.applications) == 1
