"""Two engines of Kinesis for tests, each in memory, in one process of Node, on a free port of this host.

kinesis-local is the main one: it has ``ChildShards``, filters and pages of ``ListShards``. kinesalite is an independent
second one without these. What else differs is in tests/integration/kinesis/test_engines.py.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from airflow_coordination.values.input_errors import SettingsError
from scripts.npm_packages import node
from tests.engines.dynamodb_local import ENDS_WITH_ITS_PARENT
from tests.engines.ports import free_port, free_ports

_ON_THIS_HOST: Final = Path(__file__).with_name("loopback.cjs")
_START_SECONDS: Final = 120
_CHANGE_MS: Final = 50
"""How long a stream is CREATING or UPDATING, in milliseconds; by themselves both engines take ten times as long."""
_SHARDS: Final = 10_000
"""How many shards all streams together may have; by themselves 50 and 10."""
_CHANGES: Final = ("CREATE_STREAM", "DELETE_STREAM", "MERGE_SHARDS", "SPLIT_SHARD", "UPDATE_SHARD_COUNT")


@contextmanager
def kinesis_local(packages: Path) -> Iterator[str]:
    """Run a new kinesis-local until the block ends, and give its endpoint URL.

    :param packages: the directory ``node_modules`` that has it.
    :raises SettingsError: when it is not there.
    """
    home = _home(packages, "kinesis-local")
    plain, encrypted = free_ports(2)
    settings = {
        "KINESIS_MOCK_PLAIN_PORT": str(plain),
        "KINESIS_MOCK_TLS_PORT": str(encrypted),
        "KINESIS_MOCK_CERT_PATH": str(home / "server.json"),
        "SHARD_LIMIT": str(_SHARDS),
        "LOG_LEVEL": "ERROR",
    } | {f"{change}_DURATION": f"{_CHANGE_MS}ms" for change in _CHANGES}
    with _running("kinesis-local", (str(home / "main.js"),), plain, settings) as url:
        yield url


@contextmanager
def kinesalite(packages: Path) -> Iterator[str]:
    """Run a new kinesalite until the block ends, and give its endpoint URL.

    :param packages: the directory ``node_modules`` that has it.
    :raises SettingsError: when it is not there.
    """
    port = free_port()
    times = [f"--{change}StreamMs={_CHANGE_MS}" for change in ("create", "update", "delete")]
    program = str(_home(packages, "kinesalite") / "cli.js")
    with _running("kinesalite", (program, f"--port={port}", f"--shardLimit={_SHARDS}", *times), port, {}) as url:
        yield url


def connected(endpoint: str, region: str = "us-east-1") -> closing[Any]:
    """Return a client that never repeats a request by itself, to be closed by ``with``."""
    config = Config(retries={"total_max_attempts": 1}, connect_timeout=5)
    return closing(
        boto3.client(
            "kinesis", endpoint_url=endpoint, region_name=region, aws_access_key_id="local",
            aws_secret_access_key="local", config=config,
        )
    )  # fmt: skip


def _home(packages: Path, name: str) -> Path:
    if not (packages / name).is_dir():
        remedy = "Download it first; in a checkout: python scripts/npm_packages.py kinesis"
        raise SettingsError("packages", str(packages), f"has no {name}", remedy)
    return packages / name


@contextmanager
def _running(name: str, arguments: Sequence[str], port: int, settings: Mapping[str, str]) -> Iterator[str]:
    command = (*ENDS_WITH_ITS_PARENT, str(node()), "--require", str(_ON_THIS_HOST), *arguments)
    with tempfile.TemporaryDirectory(prefix="kinesis-") as home, tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, cwd=home, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
        try:
            _wait_until_it_answers(name, f"http://127.0.0.1:{port}", process)
        except RuntimeError as error:
            log.seek(0)
            raise RuntimeError(f"{error}:\n{log.read()[-2000:].decode(errors='replace')}") from None
        else:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


def _wait_until_it_answers(name: str, endpoint: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    with connected(endpoint) as client:
        while process.poll() is None and time.monotonic() < deadline:
            try:
                client.list_streams(Limit=1)
            except BotoCoreError:
                time.sleep(0.05)
            else:
                return
    raise RuntimeError(f"{name} did not start")
