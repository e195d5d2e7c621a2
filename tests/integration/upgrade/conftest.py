"""The places where a store can be that has a schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from airflow_coordination.stores import open_store
from airflow_coordination.stores.dynamodb.client import make_client
from tests.integration.dynamodb.engine import Engine
from tests.integration.upgrade.frozen_packages import BEFORE, FIRST, WITHOUT_VIEWS
from tests.integration.upgrade.old_worker import Old, OldProcess

Starts = Callable[[str], Old]
"""Starts a worker of older code on a store."""

PLACES = [
    "sqlite_url",
    pytest.param("postgres_url", marks=pytest.mark.postgres),
    pytest.param("dynamodb_url", marks=pytest.mark.dynamodb),
]


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """URL of a file that does not exist yet."""
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def dynamodb_url(dynamodb_local: str) -> Iterator[str]:
    """URL of a table that does not exist yet."""
    table = f"test-{uuid4().hex}"
    options = Engine(dynamodb_local, None).options(table)
    with closing(make_client(options)) as client:
        yield options.url
        Engine(dynamodb_local, client).delete(table)


@pytest.fixture(params=PLACES)
def url(request: pytest.FixtureRequest) -> str:
    """URL of a place where no store was ever set up."""
    found: str = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def migrated_url(url: str, first: Starts) -> str:
    """URL of a store that code of schema 1 has set up, migrated."""
    first(url).does("setup")
    open_store(url).setup()
    return url


@pytest.fixture(scope="session")
def before_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of the package of the version before."""
    return BEFORE.unpack(tmp_path_factory.mktemp("before"))


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starts]:
    """Start workers of schema 1."""
    with old_workers(FIRST.unpack(tmp_path_factory.mktemp("first"))) as starts:
        yield starts


@pytest.fixture(scope="session")
def before(before_package: Path) -> Iterator[Starts]:
    """Start workers of the version before."""
    with old_workers(before_package) as starts:
        yield starts


@pytest.fixture(scope="session")
def viewless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starts]:
    """Start workers of the last code that knows no views."""
    with old_workers(WITHOUT_VIEWS.unpack(tmp_path_factory.mktemp("viewless"))) as starts:
        yield starts


@contextmanager
def old_workers(package: Path) -> Iterator[Starts]:
    process = OldProcess(package, package / "complaints")
    try:
        yield process.worker
    finally:
        process.end()
