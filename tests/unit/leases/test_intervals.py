"""Of which time the published rows are: as the ending says, else the payload, and the umbrella where rows are added."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta, timezone

import pytest

from airflow_coordination.leases import (
    Block,
    InvalidInputError,
    Lease,
    PartitionIdentifier,
    PartitionStatus,
    SourceCoordinator,
)
from airflow_coordination.leases.outcomes import Close, Complete
from airflow_coordination.planning.intervals import Interval, parse_interval
from airflow_coordination.protocol.beside.parts import StoreParts
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Fault, FaultyStore
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.input_errors import SettingsError

ONE, TWO = Block("d", "1", "one", 10, 3), Block("d", "2", "two", 5, 1)
ADDS = Block("d", "3", "three", 5, 1, mode="append")
SECOND = timedelta(seconds=1)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def c(clock: FakeClock) -> SourceCoordinator:
    return SourceCoordinator(open_store("memory://", clock=clock), "flights", "owner")


def new(c: SourceCoordinator, payload: dict[str, object] | None = None) -> Lease:
    c.create_partitions([PartitionIdentifier("k", payload)])
    return taken(c)


def taken(c: SourceCoordinator) -> Lease:
    lease = c.acquire_partition("k")
    assert lease is not None
    return lease


def kept(c: SourceCoordinator) -> str | None:
    """The interval of the one head record."""
    [head] = c.store.heads("flights|PARTITION")
    if head.interval_start is None or head.interval_end is None:
        assert head.interval_start is head.interval_end
        return None
    return str(Interval(head.interval_start, head.interval_end))


def test_it_is_as_the_ending_says_it_before_what_the_payload_says(c: SourceCoordinator) -> None:
    c.complete(new(c, {"interval": "2012/P1Y"}), [ONE], interval="2013-01/P1M")
    assert kept(c) == "2013-01-01/2013-02-01"


def test_without_a_word_it_is_the_payload_s(c: SourceCoordinator) -> None:
    c.complete(new(c, {"interval": "2013-01-01T05/PT1H"}), [ONE])
    assert kept(c) == "2013-01-01T05/2013-01-01T06"


def test_completing_and_taking_the_next_says_it_too(c: SourceCoordinator) -> None:
    c.complete_and_get_next(new(c), [ONE], interval="2013/P1Y")
    assert kept(c) == "2013-01-01/2014-01-01"


@pytest.mark.parametrize("said", ["hourly", 7, {"start": 1}, "2013/2013"])
def test_what_a_payload_calls_interval_and_is_none_ends_as_before(
    c: SourceCoordinator, caplog: pytest.LogCaptureFixture, said: object
) -> None:
    with caplog.at_level(logging.WARNING):
        c.complete(new(c, {"interval": said}), [ONE])
    assert kept(c) is None
    assert "payload.interval" in caplog.text


@pytest.mark.parametrize("said", ["2013-01", "2013/2012", "2013/2013", "tomorrow", "", 7])
def test_what_is_no_interval_ends_nothing(c: SourceCoordinator, said: str) -> None:
    lease = new(c)
    for ends in (
        lambda: c.complete(lease, [ONE], interval=said),
        lambda: c.close(lease, SECOND, blocks=[ONE], interval=said),
        lambda: c.complete_and_get_next(lease, [ONE], interval=said),
        lambda: Complete(interval=said),
        lambda: Close(SECOND, interval=said),
    ):
        with pytest.raises(InvalidInputError, match=r"interval.+") as error:
            ends()
        assert error.value.remedy
    assert c.partition("k").status is PartitionStatus.ASSIGNED  # type: ignore[union-attr]
    c.complete(lease, [ONE], interval="2013/P1Y")


def test_an_empty_interval_is_refused_also_as_a_value() -> None:
    moment = datetime(2013, 1, 1, tzinfo=UTC)
    with pytest.raises(InvalidInputError, match="is empty"):
        Complete(interval=Interval(moment, moment))


class Theirs(datetime):
    """A datetime of a library, as pendulum's, which no engine knows."""


