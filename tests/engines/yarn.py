"""A YARN for tests: Hadoop's own ResourceManager and NodeManagers, each a Java process on free ports of this host."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import psutil

from airflow_coordination.values.input_errors import SettingsError
from tests.engines.dynamodb_local import ENDS_WITH_ITS_PARENT, find_java
from tests.engines.ports import free_ports

_SMALL_AND_SOON: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_SERVER: Final = "org.apache.hadoop.yarn.server"
_START_SECONDS: Final = 300
_COMMON: Final = {
    "yarn.resourcemanager.scheduler.class": f"{_SERVER}.resourcemanager.scheduler.fifo.FifoScheduler",
    "yarn.nodemanager.pmem-check-enabled": "false",
    "yarn.nodemanager.vmem-check-enabled": "false",
    "yarn.nodemanager.resource.memory-mb": "8192",
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
    "yarn.nodemanager.delete.debug-delay-sec": "0",
    "yarn.scheduler.minimum-allocation-mb": "128",
    # A host that is gone is missed after so long; ten minutes are Hadoop's default.
    "yarn.nm.liveness-monitor.expiry-interval-ms": "20000",
}


@dataclass
class Yarn:
    """A running YARN.

    :param url: of the ResourceManager's REST API.
    :param settings: the directory with its ``yarn-site.xml``, which clients need as ``HADOOP_CONF_DIR``.
    :param nodes: the NodeManagers.
    """

    url: str
    settings: Path
    nodes: list[psutil.Popen]

    def applications(self) -> list[dict[str, Any]]:
        """Return every application, as the ResourceManager tells of it."""
        found = self._ask("apps")["apps"]
        return list(found["app"]) if found else []

    def application(self, name: str) -> dict[str, Any]:
        """Return one application."""
        return dict(self._ask(f"apps/{name}")["app"])

    def attempts(self, name: str) -> int:
        """Return how many drivers an application has had."""
        return len(self._ask(f"apps/{name}/appattempts")["appAttempts"]["appAttempt"])

    def lose_the_host_of(self, process: psutil.Process) -> None:
        """Kill the NodeManager that runs a process, and everything that it runs, as when its host is gone."""
        [node] = [node for node in self.nodes if node.pid in {parent.pid for parent in process.parents()}]
        _kill(node)

    def _ask(self, what: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/ws/v1/cluster/{what}", timeout=60) as answer:
            return dict(json.load(answer))


@contextmanager
def yarn(jars: Path, home: Path, hosts: int = 2) -> Iterator[Yarn]:
    """Run a new YARN until the block ends; what its containers have started ends with it.

    :param jars: the directory with the mini cluster's jars; what they need else is among PySpark's own.
    :param home: where it keeps its settings, its containers and their logs.
    :param hosts: how many NodeManagers there are.
    :raises SettingsError: when the jars or Java are missing.
    """
    if not list(jars.glob("hadoop-client-minicluster-*.jar")):
        remedy = "Download it first; in a checkout: python scripts/java_packages.py yarn"
        raise SettingsError("jars", str(jars), "has no hadoop-client-minicluster-*.jar", remedy)
    names = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")
    addresses = dict(zip(names, (f"127.0.0.1:{port}" for port in free_ports(len(names))), strict=True))
    manager = {**_COMMON, **{f"yarn.resourcemanager.{name}": address for name, address in addresses.items()}}
    running = Yarn(f"http://{addresses['webapp.address']}", _written(home / "manager", manager), [])
    resource_manager = _started(jars, running.settings, "resourcemanager.ResourceManager")
    try:
        for number in range(hosts):
            settings = _written(home / f"node{number}", {**manager, **_of_node(home / f"node{number}")})
            running.nodes.append(_started(jars, settings, "nodemanager.NodeManager"))
        _wait_for(running, hosts, resource_manager)
        yield running
    finally:
        for process in (*running.nodes, resource_manager):
            _kill(process)


def _of_node(home: Path) -> dict[str, str]:
    names = ("address", "localizer.address", "webapp.address", "collector-service.address")
    ports = zip(names, free_ports(len(names)), strict=True)
    places = {"local-dirs": f"{home}/local", "log-dirs": f"{home}/logs"}
    return {
        f"yarn.nodemanager.{name}": value
        for name, value in {**{name: f"127.0.0.1:{port}" for name, port in ports}, **places}.items()
    }


def _written(home: Path, settings: Mapping[str, str]) -> Path:
    home.mkdir(parents=True)
    _write(home / "yarn-site.xml", settings)
    _write(home / "core-site.xml", {"fs.defaultFS": "file:///", "hadoop.tmp.dir": f"{home}/tmp"})
    return home


def _write(file: Path, settings: Mapping[str, str]) -> None:
    lines = [f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items()]
    file.write_text("\n".join(["<configuration>", *lines, "</configuration>", ""]))


def _started(jars: Path, settings: Path, what: str) -> psutil.Popen:
    spark = find_spec("pyspark")
    assert spark is not None
    classes = f"{settings}:{jars}/*:{Path(str(spark.origin)).parent}/jars/*"
    command = (*ENDS_WITH_ITS_PARENT, find_java(), *_SMALL_AND_SOON, "-cp", classes, f"{_SERVER}.{what}")
    with (settings / "log").open("wb") as log:
        return psutil.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_environment())


def _environment() -> dict[str, str]:
    """Return what a NodeManager knows, and so its containers: nothing of who runs the tests but the way to Java."""
    return {name: os.environ[name] for name in ("PATH", "JAVA_HOME", "HOME", "LANG") if name in os.environ}


def _wait_for(running: Yarn, hosts: int, manager: psutil.Popen) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        with suppress(OSError):
            nodes = running._ask("nodes")["nodes"]
            if nodes and sum(node["state"] == "RUNNING" for node in nodes["node"]) == hosts:
                return
        dead = [each for each in (manager, *running.nodes) if each.poll() is not None]
        if dead or time.monotonic() > deadline:
            said = "\n".join(path.read_text(errors="replace")[-2000:] for path in running.settings.parent.glob("*/log"))
            raise RuntimeError(f"YARN has not started within {_START_SECONDS} s:\n{said}")
        time.sleep(0.2)


def _kill(server: psutil.Popen) -> None:
    """Kill a server and what it has started; a container is its child."""
    with suppress(psutil.NoSuchProcess):
        for process in [server, *server.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
    server.wait()
