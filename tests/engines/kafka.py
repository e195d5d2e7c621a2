"""A Kafka for tests: the real broker, with its own controller, in one Java process on free ports of this host."""

from __future__ import annotations

import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from airflow_coordination.values.input_errors import SettingsError
from tests.engines.dynamodb_local import ENDS_WITH_ITS_PARENT, find_java
from tests.engines.ports import free_ports

_SMALL_AND_SOON: Final = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_QUIET: Final = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=error",)
_START_SECONDS: Final = 120


@contextmanager
def kafka_broker(jars: Path) -> Iterator[str]:
    """Run a new broker until the block ends, and give its ``host:port``.

    :param jars: the directory with Kafka's jars.
    :raises SettingsError: when the jars or Java are missing.
    """
    if not list(jars.glob("kafka_2.13-*.jar")):
        remedy = "Download it first; in a checkout: python scripts/java_packages.py kafka"
        raise SettingsError("jars", str(jars), "has no kafka_2.13-*.jar", remedy)
    port, controller = free_ports(2)
    with tempfile.TemporaryDirectory(prefix="kafka-") as home, tempfile.TemporaryFile() as log:
        settings = Path(home, "server.properties")
        settings.write_text(_settings(port, controller, home))
        java = (find_java(), *_SMALL_AND_SOON, *_QUIET, "-cp", f"{jars}/*")
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        form = (*java, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings))
        subprocess.run(form, check=True, stdout=log, stderr=log, timeout=_START_SECONDS)
        command = (*ENDS_WITH_ITS_PARENT, *java, "kafka.Kafka", str(settings))
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            _wait_until_it_answers(f"127.0.0.1:{port}", process)
        except RuntimeError as error:
            log.seek(0)
            raise RuntimeError(f"{error}:\n{log.read()[-2000:].decode(errors='replace')}") from None
        else:
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


def _settings(port: int, controller: int, home: str) -> str:
    one = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
    return "\n".join((
        "process.roles=broker,controller", "node.id=1", f"controller.quorum.voters=1@127.0.0.1:{controller}",
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        f"advertised.listeners=PLAINTEXT://127.0.0.1:{port}", "controller.listener.names=CONTROLLER",
        f"log.dirs={home}/data", "auto.create.topics.enable=false", "group.initial.rebalance.delay.ms=0",
        *(f"{name}.replication.factor=1" for name in one), "transaction.state.log.min.isr=1",
        "offsets.topic.num.partitions=1", "log.cleaner.enable=false",
    ))  # fmt: skip


def _wait_until_it_answers(servers: str, process: subprocess.Popen[bytes]) -> None:
    client = AdminClient({"bootstrap.servers": servers, "log_level": "0"})
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if client.list_topics(timeout=1).brokers:
                return
        except KafkaException:
            continue
    raise RuntimeError("Kafka did not start")
