"""Copies of the accounting in SQL: what was written before they were kept stays readable, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from airflow_coordination import SourceCoordinator
from airflow_coordination.leases import Block
from airflow_coordination.outputs import published_accounting
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.stores import open_store
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.values.accounting import Accounting
from tests.integration.stores.earlier import NO_COPIES

COUNTED = Accounting(read=3, delivered_everywhere=1, dropped={"cancelled": 2})


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_store_url")
    open_store(found).setup()
    return found


def opened(url: str) -> SourceCoordinator:
    return SourceCoordinator(open_store(url), "flights", "test")


def execute(url: str, statements: Sequence[str]) -> None:
    """Change the schema beneath the store."""
    store = open_store(url)
    assert isinstance(store, SqlStore)
    with store.database.setting_up() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    store.close()


def publish(flights: SourceCoordinator, key: str, counted: Accounting | None = COUNTED) -> None:
    flights.create_partitions([key])
    lease = flights.acquire_partition(key)
    assert lease is not None
    flights.complete(lease, [Block("clean", f"/out/{key}", key, 1, 10)], counted=counted)


def test_s16_what_was_written_before_copies_were_kept_stays_readable(url: str) -> None:
    publish(opened(url), "before")
    execute(
        url,
        (
            *NO_COPIES,
            "UPDATE coordination_schema_history SET version_num = '0008'",
            "UPDATE coordination_meta SET schema_version = 7",
        ),
    )
    open_store(url).setup()
    flights = opened(url)
    publish(flights, "after")
    heads = {head.key: head.accounting for head in every_head(flights.store, "flights|PARTITION")}
    assert heads == {"before": None, "after": COUNTED}
    assert [past.accounting for key in heads for past in flights.history(key)] == list(heads.values())
    found = published_accounting(flights.store, "flights", "clean")
    assert (found.partitions, found.read) == (1, 3)
    before = flights.partition("before")
    assert before is not None
    assert before.accounting == COUNTED


def test_s26_what_older_code_publishes_in_the_place_of_a_copy_does_not_show_it(url: str) -> None:
    flights = opened(url)
    publish(flights, "k")
    flights.people.reset("k", by="ana", why="anew")
    publish(flights, "k", None)
    # Older code leaves the column as it is.
    stored = open_store(url)
    assert isinstance(stored, SqlStore)
    [head] = every_head(stored, "flights|PARTITION")
    old = replace(head, accounting_text=None)
    text = '{"generation":"of before the reset","over":0,"counts":{"read":3,"unrouted":3}}'
    execute(url, [f"UPDATE coordination_heads SET accounting = '{text}'"])
    [now] = every_head(flights.store, "flights|PARTITION")
    assert replace(now, accounting_text=None) == old
    assert (now.accounting_text, now.accounting) == (text, None)


def test_s26_a_copy_costs_no_statement(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    flights = opened(url)
    publish(flights, "first")  # has looked at the schema
    sent: list[str] = []
    assert isinstance(flights.store, SqlStore)
    database = flights.store.database

    def told(function: object) -> object:
        def tell(call: Call, *arguments: object, **more: object) -> object:
            sent.append(call.action)
            return function(call, *arguments, **more)  # type: ignore[operator]

        return tell

    for name in ("fetch", "transaction", "together"):
        if not hasattr(database, name):
            continue
        monkeypatch.setattr(database, name, told(getattr(database, name)))
    counts = []
    for key, counted in (("with", COUNTED), ("without", None)):
        sent.clear()
        publish(flights, key, counted)
        counts.append(list(sent))
    assert counts[0] == counts[1]
