"""A DynamoDB Local for tests: the vendor's own engine, in memory, on a free port of this host."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from airflow_coordination.values.input_errors import SettingsError
from tests.engines.ports import free_port

_MAIN: Final = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"
_SMALL_AND_SOON: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_START_SECONDS: Final = 60
ENDS_WITH_ITS_PARENT: Final = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()


@contextmanager
def dynamodb_local(jars: Path) -> Iterator[str]:
    """Run a new engine until the block ends, and give its endpoint URL. All regions and credentials share its tables.

    :param jars: the directory with the jars of DynamoDB Local and the native libraries of its SQLite.
    :raises SettingsError: when the jars or Java are missing.
    """
    port = free_port()
    command = (*ENDS_WITH_ITS_PARENT, *_command(jars, port))
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            _wait_until_it_answers(f"http://127.0.0.1:{port}", process)
        except RuntimeError as error:
            log.seek(0)
            raise RuntimeError(f"{error}:\n{log.read()[-2000:].decode(errors='replace')}") from None
        else:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


def _command(jars: Path, port: int) -> tuple[str, ...]:
    if not list(jars.glob("DynamoDBLocal-*.jar")):
        remedy = "Download it first; in a checkout: python scripts/java_packages.py dynamodb-local"
        raise SettingsError("jars", str(jars), "has no DynamoDBLocal-*.jar", remedy)
    return (
        find_java(), *_SMALL_AND_SOON, f"-Dsqlite4java.library.path={jars}", "-cp", f"{jars}/*", _MAIN,
        "-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port),
    )  # fmt: skip


def find_java() -> str:
    """Return the program ``java``: that of ``JAVA_HOME``, else the one on the ``PATH``.

    :raises SettingsError: when there is none.
    """
    home = os.environ.get("JAVA_HOME", "")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if not found:
        where = ("JAVA_HOME", home) if home else ("java", "PATH")
        raise SettingsError(*where, "has no Java", "Install Java 17 or 21: apt-get install openjdk-17-jre-headless")
    return found


def _wait_until_it_answers(endpoint: str, process: subprocess.Popen[bytes]) -> None:
    client = boto3.client(
        "dynamodb", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="local",
        aws_secret_access_key="local", config=Config(retries={"total_max_attempts": 1}, connect_timeout=1),
    )  # fmt: skip
    deadline = time.monotonic() + _START_SECONDS
    with closing(client):
        while process.poll() is None and time.monotonic() < deadline:
            try:
                client.list_tables(Limit=1)
            except BotoCoreError:
                time.sleep(0.05)
            else:
                return
    raise RuntimeError("DynamoDB Local did not start")
