"""Stand-ins for YARN and Kubernetes at the Spark hook's own boundaries.

Those are its spark-submit command, the ResourceManager's REST API, and the client of Kubernetes. The drivers are real
processes, started as a NodeManager starts them: by a shell script that exports their environment, with nothing of the
worker's.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

SUBMIT = """\
#!{python}
import json, os, pathlib, shlex, subprocess, sys
folder = pathlib.Path("{folder}")
number = len(list(folder.glob("*.submission"))) + 1
options = dict(zip(sys.argv, sys.argv[1:]))
settings = [value.split("=", 1) for flag, value in zip(sys.argv, sys.argv[1:]) if flag == "--conf"]
seen = dict(argv=sys.argv, environment=dict(os.environ), configuration=dict(settings))
(folder / f"{{number}}.submission").write_text(json.dumps(seen))
sent, secrets = ("spark.yarn.appMasterEnv.", "spark.kubernetes.driverEnv."), "spark.kubernetes.driver.secretKeyRef."
exports = [f'export {{name.rpartition(".")[2]}}="{{value}}"' for name, value in settings if name.startswith(sent)]
refers = [(name, value) for name, value in settings if name.startswith(secrets)]
exports += [f'export {{name.rpartition(".")[2]}}="$(cat {{folder}}/{{value}})"' for name, value in refers]
run = f"{python} {{shlex.quote(sys.argv[-1])}}; echo $? > {{folder}}/{{number}}.exit.part"
script = "\\n".join([*exports, run, f"mv {{folder}}/{{number}}.exit.part {{folder}}/{{number}}.exit"])
environment = dict(PATH=os.environ["PATH"], PYTHONPATH=options.get("--py-files", ""))
log = open(folder / f"{{number}}.log", "w")
started = subprocess.Popen(
    ["bash", "-c", script], env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
)
(folder / f"{{number}}.pid").write_text(str(started.pid))
(folder / f"{{number}}.submit").write_text(str(os.getpid()))
print(f"26/11/21 12:00:00 INFO YarnClientImpl: Submitted application application_1700000000000_{{number:04d}}")
print(f"\t pod name: job-n{{number}}-driver", flush=True)
if any(name.endswith(".waitAppCompletion") and value == "true" for name, value in settings):
    started.wait()
    code = int((folder / f"{{number}}.exit").read_text())
    print(f"Exit code: {{code}}")
    sys.exit(code)
"""
JOB = """\
import os, pathlib, time
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.handover import HandOver, from_word
from airflow_coordination.stores import open_store

folder = pathlib.Path("{folder}")
handed = HandOver.from_json(from_word(os.environ["COORDINATION_HANDOVER"]))
store = open_store(from_word(os.environ["COORDINATION_STORE"]))
coordinator = SourceCoordinator(store, handed.source, handed.owner, settings=handed.settings)
lease = coordinator.begin(handed.key, handed.fence)
assert handed.task_pid is None
{body}
"""


class Cluster:
    """The applications of one test.

    :param folder: where they are recorded.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.url = folder, ""
        self.failures = 0
        """So many of the next questions are answered with an error."""
        self.on_question: Callable[[], Any] = lambda: None
        """Called before every answer."""
        self.killed: list[int] = []
        """The numbers of the applications that were killed through the API."""

    @property
    def submissions(self) -> list[dict[str, Any]]:
        """What each spark-submit was given."""
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("*.submission"))]

    def job(self, body: str) -> str:
        """Write an application that goes on with its tenure, without Spark; return its path."""
        path = self.folder / "job.py"
        path.write_text(JOB.format(folder=self.folder, body=body))
        return str(path)

    def state(self, number: int) -> tuple[str, str]:
        """Return state and final status of an application."""
        if number in self.killed:
            return "KILLED", "KILLED"
        ended = self.folder / f"{number}.exit"
        if not ended.exists():
            return "RUNNING", "UNDEFINED"
        return "FINISHED", "SUCCEEDED" if ended.read_text().strip() == "0" else "FAILED"

    def kill(self, number: int) -> None:
        """Kill an application as a NodeManager does: every process of it."""
        self.killed.append(number)
        with suppress(ProcessLookupError):
            os.killpg(int((self.folder / f"{number}.pid").read_text()), signal.SIGKILL)

    def kill_submit(self, number: int) -> None:
        """Kill spark-submit, which leaves its driver alone."""
        os.kill(int((self.folder / f"{number}.submit").read_text()), signal.SIGKILL)

    def end(self) -> None:
        """End every process that is left."""
        for path in self.folder.glob("*.pid"):
            self.kill(int(path.stem))


@contextmanager
def resource_manager(yarn: Cluster) -> Iterator[str]:
    """Serve the ResourceManager's REST API for these applications; give its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            yarn.on_question()
            if yarn.failures > 0:
                yarn.failures -= 1
                self.send_error(503)
                return
            state, final = yarn.state(self._number())
            self._answer({"app": {"state": state, "finalStatus": final, "diagnostics": ""}})

        def do_PUT(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert asked == {"state": "KILLED"}
            yarn.kill(self._number())
            self._answer(asked)

        def _number(self) -> int:
            return int(self.path.partition("application_")[2].partition("/")[0].rpartition("_")[2])

        def _answer(self, body: object) -> None:
            text = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class PodsError(Exception):
    """What the client of Kubernetes raises."""

    def __init__(self, status: int) -> None:
        self.status = status


class Pods:
    """The client of Kubernetes, as far as the Spark hook calls it; in the place of its module, too."""

    ApiException = PodsError

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def get_kube_client(self) -> Pods:
        """Return the client."""
        return self

    def read_namespaced_pod(self, name: str, namespace: str) -> Any:
        """Return the driver's pod."""
        self._cluster.on_question()
        state, final = self._cluster.state(self._number(name, namespace))
        if state == "KILLED":
            raise PodsError(404)
        phase = (state if final == "UNDEFINED" else final).capitalize()
        return SimpleNamespace(status=SimpleNamespace(phase=phase, container_statuses=None))

    def delete_namespaced_pod(self, name: str, namespace: str, **_: object) -> None:
        """Kill the driver, if it runs."""
        number = self._number(name, namespace)
        if self._cluster.state(number)[0] == "RUNNING":
            self._cluster.kill(number)

    def _number(self, name: str, namespace: str) -> int:
        assert namespace == "jobs"
        return int(name.removeprefix("job-n").removesuffix("-driver"))


def write_submit(folder: Path) -> None:
    """Write the stand-in for spark-submit into ``folder/bin``."""
    submit = folder / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(SUBMIT.format(python=sys.executable, folder=folder))
    submit.chmod(0o755)
