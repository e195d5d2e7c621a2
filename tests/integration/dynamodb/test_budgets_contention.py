"""Many workers on one source, counted: `benchmarks.dynamodb.contention`, small enough for every run of the tests."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from benchmarks.dynamodb.fleet import Drained, Fleet, Ours, Theirs, drain, make_client
from benchmarks.dynamodb.requests import Requests

WORKERS, PARTITIONS = 8, 400
"""So many that what a fleet sends once, 80 to 110 requests, weighs a quarter of a request in each partition's share."""


@pytest.fixture(scope="module")
def client(dynamodb_local: str) -> Any:
    """A client for a whole fleet."""
    return make_client(dynamodb_local, WORKERS)


def _drain(fleet: Fleet, client: Any, partitions: int, workers: int) -> Drained:
    return drain(fleet, Requests(client), partitions, workers, lambda count: None)


def test_with_hints_little_is_sent_in_vain(client: Any, dynamodb_local: str) -> None:
    """Everything counts: starts, the sensor's look, the counts, and the last looks that find nothing."""
    done = _drain(Ours(client, dynamodb_local, hints=True), client, PARTITIONS, WORKERS)
    assert done.exactly_once
    assert done.requests <= 2.5
    assert done.refused <= 0.15


def test_c7_a_fleet_brings_its_counts_together(client: Any, dynamodb_local: str) -> None:
    """C7: not one update per worker; each of them brings them with a chance of one in twenty here."""
    work = _drain(Ours(client, dynamodb_local, hints=True), client, PARTITIONS, WORKERS).work
    assert work.sent["UpdateItem"] - work.refused - 2 * PARTITIONS <= WORKERS // 2


def test_c7_without_hints_each_partition_is_completed_once_with_few_requests(client: Any, dynamodb_local: str) -> None:
    """C7: each worker begins at its own place in the page, and works through what it has read."""
    done = _drain(Ours(client, dynamodb_local, hints=False), client, PARTITIONS, WORKERS)
    assert done.exactly_once
    assert done.requests <= 4
    assert done.refused <= 0.5


def test_the_peer_sends_what_data_prepper_sends(client: Any) -> None:
    """As its code says and as was counted of the program itself: 2 to create, 3 to acquire, 2 to complete."""
    done = _drain(Theirs(client), client, 20, workers=1)
    creation = Counter(CreateTable=1, PutItem=1 + 20, GetItem=20)
    start, miss = Counter(PutItem=1), Counter(Query=6, GetItem=2, PutItem=2)
    partitions = Counter(Query=2 * 20, PutItem=2 * 20, GetItem=20)
    assert (done.exactly_once, done.creation.sent) == (True, creation)
    assert done.work.sent == start + partitions + miss
    assert done.refused == 1 / 20  # the global item was there
