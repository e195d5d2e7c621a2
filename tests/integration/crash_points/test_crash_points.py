"""Every operation of more than one call, its process killed before and after each of them.

A process of the task's next try goes on by the product's own means: at the end everything is as if nobody had died.
"""

from __future__ import annotations

import pytest

from airflow_coordination.stores.dynamodb import children
from airflow_coordination.testing.clock import FakeClock
from tests.integration.crash_points.crashing import Crashes, RunsAll
from tests.integration.crash_points.killable import Opens
from tests.integration.crash_points.operations import (
    ACTING,
    ENDING,
    FAMILIES,
    FOLLOWING,
    HAUNTED,
    SUPPLYING,
    SWEEPING,
    TAKING_OVER,
    WANTING,
    Operation,
)

STORES = [
    "in_memory",
    "sqlite",
    pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.slow]),
    "dynamodb",
]


def every(operations: tuple[Operation, ...]) -> pytest.MarkDecorator:
    """Return the mark that tries each of ``operations``."""
    return pytest.mark.parametrize("operation", operations, ids=lambda operation: operation.name)


@pytest.fixture(params=STORES)
def on_store(request: pytest.FixtureRequest, clock: FakeClock) -> RunsAll:
    """Return what runs an operation on each store."""
    opens = request.getfixturevalue(request.param)
    return lambda operation, task="task": Crashes(operation, opens, clock, task)


@every(SUPPLYING)
def test_s11_a_creation_killed_at_any_call_leaves_what_it_was_to_create(
    on_store: RunsAll, operation: Operation
) -> None:
    assert on_store(operation).at_every_call() >= 3


@pytest.mark.parametrize("task", ["task", "other"])
@every(ENDING)
def test_s12_an_owner_killed_at_any_call_publishes_each_block_once(
    on_store: RunsAll, operation: Operation, task: str
) -> None:
    """Its next try goes on at once, or another task when the lease is over."""
    assert on_store(operation, task).at_every_call() >= 1


@pytest.mark.parametrize("task", ["task", "other"])
@every(FOLLOWING)
def test_s27_killed_at_any_call_what_follows_is_done_and_never_before(
    on_store: RunsAll, operation: Operation, task: str
) -> None:
    assert on_store(operation, task).at_every_call() >= 3


@every(FAMILIES)
def test_s20_a_family_whose_process_is_killed_at_any_call_comes_to_its_end(
    on_store: RunsAll, operation: Operation
) -> None:
    assert on_store(operation).at_every_call() >= 1


@every(FAMILIES)
def test_s20_with_more_children_than_a_transaction_takes(
    dynamodb: Opens, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, operation: Operation
) -> None:
    """Then the parent is completed first, and each child is a request of its own."""
    monkeypatch.setattr(children, "TOGETHER", 0)
    assert Crashes(operation, dynamodb, clock).at_every_call() >= 1


@every(TAKING_OVER)
def test_l2_a_take_over_killed_at_any_call_is_made_good(on_store: RunsAll, operation: Operation) -> None:
    assert on_store(operation).at_every_call() >= 1


@pytest.mark.parametrize("task", ["task", "other"])
@every(WANTING)
def test_s28_killed_at_any_call_what_is_wanted_is_held_by_one_and_finished(
    on_store: RunsAll, operation: Operation, task: str
) -> None:
    assert on_store(operation, task).at_every_call() >= 1


@every(SWEEPING)
def test_l3_a_sweep_killed_at_any_call_leaves_nothing_stuck(on_store: RunsAll, operation: Operation) -> None:
    assert on_store(operation).at_every_call() >= 1


@every(HAUNTED)
def test_l1_what_a_lost_answer_took_is_free_again_if_its_taker_is_killed(
    in_memory: Opens, clock: FakeClock, operation: Operation
) -> None:
    assert Crashes(operation, in_memory, clock).at_every_call() > 5


@every(ACTING)
def test_s3_an_action_killed_at_any_call_is_done_and_audited_once(on_store: RunsAll, operation: Operation) -> None:
    assert on_store(operation).at_every_call() >= 2


@every(SUPPLYING[1:] + ENDING + FOLLOWING + FAMILIES + TAKING_OVER + WANTING + SWEEPING + ACTING)
def test_s6_killed_at_any_call_after_a_lost_answer(in_memory: Opens, clock: FakeClock, operation: Operation) -> None:
    Crashes(operation, in_memory, clock).after_every_lost_answer()


@pytest.mark.slow
@every((SUPPLYING[-1], ENDING[1], ENDING[-1], *FOLLOWING))
def test_l1_killed_at_any_request_to_the_vendors_own_engine(
    dynamodb_itself: Opens, clock: FakeClock, operation: Operation
) -> None:
    Crashes(operation, dynamodb_itself, clock).at_every_call()
