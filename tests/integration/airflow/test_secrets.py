"""Promise X4: what opens the store is in the driver's environment, nowhere else; a scheduler's logs: tests/system."""

import json
import os
import tempfile
import textwrap

import pytest
from airflow.sdk.log import redact
from sqlalchemy import text
from sqlalchemy.engine import make_url

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from tests.integration.airflow.setup import flights_behind

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CANARY = "canary-5d1f"


@pytest.fixture
def flights(postgres_url, monkeypatch):
    connection = {"conn_type": "coordination", "host": postgres_url, "password": CANARY}
    with flights_behind(connection, monkeypatch) as coordinator:
        yield coordinator


@pytest.mark.postgres
def test_x4_the_stores_password_is_no_argument_and_in_no_template_or_xcom(process, flights, tmp_path):
    ti = process(
        f"""
        import pathlib
        from airflow_coordination.spark.handed_over import HandedOver
        store = HandedOver.take().store()
        print("the job prints", store)
        pathlib.Path({str(tmp_path / "store")!r}).write_text(store)
        raise SystemExit("failed with " + store)
        """
    )
    assert CANARY in (tmp_path / "store").read_text()
    assert CANARY not in (tmp_path / "argv.json").read_text()
    assert ti.state == "failed"
    assert CANARY not in str(flights.partition("a").last_error)
    assert _rows_with(CANARY) == []


@pytest.fixture
def flights_in_dynamodb(moto_server, monkeypatch):
    from airflow_coordination.hooks.coordination import CoordinationHook

    amazon = {
        "conn_type": "aws",
        "login": f"AKIA{CANARY}",
        "password": f"secret-{CANARY}",
        "extra": {
            "aws_session_token": f"token-{CANARY}",
            "region_name": "us-east-1",
            "service_config": {name: {"endpoint_url": moto_server} for name in ("dynamodb", "sts")},
            "role_arn": "arn:aws:iam::123456789012:role/Worker",
            "assume_role_kwargs": {"ExternalId": f"external:{CANARY}/="},
        },
    }
    store = {"conn_type": "coordination", "host": "dynamodb://secrets", "extra": {"aws_conn_id": "amazon"}}
    monkeypatch.setenv("AIRFLOW_CONN_AMAZON", json.dumps(amazon))
    monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_DEFAULT", json.dumps(store))
    store = CoordinationHook().get_conn()
    store.setup()
    coordinator = SourceCoordinator(store, "flights", "test")
    coordinator.create_partitions(["a"])
    return coordinator


def test_x4_amazons_keys_and_external_id_are_no_argument_and_in_no_log_template_or_xcom(
    process, flights_in_dynamodb, tmp_path, capfd
):
    ti = process(
        f"""
        import os, pathlib, psutil
        from airflow_coordination.spark.handed_over import HandedOver
        seen = [process.info["cmdline"] for process in psutil.process_iter(["cmdline"])]
        pathlib.Path({str(tmp_path / "arguments")!r}).write_text(str(seen))
        handed = [f"{{name}}={{text}}" for name, text in sorted(os.environ.items()) if name.startswith("AWS_")]
        handed.append(HandedOver.take().store())
        pathlib.Path({str(tmp_path / "handed")!r}).write_text(" ".join(handed))
        print("the job prints", *handed)
        raise SystemExit("failed with " + " ".join(handed))
        """
    )
    handed = (tmp_path / "handed").read_text()
    for secret in (f"AKIA{CANARY}", f"secret-{CANARY}", f"token-{CANARY}", f"external%3A{CANARY}%2F%3D"):
        assert secret in handed
    assert "job.py" in (tmp_path / "arguments").read_text()
    assert CANARY not in (tmp_path / "arguments").read_text()
    logged = capfd.readouterr().out
    ours = [line for line in logged.splitlines() if "the job prints" not in line and "failed with" not in line]
    assert len(ours) < len(logged.splitlines())
    assert CANARY not in "\n".join(ours)
    assert CANARY not in redact(logged), "dag.test() masks nothing, but what Airflow's own logs mask is known by now"
    assert ti.state == "failed"
    assert CANARY not in str(flights_in_dynamodb.partition("a").last_error)
    assert _rows_with(CANARY) == []


def _rows_with(secret):
    """Return the names of the tables of Airflow's own database that hold the text anywhere."""
    from airflow.utils.session import create_session

    with create_session() as session:
        tables = [row[0] for row in session.execute(text("select name from sqlite_master where type = 'table'"))]
        return [name for name in tables if secret in str(session.execute(text(f'select * from "{name}"')).all())]


HOLES = {
    "a_plus_and_another_special_character": lambda url: {"host": _shown(url), "password": f"+{CANARY}@/%"},
    "b_password_in_the_query": lambda url: {"host": _shown(url.update_query_dict({"password": f"b+{CANARY}"}))},
    "b_sslpassword_in_the_query": lambda url: {"host": _shown(url.update_query_dict({"sslpassword": f"s@{CANARY}"}))},
    "f_no_host_before_the_query": lambda url: {
        "host": f"postgresql+psycopg:///{url.database}?host={url.host}&port={url.port}&user={url.username}",
        "password": f"f {CANARY}",
    },
}


def _shown(url):
    return url.render_as_string(hide_password=False)


