"""What a negative delivery makes of a tenure."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_coordination.acknowledgments import Accounting, SinkCounts
from airflow_coordination.delivery.acknowledgment_set import NegativeAcknowledgmentError
from airflow_coordination.delivery.deliveries import Deliveries
from airflow_coordination.delivery.delivery import Delivery
from airflow_coordination.delivery.routing import Routing
from airflow_coordination.leases import InvalidInputError, SourceCoordinator
from airflow_coordination.sinks import SinkTask
from airflow_coordination.spark import Acknowledgment, Close, Complete, GiveUp, Publish
from airflow_coordination.stores import open_store

GOOD = Acknowledgment(positive=True, accounting=Accounting(read=2, unrouted=2))
BAD = Acknowledgment(
    positive=False,
    accounting=Accounting(read=3, failed=3, sinks={"search": SinkCounts(3, 0, 0, 3)}),
    problems=("sink 'search' failed for 3 record(s), first: 429",),
)
RECORDS, OTHERS = object(), object()


def to(*names: str, records: object = RECORDS) -> Routing:
    return Routing(records, "k", {name: Publish(name) for name in names}, {}, None)


TO_SEARCH = to("search")
GOOD_ENDINGS = [Complete(), Close(timedelta(hours=1))]


@pytest.fixture
def deliveries() -> Deliveries:
    return Deliveries("p")


@pytest.mark.parametrize("outcome", [*GOOD_ENDINGS, GiveUp("later"), None, 7])
def test_without_deliveries_and_after_good_ones_every_outcome_stands(deliveries, outcome):
    assert deliveries.allowed(outcome) is outcome
    deliveries.add(GOOD, "fail", TO_SEARCH)
    deliveries.checked()
    assert deliveries.allowed(outcome) is outcome


@pytest.mark.parametrize("outcome", GOOD_ENDINGS)
def test_s13_no_good_ending_after_a_negative_delivery(deliveries, outcome):
    for each in (GOOD, BAD, GOOD):
        deliveries.add(each, "fail", TO_SEARCH)
    with pytest.raises(NegativeAcknowledgmentError) as raised:
        deliveries.allowed(outcome)
    assert str(raised.value) == (
        "Not every record of partition 'p' was delivered: sink 'search' failed for 3 record(s), first: 429. Nothing "
        "after the last save counts. Mend the sink, or give dead_letters=… for records that it will never take"
    )
    with pytest.raises(NegativeAcknowledgmentError):
        deliveries.checked()
    assert deliveries.accounting.read == 7


def test_giving_up_is_a_way_out_that_is_asked_for(deliveries):
    deliveries.add(BAD, "give up", TO_SEARCH)
    assert deliveries.allowed(GOOD_ENDINGS[0]) == GiveUp(str(NegativeAcknowledgmentError("p", BAD.problems)))


@pytest.mark.parametrize("outcome", [GiveUp("later"), None])
def test_other_outcomes_stay_what_they_are(deliveries, outcome):
    deliveries.add(BAD, "fail", TO_SEARCH)
    assert deliveries.allowed(outcome) is outcome


@pytest.mark.parametrize("outcome", GOOD_ENDINGS)
def test_d1_no_good_ending_after_a_delivery_that_raised(deliveries, outcome):
    deliveries.add_raised(OSError("503 slow down"), "fail", to("clean", "other"))
    with pytest.raises(NegativeAcknowledgmentError) as raised:
        deliveries.allowed(outcome)
    assert str(raised.value) == (
        "Not every record of partition 'p' was delivered: a delivery to clean, other raised OSError: 503 slow down. "
        "Nothing after the last save counts. Let its error end the function, or deliver the same records to the same "
        "sinks once more"
    )
    with pytest.raises(NegativeAcknowledgmentError):
        deliveries.checked()
    assert deliveries.counted is None


def test_d1_what_raises_is_kept_although_its_error_is_swallowed(deliveries):
    coordinator = SourceCoordinator(open_store("memory://"), source="s", owner="me")
    task = SinkTask(key="k", source="s", partition="p", partition_id="s/p", token=1, fence="1-x")
    with suppress(InvalidInputError):
        deliveries.made(Delivery(None, task, TO_SEARCH, timedelta(hours=1)), "fail", coordinator)
    with pytest.raises(NegativeAcknowledgmentError, match="a delivery to search raised InvalidInputError: records="):
        deliveries.allowed(Complete())
    assert coordinator.metrics.counts["s_source_coordinator_negativeAcknowledgementSets"] == 1


@pytest.mark.parametrize(
    ("later", "done", "good"),
    [
        (to("clean", "other"), GOOD, True),
        (to("clean", "other", "more"), GOOD, True),
        (to("clean"), GOOD, False),
        (to("clean", "other", records=OTHERS), GOOD, False),
        (to("clean", "other"), BAD, False),
    ],
    ids=["the same", "and more", "fewer sinks", "other records", "negative"],
)
def test_d1_a_delivery_that_raised_is_made_good_by_a_positive_one_of_the_same(deliveries, later, done, good):
    deliveries.add_raised(OSError("503 slow down"), "fail", to("clean", "other"))
    deliveries.add(done, "fail", later)
    if good:
        assert deliveries.allowed(GOOD_ENDINGS[0]) is GOOD_ENDINGS[0]
        assert deliveries.checked() == GOOD.accounting
        return
    with pytest.raises(NegativeAcknowledgmentError):
        deliveries.allowed(GOOD_ENDINGS[0])


def test_an_expired_delivery_needs_more_time_and_no_dead_letters(deliveries):
    deliveries.add(replace(BAD, expired=True), "fail", TO_SEARCH)
    with pytest.raises(NegativeAcknowledgmentError, match="acknowledgment_timeout") as raised:
        deliveries.allowed(Complete())
    assert "dead_letters" not in str(raised.value)


@pytest.mark.parametrize(
    ("later", "read"),
    [(to("table"), 2), (to("search"), 4), (to("table", records=OTHERS), 4)],
    ids=["further sinks", "the same sinks", "other records"],
)
def test_z4_a_record_counts_once_over_two_deliveries(deliveries, later, read):
    """Two shapes of the same records, for two sinks: they are as many as they are."""
    deliveries.add(GOOD, "fail", to("search"))
    deliveries.add(
        replace(GOOD, accounting=Accounting(read=2, unrouted=2, sinks={"table": SinkCounts()})), "fail", later
    )
    assert (deliveries.accounting.read, list(deliveries.accounting.sinks)) == (read, ["table"])
