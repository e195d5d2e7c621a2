"""B7: one word, one number."""

from dataclasses import asdict, replace
from datetime import timedelta

import pytest

from airflow_coordination.duties.standing import observe
from airflow_coordination.leases import PartitionIdentifier, Reason, SourceCoordinator
from airflow_coordination.monitoring.counts import Counts, counted, foreseen, told_apart
from airflow_coordination.monitoring.progress import Progress
from airflow_coordination.stores import open_store
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore
from airflow_coordination.testing.clock import FakeClock
from tests.docs.pages import ROOT
from tests.simulation.dynamodb.engine import Engine
from tests.unit.monitoring.words import counted_and_listed, one_of_each, pages_of_each


@pytest.fixture(params=["memory", "sqlite", "dynamodb"])
def store(request, tmp_path):
    clock = FakeClock()
    if request.param == "dynamodb":
        engine = Engine(clock.now)
        store = DynamoDBStore(DynamoDBOptions(table_name="t"), clock, client=lambda _: engine)
    else:
        store = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'c.db'}", clock=clock)
    store.setup()
    yield store, clock
    store.close()


def test_b7_each_partition_is_in_one_of_the_words(store):
    """Nine leases have run out and one lasts: 'status' said 9 and 'watch' 1; what had run out was claimable, too."""
    opened, clock = store
    flights = SourceCoordinator(opened, "flights", "o", ownership_timeout=timedelta(minutes=1), clock=clock)
    flights.create_partitions([f"k{number:02}" for number in range(20)])
    flights.create_partitions([PartitionIdentifier("child", parents=["k19"])])
    for number in range(9):
        flights.acquire_partition(f"k{number:02}")
    clock.advance(timedelta(minutes=2))
    flights.acquire_partition("k09")
    flights.complete(flights.acquire_partition("k10"))
    flights.people.park("k11", by="ana", why="w")
    for number in (12, 13):
        flights.close(flights.acquire_partition(f"k{number}"), reopen_after=timedelta(hours=1))
    flights.close(flights.acquire_partition("k14"), reopen_after=timedelta(seconds=10))
    clock.advance(timedelta(seconds=20))
    found = counted(flights.counts(), flights.looking.outlook())
    lasting = 10 if isinstance(opened, DynamoDBStore) else 1  # there the index does not tell which leases have ended
    assert found == Counts(claimable=6, held=lasting, expired=10 - lasting, delayed=2, blocked=1, parked=1, completed=1)
    assert sum(asdict(found).values()) == 21
    on_dynamodb = isinstance(opened, DynamoDBStore)
    assert foreseen(flights.looking.outlook()) == replace(found, claimable=1 if on_dynamodb else 6)
    states = (
        "1 of 16 completed, 10 held, 1 claimable"
        if on_dynamodb
        else "1 of 21 completed, 1 held, 6 claimable, 9 expired"
    )
    assert str(Progress(flights.looking.outlook(), None)).startswith(f"{states}, 2 delayed, 1 blocked, 1 parked; ")
    seen = str(observe(flights, 10))
    assert "1 held, 2 delayed, 1 parked, 1 blocked, 1 completed" in seen


def test_b7_what_a_look_counts_no_further_is_held_all_the_same(store, monkeypatch):
    """More than a thousand leases on DynamoDB: those above it were called expired."""
    opened, clock = store
    monkeypatch.setattr("airflow_coordination.stores.dynamodb.index_reads.LOOK", 2)
    flights = SourceCoordinator(opened, "flights", "o", clock=clock)
    flights.create_partitions(["a", "b", "c", "d", "e"])
    for key in "abc":
        flights.acquire_partition(key)
    assert flights.looking.outlook().assigned == (2 if isinstance(opened, DynamoDBStore) else 3)
    nothing = Counts(claimable=0, held=0, expired=0, delayed=0, blocked=0, parked=0, completed=0)
    assert counted(flights.counts(), flights.looking.outlook()) == replace(nothing, claimable=2, held=3)


def test_b7_the_glossary_has_each_word():
    table = (ROOT / "docs/reference/glossary.md").read_text().partition("## Counts")[2].partition("## ")[0]
    words = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")]
    assert words[2:] == [*Counts.__slots__]


def test_b9_the_page_has_each_reason():
    page = (ROOT / "docs/how-to/why-not-moving.md").read_text()
    assert [reason for reason in Reason if f"| `{reason}` |" not in page] == []


def test_each_count_leads_to_a_list_of_exactly_those(store):
    made = one_of_each(*store)
    found = counted_and_listed(made)
    assert {word: (number, len(keys)) for word, (number, keys) in found.items()} == {
        "claimable": (6, 6), "held": (2, 2), "expired": (3, 3), "delayed": (2, 2), "blocked": (2, 2), "parked": (3, 3),
        "completed": (4, 4),
    }  # fmt: skip
    listed = sorted(key for _, keys in found.values() for key in keys)
    assert listed == sorted(each.key for each in made.partitions())


def test_pages_of_a_list_have_each_of_a_word_once_and_read_no_more_than_they_may(store):
    made = one_of_each(*store)
    assert pages_of_each(made, rows=6) == {word: keys for word, (_, keys) in counted_and_listed(made).items()}


def test_what_nobody_counts_as_expired_is_told_apart_by_the_leases_that_were_looked_at():
    counts = Counts(claimable=1, held=10, expired=0, delayed=0, blocked=0, parked=0, completed=0)
    assert told_apart(counts, 4) == replace(counts, held=6, expired=4)
    known = replace(counts, held=6, expired=4)
    assert told_apart(known, 3) == known
    assert told_apart(known, 99) == replace(counts, held=0, expired=10)
