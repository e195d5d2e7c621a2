"""Completing what others wait for, and acquiring the next: the completion is answered for by itself (S6)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta

import pytest

from airflow_coordination.leases import PartitionIdentifier, PartitionStatus, SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.values.errors import OutcomeUnknownError, StoreUnavailableError
from airflow_coordination.values.settings import Settings

AT_ONCE = Settings(request_deadline=timedelta(milliseconds=1))
"""Nothing is repeated."""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest) -> Iterator[PartitionStore]:
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_store_url")
    else:
        url = f"sqlite:///{request.getfixturevalue('tmp_path')}/store.db"
    found = open_store(url)
    found.setup()
    yield found
    found.close()


def test_s6_a_parent_that_is_completed_is_not_said_to_be_left_as_it_was(
    store: PartitionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store goes away right after the completion, wherever that is a commit of its own."""
    one = SourceCoordinator(store, "families", "host/dag/run/task/0/1", settings=AT_ONCE)
    one.create_partitions(["p", PartitionIdentifier("c", parents=["p"])])
    lease = one.acquire_partition("p")
    assert lease is not None

    def away(*_: object) -> None:
        raise StoreUnavailableError("acquire a partition", "gone")

    monkeypatch.setattr(type(store), "acquire_next", away)
    with suppress(OutcomeUnknownError):  # it says that the partition before is completed
        following = one.complete_and_get_next(lease)
        assert (following and following.key) == "c"
    found = one.partition("p")
    assert (found and found.status) == PartitionStatus.COMPLETED
