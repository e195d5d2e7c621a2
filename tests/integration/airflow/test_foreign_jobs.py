"""LeasedSparkSubmitOperator around jobs that know nothing of leases, with a stand-in for spark-submit.

The stand-in is a real process that runs the application with Python, so that no Spark has to start.
"""

import json
import re
from datetime import timedelta
from urllib.parse import quote

import pytest
import structlog
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from airflow_coordination.board.plugin import ROUTES
from airflow_coordination.leases import Outcome, PartitionStatus, SourceCoordinator
from airflow_coordination.operators import LeasedSparkSubmitOperator
from airflow_coordination.protocol.metrics import CountingMetrics
from airflow_coordination.submission.task_instance import TaskMemory

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


class TaggedCounts(CountingMetrics):
    """Airflow's ``Stats``, as far as this package uses it."""

    def __init__(self):
        super().__init__()
        self.tags = []

    def gauge(self, stat, value, *, tags):
        super().gauge(stat, value)

    def incr(self, stat, count=1, *, tags):
        super().incr(stat, count)
        if tags not in self.tags:
            self.tags.append(tags)


@pytest.fixture
def flights(store_url):
    from airflow_coordination.stores import open_store

    coordinator = SourceCoordinator(open_store(store_url), "flights", "test")
    coordinator.create_partitions(["a"])
    return coordinator


def test_exit_code_0_completes_the_partition_where_that_is_asked_for(process, flights):
    ti = process("print('hello')", complete_on_success=True)
    assert (ti.state, ti.rendered_map_index) == ("success", "a")
    assert flights.partition("a").status is PartitionStatus.COMPLETED


def test_exit_code_0_alone_says_nothing_of_the_partition(process, flights, capsys):
    ti = process("print('hello')")
    assert ti.state == "failed"
    partition = flights.partition("a")
    assert (partition.status, partition.failures) == (PartitionStatus.UNASSIGNED, 0)
    assert "set complete_on_success=True" in capsys.readouterr().out


@pytest.mark.parametrize("body", ["import no_such_module", "raise SystemExit('no jars')"], ids=["import", "exit"])
def test_a2_a_program_that_never_begins_charges_nothing(process, flights, body):
    """A2: what failed before the partition function was called parked the whole source within minutes."""
    ti = process(body)
    partition = flights.partition("a")
    assert ti.state == "failed"
    assert (partition.status, partition.failures, partition.lost_leases) == (PartitionStatus.UNASSIGNED, 0, 0)
    assert partition.endings[-1].outcome is Outcome.GIVEN_UP


@pytest.mark.parametrize(
    ("lacks", "says"),
    [
        ({"env_vars": {"JAVA_HOME": "/nowhere"}}, r"has no Java below JAVA_HOME='/nowhere', which spark-submit needs"),
        ({"application": "/nowhere/job.py"}, r"The application '/nowhere/job.py' is no file on worker"),
        ({"application": "nowhere/job.py"}, r"is no file on worker .* \(the working folder is "),
        ({"output_root": "/dev/null/out"}, r"output_root '/dev/null/out' cannot be used .*'/dev/null' is a file"),
    ],
    ids=["java", "application", "relative", "root"],
)
def test_a2_what_a_worker_lacks_is_said_before_anything_is_acquired(process, flights, lacks, says, capsys):
    """A2: these four were charged to partitions."""
    ti = process("print('hello')", complete_on_success=True, **lacks)
    assert ti.state == "failed"
    assert flights.partition("a").token == 0, "nothing was acquired"
    assert re.search(says, capsys.readouterr().out)


def test_a_failing_job_fails_its_task_and_its_partition(process, flights):
    ti = process("raise SystemExit('out of luck')", complete_on_success=True)
    assert (ti.state, ti.rendered_map_index) == ("failed", "a")
    partition = flights.partition("a")
    assert (partition.status, partition.failures) == (PartitionStatus.UNASSIGNED, 1)
    assert "out of luck" in partition.last_error
    assert partition.available_at is not None


