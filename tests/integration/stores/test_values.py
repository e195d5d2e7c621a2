"""Values that a store cannot hold get an error of our own, and never keep a tenure from ending (S14, X9, L1)."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from airflow_coordination.leases import (
    Block,
    InvalidInputError,
    Lease,
    OutcomeUnknownError,
    PartitionStatus,
    SourceCoordinator,
    StoreUnavailableError,
)
from airflow_coordination.stores.sql.queue import Marks
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.values.settings import Settings

KEY = secrets.token_hex(1024)


@pytest.fixture(params=["sqlite_store", pytest.param("postgres_store", marks=pytest.mark.postgres)])
def c(request: pytest.FixtureRequest) -> SourceCoordinator:
    store: SqlStore = request.getfixturevalue(request.param)
    made = SourceCoordinator(store, "flights", "o", settings=Settings(request_deadline=timedelta(seconds=1)))
    made.create_partitions([KEY, "b"])
    return made


@pytest.fixture
def lease(c: SourceCoordinator) -> Lease:
    lease = c.acquire_partition(KEY)
    assert lease is not None
    return lease


@pytest.mark.parametrize("error", ["killed\x00", "lost \udc80 byte"], ids=["NUL", "lone surrogate"])
def test_l1_any_text_of_an_error_ends_the_tenure(error: str, c: SourceCoordinator, lease: Lease) -> None:
    c.fail(lease, error)
    found = c.partition(KEY)
    assert found is not None
    assert found.status is PartitionStatus.UNASSIGNED
    assert found.failures == 1


BLOCKS = {
    "NUL": lambda: Block("d\x00", "a", "g"),
    "lone surrogate": lambda: Block("d\udc80", "a", "g"),
    "long": lambda: Block(secrets.token_hex(1000), "a", "g"),
    "rows": lambda: Block("d", "a", "g", rows=2**70),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_that_cannot_be_published_is_refused_early(name: str, c: SourceCoordinator, lease: Lease) -> None:
    with pytest.raises(InvalidInputError):
        c.complete(lease, [BLOCKS[name]()])
    c.give_up(lease)


TEXTS: dict[str, Callable[[SourceCoordinator], object]] = {
    "by": lambda c: c.people.release(KEY, by="ana\x00", why="stuck"),
    "why": lambda c: c.people.release(KEY, by="ana", why="stuck \udc80"),
    "after NUL": lambda c: c.partitions(after="\x00"),
    "after surrogate": lambda c: c.partitions(after="\udc80"),
    "limit": lambda c: c.partitions(limit=-1),
    "hints": lambda c: c.claimable(limit=2**70),
    "sweep": lambda c: c.sweep(limit=-1),
}


@pytest.mark.parametrize("name", TEXTS)
def test_other_texts_and_numbers_are_taken_or_refused_by_name(name: str, c: SourceCoordinator, lease: Lease) -> None:
    with suppress(InvalidInputError):
        TEXTS[name](c)


def test_s6_a_page_that_was_inserted_is_not_called_unwritten(
    c: SourceCoordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*_: object) -> None:
        raise StoreUnavailableError("compare partitions", "connection refused")

    monkeypatch.setattr(c.store, "compare_page", silent)
    with pytest.raises(OutcomeUnknownError):
        c.create_partitions(["b", "c"])


def test_marks_of_several_threads_meet(c: SourceCoordinator, lease: Lease) -> None:
    class Popped(dict[str, object]):
        """Another thread takes the mark away right after it was seen."""

        def __contains__(self, source: object) -> bool:
            return self.pop(source, None) is not None  # type: ignore[call-overload]

    marks = Marks()
    marks._marks = Popped(s=((0, 1), 9e9))  # type: ignore[assignment]
    marks.acquired("s", lease.partition, (0, 1))
