"""What each engine is sent for each step of the protocol, text by text and request by request.

A difference is no mistake, but it is looked at: ``WRITE_GOLDEN=1`` in the environment writes the files anew, and the
change of them is a part of the commit.
"""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

from airflow_coordination.stores import open_store
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import children, creating, sweeping
from airflow_coordination.stores.sql.postgres_store import PostgresStore
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.testing.clock import FakeClock
from tests.golden.tape import Tape, heard_by_botocore, heard_by_psycopg, in_lines
from tests.golden.walk import Walk
from tests.integration.dynamodb.engine import Engine


def test_sqlite(tmp_path: Path) -> None:
    clock, tape = FakeClock(), Tape()
    store = open_store(f"sqlite:///{tmp_path}/store.db", clock=clock)
    assert isinstance(store, SqlStore)
    store.setup()
    with store.database.connected(Call("listen")) as connected:
        connected.connection.set_trace_callback(lambda text: tape.note(in_lines(text)))
    Walk(store, clock, tape.heading).make()
    store.close()
    tape.compare("sqlite.sql")


@pytest.mark.postgres
def test_postgresql(postgres_store_url: str) -> None:
    clock, tape = FakeClock(), Tape()
    store = open_store(postgres_store_url, clock=clock)
    assert isinstance(store, PostgresStore)
    store._short_way.clock = clock.monotonic  # a slow machine forgets no miss, and looks for no floors
    store._used_up.slow = inf
    with heard_by_psycopg(tape):
        Walk(store, clock, tape.heading).make()
    store.close()
    tape.compare("postgresql.sql")


def test_dynamodb(moto: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (creating, sweeping, children):  # who of several at once is heard first is no part of what is sent
        monkeypatch.setattr(module, "side_by_side", lambda calls: [call() for call in calls])
    clock, tape = FakeClock(), Tape()
    store = moto.store("golden", clock)
    store.setup()
    with heard_by_botocore(moto.client, tape):
        Walk(store, clock, tape.heading).make()
    store.close()
    moto.delete("golden")
    tape.compare("dynamodb.txt")
