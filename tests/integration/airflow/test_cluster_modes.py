"""LeasedSparkSubmitOperator around drivers elsewhere, with stand-ins at the Spark hook's own boundaries."""

import json
import os
import signal
import sys
import threading
import time
from datetime import timedelta
from types import SimpleNamespace

import pytest

from airflow_coordination.leases import Outcome, PartitionStatus
from tests.integration.airflow.clusters import Cluster, Pods, resource_manager, write_submit
from tests.integration.airflow.setup import flights_behind
from tests.integration.spark.drivers import eventually

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.timeout(400)]

WAIT = """
(folder / "began").touch()
while not (folder / "go").exists():
    coordinator.renew(lease)
    time.sleep(0.05)
"""
COMPLETE = "coordinator.complete(lease)"
CANARY = "canary-91ac"
YARN = {"conn_id": "yarn", "yarn_track_via_rm_api": True}
WITHOUT_POLLS = {"yarn_track_via_rm_api": False, "durable": False}
KUBERNETES = {
    "conn_id": "kubernetes",
    "yarn_track_via_rm_api": False,
    "track_driver_via_k8s_api": True,
    "conf": {"spark.kubernetes.file.upload.path": "s3a://bucket/uploads"},
}


@pytest.fixture
def flights(postgres_url, monkeypatch):
    with flights_behind(connection(postgres_url), monkeypatch) as coordinator:
        yield coordinator


