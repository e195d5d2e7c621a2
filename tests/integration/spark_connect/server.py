"""A real Spark Connect server as a process of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.engines.ports import free_port
from tests.integration.spark.drivers import SMALL, eventually

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@dataclass(frozen=True)
class Server:
    """A server that listens.

    :param process: its JVM.
    :param port: on 127.0.0.1.
    """

    process: subprocess.Popen[bytes]
    port: int

    @property
    def url(self) -> str:
        """Where a client finds it."""
        return f"sc://127.0.0.1:{self.port}"

    def listens(self) -> bool:
        """Return whether somebody answers; fail when the process has ended."""
        assert self.process.poll() is None, "the Spark Connect server has ended"
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0


@contextmanager
def connect_server(folder: Path, python: str = sys.executable) -> Iterator[Server]:
    """Run a server with two cores until the block ends; its log lies in ``folder``.

    :param python: what its Python workers are.
    """
    port = free_port()
    settings = SMALL | {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    submit = shutil.which("spark-submit", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    command = [submit, "--master", "local[2]", "--class", SERVER]
    command += [f"--conf={name}={value}" for name, value in settings.items()]
    with (folder / "server.log").open("wb") as log:
        environment = os.environ | {"PYSPARK_PYTHON": python}
        process = subprocess.Popen([*command, "spark-internal"], stdout=log, stderr=log, env=environment, cwd=folder)
        server = Server(process, port)
        try:
            eventually(server.listens)
            yield server
        finally:
            process.kill()
            process.wait()
