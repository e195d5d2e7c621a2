"""All head records of a dataset, in as few reads as there are pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import pytest

from airflow_coordination.leases import Block, SourceCoordinator
from airflow_coordination.outputs.heads import pages
from airflow_coordination.outputs.heads.pages import head_pages
from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.crash import FaultyStore
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.times import Span


@pytest.mark.parametrize(("number", "reads"), [(0, 1), (1, 1), (9, 1), (10, 2), (25, 3)])
def test_pages_are_read_until_one_is_not_full(monkeypatch: pytest.MonkeyPatch, number: int, reads: int) -> None:
    monkeypatch.setattr(pages, "PAGE", 10)
    store = FaultyStore(InMemoryStore(), only=("heads",))
    c = SourceCoordinator(store, "flights", "owner")
    c.create_partitions(f"{key:03}" for key in range(number))
    while (lease := c.get_next_partition()) is not None:
        c.complete(lease, [Block("clean", f"/{lease.key}", lease.key), Block("rejected", "/r", lease.key)])
    found = [head.key for page in head_pages(store, "flights|PARTITION", "clean") for head in page]
    assert found == [f"{key:03}" for key in range(number)]
    assert store.calls == ["heads"] * reads


def test_a_hundred_thousand_are_ten_reads_and_one_that_finds_none() -> None:
    assert 100_000 / pages.PAGE == 10


def test_pages_within_an_interval_are_filtered_by_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE", 2)
    store = FaultyStore(InMemoryStore(), only=("heads",))
    c = SourceCoordinator(store, "flights", "owner")
    c.create_partitions(f"2013-{month:02}" for month in range(1, 13))
    while (lease := c.get_next_partition()) is not None:
        c.complete(lease, [Block("clean", f"/{lease.key}", lease.key)], interval=f"{lease.key}/P1M")
    spring = parse_interval("interval", "2013-03/P3M")
    found = [head.key for page in head_pages(store, "flights|PARTITION", "clean", spring) for head in page]
    assert found == ["2013-03", "2013-04", "2013-05"]
    assert len(store.calls) == 2


class _FromElsewhere(InMemoryStore):
    """A store that was written before head records had intervals."""

    def heads(  # type: ignore[override]
        self,
        source: str,
        dataset: str | None = None,
        key: str | None = None,
        after: str | None = None,
        limit: int = 1000,
        after_dataset: str | None = None,
    ) -> Sequence[HeadRecord]:
        return super().heads(source, dataset, key, after, limit, after_dataset)


def _by_pages(store: InMemoryStore, within: Span | None) -> list[HeadRecord]:
    return [head for page in head_pages(store, "flights|PARTITION", "clean", within) for head in page]


def _one_by_one(store: InMemoryStore, within: Span | None) -> list[HeadRecord]:
    return list(every_head(store, "flights|PARTITION", dataset="clean", within=within))


@pytest.mark.parametrize("read", [_by_pages, _one_by_one])
def test_a_store_that_knows_no_intervals_serves_readers_and_says_what_it_lacks(
    read: Callable[[InMemoryStore, Span | None], list[HeadRecord]],
) -> None:
    store = cast(InMemoryStore, _FromElsewhere())
    c = SourceCoordinator(store, "flights", "owner")
    c.create_partitions(["2013-03"])
    lease = c.get_next_partition()
    assert lease is not None
    c.complete(lease, [Block("clean", "/1", "1")])
    assert [head.key for head in read(store, None)] == ["2013-03"]
    with pytest.raises(
        SettingsError, match=r"store=.*: cannot read .* no parameter within=\. Update that store"
    ) as refused:
        read(store, parse_interval("interval", "2013-03/P1M"))
    assert refused.value.field == "store"
