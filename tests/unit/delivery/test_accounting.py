"""Counts that add up, and stay small."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.acknowledgments import Accounting, SinkCounts
from airflow_coordination.values.accounting import MAX_BYTES, MAX_COUNT, OTHERS
from airflow_coordination.values.input_errors import InvalidInputError

GOOD = Accounting(
    read=10,
    delivered_everywhere=4,
    dropped={"cancelled": 2},
    unrouted=1,
    dead_lettered=2,
    failed=1,
    sinks={"search": SinkCounts(6, 3, 2, 1), "sales": SinkCounts(2, 2, 0, 0)},
)


def test_s13_it_balances():
    assert GOOD.imbalances() == []
    assert (GOOD.done, GOOD.delivered) == (9, {"search": 3, "sales": 2})


def test_s13_each_line_that_does_not_hold_is_named():
    wrong = Accounting(read=11, delivered_everywhere=10, sinks={"search": SinkCounts(6, 3, 1, 1)})
    assert wrong.imbalances() == [
        "read 11 ≠ delivered everywhere 10 + dropped 0 + unrouted 0 + dead-lettered 0 + failed 0",
        "sink 'search': owed 6 ≠ delivered 3 + dead-lettered 1 + failed 1",
    ]


def test_two_add_up():
    both = GOOD + GOOD + Accounting(read=1, unrouted=1, sinks={"new": SinkCounts()})
    assert (both.read, both.dropped, both.unrouted) == (21, {"cancelled": 4}, 3)
    assert both.sinks["search"] == SinkCounts(12, 6, 4, 2)
    assert both.imbalances() == []


def test_a_reason_stays_though_nothing_was_dropped_for_it():
    none = Accounting(dropped={"cancelled": 0})
    assert (none + none).dropped == {"cancelled": 0}


def test_it_comes_back_from_its_text():
    assert Accounting.from_json(GOOD.to_json()) == GOOD
    assert Accounting.from_json(Accounting().to_json()) == Accounting()


@given(st.dictionaries(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8),
                       st.integers(0, 1000), max_size=40))  # fmt: skip
def test_reasons_are_capped_and_their_sum_stays(dropped):
    accounting = Accounting(read=sum(dropped.values()), dropped=dropped)
    assert len(accounting.dropped) <= 20
    assert accounting.imbalances() == []
    twice = accounting + accounting
    assert sum(twice.dropped.values()) == 2 * sum(dropped.values())
    assert (OTHERS in twice.dropped) == (len(dropped) > 20)


def test_the_largest_fits():
    names = [f"{number:02}".ljust(32, "x") for number in range(20)]
    most = dict.fromkeys(("read", "delivered_everywhere", "unrouted", "dead_lettered", "failed"), MAX_COUNT)
    sinks = dict.fromkeys(names[:8], SinkCounts(*[MAX_COUNT] * 4))
    largest = Accounting(**most, dropped=dict.fromkeys(names, MAX_COUNT), sinks=sinks)
    assert len(largest.to_json().encode()) <= MAX_BYTES


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"read": -1}, "read=-1: is not a whole number from 0"),
        ({"failed": True}, "failed=True: is not a whole number"),
        ({"read": MAX_COUNT + 1}, "read=1000000000000000: is not a whole number"),
        ({"dropped": {"r": 0.5}}, r"dropped\['r'\]=0.5: is not a whole number"),
        ({"sinks": {"s": SinkCounts(failed=-1)}}, r"sinks\['s'\].failed=-1: is not a whole number"),
        ({"sinks": {"": SinkCounts()}}, "name='': is no name. Give a short text"),
        ({"dropped": {'a"b': 1}}, "may hold printable ASCII without quotes only"),
        ({"dropped": {"a\nb": 1}}, "may hold printable ASCII without quotes only"),
        ({"dropped": {"x" * 33: 1}}, "has more than 32 characters. Give a shorter one"),
        ({"sinks": {str(n): SinkCounts() for n in range(9)}}, "are more than 8, .* Deliver in two calls"),
    ],
)
def test_bad_counts_and_names(fields, named):
    with pytest.raises(InvalidInputError, match=named):
        Accounting(**fields)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"sinks":[]}', '{"sinks":{"a":1}}', '{"sinks":{},"rows":1}', "[" * 100_000]
)
def test_text_that_is_none(text):
    with pytest.raises(InvalidInputError, match=r"^accounting=.*: is no accounting\. Give what to_json"):
        Accounting.from_json(text)