def test_x4_the_lease_goes_by_environment_and_nothing_of_it_by_argument(process, flights, tmp_path, store_url):
    process(
        f"""
        import json, os
        store = json.load(open(os.environ["COORDINATION_ENVELOPE"]))["store"]
        json.dump([os.environ["COORDINATION_HANDOVER"], store], open({str(tmp_path / "env.json")!r}, "w"))
        """,
        complete_on_success=True,
        ownership_timeout=60,
        output_root="/somewhere",
    )
    handed_over, store = json.loads((tmp_path / "env.json").read_text())
    handed_over = json.loads(handed_over)
    assert store == store_url
    assert (handed_over["key"], handed_over["output_root"]) == ("a", "/somewhere")
    assert handed_over["settings"]["ownership_timeout"] == 60
    assert handed_over["store_id"] == flights.store.store_id
    argv = (tmp_path / "argv.json").read_text()
    assert "airflow_coordination-" in argv
    assert store_url not in argv
    assert handed_over["fence"] not in argv


def test_a_lease_is_given_back_when_airflow_cannot_be_told_of_it(process, flights, monkeypatch):
    def silence(*_, **__):
        raise ConnectionError("the API server does not answer")

    monkeypatch.setattr(TaskMemory, "remember", silence)
    assert process("raise SystemExit('never runs')").state == "failed"
    partition = flights.partition("a")
    assert (partition.status, partition.failures) == (PartitionStatus.UNASSIGNED, 0)


@pytest.mark.parametrize(
    ("kind", "moment"), [(LeasedSparkSubmitOperator, "_hand_over"), (SparkSubmitOperator, "execute")]
)
def test_l2_a_task_that_is_ended_before_it_submits_gives_its_lease_back(
    process, flights, monkeypatch, tmp_path, kind, moment
):
    """Airflow's signal may come at any time, not only while a driver runs."""
    before = getattr(kind, moment)

    def ended(operator, *arguments):
        operator.on_kill()
        return before(operator, *arguments)

    monkeypatch.setattr(kind, moment, ended)
    ran = tmp_path / "ran"
    assert process(f"open({str(ran)!r}, 'w')", complete_on_success=True).state == "failed"
    assert not ran.exists()
    partition = flights.partition("a")
    assert (partition.status, partition.failures) == (PartitionStatus.UNASSIGNED, 0)


@pytest.mark.parametrize(
    ("body", "state"), [("pass", "success"), ("raise SystemExit(3)", "failed")], ids=["good", "bad"]
)
def test_a_quiet_driver_on_a_worker_beside_kubernetes_is_judged_by_its_exit_code(
    process, flights, monkeypatch, body, state
):
    """The Spark provider takes one that prints no line for failed, and ``spark.log.level`` is WARN here."""
    # The provider asks for Kubernetes' client, also where it needs none.
    monkeypatch.setattr("airflow.providers.apache.spark.hooks.spark_submit.kube_client", object(), raising=False)
    beside = '{"conn_type": "spark", "host": "k8s://https://cluster", "extra": {"deploy-mode": "client"}}'
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_K8S", beside)
    assert process(body, conn_id="spark_k8s", complete_on_success=True).state == state
    completed = flights.partition("a").status is PartitionStatus.COMPLETED
    assert completed is (state == "success")


def test_nothing_to_acquire_is_a_success_with_a_label(process, flights):
    flights.complete(flights.get_next_partition())
    ti = process("raise SystemExit('never runs')")
    assert (ti.state, ti.rendered_map_index) == ("success", "nothing to do")


def test_x12_a_paused_source_says_so_on_the_grid_and_in_the_log(process, flights, capsys):
    flights.pausing.pause(by="ana", why="the cluster is upgraded")
    ti = process("raise SystemExit('never runs')")
    assert (ti.state, ti.rendered_map_index) == ("success", "the source is paused")
    assert "by 'ana', who said 'the cluster is upgraded'" in capsys.readouterr().out