@pytest.mark.postgres
@pytest.mark.parametrize("hole", HOLES)
def test_b4_no_place_holds_the_password_however_it_is_given(process, postgres_url, monkeypatch, tmp_path, capfd, hole):
    """B4 a, b, c, f: a job that fails with what opens its store, as it is written and as it is."""
    with flights_behind({"conn_type": "coordination", **HOLES[hole](make_url(postgres_url))}, monkeypatch) as flights:
        ti = process(
            """
            import pathlib
            from sqlalchemy.engine import make_url
            from airflow_coordination.spark.handed_over import HandedOver
            store = HandedOver.take().store()
            url = make_url(store)
            secret = url.password or url.query.get("password") or url.query.get("sslpassword")
            pathlib.Path(__file__).with_name("secret").write_text(secret)
            raise SystemExit(f"failed with {store} {secret} {secret!r}")
            """
        )
        assert CANARY in (tmp_path / "secret").read_text(), "it is not lost"
        last_error = str(flights.partition("a").last_error)
    logged = capfd.readouterr().out
    assert CANARY in logged, "dag.test() masks nothing"
    places = {"argv": (tmp_path / "argv.json").read_text(), "log": redact(logged), "last_error": last_error}
    found = [*_rows_with(CANARY), *(place for place, text in places.items() if CANARY in text)]
    print(f"{hole}: {len(found)} secrets found")
    assert (ti.state, found) == ("failed", [])


JOB = """
    import json, os, pathlib
    from airflow_coordination.spark import Complete, partition_application

    @partition_application
    def main(spark, lease):
        asked = "select '${{env:COORDINATION_STORE}}', '${{env:AIRFLOW_CONN_COORDINATION_DEFAULT}}', '${{env:HOME}}'"
        substituted = str(spark.sql(asked).collect())
        everything = str(dict(spark._jvm.System.getenv()))
        letter = spark._jvm.System.getenv("COORDINATION_ENVELOPE") or "/none/at/all"
        mine = str(dict(os.environ)) + str([path.read_text() for path in pathlib.Path("/proc/self").glob("environ")])
        seen = dict(substituted=substituted, everything=everything, mine=mine, letter=letter)
        seen["left"] = [os.path.exists(letter), os.path.exists(os.path.dirname(letter))]
        pathlib.Path({seen!r}).write_text(json.dumps(seen))
        if {fails}:
            raise ValueError(f"cannot log in as {{lease._coordinator.store.database.url.password}}")
        return Complete()
"""


@pytest.mark.postgres
@pytest.mark.spark
@pytest.mark.parametrize("fails", [pytest.param(False, marks=pytest.mark.long), True])
def test_b4_a_drivers_jvm_event_log_and_last_error_hold_no_password(tmp_path, flights, run_dag, monkeypatch, fails):
    """B4 c, d: with a real Spark; the password was in the JVM's environment, in the event log and in ``last_error``."""
    from airflow.sdk import DAG

    from airflow_coordination.operators import LeasedSparkSubmitOperator

    monkeypatch.setenv("COORDINATION_STORE", f"postgresql://u:{CANARY}@of-the-command-line/d")
    job, seen, events = tmp_path / "job.py", tmp_path / "seen.json", tmp_path / "events"
    job.write_text(textwrap.dedent(JOB.format(seen=str(seen), fails=fails)))
    events.mkdir()
    conf = {"spark.ui.enabled": "false", "spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{events}"}
    with DAG(f"jvm_{fails}", schedule=None) as dag:
        LeasedSparkSubmitOperator(
            task_id="process", source="flights", application=str(job), conn_id="spark_local", conf=conf
        )
    run = run_dag(dag)
    assert run.state == ("failed" if fails else "success")
    found = json.loads(seen.read_text())
    assert os.environ["HOME"] in found["substituted"], "Spark does substitute"
    assert CANARY not in str(found)
    assert found["left"] == [False, False]
    logs = [path for path in events.rglob("*") if path.is_file()]
    assert logs
    assert [path.name for path in logs if CANARY.encode() in path.read_bytes()] == []
    if fails:
        assert flights.partition("a").last_error.endswith("cannot log in as ***")
    assert _rows_with(CANARY) == []


def test_b4_a_driver_that_is_killed_before_it_reads_leaves_nothing(process, store_url, tmp_path, monkeypatch):
    """B4 d: the task removes what is left."""
    from airflow_coordination.stores import open_store

    letters = tmp_path / "tmp"
    letters.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(letters))
    SourceCoordinator(open_store(store_url), "flights", "test").create_partitions(["a"])
    ti = process(
        f"""
        import os, pathlib, signal
        letter = pathlib.Path(os.environ["COORDINATION_ENVELOPE"])
        modes = [oct(path.stat().st_mode) for path in (letter, letter.parent)]
        pathlib.Path({str(tmp_path / "mode")!r}).write_text("".join(modes))
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert ti.state == "failed"
    assert (tmp_path / "mode").read_text() == "0o1006000o40700"
    assert list(letters.glob("coordination-envelope-*")) == []


@pytest.mark.postgres
def test_the_same_job_runs_on_postgresql(process, flights):
    assert process("print('hello')", complete_on_success=True).state == "success"
    assert flights.partition("a").status is PartitionStatus.COMPLETED
