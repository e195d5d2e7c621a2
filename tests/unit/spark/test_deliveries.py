"""What a negative delivery makes of a tenure."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.acknowledgments import Accounting, SinkCounts
from airflow_coordination.acknowledgments.errors import NegativeAcknowledgmentError
from airflow_coordination.spark import Acknowledgment, Close, Complete, GiveUp
from airflow_coordination.spark.deliveries import Deliveries

GOOD = Acknowledgment(positive=True, accounting=Accounting(read=2, unrouted=2))
BAD = Acknowledgment(
    positive=False,
    accounting=Accounting(read=3, failed=3, sinks={"search": SinkCounts(3, 0, 0, 3)}),
    problems=("sink 'search' failed for 3 record(s), first: 429",),
)
GOOD_ENDINGS = [Complete(), Close(timedelta(hours=1))]


@pytest.fixture
def deliveries() -> Deliveries:
    return Deliveries("p")


@pytest.mark.parametrize("outcome", [*GOOD_ENDINGS, GiveUp("later"), None, 7])
def test_without_deliveries_and_after_good_ones_every_outcome_stands(deliveries, outcome):
    assert deliveries.settled(outcome) is outcome
    deliveries.add(GOOD, "fail")
    deliveries.checked()
    assert deliveries.settled(outcome) is outcome


@pytest.mark.parametrize("outcome", GOOD_ENDINGS)
def test_s13_no_good_ending_after_a_negative_delivery(deliveries, outcome):
    for each in (GOOD, BAD, GOOD):
        deliveries.add(each, "fail")
    with pytest.raises(NegativeAcknowledgmentError) as raised:
        deliveries.settled(outcome)
    assert str(raised.value) == (
        "Not every record of partition 'p' was delivered: sink 'search' failed for 3 record(s), first: 429. Nothing "
        "after the last save counts. Mend the sink, or give dead_letters=… for records that it will never take"
    )
    with pytest.raises(NegativeAcknowledgmentError):
        deliveries.checked()
    assert deliveries.accounting.read == 7


def test_giving_up_is_a_way_out_that_is_asked_for(deliveries):
    deliveries.add(BAD, "give up")
    assert deliveries.settled(GOOD_ENDINGS[0]) == GiveUp(str(NegativeAcknowledgmentError("p", BAD.problems)))


@pytest.mark.parametrize("outcome", [GiveUp("later"), None])
def test_other_outcomes_stay_what_they_are(deliveries, outcome):
    deliveries.add(BAD, "fail")
    assert deliveries.settled(outcome) is outcome