def connection(url, **fields):
    return {"conn_type": "coordination", "host": url, **fields}


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A cluster whose polls come at once."""
    monkeypatch.setattr(
        "airflow.providers.apache.spark.hooks.spark_submit.time", SimpleNamespace(sleep=lambda _: time.sleep(0.1))
    )
    write_submit(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.end()


@pytest.fixture
def yarn(cluster, monkeypatch):
    with resource_manager(cluster) as url:
        extra = {"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": url}
        monkeypatch.setenv("AIRFLOW_CONN_YARN", json.dumps({"conn_type": "spark", "host": "yarn", "extra": extra}))
        yield cluster


@pytest.fixture
def kubernetes(cluster, monkeypatch):
    """Kubernetes; Airflow's own provider for it is not installed with this package."""
    pods = Pods(cluster)
    for room in ("hooks", "operators"):
        monkeypatch.setattr(f"airflow.providers.apache.spark.{room}.spark_submit.kube_client", pods, raising=False)
    options = SimpleNamespace(client=SimpleNamespace(V1DeleteOptions=dict))
    monkeypatch.setitem(sys.modules, "kubernetes", options)
    extra = {"deploy-mode": "cluster", "namespace": "jobs"}
    said = {"conn_type": "spark", "host": "k8s://https://cluster", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_KUBERNETES", json.dumps(said))
    return cluster


@pytest.fixture
def run(run_dag, request):
    """Run one mapped task; return its task instance."""
    from airflow.sdk import DAG

    from airflow_coordination.operators import LeasedSparkSubmitOperator

    def run(application, **arguments):
        own = {"source": "flights", "retry_delay": timedelta(0), **YARN}
        with DAG(request.node.name.replace("[", "_").replace("]", ""), schedule=None) as dag:
            LeasedSparkSubmitOperator.partial(task_id="process", application=application, **own | arguments).expand(
                hint=["a"]
            )
        [ti] = run_dag(dag).get_task_instances()
        return ti

    return run


def go(yarn):
    (yarn.folder / "go").touch()


def is_adopted(flights):
    return str(flights.partition("a").owner).endswith("/2")


def when_begun(yarn, then):
    """Do something once, as soon as the driver has begun and the task asks for it."""

    def asked():
        if (yarn.folder / "began").exists():
            yarn.on_question = lambda: None
            then()

    yarn.on_question = asked


def test_the_tenure_goes_by_configuration_and_its_driver_ends_it(yarn, flights, run, postgres_url):
    ti = run(yarn.job(COMPLETE))
    assert ti.state == "success"
    partition = flights.partition("a")
    assert (partition.status, partition.token) == (PartitionStatus.COMPLETED, 1)
    [submission] = yarn.submissions
    assert "COORDINATION_STORE" not in submission["environment"]
    assert postgres_url not in str(submission["argv"])
    assert set(submission["configuration"]) == {
        "spark.yarn.submit.waitAppCompletion",
        "spark.yarn.appMasterEnv.COORDINATION_STORE",
        "spark.yarn.appMasterEnv.COORDINATION_HANDOVER",
    }


def test_l2_a_task_that_cannot_ask_leaves_its_driver_and_the_retry_adopts_it(yarn, flights, run):
    def adopted():
        if is_adopted(flights):
            go(yarn)

    def break_down():
        yarn.failures = 12  # every poll until the Spark hook gives up, and the task's own question after it
        yarn.on_question = adopted

    when_begun(yarn, break_down)
    ti = run(yarn.job(WAIT + COMPLETE), retries=1)
    assert (ti.state, ti.try_number, len(yarn.submissions), yarn.killed) == ("success", 2, 1, [])
    partition = flights.partition("a")
    assert (partition.status, partition.token) == (PartitionStatus.COMPLETED, 1)
    assert [ending.outcome for ending in partition.endings] == [Outcome.COMPLETED]


def test_a_driver_that_ended_while_nobody_asked_is_not_submitted_again(yarn, flights, run):
    def break_down():
        yarn.failures = 12
        go(yarn)

    when_begun(yarn, break_down)
    ti = run(yarn.job(WAIT + COMPLETE), retries=1)
    assert (ti.state, len(yarn.submissions)) == ("success", 1)
    assert flights.partition("a").token == 1


def test_a_driver_that_dies_without_an_outcome_has_failed_and_is_submitted_again(yarn, flights, run):
    once = '(folder / "died").exists() or ((folder / "died").touch(), os._exit(9))\n'
    ti = run(yarn.job(once + COMPLETE), retries=1, retry_delay_of_partition=0)
    assert (ti.state, ti.try_number, len(yarn.submissions)) == ("success", 2, 2)
    partition = flights.partition("a")
    assert [ending.outcome for ending in partition.endings] == [Outcome.FAILED, Outcome.COMPLETED]


def test_l2_a_driver_that_dies_while_nobody_watches_is_submitted_again_at_once(yarn, flights, run):
    once = 'if not (folder / "go").exists():\n    (folder / "began").touch(), time.sleep(600)\n'

    def die():
        yarn.failures = 12
        go(yarn)
        yarn.kill(1)

    when_begun(yarn, die)
    ti = run(yarn.job(once + COMPLETE), retries=1)
    assert (ti.state, ti.try_number, len(yarn.submissions)) == ("success", 2, 2)
    partition = flights.partition("a")
    assert [ending.outcome for ending in partition.endings] == [Outcome.RETAKEN, Outcome.COMPLETED]


def test_l7_a_lost_lease_ends_the_driver(yarn, flights, run, capsys):
    when_begun(yarn, lambda: flights.people.release("a", by="ana", why="another cluster"))
    ti = run(yarn.job("(folder / 'began').touch(), time.sleep(600)"), ownership_timeout=20)
    assert (ti.state, set(yarn.killed)) == ("failed", {1})
    assert "is not owned under fence 1-" in capsys.readouterr().out
    assert flights.partition("a").endings[-1].outcome is Outcome.RELEASED


def test_l2_airflow_ending_the_task_ends_the_driver_and_gives_the_lease_back_at_once(yarn, flights, run, monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    freed = []

    def end():
        watching.start()
        os.kill(os.getpid(), signal.SIGTERM)

    def note_when_free():
        started = time.monotonic()
        while flights.partition("a").status is PartitionStatus.ASSIGNED:
            time.sleep(0.05)
        freed.append(time.monotonic() - started)

    watching = threading.Thread(target=note_when_free)
    when_begun(yarn, end)
    try:
        ti = run(yarn.job("(folder / 'began').touch(), time.sleep(600)"))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (ti.state, yarn.killed[0]) == ("failed", 1)
    partition = flights.partition("a")
    assert (partition.endings[-1].outcome, partition.failures) == (Outcome.GIVEN_UP, 0)
    watching.join(60)
    assert freed, "the lease, which is for ten minutes, was not given back"


def test_a_timeout_ends_the_driver_and_gives_the_lease_back(yarn, flights, run):
    when_begun(yarn, lambda: os.kill(os.getpid(), signal.SIGALRM))  # what its alarm does, once there is a driver
    ti = run(yarn.job("(folder / 'began').touch(), time.sleep(600)"), execution_timeout=timedelta(minutes=10))
    assert (ti.state, set(yarn.killed)) == ("failed", {1})
    partition = flights.partition("a")
    assert (partition.endings[-1].outcome, partition.failures) == (Outcome.GIVEN_UP, 0)


def test_after_an_adoption_too_airflow_can_end_the_driver(yarn, flights, run):
    """The Spark provider forgets the application's name when it reconnects."""
    before = signal.getsignal(signal.SIGTERM)

    def adopted():
        if is_adopted(flights):
            yarn.on_question = lambda: None
            os.kill(os.getpid(), signal.SIGTERM)

    def break_down():
        yarn.failures = 12
        yarn.on_question = adopted

    when_begun(yarn, break_down)
    try:
        ti = run(yarn.job("(folder / 'began').touch(), time.sleep(600)"), retries=1)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (ti.state, yarn.killed[0]) == ("failed", 1)
    assert flights.partition("a").endings[-1].outcome is Outcome.GIVEN_UP


def test_a_drain_elsewhere_is_followed_through_the_store(yarn, flights, run):
    flights.create_partitions(["b"])
    both = "lease = coordinator.complete_and_get_next(lease)\n" + WAIT
    when_begun(yarn, lambda: go(yarn))
    ti = run(yarn.job(both + "os._exit(9)"), max_leases=2, retries=0)
    assert ti.state == "failed"
    assert flights.partition("a").status is PartitionStatus.COMPLETED
    assert flights.partition("b").endings[-1].outcome is Outcome.FAILED


def test_a_job_that_knows_nothing_of_leases_is_renewed_and_completed_by_its_task(yarn, flights, run):
    jar = yarn.folder / "job.jar"
    jar.write_text("import os, pathlib\npathlib.Path(__file__ + '.env').write_text(str(dict(os.environ)))")
    ti = run(str(jar), complete_on_success=True)
    assert ti.state == "success"
    assert flights.partition("a").status is PartitionStatus.COMPLETED
    assert "COORDINATION" not in (yarn.folder / "job.jar.env").read_text()


def test_such_a_job_that_succeeded_while_nobody_watched_completes_its_partition(yarn, flights, run):
    jar = yarn.folder / "job.jar"
    jar.write_text(f"import pathlib\npathlib.Path('{yarn.folder}/began').touch()")

    def break_down():
        yarn.failures = 12

    when_begun(yarn, break_down)
    ti = run(str(jar), complete_on_success=True, retries=1)
    assert (ti.state, ti.try_number, len(yarn.submissions)) == ("success", 2, 1)
    partition = flights.partition("a")
    assert (partition.status, partition.token) == (PartitionStatus.COMPLETED, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"yarn_track_via_rm_api": False}, "yarn_track_via_rm_api=False: leaves a retry no way to find the driver."),
        (
            {
                "yarn_track_via_rm_api": False,
                "durable": False,
                "complete_on_success": True,
                "conf": {"spark.yarn.submit.waitAppCompletion": "false"},
            },
            "conf spark.yarn.submit.waitAppCompletion='false': ends the task at the submission, so that nobody learns",
        ),
        (
            {"conf": {"spark.yarn.submit.waitAppCompletion": "true"}},
            "conf spark.yarn.submit.waitAppCompletion='true': keeps spark-submit waiting for what is polled.",
        ),
        (
            {"conn_id": "spark_local", "conf": {"spark.submit.deployMode": "cluster"}, "yarn_track_via_rm_api": False},
            "conf spark.submit.deployMode='cluster': is not seen by Airflow.",
        ),
    ],
    ids=["durable", "untracked", "waiting", "hidden"],
)
def test_what_would_not_be_watched_to_its_end_is_refused_first(yarn, flights, run, capsys, arguments, message):
    assert run(yarn.job(COMPLETE), **arguments).state == "failed"
    assert message in capsys.readouterr().out
    assert (flights.partition("a").token, yarn.submissions) == (0, [])


