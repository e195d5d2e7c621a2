"""What keeping a history must not do to the work beside it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest

from airflow_coordination import SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.settings import Settings


@pytest.fixture
def worker_url(postgres_store_url: str) -> Iterator[str]:
    """URL of a role that may write the history and not remove anything of it."""
    with psycopg.connect(postgres_store_url.replace("+psycopg", ""), autocommit=True) as owner:
        owner.execute("CREATE ROLE hindered LOGIN")
        owner.execute("GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO hindered")
        owner.execute("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO hindered")
        yield postgres_store_url.replace("//coordination@", "//hindered@")
        owner.execute("DROP OWNED BY hindered; DROP ROLE hindered")


@pytest.mark.postgres
def test_a_history_that_cannot_be_thinned_hides_nothing_that_was_swept(
    worker_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The sweep has committed by then: its counts would be lost, and every later sweep would fail, too."""
    store = open_store(worker_url)
    short = Settings(ownership_timeout=timedelta(milliseconds=1))
    coordinator = SourceCoordinator(store, "flights", "h/d/r/t/0/1", settings=short)
    coordinator.create_partitions(["k"])
    assert coordinator.get_next_partition() is not None
    with caplog.at_level(logging.WARNING):
        while not (swept := coordinator.sweep()).reclaimed:
            assert coordinator.counts()["ASSIGNED"] == 1  # type: ignore[index]
    assert swept.reclaimed == 1
    [line] = caplog.messages  # it is not asked again before ten minutes have passed
    assert "permission denied" in line
    assert "grants worker" in line
    store.close()


def test_what_cannot_be_counted_refuses_no_ending(sqlite_url: str) -> None:
    """Each block is within the limit, and each head record, but not their sum."""
    store = open_store(sqlite_url)
    store.setup()
    coordinator = SourceCoordinator(store, "flights", "me")
    coordinator.create_partitions(["k"])
    lease = coordinator.get_next_partition()
    assert lease is not None
    most = 2**62 - 1
    coordinator.complete(lease, [Block(f"d{number}", "file:///x", "digest", most, most) for number in range(3)])
    assert coordinator.looking.past_tenures()[0].rows == 2**63 - 1
    store.close()
