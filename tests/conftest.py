"""Fixtures for every test: the engines, each started once and only if somebody asks for it."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from scripts.java_packages import jars
from scripts.npm_packages import packages
from scripts.spark_archive import java_options
from tests.engines import dynamodb_local as local_engine
from tests.engines import kinesis as stream_engines
from tests.engines import moto_server as moto
from tests.engines import opensearch as search_engine
from tests.engines.postgres import fresh_database, private_postgres

AMAZON = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}
"""What tests and all that they start see of Amazon: no account, nobody's settings."""

AIRFLOW_HOME = tempfile.mkdtemp(prefix="airflow-home-")
os.environ |= {"AIRFLOW_HOME": AIRFLOW_HOME, "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}  # before anybody imports Airflow

os.environ.setdefault("JDK_JAVA_OPTIONS", java_options())  # a small Spark application takes 8 CPU seconds, not 20


OPEN_FILES = Path("/proc/self/fd")
MORE_OPEN_FILES, MOST_OPEN_FILES = 200, 900
"""With so many more than the last time garbage is collected; with so many of them left, tests fail."""
_left_open = [0]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Fail where a test leaves to others what makes them fail: the test that did it is named, not they."""
    _warnings_are_heard()
    _files_are_closed()


def _warnings_are_heard() -> None:
    """Fail where tests leave the product's warnings off: what another waits for in ``caplog`` never comes."""
    product = logging.getLogger("airflow_coordination")
    heard = product.isEnabledFor(logging.WARNING) and product.propagate
    logging.disable(logging.NOTSET)
    product.setLevel(logging.NOTSET)
    product.propagate = True
    assert heard, "Let logging say afterwards what it said before: logging.disable(), setLevel(), propagate"


def _files_are_closed() -> None:
    """Fail where tests leave files open by the hundred: above 1,024 ``select()`` raises, in one that has left none."""
    if len(os.listdir(OPEN_FILES)) <= _left_open[0] + MORE_OPEN_FILES:
        return
    if hooks := sys.modules.get("airflow_coordination.hooks.coordination"):
        hooks._opened.cache_clear()  # a process keeps one store for each connection, and each test has one of its own
    gc.collect()  # a store that was only forgotten is closed here
    folders: Counter[str] = Counter()
    for file in OPEN_FILES.iterdir():
        with suppress(OSError):  # that of the listing itself
            folders[os.path.dirname(os.readlink(file)) or os.readlink(file)] += 1
    _left_open[0] = folders.total()
    assert folders.total() <= MOST_OPEN_FILES, f"Close what was opened; most files are in {folders.most_common(5)}"


def pytest_unconfigure() -> None:
    """Remove the home of this very process; each worker of xdist has one of its own."""
    shutil.rmtree(AIRFLOW_HOME, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def interrupts_are_heard() -> None:
    """Undo what a shell does to its background jobs: they ignore SIGINT, and so does all that they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def nobodys_credentials() -> Iterator[None]:
    """Hide the user's own AWS settings for the whole session."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        for name, value in AMAZON.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file to copy that is set up once, because migrating takes longer than a test."""
    path = tmp_path_factory.mktemp("sqlite") / "empty.db"
    store = open_store(f"sqlite:///{path}", clock=FakeClock())
    store.setup()
    store.close()
    return path


@pytest.fixture(scope="session")
def dynamodb_local() -> Iterator[str]:
    """Endpoint URL of the session's DynamoDB Local. Its tables outlive the test: use names of your own."""
    with local_engine.dynamodb_local(jars("dynamodb-local")) as url:
        yield url


@pytest.fixture(scope="session")
def kinesis_local() -> Iterator[str]:
    """Endpoint URL of the session's kinesis-local. Its streams outlive the test: use names of your own."""
    with stream_engines.kinesis_local(packages("kinesis")) as url:
        yield url


@pytest.fixture(scope="session")
def kinesalite() -> Iterator[str]:
    """Endpoint URL of the session's kinesalite. Its streams outlive the test: use names of your own."""
    with stream_engines.kinesalite(packages("kinesis")) as url:
        yield url


@pytest.fixture(scope="session")
def opensearch_node() -> Iterator[str]:
    """URL of the session's OpenSearch. Its indices outlive the test: use names of your own."""
    with search_engine.opensearch_node(jars("opensearch")) as url:
        yield url


@pytest.fixture(scope="session")
def moto_server() -> Iterator[str]:
    """Endpoint URL of the session's moto. Its buckets and tables outlive the test: use names of your own."""
    with moto.moto_server() as url:
        yield url


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[str]:
    """URL of the session's cluster: its maintenance database. Trials of mutants share one among them."""
    if shared := os.environ.get("COORDINATION_TEST_CLUSTER"):
        yield shared
        return
    with private_postgres(durable=False) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_template(postgres_cluster: str) -> Iterator[str]:
    """Name of a database that is set up as a store, to be copied."""
    with fresh_database(postgres_cluster) as url:
        store = open_store(url)
        store.setup()
        store.close()
        yield url.rpartition("/")[2]


@pytest.fixture
def postgres_store_url(postgres_cluster: str, postgres_template: str) -> Iterator[str]:
    """URL of a new database that is set up as a store, for one test. All of a session have the same store id."""
    with fresh_database(postgres_cluster, postgres_template) as url:
        yield url


@pytest.fixture
def postgres_url(postgres_cluster: str) -> Iterator[str]:
    """URL of a new empty database, for one test."""
    with fresh_database(postgres_cluster) as url:
        yield url