def test_x4_a_password_is_refused_before_anything_is_acquired(yarn, flights, run, monkeypatch, postgres_url, capsys):
    said = connection(postgres_url, password=CANARY)
    monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_DEFAULT", json.dumps(said))
    assert run(yarn.job(COMPLETE)).state == "failed"
    assert "deploy_mode='cluster': starts the driver on YARN, where what opens the store" in capsys.readouterr().out
    assert (flights.partition("a").token, yarn.submissions) == (0, [])


def test_without_polls_spark_submit_is_made_to_wait_whatever_the_defaults_say(yarn, flights, run):
    ti = run(yarn.job(COMPLETE), **WITHOUT_POLLS)
    assert ti.state == "success"
    assert yarn.submissions[0]["configuration"]["spark.yarn.submit.waitAppCompletion"] == "true"
    assert flights.partition("a").token == 1


def test_without_polls_a_failure_of_the_driver_ends_its_tenure(yarn, flights, run):
    assert run(yarn.job("os._exit(9)"), **WITHOUT_POLLS).state == "failed"
    assert flights.partition("a").endings[-1].outcome is Outcome.FAILED


def test_a_driver_whose_name_nobody_kept_is_found_in_the_store(yarn, flights, run):
    """spark-submit is killed; the driver goes on, and the retry waits for its end."""

    def kill_then_let_it_end():
        eventually((yarn.folder / "began").exists)
        yarn.kill_submit(1)
        eventually(lambda: is_adopted(flights))
        go(yarn)

    killer = threading.Thread(target=kill_then_let_it_end)
    killer.start()
    ti = run(yarn.job(WAIT + COMPLETE), retries=1, **WITHOUT_POLLS)
    killer.join()
    assert (ti.state, ti.try_number, len(yarn.submissions)) == ("success", 2, 1)
    partition = flights.partition("a")
    assert (partition.status, partition.token) == (PartitionStatus.COMPLETED, 1)