@pytest.mark.parametrize("on_empty", ["success", "skip"])
def test_b4_a_source_that_has_paused_itself_is_a_failure(process, flights, capsys, on_empty):
    """B4: the task succeeded, a sensor behind it was skipped, and run after run was green while nothing was done."""
    flights.create_partitions([f"{number:02}" for number in range(12)])
    for _ in range(10):
        flights.fail(flights.get_next_partition(), "no table", retry_after=timedelta(days=1))
    ti = process("raise SystemExit('never runs')", on_empty=on_empty)
    assert (ti.state, ti.rendered_map_index) == ("failed", "the source is paused")
    assert "10 partitions failed of one error" in capsys.readouterr().out


def test_nothing_to_acquire_can_skip(process, flights):
    flights.complete(flights.get_next_partition())
    assert process("raise SystemExit('never runs')", on_empty="skip").state == "skipped"


def test_the_driver_reports_to_airflows_metrics(process, flights, monkeypatch):
    counted = TaggedCounts()
    monkeypatch.setattr("airflow_coordination.hooks.telemetry.Stats", counted)
    process(
        """
        import json, os
        marker = f'[coordination {json.load(open(os.environ["COORDINATION_ENVELOPE"]))["word"]}] '
        print(marker + '{"event": "metrics", "counts": {"flights_source_coordinator_partitionsCompleted": 2}}')
        print(marker + '{"event": "gauges", "gauges": {"flights_source_coordinator_millisBehindLatest": 70}}')
        print(marker + '{"event": "gauges", "gauges": {"flights_source_coordinator_parkedPartitions": 9}}')
        print(marker + 'this is no report')
        """,
        complete_on_success=True,
    )
    assert counted.gauges == {"flights_source_coordinator_millisBehindLatest": 70}  # the other is not a driver's
    assert counted.counts == {
        "flights_source_coordinator_partitionsAcquired": 1,
        "flights_source_coordinator_partitionsCompleted": 3,
    }
    dag_id = "test_the_driver_reports_to_airflows_metrics"
    assert counted.tags == [{"dag_id": dag_id, "task_id": "process", "source": "flights"}]


def test_a_span_tells_which_lease_a_task_spent_its_time_on(process, flights, monkeypatch):
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr("airflow_coordination.hooks.telemetry.tracer", provider.get_tracer("test"))
    process("pass", complete_on_success=True)
    [span] = spans.get_finished_spans()
    assert span.name == "coordination.lease"
    assert span.attributes["coordination.partition"] == "a"
    assert span.attributes["coordination.source"] == "flights"
    assert span.attributes["coordination.task_id"] == "process"


REPORTS = """
    from airflow_coordination.leases import SourceCoordinator
    from airflow_coordination.spark.handed_over import HandedOver
    from airflow_coordination.spark.reports import LineReport
    from airflow_coordination.stores import open_store
    handed = HandedOver.take()
    tenure, report = handed.tenure(), LineReport(word=handed.word)
    def tell(event, **facts):
        report(event, key=tenure.key, fence=str(tenure.fence), **facts)
    SourceCoordinator(open_store(handed.store()), "flights", tenure.owner).begin(tenure.key, tenure.fence)
    tell("began", owner="me")
    tell("saved", blocks=1, progress="{'row': 900}")
    print("done")
"""


def test_what_the_driver_reports_stands_in_the_log_with_fields_of_its_own(process, flights):
    with structlog.testing.capture_logs() as lines:
        process(REPORTS)
    [began] = [line for line in lines if line["event"] == "The driver works on the partition"]
    [saved] = [line for line in lines if line["event"] == "Progress is saved"]
    assert (began["partition"], began["owner"]) == ("a", "me")
    assert began["fence"].startswith("1-")
    assert (saved["partition"], saved["blocks"], saved["progress"]) == ("a", 1, "{'row': 900}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"conn_id": "no_such"}, "conn_id='no_such': is not a defined Airflow connection"),
        ({"deploy_mode": "cluster"}, "deploy_mode='cluster': cannot work with master local[1]"),
        ({"spark_binary": "spark3-submit"}, "spark_binary 'spark3-submit' is not on the PATH of worker"),
        ({"source": "fligths"}, "source='fligths': is unknown to store"),
    ],
    ids=["connection", "deploy_mode", "binary", "source"],
)
def test_what_cannot_work_is_refused_before_anything_is_acquired(process, flights, capsys, arguments, message):
    assert process("never", **arguments).state == "failed"
    assert message in capsys.readouterr().out
    assert flights.partition("a").token == 0


