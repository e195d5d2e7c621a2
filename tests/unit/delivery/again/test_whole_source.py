"""The balance of a whole source's dead letters: the sum of its partitions' balances, read in portions."""

from __future__ import annotations

import pytest

from airflow_coordination.acknowledgments import Accounting
from airflow_coordination.delivery.again import whole_source
from airflow_coordination.delivery.again.balance import balance_of
from airflow_coordination.delivery.again.whole_source import Again, again_of, again_portion
from airflow_coordination.leases import InvalidInputError, SourceCoordinator
from airflow_coordination.sources import dead_letters_again
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.values.status import PartitionStatus
from tests.unit.delivery.again.test_letters import letters

SOURCE = "flights|PARTITION"
SUPPLIER = dead_letters_again("flights", "dead", rounds=3)
MONTHS = [f"2013-{month:02}" for month in range(1, 7)]


@pytest.fixture
def store():
    return InMemoryStore()


@pytest.fixture
def flights(store):
    """Six months have set four of ten records aside each."""
    flights = SourceCoordinator(store, source="flights", owner="me")
    flights.create_partitions(MONTHS)
    for month in MONTHS:
        aside(flights, month, month)
    return flights


def aside(flights, month, digest, number=4):
    counted = Accounting(read=10, delivered_everywhere=10 - number, dead_lettered=number)
    flights.complete(flights.acquire_partition(month), [letters(digest, number)], counted=counted)


def acquired(again, month):
    free = again.partitions(PartitionStatus.UNASSIGNED)
    [key] = [each.key for each in free if each.key.startswith(f"{month}@")]
    return again.acquire_partition(key)


@pytest.fixture
def again(store, flights):
    """One month is delivered in two rounds, one is void, one is done anew, one is at work, one waits."""
    again = SourceCoordinator(store, source="flights-again", owner="me")
    again.run_supplier(SUPPLIER)
    twice, void, anew, at_work = MONTHS[:4]
    for month, counted in (
        (twice, Accounting(read=4, delivered_everywhere=1, dropped={"test data": 1}, dead_lettered=2)),
        (void, Accounting(read=4, delivered_everywhere=3, dead_lettered=1)),
        (anew, Accounting(read=4, delivered_everywhere=4)),
    ):
        left = [letters(f"left of {month}", counted.dead_lettered)] if counted.dead_lettered else []
        again.complete(acquired(again, month), left, counted=counted)
    again.run_supplier(SUPPLIER)
    again.complete(acquired(again, twice), counted=Accounting(read=2, unrouted=1, delivered_everywhere=1))
    again.save_progress_state(acquired(again, at_work), 1, counted=Accounting(read=4, delivered_everywhere=4))
    flights.people.reset(void, by="me", why="mended")
    aside(flights, void, "less", 1)
    flights.people.reset(anew, by="me", why="mended")
    return again


def lines(store, flights):
    found = again_of(store, SOURCE)
    return {line.count: line.records for line in found.balance(flights.accounting().dead_lettered)}


def test_every_dead_letter_of_the_source_is_in_one_line(store, flights, again) -> None:
    counted = flights.accounting()
    assert counted.dead_lettered == 4 + 1 + 3 * 4, "the month that is done anew has no counts"
    assert lines(store, flights) == {
        "dead letters: delivered again": 2,
        "dead letters: dropped: test data": 1,
        "dead letters: unrouted": 1,
        "dead letters: still set aside": counted.dead_lettered - 4,
        "void: delivered again before the dead letters were replaced": 3,
    }


def test_it_is_the_sum_of_the_balances_of_its_partitions(store, flights, again) -> None:
    balances = [found for month in MONTHS if (found := balance_of(store, flights.partition(month)))]
    found = again_of(store, SOURCE)
    assert found.delivered == sum(each.again.delivered_everywhere for each in balances)
    assert found.void == sum(each.void for each in balances)
    assert flights.accounting().dead_lettered - found.done == sum(each.set_aside for each in balances)


@pytest.mark.parametrize(("rows", "at_once"), [(1, 400), (9, 400), (10_000, 1), (10_000, 2)])
def test_portions_add_up_to_the_whole(store, flights, again, monkeypatch, rows, at_once) -> None:
    whole = again_of(store, SOURCE)
    monkeypatch.setattr(whole_source, "AT_ONCE", at_once)
    found, number, after = Again(), 0, None
    while number == 0 or after is not None:
        more, after = again_portion(store, SOURCE, after, rows)
        found, number = found + more, number + 1
    assert found == whole
    assert number > 1


def test_a_portion_reads_no_more_than_it_may(store, flights, again, monkeypatch) -> None:
    monkeypatch.setattr(whole_source, "AT_ONCE", 3)
    read = []
    heads, get, page = store.heads, store.get, store.page

    def heard(wanted):
        def read_now(*given, **named):
            found = wanted(*given, **named)
            read.append(len(found) if isinstance(found, (list, tuple)) else 1)
            return found

        return read_now

    store.heads, store.get, store.page = heard(heads), heard(get), heard(page)
    _, after = again_portion(store, SOURCE, rows=5)
    assert after is not None
    assert 0 < sum(read) <= 5 + 3, "five, and what the partition takes that has reached them"


def test_what_nobody_delivers_is_set_aside_still(store, flights) -> None:
    assert again_of(store, SOURCE) == Again()
    assert lines(store, flights)["dead letters: still set aside"] == 24


def test_other_work_of_that_source_is_none_of_it(store, flights, again) -> None:
    before = again_of(store, SOURCE)
    SourceCoordinator(store, source="flights-again", owner="me").create_partitions(["2013-01@a", "other"])
    assert again_of(store, SOURCE) == before


def test_no_source_can_be_named_after_one_with_a_name_that_is_long(store) -> None:
    name = "f" * 245
    with pytest.raises(InvalidInputError):
        SourceCoordinator(store, source=f"{name}-again", owner="me")
    assert again_of(store, f"{name}|PARTITION") == Again()
