"""Equal errors together."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.monitoring.selection import Filter
from airflow_coordination.monitoring.summaries import ErrorGroup, grouped
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.status import PartitionStatus

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def parked(*errors):
    return [
        Partition(source="s|PARTITION", key=f"k{place}", status=PartitionStatus.CLOSED, last_error=error)
        for place, error in enumerate(errors)
    ]


def test_numbers_and_addresses_make_no_difference():
    more = ("no file 2014-12\nat line 3", "no file 2013-02")
    assert grouped(parked("no file 2013-01", "OutOfMemory at 0x7f3a", None, *more)) == [
        ErrorGroup("no file 2013-01", "no file 201", 3, "k0", alike="no file #-#"),
        ErrorGroup("OutOfMemory at 0x7f3a", "OutOfMemory at 0x7f3a", 1, "k1", alike="OutOfMemory at #x#"),
        ErrorGroup("without an error", "", 1, "k2", alike="without an error"),
    ]


def test_the_first_and_the_last_of_each_are_named():
    partitions = parked("no file 1", "no file 2", "no file 3", "none")
    times = [NOW + timedelta(minutes=minutes) for minutes in (7, 3, 5)]
    dated = [replace(one, updated_at=at) for one, at in zip(partitions, [*times, None], strict=True)]
    assert [(each.since, each.last) for each in grouped(dated)] == [(times[1], times[0]), (None, None)]


@given(st.lists(st.none() | st.text("ab 12\n\x1b", max_size=8), max_size=30))
def test_every_one_is_counted_once_and_found_by_what_is_common(errors):
    partitions = parked(*errors)
    groups = grouped(partitions)
    assert sum(group.number for group in groups) == len(errors)
    for group in groups:
        assert group.error.isprintable()
        found = [each for each in partitions if Filter(error_like=group.like or None).finds(each, NOW)]
        assert len(found) >= group.number
        exactly = [each for each in partitions if Filter(error_alike=group.alike).finds(each, NOW)]
        assert len(exactly) == group.number