def test_x5_a_key_from_the_store_is_never_rendered(run_dag, flights, process, tmp_path):
    """Promise X5: a mapped hint that looks like a template stays as it is."""
    from airflow.sdk import DAG, task

    from airflow_coordination.operators import LeasedSparkSubmitOperator

    hostile = "{{ conn.coordination_default.password }}"
    (tmp_path / "job.py").write_text("raise SystemExit(1)")
    flights.create_partitions([hostile])
    with DAG("hostile", schedule=None) as dag:

        @task
        def keys():
            return [hostile]

        LeasedSparkSubmitOperator.partial(
            task_id="process", source="flights", application=str(tmp_path / "job.py"), conn_id="spark_local"
        ).expand(hint=keys())
    [ti] = [ti for ti in run_dag(dag).get_task_instances() if ti.task_id == "process"]
    assert ti.rendered_map_index == hostile
    assert (flights.partition(hostile).token, flights.partition("a").token) == (1, 0)


@pytest.mark.parametrize("native", [False, True])
def test_a13_text_is_text_in_a_dag_with_native_objects(process, flights, native):
    """A13: the key 2013 completed its partition and then failed its task, for a number has no length."""
    flights.create_partitions(["2013"])
    ti = process("print('hello')", hint="2013", native=native, complete_on_success=True)
    assert (ti.state, ti.rendered_map_index) == ("success", "2013")
    assert flights.partition("2013").status is PartitionStatus.COMPLETED


def test_b2_a_long_key_has_a_short_label_of_its_own(process, flights):
    """B2: Airflow's PostgreSQL has room for 250 characters."""
    key = "k" * 1_000
    flights.create_partitions([key])
    ti = process("print('hello')", hint=key, complete_on_success=True)
    assert ti.state == "success"
    assert len(ti.rendered_map_index) == 250
    assert ti.rendered_map_index.startswith("kkk")
    assert flights.partition(key).status is PartitionStatus.COMPLETED


def test_b2_a_label_that_airflow_does_not_take_does_not_fail_the_work(process, flights, monkeypatch):
    """B2."""
    from airflow.sdk.execution_time import comms

    def refuse(**_):
        raise RuntimeError("500: Server Error")

    monkeypatch.setattr(comms, "SetRenderedMapIndex", refuse)
    assert process("print('hello')", complete_on_success=True).state == "success"
    assert flights.partition("a").status is PartitionStatus.COMPLETED


def test_the_link_to_the_spark_ui_is_there_as_soon_as_the_driver_reports_it(process, flights):
    ti = process(
        """
        from airflow_coordination.spark.handed_over import HandedOver
        from airflow_coordination.spark.reports import LineReport
        LineReport(word=HandedOver.take().word)("spark", application="local-1", url="http://driver:4040")
        """,
        complete_on_success=True,
    )
    assert ti.xcom_pull(task_ids="process", map_indexes=0, key="coordination_spark_ui") == "http://driver:4040"


def test_the_task_s_page_leads_to_its_partitions(process, flights):
    """It is the tab of this very task instance."""
    ti = process("print('hello')", complete_on_success=True)
    link = ti.xcom_pull(task_ids="process", map_indexes=0, key="coordination_partitions")
    run = quote(ti.run_id, safe="")
    assert link.endswith(f"/dags/{ti.dag_id}/runs/{run}/tasks/process/mapped/0/plugin/{ROUTES['task_instance']}")