def test_times_of_other_libraries_and_zones_become_plain_ones(c: SourceCoordinator) -> None:
    east = timezone(timedelta(hours=2))
    c.complete(new(c), [ONE], interval=Interval(Theirs(2013, 1, 1, 2, tzinfo=east), Theirs(2013, 1, 2, 2, tzinfo=east)))
    [head] = c.store.heads("flights|PARTITION")
    assert type(head.interval_start) is type(head.interval_end) is datetime
    assert kept(c) == "2013-01-01/2013-01-02"


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("2013-02/P1M", "2013-01/P1M", "2013-01-01/2013-03-01"),
        ("2013/P1Y", "2013-05/P1M", "2013-01-01/2014-01-01"),
        (None, "2013-05/P1M", None),
        ("2013-05/P1M", None, None),
    ],
)
@pytest.mark.parametrize("continues", [True, False], ids=["continued", "appended"])
def test_what_adds_has_the_umbrella_of_both_and_none_if_one_is_unknown(
    c: SourceCoordinator,
    clock: FakeClock,
    first: str | None,
    second: str | None,
    together: str | None,
    continues: bool,
) -> None:
    c.close(new(c), SECOND, {"row": 1} if continues else None, [ONE], interval=first)
    clock.advance(2)
    c.complete(taken(c), [TWO if continues else ADDS], interval=second)
    [head] = c.store.heads("flights|PARTITION")
    assert len(head.blocks) == 2 or head.blocks[-1].follows or head.rows == 15
    assert kept(c) == together


def test_what_replaces_has_its_own(c: SourceCoordinator) -> None:
    c.complete(new(c), [ONE], interval="2013/P1Y")
    for said, expected in (("2014-05/P1M", "2014-05-01/2014-06-01"), (None, None)):
        c.people.reset("k", "ana", "again")
        c.complete(taken(c), [TWO], interval=said)
        assert kept(c) == expected


def test_what_adds_to_a_retracted_output_has_its_own(c: SourceCoordinator, clock: FakeClock) -> None:
    c.close(new(c), SECOND, {"row": 1}, [ONE], interval="2013/P1Y")
    c.people.retract("k", "ana", "wrong rows")
    assert kept(c) == "2013-01-01/2014-01-01"
    clock.advance(2)
    c.complete(taken(c), [TWO], interval="2014-05/P1M")
    assert kept(c) == "2014-05-01/2014-06-01"


@pytest.mark.parametrize("fault", [Fault.APPLIED, Fault.NOT_APPLIED])
def test_s6_a_person_whose_answer_was_lost_has_said_it_once(clock: FakeClock, fault: Fault) -> None:
    store = open_store("memory://", clock=clock)
    c = SourceCoordinator(FaultyStore(store, {1: fault}, only=("set_interval",)), "flights", "owner", clock=clock)
    c.complete(new(c), [ONE])
    [head] = store.heads("flights|PARTITION")
    assert c.people.set_interval(head, parse_interval("interval", "2013-01/P1M"), "ana", "known")
    assert kept(c) == "2013-01-01/2013-02-01"
    assert len(store.audit("flights|PARTITION", "k")) == 1


def test_a_person_is_late_where_something_was_published_since(c: SourceCoordinator) -> None:
    c.complete(new(c), [ONE])
    [head] = c.store.heads("flights|PARTITION")
    c.people.reset("k", "ana", "again")
    c.complete(taken(c), [TWO])
    assert not c.people.set_interval(head, parse_interval("interval", "2013-01/P1M"), "ana", "known")
    assert kept(c) is None


def test_a_store_from_elsewhere_that_keeps_no_intervals_is_named(c: SourceCoordinator) -> None:
    class Elsewhere(ForwardingStore):
        def parts(self) -> StoreParts:
            return StoreParts()

    c.complete(new(c), [ONE])
    [head] = c.store.heads("flights|PARTITION")
    people = SourceCoordinator(Elsewhere(c.store), "flights", "owner").people
    said = parse_interval("interval", "2013-01/P1M")
    with pytest.raises(SettingsError, match="keeps no intervals"):
        people.set_interval(head, said, "ana", "known")
    with pytest.raises(InvalidInputError, match="why"):
        people.set_interval(head, said, "ana", " ")


def test_the_same_wish_is_the_same_ending_and_another_interval_is_not() -> None:
    from airflow_coordination.leases.outcomes import CompleteRequest

    said = CompleteRequest(interval="2013-01/P1M")
    assert said == CompleteRequest(interval=parse_interval("interval", "2013-01-01/2013-02-01"))
    assert said != CompleteRequest(interval="2013-02/P1M")
