"""Which parents a partition may name, and in which order a page is created."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.protocol.hierarchy import unfinished, waves
from airflow_coordination.protocol.partition import MAX_PARENTS, PartitionIdentifier, dump_keys, load_keys
from airflow_coordination.protocol.writes import NewPartition
from airflow_coordination.values.input_errors import (
    InvalidInputError,
    InvalidKeyError,
    ParentCycleError,
    UnknownParentError,
)
from airflow_coordination.values.status import PartitionStatus

KEYS = [f"k{number}" for number in range(12)]


def new(key: str, *parents: str) -> NewPartition:
    return NewPartition(key=key, payload_text=None, priority=0, parents=parents)


@pytest.mark.parametrize(
    ("parents", "problem"),
    [
        ("abc", "parents='abc': is str, not a list of keys. Give a list"),
        (7, "parents=7: is int, not a list of keys. Give a list"),
        ({"a": 1}, "is dict, not a list of keys"),
        (["k"], "parents='k': is the partition itself. Leave it out"),
        (["a", "b", "a"], "parents='a': is named twice. Name each parent once"),
        ([f"p{number}" for number in range(17)], "are 17, the limit is 16. Put a partition without work between them"),
    ],
)
def test_parents_that_cannot_be_some(parents: Any, problem: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        PartitionIdentifier("k", parents=parents)
    assert problem in str(raised.value)


@pytest.mark.parametrize("parent", ["", "a\x00", 7, "é" * 1_025])
def test_a_parent_is_a_key(parent: Any) -> None:
    with pytest.raises(InvalidKeyError, match="parents="):
        PartitionIdentifier("k", parents=[parent])


def test_parents_may_come_from_any_list() -> None:
    assert PartitionIdentifier("k", parents=iter(["a", "b"])).parents == ("a", "b")
    assert len(tuple(PartitionIdentifier("k", parents=map(str, range(MAX_PARENTS))).parents)) == MAX_PARENTS
    assert PartitionIdentifier("k").parents == ()


def test_a_page_without_families_is_one_wave() -> None:
    page = [new("a"), new("b", "elsewhere"), new("c", "elsewhere", "and there")]
    assert list(waves(page)) == [tuple(page)]
    assert list(waves([])) == [()]


def test_parents_go_first_and_the_order_stays() -> None:
    page = [new("z"), new("c", "b"), new("b", "a", "gone"), new("a"), new("y", "a")]
    assert [[each.key for each in wave] for wave in waves(page)] == [["z", "a"], ["b", "y"], ["c"]]


@pytest.mark.parametrize(
    ("page", "circle"),
    [
        ([new("a", "b"), new("b", "a")], {"a", "b"}),
        ([new("x"), new("a", "c"), new("b", "a"), new("c", "b", "x")], {"a", "b", "c"}),
    ],
)
def test_a_circle_is_refused_by_name(page: list[NewPartition], circle: set[str]) -> None:
    with pytest.raises(ParentCycleError) as raised:
        next(waves(page))
    assert set(raised.value.circle) == circle
    parents = {each.key: each.parents for each in page}
    following = (*raised.value.circle[1:], raised.value.circle[0])
    assert all(after in parents[key] for key, after in zip(raised.value.circle, following, strict=True))


def test_a_long_circle_is_not_told_whole() -> None:
    page = [new(f"k{number}", f"k{(number + 1) % 50}") for number in range(50)]
    with pytest.raises(ParentCycleError) as raised:
        next(waves(page))
    assert len(raised.value.circle) == 50
    assert len(str(raised.value)) < 300


@st.composite
def _pages(draw: st.DrawFn) -> list[NewPartition]:
    parents = {
        key: draw(st.sets(st.sampled_from(KEYS[:place] or ["out"]), max_size=3)) for place, key in enumerate(KEYS)
    }
    return [new(key, *sorted(parents[key])) for key in draw(st.permutations(KEYS))]


@given(_pages())
def test_every_wave_comes_after_the_parents_of_it(page: list[NewPartition]) -> None:
    done: set[str] = set()
    for wave in waves(page):
        assert all(parent in done or parent == "out" for each in wave for parent in each.parents)
        done |= {each.key for each in wave}
    assert done == set(KEYS)


def test_what_has_not_completed_is_waited_for() -> None:
    statuses: dict[str, PartitionStatus | None] = dict(zip("abcd", PartitionStatus, strict=True))
    assert unfinished(new("k", *"abcd"), statuses.get) == ("a", "b", "c")
    with pytest.raises(UnknownParentError) as raised:
        unfinished(new("k", "a", "nobody"), statuses.get)
    assert (raised.value.child, raised.value.parent) == ("k", "nobody")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_keys_are_stored_as_they_are(keys: list[str]) -> None:
    text = dump_keys(keys)
    assert (load_keys(text), text is None) == (tuple(keys), not keys)