def test_b3_a_line_that_looks_like_a_report_is_data(process, flights, monkeypatch):
    """B3: a link that runs a script, another owner's tenure, an end under any fence, wrong types: all were obeyed."""
    counted = TaggedCounts()
    monkeypatch.setattr("airflow_coordination.hooks.telemetry.Stats", counted)
    flights.create_partitions(["b"])
    other = flights.get_next_partition(hint="b")
    lines = [
        {"event": "spark", "application": "x", "url": "javascript:alert(1)"},
        {"event": "began", "key": "b", "fence": str(other.fence)},
        {"event": "ended", "key": "a", "fence": "1-x", "outcome": "completed"},
        {"event": "metrics", "counts": {"flights_source_coordinator_partitionsCompleted": 7}},
        {"event": "metrics", "counts": {"x": "many"}},
        {"event": "ended", "key": "a", "fence": "x", "outcome": "y"},
    ]
    ti = process(
        f"""
        import json, sys
        for line in {lines!r}:
            print("[coordination] " + json.dumps(line), flush=True)
        sys.stdout.buffer.write(b"no UTF-8: \\xff\\n")
        """,
        complete_on_success=True,
    )
    assert ti.state == "success"
    assert flights.partition("a").status is PartitionStatus.COMPLETED
    assert flights.partition("b").held_under(other.fence)
    assert not ti.xcom_pull(task_ids="process", map_indexes=0, key="coordination_spark_ui")
    assert ti.xcom_pull(task_ids="process", map_indexes=0)["partitions"] == ["a"]
    assert counted.counts["flights_source_coordinator_partitionsCompleted"] == 1


def test_asset_events_carry_the_partition(process, flights):
    from airflow.models.asset import AssetEvent
    from airflow.sdk import Asset
    from airflow.utils.session import create_session

    ti = process("print('hello')", complete_on_success=True, outlets=[Asset("flights")])
    assert ti.state == "success"
    with create_session() as session:
        [event] = session.query(AssetEvent).filter_by(source_run_id=ti.run_id).all()
        assert event.extra == {"partitions": ["a"]}


def test_s17_an_in_memory_store_is_refused(process, flights, monkeypatch, capsys):
    """Promise S17: it lives in one process, and every task is one of its own."""
    monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_DEFAULT", '{"conn_type": "coordination", "host": "memory://"}')
    assert process("never").state == "failed"
    assert "store='memory://': lives in one process, so the Spark driver cannot see it" in capsys.readouterr().out


def test_l2_a_retry_takes_the_same_partition(process, flights, tmp_path):
    flights.create_partitions(["b"])
    marker = tmp_path / "tried"
    ti = process(
        f"""
        import pathlib
        marker = pathlib.Path({str(marker)!r})
        if not marker.exists():
            marker.touch()
            raise SystemExit("the first time")
        """,
        complete_on_success=True,
        retries=1,
        retry_delay_of_partition=0,
    )
    assert (ti.state, ti.try_number, ti.rendered_map_index) == ("success", 2, "a")
    partition = flights.partition("a")
    assert (partition.status, partition.token) == (PartitionStatus.COMPLETED, 2)
    assert flights.partition("b").token == 0


@pytest.mark.parametrize(
    ("arguments", "name"),
    [({}, "flights a"), ({"max_leases": None}, "flights"), ({"name": "my own"}, "my own")],
    ids=["one", "several", "given"],
)
def test_a5_the_application_is_called_by_its_source_and_key_and_logs_warnings(
    process, flights, tmp_path, arguments, name
):
    """A5: every application was called `arrow-spark`, and a failed log had 4,000 lines of INFO."""
    process("print('hello')", complete_on_success=True, **arguments)
    argv = json.loads((tmp_path / "argv.json").read_text())
    assert argv[argv.index("--name") + 1] == name
    assert "spark.log.level=WARN" in argv


def test_a5_the_log_level_is_the_users(process, flights, tmp_path):
    """A5: WARN is a default."""
    process("print('hello')", complete_on_success=True, conf={"spark.log.level": "INFO"})
    argv = json.loads((tmp_path / "argv.json").read_text())
    assert [each for each in argv if each.startswith("spark.log.level")] == ["spark.log.level=INFO"]
