"""The balance: what was set aside is delivered again, or it is set aside still; and what was replaced is void."""

from __future__ import annotations

import pytest

from airflow_coordination.acknowledgments import Accounting, SinkCounts
from airflow_coordination.delivery.again import balance
from airflow_coordination.delivery.again.balance import balance_of, lines_beside
from airflow_coordination.leases import InvalidInputError, SourceCoordinator
from airflow_coordination.sources import dead_letters_again
from airflow_coordination.stores.in_memory import InMemoryStore
from tests.unit.delivery.again.test_letters import letters

FIRST = Accounting(read=10, delivered_everywhere=6, dead_lettered=4, sinks={"table": SinkCounts(10, 6, 4)})
SUPPLIER = dead_letters_again("flights", "dead", rounds=3)


@pytest.fixture
def store():
    return InMemoryStore()


@pytest.fixture
def flights(store):
    flights = SourceCoordinator(store, source="flights", owner="me")
    flights.create_partitions(["2013-01"])
    return flights


@pytest.fixture
def again(store):
    return SourceCoordinator(store, source="flights-again", owner="me")


def done(coordinator, counted: Accounting | None, digest: str) -> None:
    coordinator.complete(coordinator.get_next_partition(), [letters(digest, 1)], counted=counted)


def lines(store, partition) -> dict[str, int]:
    return {line.count: line.records for line in lines_beside(store, partition)}


def test_partitions_whose_keys_begin_alike_hide_nobody_s_balance(store, flights, again, monkeypatch) -> None:
    """More than a page of them did."""
    monkeypatch.setattr(balance, "MOST", 2)
    flights.create_partitions([f"2013-01@!{number}" for number in range(5)])
    for number in range(6):
        done(flights, FIRST, f"{number}")
    again.run_supplier(SUPPLIER)
    assert lines(store, flights.partition("2013-01")) == {"dead letters: still set aside": 4}


def test_every_record_of_the_input_is_in_one_line(store, flights, again) -> None:
    done(flights, FIRST, "a")
    assert lines(store, flights.partition("2013-01")) == {}, "nobody's work yet"
    again.run_supplier(SUPPLIER)
    assert lines(store, flights.partition("2013-01")) == {"dead letters: still set aside": 4}
    done(again, Accounting(read=4, delivered_everywhere=1, dropped={"test data": 1}, dead_lettered=2), "b")
    again.run_supplier(SUPPLIER)
    done(again, Accounting(read=2, delivered_everywhere=1, dead_lettered=1), "c")
    shown = lines(store, flights.partition("2013-01"))
    assert shown == {
        "dead letters: delivered again": 2,
        "dead letters: dropped: test data": 1,
        "dead letters: unrouted": 0,
        "dead letters: still set aside": 1,
    }
    assert sum(shown.values()) == FIRST.dead_lettered
    assert FIRST.read == FIRST.delivered_everywhere + sum(shown.values())


def test_what_is_not_completed_counts_nothing(store, flights, again) -> None:
    done(flights, FIRST, "a")
    again.run_supplier(SUPPLIER)
    lease = again.get_next_partition()
    again.save_progress_state(lease, 1, counted=Accounting(read=4, delivered_everywhere=4))
    assert balance_of(store, flights.partition("2013-01")).set_aside == 4
    again.complete(lease, counted=Accounting(read=4, delivered_everywhere=4))
    assert balance_of(store, flights.partition("2013-01")).set_aside == 0
    again.people.reset(lease.key, by="me", why="once more")
    assert balance_of(store, flights.partition("2013-01")).set_aside == 4


def test_what_was_replaced_is_void_on_both_sides(store, flights, again) -> None:
    done(flights, FIRST, "a")
    again.run_supplier(SUPPLIER)
    done(again, Accounting(read=4, delivered_everywhere=3, dead_lettered=1), "b")
    assert lines(store, again.partitions()[0]) == {}
    flights.people.reset("2013-01", by="me", why="mended")
    done(flights, Accounting(read=10, delivered_everywhere=9, dead_lettered=1), "c")
    shown = lines(store, flights.partition("2013-01"))
    assert shown == {
        "dead letters: still set aside": 1,
        "void: delivered again before the dead letters were replaced": 3,
    }
    assert lines(store, again.partitions()[0]) == {"void: the dead letters were replaced": 4}


def test_counts_that_do_not_agree_are_said(store, flights, again) -> None:
    done(flights, FIRST, "a")
    again.run_supplier(SUPPLIER)
    done(again, Accounting(read=3, delivered_everywhere=3), "b")
    assert not balance_of(store, flights.partition("2013-01")).holds
    shown = lines(store, flights.partition("2013-01"))
    assert shown["dead letters: read again, which is not as many as were counted"] == 3


def test_several_datasets_of_letters_are_one_balance(store, flights, again) -> None:
    """A function may deliver twice, with a place of its own for the dead letters of each."""
    blocks = [letters("a", 2), letters("b", 2, "other")]
    flights.complete(flights.get_next_partition(), blocks, counted=FIRST)
    for dataset in ("dead", "other"):
        again.run_supplier(dead_letters_again("flights", dataset))
        done(again, Accounting(read=2, delivered_everywhere=2), f"none of {dataset}")
    balance = balance_of(store, flights.partition("2013-01"))
    assert (balance.rounds, balance.read, balance.set_aside, balance.holds) == (2, 4, 0, True)


def test_nobody_else_s_partition_is_taken_for_a_round(store, flights, again) -> None:
    done(flights, FIRST, "a")
    again.create_partitions(["2013-01@a", "2013-01@"])
    assert balance_of(store, flights.partition("2013-01")) is None


def test_many_sinks_of_many_rounds_are_no_obstacle(store, flights, again) -> None:
    """An accounting has eight sinks at most; those of the rounds need not be the same."""
    done(flights, FIRST, "a")
    for number, left in enumerate((2, 1, 0)):
        again.run_supplier(SUPPLIER)
        read = (4, 2, 1)[number]
        sinks = {f"sink {number}.{each}": SinkCounts() for each in range(8)}
        counts = Accounting(read=read, delivered_everywhere=read - left, dead_lettered=left, sinks=sinks)
        done(again, counts, f"round {number}")
    assert balance_of(store, flights.partition("2013-01")).set_aside == 0


def test_what_has_counted_nothing_has_no_balance(store, flights, again) -> None:
    done(flights, None, "a")
    again.run_supplier(SUPPLIER)
    assert balance_of(store, flights.partition("2013-01")) is None


def test_corrupt_counts_are_refused(store, flights, again) -> None:
    done(flights, FIRST, "a")
    again.run_supplier(SUPPLIER)
    done(again, Accounting(read=4, delivered_everywhere=4), "b")
    [one] = again.partitions()
    whole = store.page

    def corrupt(*given, **named):
        from dataclasses import replace

        return [replace(each, accounting_text="{") if each.key == one.key else each for each in whole(*given, **named)]

    store.page = corrupt
    with pytest.raises(InvalidInputError, match="corrupt in the store"):
        balance_of(store, flights.partition("2013-01"))
