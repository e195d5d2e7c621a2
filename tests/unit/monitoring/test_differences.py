"""What two documents say otherwise: each changed value is told, and nothing that only moved."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import reduce

import pytest

from airflow_coordination.monitoring.differences import LONGEST, differences
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.view import View


def between(old, new, most=30):
    found, more = differences(json.dumps(old), json.dumps(new), most)
    return [(each.key, each.old, each.new) for each in found], more


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({"a.b": 1, "a": {"b": 2}}, {"a.b": 9, "a": {"b": 2}}, ('["a.b"]', "1", "9")),
        ({"a[0]": 1, "a": [2]}, {"a[0]": 1, "a": [3]}, ("a[0]", "2", "3")),
        ({"": 1}, {"": 2}, ('[""]', "1", "2")),
        (1, 1.0, ("", "1", "1.0")),
        ({"a": 1}, {"a": True}, ("a", "1", "true")),
        ({"a": None}, {}, ("a", "null", None)),
        ({}, {"a": {}}, ("a", None, "{}")),
        ({"a": {}}, {"a": []}, ("a", "{}", "[]")),
        ({}, {"a": {"b": 1}}, ("a.b", None, "1")),
        ("x\u202e\n", "x", ("", '"x\\u202e\\n"', '"x"')),
    ],
)
def test_a_value_that_changed_is_told_with_its_place(old, new, told):
    assert between(old, new) == ([told], 0)
    assert between(old, old) == ([], 0)


@pytest.mark.parametrize("same", [0, 10, 300, 5_000])
@pytest.mark.parametrize("rest", [0, 1, 300, 5_000])
def test_of_a_long_value_that_part_is_told_where_it_differs(same, rest):
    [(_, old, new)], _ = between(same * "p" + "A" + rest * "q", same * "p" + "B" + rest * "q")
    assert ("A" in old, "B" in new) == (True, True)
    assert max(len(old), len(new)) <= LONGEST
    assert ("…" in old) is (same + rest + len('"A"') > LONGEST)


def test_what_is_put_in_or_taken_out_of_a_list_moves_the_others_and_changes_none():
    first, now = datetime(2013, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    days = [Interval(first + timedelta(days=2 * day), first + timedelta(days=2 * day + 1)) for day in range(240)]
    view = reduce(lambda view, day: changing.hidden(view, "clean", day, "ana", "wrong", now), days, View())
    for day in (days[0], days[120], days[-1]):
        restored = changing.restored(view, "clean", day)
        found, more = differences(view.text, restored.text, 30)
        hidden = [each for each in found if each.new is None]
        assert (len(hidden), len(found) + more) == (1, 1), [str(each) for each in found]
        assert day.start.date().isoformat() in (hidden[0].old or "")


def test_elements_that_stand_where_others_stood_are_compared_with_these():
    old = [{"type": "a", "period": 1}, {"type": "b", "period": 2}, {"type": "c", "period": 3}]
    new = [{"type": "a", "period": 1}, {"type": "b", "period": 9}, {"type": "c", "period": 3}, {"type": "d"}]
    assert between(old, new) == ([("[1].period", "2", "9"), ("[3]", None, '{"type": "d"}')], 0)


def test_the_first_are_told_and_how_many_more_there_are_in_lists_of_any_length():
    """Two lists of 64 kB without an order in common are compared by place, which takes no longer than reading them."""
    old, new = [number % 2 for number in range(16_000)], [1 - number % 3 % 2 for number in range(16_000)]
    found, more = between(old, new, 5)
    assert len(found) == 5
    assert len(found) + more == sum(one != other for one, other in zip(old, new, strict=True))


def test_of_the_first_version_all_is_new_and_what_is_no_json_is_refused():
    found, _ = differences(None, '[{"a": 1}, 2]', 30)
    assert [str(each) for each in found] == ['[0] nothing → {"a": 1}', "[1] nothing → 2"]
    with pytest.raises(ValueError, match="nested deeper"):
        differences("[]", "[" * 40 + "]" * 40, 30)
