"""Stores and writes for the SQL store's own tests."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.leases.outcomes import CompleteRequest, Tenure
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import AcquireNext, Create, End, NewPartition, Tenancy
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql import postgres_store as postgres_module
from airflow_coordination.stores.sql.queue import UsedUp
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.values.fence import Fence, Owner
from airflow_coordination.values.settings import Settings
from tests.engines.postgres import fresh_database

SOURCE = "flights|PARTITION"


def op() -> str:
    """Return an operation id."""
    return secrets.token_hex(12)


def tenancy(seconds: float = 600) -> Tenancy:
    return Tenancy(op=op(), owner=Owner("h/d/r/t/0/1"), timeout=timedelta(seconds=seconds), max_lost_leases=5)


def creation(keys: list[str], priority: int = 0) -> Create:
    new = tuple(NewPartition(key=key, payload_text=None, priority=priority) for key in keys)
    return Create(source=SOURCE, op=op(), partitions=new)


def following(**options: Any) -> AcquireNext:
    return AcquireNext(source=SOURCE, tenancy=tenancy(), **options)


def ending(held: Partition, **changes: Any) -> End:
    """Return the completion of a tenure that has seen no other write."""
    tenure = Tenure(held, Fence(held.token, held.nonce), held.last_op)
    return replace(tenure.ended(CompleteRequest(), op(), Settings()), **changes)


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing counts as slow, however busy the machine is: who was slow sends statements that tests do not count."""
    monkeypatch.setattr(postgres_module, "UsedUp", partial(UsedUp, slow=inf))


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def sqlite_store(sqlite_url: str) -> Iterator[SqlStore]:
    store = open_store(sqlite_url)
    assert isinstance(store, SqlStore)
    store.setup()
    yield store
    store.close()


@pytest.fixture
def postgres_store(postgres_store_url: str) -> Iterator[SqlStore]:
    store = open_store(postgres_store_url)
    assert isinstance(store, SqlStore)
    yield store
    store.close()


@pytest.fixture
def empty_again(postgres_cluster: str, postgres_template: str) -> Iterator[Callable[[], str]]:
    """Makes databases that are set up as stores; the one before is gone then."""
    with ExitStack() as databases:

        def make() -> str:
            databases.close()
            return databases.enter_context(fresh_database(postgres_cluster, postgres_template))

        yield make
