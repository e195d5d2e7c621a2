"""What a filter finds, counted at once or portion by portion."""

import pytest

from airflow_coordination.monitoring import selection
from airflow_coordination.monitoring.selection import Filter, count, sentence
from tests.unit.monitoring.conftest import KEYS


def keys(partitions):
    return [one.key for one in partitions]


def test_one_state_is_counted_without_being_read(parked, monkeypatch):
    asked = []
    page = parked.partitions
    monkeypatch.setattr(parked, "partitions", lambda *given, **named: asked.append(given[2]) or page(*given, **named))
    found = count(parked, Filter("PARKED"), None, 5)
    assert (found.matching, keys(found.partitions), found.after, asked) == (12, KEYS[:5], None, [5])
    assert count(parked, Filter("PARKED"), None, 12).matching == 12
    assert count(parked, Filter("CLOSED"), None, 5).matching == 0


def test_a_state_with_more_to_it_is_not_counted_by_index(parked):
    assert count(parked, Filter("PARKED", key_prefix="2014-1"), None, 1).matching == 3
    assert count(parked, Filter("PARKED", error_like="memory"), None, 1).matching == 6
    assert count(parked, Filter("PARKED"), "2014-10", 1).matching == 2


def test_what_is_counted_in_portions_is_the_same(parked, monkeypatch):
    monkeypatch.setattr(selection, "_PAGE", 2)
    chosen, matching, kept, after, portions = Filter(error_like="memory"), 0, [], None, 0
    while portions == 0 or after:
        found = count(parked, chosen, after, 4 - len(kept), rows=5)
        matching, after, portions = matching + found.matching, found.after, portions + 1
        kept += keys(found.partitions)
    assert (matching, kept, portions) == (6, KEYS[1:8:2], 3)


@pytest.mark.parametrize(
    ("matching", "meant", "said"),
    [
        (0, 0, "are PARKED."),
        (5, 5, "are PARKED."),
        (6, 6, "are PARKED. These are the first 5 by key."),
        (
            9,
            6,
            "are PARKED. These are the first 5 by key. At most 6 are meant at once",
        ),
    ],
)
def test_the_sentence_says_how_many_are_there_shown_and_meant(matching, meant, said):
    assert sentence("flights", "are PARKED", matching, meant) == f"{matching} partition(s) of source flights {said}"
