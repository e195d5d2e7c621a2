"""Where the demo keeps its things, and the environment in which its Airflow runs."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from demo.amazon import Amazon
from demo.problems import DemoError
from demo.streams import Streams

CHECKOUT = Path(__file__).resolve().parents[2]
MARK = "COORDINATION_DEMO_PLACE"
"""Environment variable that every process of the demo inherits: so it finds them all again."""
STORE, PREFIX = "DEMO_STORE", "DEMO_PARTITION_PREFIX"
"""How a process is told the store: a URL may hold a password, and everybody sees a process's arguments."""
FIRST_PORT, LAST_PORT = 18080, 18999
SPARK_OPTIONS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Dspark.ui.enabled=false",
    "-Dspark.driver.host=127.0.0.1",
    "-Dspark.driver.bindAddress=127.0.0.1",
    "-Dspark.sql.shuffle.partitions=2",
    "-Dspark.sql.session.timeZone=UTC",
)
"""A Spark application of a few seconds starts faster without Spark's pages and with a simple compiler and collector.

Not in a folder of configuration: in front of Spark's jars, it would keep a JVM from using an archive of their classes.
"""
SPARK_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


@dataclass(frozen=True, slots=True)
class Place:
    """One demo: its folder, ports, log-in and store.

    :param root: the folder; only ``data`` in it survives from one run to the next.
    :param given_store: URL of a store to use; ``None`` for the SQLite file that needs no set-up.
    :param amazon: where partitions and data are instead, if not in that store and on this disk.
    :param streams: what is read beside the flights, if anything.
    """

    root: Path
    given_store: str | None = None
    amazon: Amazon | None = None
    streams: Streams | None = None
    password: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    ports: tuple[int, ...] = field(default_factory=lambda: free_ports(4))
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def data(self) -> Path:
        """The monthly files."""
        return self.root / "data"

    @property
    def home(self) -> Path:
        """``AIRFLOW_HOME``."""
        return self.root / "airflow"

    @property
    def output(self) -> Path:
        """Where partitions publish."""
        return self.root / "output"

    @property
    def log(self) -> Path:
        """What Airflow's components say."""
        return self.root / "airflow.log"

    @property
    def _spark_logging(self) -> Path:
        return self.root / "spark" / "log4j2.properties"

    @property
    def url(self) -> str:
        """Where Airflow's pages are."""
        return f"http://localhost:{self.ports[0]}"

    @property
    def store(self) -> str:
        """The store's URL: the one given, or the one our hook uses when no connection is defined."""
        if self.amazon:
            return self.amazon.store
        return self.given_store or f"sqlite:///{self.home / 'coordination.db'}"

    @property
    def partition_prefix(self) -> str | None:
        """Keeps this run apart from earlier ones in a store that outlives it."""
        return f"demo-{self.started:%Y%m%d-%H%M%S}" if self.given_store else None

    def make(self) -> None:
        """Remove what an earlier run left, except the data, and make the folders anew."""
        for old in (self.home, self.output, self.root / "spark"):
            shutil.rmtree(old, ignore_errors=True)
        self.log.unlink(missing_ok=True)
        for folder in (self.home, self.output, self.root / "spark" / "tmp"):
            folder.mkdir(parents=True)
        self._spark_logging.write_text(SPARK_LOGGING)
        passwords = self.home / "simple_auth_manager_passwords.json.generated"
        passwords.touch(mode=0o600)
        passwords.write_text(json.dumps({"admin": self.password}))

    def environment(self) -> dict[str, str]:
        """Return the environment of Airflow and of all that it starts; Amazon's keys come by Airflow's connection."""
        theirs = ("AIRFLOW", "SPARK_", "PYSPARK_", *(("AWS_",) if self.amazon else ()))
        own = {name: text for name, text in os.environ.items() if not name.startswith(theirs)}
        binaries = Path(sys.executable).parent
        streams = self.streams.variables() if self.streams else {}
        return (
            own
            | self._airflow()
            | self._spark()
            | streams
            | {MARK: str(self.root), "PATH": f"{binaries}:{own['PATH']}"}
        )

    def _airflow(self) -> dict[str, str]:
        api, worker_logs, trigger_logs, health = map(str, self.ports)
        settings = {
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(CHECKOUT / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": "4",  # more is too much for SQLite
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{api}/execution/",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.home / 'airflow.db'}",
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": api,
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": worker_logs,
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": trigger_logs,
            "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT": health,
            "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False",  # a run of the schedule would do the demo's work
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "600",  # nobody edits a DAG meanwhile
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "30",
            "AIRFLOW__COORDINATION__OUTPUT_ROOT": str(self.output),
            "AIRFLOW__COORDINATION__RETRY_DELAY": "5",
            "AIRFLOW_VAR_FLIGHTS_DATA": str(self.data),
        }
        if self.amazon:
            settings |= self.amazon.connections()
        elif self.given_store:
            extra = {"partition_prefix": self.partition_prefix}
            connection = {"conn_type": "coordination", "host": self.given_store, "extra": extra}
            settings["AIRFLOW_CONN_COORDINATION_DEFAULT"] = json.dumps(connection)
        return settings

    def _spark(self) -> dict[str, str]:
        connection = {"conn_type": "spark", "host": "local[1]", "extra": {"deploy-mode": "client"}}
        return {
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(connection),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_SUBMIT_OPTS": " ".join([*SPARK_OPTIONS, f'"-Dlog4j2.configurationFile={self._spark_logging}"']),
            "SPARK_LOCAL_DIRS": str(self.root / "spark" / "tmp"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            **({"SPARK_DIST_CLASSPATH": f"{self.amazon.connector}/*"} if self.amazon else {}),
        }


def free_ports(count: int) -> tuple[int, ...]:
    """Return ports that nobody uses now.

    :raises DemoError: when there are too few.
    """
    found = []
    for port in range(FIRST_PORT, LAST_PORT + 1):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return tuple(found)
    raise DemoError(
        f"Fewer than {count} ports between {FIRST_PORT} and {LAST_PORT} are free.",
        "End what uses them and run it again.",
    )


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """Keep a second demo out of the same folder.

    :raises DemoError: when one runs there already.
    """
    root.mkdir(parents=True, exist_ok=True)
    with (root / "running").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise DemoError(
                f"Another demo is running in {root}: process {file.read()}.", "End it with Ctrl-C first."
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