@pytest.fixture
def secret_store(cluster, flights, postgres_url, monkeypatch):
    """A store with a password, which a secret of the cluster holds for its drivers."""
    said = connection(postgres_url, password=CANARY, extra={"driver_secret": "coordination:store"})
    monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_DEFAULT", json.dumps(said))
    (cluster.folder / "coordination:store").write_text(postgres_url.replace("@", f":{CANARY}@"))
    return flights


def test_x4_on_kubernetes_a_password_goes_by_a_reference_to_a_secret(kubernetes, secret_store, run, capsys):
    seen = "(folder / 'store').write_text(os.environ['COORDINATION_STORE'])\n"
    ti = run(kubernetes.job(seen + COMPLETE), **KUBERNETES)
    assert ti.state == "success"
    assert CANARY in (kubernetes.folder / "store").read_text()
    [submission] = kubernetes.submissions
    assert submission["configuration"]["spark.kubernetes.driver.secretKeyRef.COORDINATION_STORE"] == (
        "coordination:store"
    )
    assert CANARY not in str(submission["argv"])
    assert [name for name, value in submission["environment"].items() if CANARY in value] == [
        "AIRFLOW_CONN_COORDINATION_DEFAULT"  # of this test's own worker
    ]
    assert CANARY not in capsys.readouterr().out
    assert secret_store.partition("a").status is PartitionStatus.COMPLETED


def test_a_pod_that_vanishes_has_not_succeeded(kubernetes, flights, run):
    """The Spark provider takes it for a success."""
    jar = kubernetes.folder / "job.jar"
    jar.write_text(f"import pathlib, time\npathlib.Path('{kubernetes.folder}/began').touch(), time.sleep(600)")
    when_begun(kubernetes, lambda: kubernetes.kill(1))
    ti = run(str(jar), complete_on_success=True, **KUBERNETES)
    assert ti.state == "failed"
    partition = flights.partition("a")
    assert (partition.endings[-1].outcome, partition.failures) == (Outcome.FAILED, 1)
    assert "The driver's pod job-n1-driver has vanished: nobody knows how it ended" in partition.last_error


def test_l7_a_lost_lease_deletes_the_pod(kubernetes, flights, run):
    when_begun(kubernetes, lambda: flights.people.release("a", by="ana", why="another cluster"))
    ti = run(kubernetes.job("(folder / 'began').touch(), time.sleep(600)"), ownership_timeout=20, **KUBERNETES)
    assert (ti.state, set(kubernetes.killed)) == ("failed", {1})
    assert flights.partition("a").endings[-1].outcome is Outcome.RELEASED


def test_without_a_place_for_uploads_the_drivers_image_must_hold_the_package(kubernetes, flights, run):
    run(kubernetes.job(COMPLETE), **KUBERNETES | {"conf": None})
    assert "--py-files" not in kubernetes.submissions[0]["argv"]
