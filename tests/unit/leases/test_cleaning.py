"""What a clean-up is given, and when a child has begun; what it does is shown on every store, in the kit."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_coordination.leases import Partition, PartitionStatus, SourceCoordinator
from airflow_coordination.leases.cleaning import CleanedUp
from airflow_coordination.protocol.hierarchy import has_begun
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.values.input_errors import InvalidInputError

NEW = Partition(source="s", key="c", status=PartitionStatus.UNASSIGNED, last_op="made", create_op="made")


@pytest.fixture
def one() -> SourceCoordinator:
    return SourceCoordinator(InMemoryStore(), "flights", "test")


@pytest.mark.parametrize("field", ["gone", "keep"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("p1", "{}='p1': is str, not a list of keys. Give a list"),
        ({"p1": 1}, "{}={{'p1': 1}}: is dict, not a list of keys. Give a list"),
        (7, "{}=7: is int, not a list of keys. Give a list"),
        (["p", ""], "{}='': is empty"),
    ],
)
def test_what_is_no_list_of_keys_is_told(one: SourceCoordinator, field: str, given: object, message: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        one.cleaning.clean_up(**{field: given})  # type: ignore[arg-type]
    assert str(refused.value).startswith(message.format(field))


@pytest.mark.parametrize(
    ("given", "problem"),
    [(timedelta(0), "is zero"), (timedelta(-1), "is negative"), (86_400, "is int, not a timedelta")],
)
def test_a_time_that_is_none_is_told(one: SourceCoordinator, given: object, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"^clean_after=.*: {problem}"):
        one.cleaning.clean_up(given)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=rf"^clean_after=.*: {problem}"):
        one.run_supplier(lambda state: [], clean_after=given)  # type: ignore[arg-type]


def test_portions_add_up() -> None:
    assert CleanedUp(("a",), ("b",), "b") + CleanedUp(("c",), (), None) == CleanedUp(("a", "c"), ("b",), None)


@pytest.mark.parametrize(
    ("child", "begun"),
    [
        (NEW, False),
        (replace(NEW, token=3), False),  # over a tombstone, whose token goes on
        (replace(NEW, token=1, last_op="given back"), True),
        (replace(NEW, status=PartitionStatus.CLOSED, last_op="parked by a person"), False),
        (replace(NEW, status=PartitionStatus.CLOSED, token=1, last_op="closed"), True),
        (replace(NEW, status=PartitionStatus.ASSIGNED, token=1, last_op="n"), True),
        (replace(NEW, status=PartitionStatus.COMPLETED, last_op="finished by a person"), True),
    ],
)
def test_a_child_has_begun_when_it_was_acquired_once_or_is_done(child: Partition, begun: bool) -> None:
    assert has_begun(child) is begun
