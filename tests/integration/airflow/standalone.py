"""A real Spark standalone cluster of one small worker, from pyspark's own jars."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tests.engines.ports import free_ports
from tests.integration.spark.drivers import eventually
from tests.system.harness import marked

HOME = Path(pyspark.__file__).parent
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Standalone:
    """The cluster.

    :param folder: of its logs and of the drivers that ran on it.
    :param port: of its master.
    :param rest_port: of its master's REST API.
    """

    folder: Path
    port: int
    rest_port: int

    def connection(self, deploy_mode: str) -> str:
        """Return the Airflow connection; the hook asks the master's REST API how a driver is."""
        extra = {"deploy-mode": deploy_mode, "rest-port": self.rest_port}
        return json.dumps({"conn_type": "spark", "host": f"spark://{HOST}", "port": self.port, "extra": extra})

    @property
    def drivers(self) -> list[str]:
        """The names of the drivers that were started on the cluster."""
        return sorted(path.name for path in (self.folder / "work").glob("driver-*"))

    def state(self, driver: str) -> str:
        """Return the master's word for how a driver is."""
        url = f"http://{HOST}:{self.rest_port}/v1/submissions/status/{driver}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return str(json.load(answer)["driverState"])


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[Standalone]:
    """Start a master and a worker; end them, and what they started, at the end."""
    port, rest_port, page, worker_page = free_ports(4)
    rest = f"-Dspark.master.rest.enabled=true -Dspark.master.rest.host={HOST} -Dspark.master.rest.port={rest_port}"
    environment = os.environ | {
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": rest,
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_LOG_DIR": str(folder),
    }
    master = ["master.Master", "--host", HOST, "--port", str(port), "--webui-port", str(page)]
    worker = ["worker.Worker", "--host", HOST, "--webui-port", str(worker_page), "--cores", "1", "--memory", "1g"]
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, command: list[str], ready: str) -> None:
        log = folder / f"{name}.log"
        command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{command[0]}", *command[1:]]
        with log.open("wb") as stream:
            started.append(subprocess.Popen(command, env=environment, stdout=stream, stderr=stream))
        eventually(lambda: ready in log.read_text() or started[-1].poll() is not None)
        assert started[-1].poll() is None, log.read_text()

    try:
        start("master", master, "I have been elected leader")
        start("worker", [*worker, f"spark://{HOST}:{port}"], "Successfully registered with master")
        yield Standalone(folder, port, rest_port)
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(20)
        for left in marked("SPARK_WORKER_DIR", str(folder)):
            left.kill()
