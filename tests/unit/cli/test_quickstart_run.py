"""Waiting for an Airflow of its own: what goes wrong is said, with the log that tells why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psutil
import pytest

from airflow_coordination.cli.quickstart import run as running
from airflow_coordination.cli.quickstart.airflow_api import AirflowApi
from airflow_coordination.cli.quickstart.airflow_process import MARK, OwnAirflow, end_all
from airflow_coordination.cli.quickstart.errors import QuickstartError
from airflow_coordination.cli.quickstart.example import Example
from airflow_coordination.cli.standalone import main
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store


@pytest.fixture
def airflow(tmp_path):
    (tmp_path / "home").mkdir()
    found = OwnAirflow(tmp_path / "home", tmp_path / "dags", {"AIRFLOW_CONN_X": "{}"})
    found.log.write_text("what went before\nwhat it died of\n")
    return found


@pytest.fixture
def process():
    """A process that lives until the test is over."""
    started = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    yield started
    started.kill()
    started.wait()


@pytest.fixture
def answers():
    """Give the answers of a server that stands in for Airflow's; return a client of it."""
    bodies: list[object] = []
    given: dict[str, object] = {"/auth/token": {"access_token": "t"}}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            found = given.get(self.path.partition("?")[0])
            content = json.dumps(found).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self):
            self.do_GET()

        def do_PATCH(self):
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.do_GET()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def answer(**more):
        given.update({path.replace("__", "/"): value for path, value in more.items()})
        return AirflowApi(f"http://127.0.0.1:{server.server_port}", "secret")

    answer.bodies = bodies
    yield answer
    server.shutdown()
    server.server_close()


def test_an_airflow_that_ends_by_itself(airflow):
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    process.wait()
    with pytest.raises(QuickstartError, match=r"Airflow ended by itself, with code 3\. See .*standalone\.log") as said:
        running._Waiting(airflow, process, time.monotonic() + 60).until(lambda: False, "nothing")
    assert said.value.log == "what went before\nwhat it died of\n"


def started_with(home):
    command = [sys.executable, "-c", "import signal; print('here', flush=True); signal.pause()"]
    started = subprocess.Popen(command, env={**os.environ, MARK: str(home)}, stdout=subprocess.PIPE, text=True)
    started.stdout.readline()
    return started


def test_what_one_that_was_killed_has_left_is_ended_and_nothing_else(tmp_path):
    left, other = started_with(tmp_path / "home"), started_with(tmp_path / "home2")
    try:
        end_all(tmp_path / "home")
        assert not psutil.pid_exists(left.pid)
        assert other.poll() is None
    finally:
        for each in (left, other):
            each.kill()
            each.communicate()


def test_cleaning_ends_it_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = Example(tmp_path / "dags")
    example.write({}, with_spark=False, home=tmp_path / "airflow")
    left = started_with(tmp_path / "airflow")
    try:
        assert main(["quickstart", "--clean"]) == 0
        assert not psutil.pid_exists(left.pid)
        assert list(tmp_path.iterdir()) == []
    finally:
        left.kill()
        left.communicate()


def test_time_that_is_over(airflow, process):
    with pytest.raises(QuickstartError, match=r"After 300 s no partition is completed\. See ") as said:
        running._Waiting(airflow, process, time.monotonic() - 1).until(lambda: False, "no partition is completed")
    assert said.value.log.endswith("what it died of\n")


def test_who_does_not_answer_yet_is_asked_again(airflow, process, monkeypatch):
    monkeypatch.setattr(running, "LOOK_EVERY", 0)
    asked = []

    def condition():
        asked.append(1)
        if len(asked) < 3:
            raise ConnectionRefusedError
        return True

    running._Waiting(airflow, process, time.monotonic() + 60).until(condition, "nothing")
    assert len(asked) == 3


ALL = ("metadatabase", "scheduler", "triggerer", "dag_processor")


@pytest.mark.parametrize(("sick", "healthy"), [(None, True), *((name, False) for name in ALL)])
def test_it_is_ready_when_every_part_is(answers, sick, healthy):
    health = {name: {"status": "unhealthy" if name == sick else "healthy"} for name in ALL}
    assert answers(__api__v2__monitor__health=health).is_healthy() is healthy


def test_the_dag_is_let_go_as_soon_as_it_is_known(answers):
    api = answers()
    assert api.let_go("coordination_quickstart") is False
    answers(__api__v2__dags__coordination_quickstart={"is_paused": False})
    assert api.let_go("coordination_quickstart") is True
    assert answers.bodies == [{"is_paused": False}] * 2


def test_a_dag_that_cannot_be_read(answers, airflow):
    api = answers(__api__v2__importErrors={"import_errors": [{"stack_trace": "No module named 'nowhere'"}]})
    with pytest.raises(QuickstartError, match="The DAG cannot be read") as said:
        running._trouble(api, airflow)
    assert said.value.log == "No module named 'nowhere'"


def test_a_task_that_has_failed(answers, airflow):
    tasks = {"task_instances": [{"task_id": "process"}]}
    path = "__api__v2__dags__coordination_quickstart__dagRuns__~__taskInstances"
    api = answers(__api__v2__importErrors={"import_errors": []}, **{path: tasks})
    for number, text in ((1, "an earlier try"), (2, "no such file")):
        log = airflow.home / f"logs/dag_id=coordination_quickstart/run_id=r/task_id=process/attempt={number}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text)
        os.utime(log, (number, number))
    said = r"Task process of DAG coordination_quickstart has failed\. .*/home/logs"
    with pytest.raises(QuickstartError, match=said) as failed:
        running._trouble(api, airflow)
    assert failed.value.log == "no such file"
    answers(**{path: {"task_instances": []}})
    assert running._trouble(api, airflow) is False


def test_the_board_is_asked_for_the_very_source(answers):
    partitions = {"partitions": [{"key": "sales-2026-01"}]}
    api = answers(__coordination__api__v1__partitions=partitions)
    assert running._shown(api)
    answers(__coordination__api__v1__partitions={"partitions": []})
    assert not running._shown(api)


def test_what_changes_is_said_once(capsys, tmp_path):
    store = open_store(f"sqlite:///{tmp_path}/c.db")
    store.setup()
    seen = running._Seen(store)
    assert seen.completed() == 0
    source = SourceCoordinator(store, running.SOURCE, "test")
    source.create_partitions(["a", "b"])
    seen.completed()
    seen.completed()
    lease = source.get_next_partition()
    seen.completed()
    source.complete(lease)
    assert seen.completed() == 1
    assert [line for line in capsys.readouterr().err.splitlines() if line.startswith("Partitions")] == [
        "Partitions: 2 claimable, 0 held, 0 completed",
        "Partitions: 1 claimable, 1 held, 0 completed",
        "Partitions: 1 claimable, 0 held, 1 completed",
    ]


def test_its_environment_has_nothing_of_another_airflow(airflow, monkeypatch):
    monkeypatch.setenv("AIRFLOW_HOME", "/elsewhere")
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://theirs")
    monkeypatch.setenv("AIRFLOW_CONN_THEIRS", "{}")
    found = airflow.environment()
    assert found["AIRFLOW_HOME"] == found[MARK] == str(airflow.home)
    assert found["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] == f"sqlite:///{airflow.home}/airflow.db"
    assert "AIRFLOW_CONN_THEIRS" not in found
    assert found["AIRFLOW_CONN_X"] == "{}"
    assert found["AIRFLOW__API__HOST"] == "127.0.0.1"
    assert len(set(airflow.ports)) == 4
    assert airflow.password not in repr(airflow)
