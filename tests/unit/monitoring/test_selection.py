"""What a filter finds, counted at once or portion by portion."""

import pytest

from airflow_coordination.leases import PartitionIdentifier
from airflow_coordination.monitoring import selection
from airflow_coordination.monitoring.selection import Filter, count, listed, sentence
from tests.unit.monitoring.conftest import KEYS


def keys(partitions):
    return [one.key for one in partitions]


def test_one_state_is_counted_without_being_read(parked, monkeypatch):
    asked = []
    page = parked.looking.partitions
    monkeypatch.setattr(
        parked.looking, "partitions", lambda *given, **named: asked.append(given[2]) or page(*given, **named)
    )
    found = count(parked, Filter("PARKED"), None, 5)
    assert (found.matching, keys(found.partitions), found.after, asked) == (12, KEYS[:5], None, [5])
    assert count(parked, Filter("PARKED"), None, 12).matching == 12
    assert count(parked, Filter("CLOSED"), None, 5).matching == 0


def test_what_is_blocked_hides_nothing_that_is_not(parked):
    parked.create_partitions([PartitionIdentifier(f"a{number}", parents=[KEYS[0]]) for number in range(6)])
    parked.create_partitions(["b", "c"])
    for limit, first in ((5, ["b", "c"]), (1, ["b"])):
        found = count(parked, Filter("UNASSIGNED"), None, limit)
        assert (keys(found.partitions), found.matching, found.after) == (first, 2, None)
    assert count(parked, Filter("BLOCKED"), None, 5).matching == 6


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


def test_a_list_of_what_a_filter_finds_page_by_page(parked, monkeypatch):
    monkeypatch.setattr(selection, "_PAGE", 5)
    chosen, after, seen = Filter("PARKED", error_like="MEMORY"), None, []
    while not seen or after:
        page, after = listed(parked, chosen, after, 4)
        seen.append(keys(page))
    assert seen == [KEYS[1:8:2], KEYS[9::2]]


def test_a_list_says_where_it_stopped_reading(parked):
    assert listed(parked, Filter(error_like="memory"), None, 100, rows=3) == ([parked.partition(KEYS[1])], KEYS[2])
    assert listed(parked, Filter(error_like="no such thing"), KEYS[2], 100, rows=4) == ([], KEYS[6])
    assert listed(parked, Filter(error_like="no such thing"), KEYS[2], 100, rows=40) == ([], None)


def test_without_more_to_look_at_a_list_reads_one_more_than_it_shows(parked, monkeypatch):
    asked = []
    page = parked.looking.partitions
    monkeypatch.setattr(
        parked.looking, "partitions", lambda *given, **named: asked.append(given[2]) or page(*given, **named)
    )
    assert listed(parked, Filter(key_prefix="2014-1"), None, 2) == (page(prefix="2014-1", limit=2), KEYS[10])
    assert listed(parked, Filter("PARKED"), KEYS[9], 2) == (page(after=KEYS[9]), None)
    assert asked == [3, 3]


def test_an_owner_is_looked_for_among_what_is_held(parked, monkeypatch):
    asked = []
    page = parked.looking.partitions
    monkeypatch.setattr(
        parked.looking, "partitions", lambda *given, **named: asked.append(given[0]) or page(*given, **named)
    )
    parked.people.reopen(KEYS[3], by="ana", why="w")
    parked.acquire_partition(KEYS[3])
    for name, found in (("TES", [KEYS[3]]), ("nobody", [])):
        assert keys(listed(parked, Filter(owner_like=name), None, 9)[0]) == found
    assert asked == ["ASSIGNED", "ASSIGNED"]
    assert listed(parked, Filter("PARKED", owner_like="test"), None, 9) == ([], None)
    assert count(parked, Filter(owner_like="test"), None, 9).matching == 1
    assert str(Filter("ASSIGNED", owner_like="test")) == "are ASSIGNED and have an owner with 'test' in it"


def test_keys_are_taken_from_one_to_another_both_among_them(parked):
    chosen = Filter(key_from="2014-03", key_to="2014-05")
    assert [one.key for one in count(parked, chosen, None, 9).partitions] == ["2014-03", "2014-04", "2014-05"]
    assert count(parked, Filter("PARKED", key_from="2014-11"), None, 1).matching == 2  # not what the index counts
    assert str(chosen) == "have a key from '2014-03' on and have a key up to '2014-05'"
