"""All head records of a dataset, in as few reads as there are pages."""

from __future__ import annotations

import pytest

from airflow_coordination.leases import Block, SourceCoordinator
from airflow_coordination.outputs.heads import pages
from airflow_coordination.outputs.heads.pages import head_pages
from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.crash import FaultyStore


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
