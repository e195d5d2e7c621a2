"""Failure messages are a product: every one, word for word."""

from __future__ import annotations

import inspect
import pickle
from datetime import UTC, datetime

import pytest

from airflow_coordination.values import errors, input_errors
from airflow_coordination.values.fence import Ending, Fence
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError, shown
from airflow_coordination.values.status import Outcome

HELD, CURRENT = Fence(7, "3f9c"), Fence(8, "a0b1")
LOST = Ending(Outcome.LOST, HELD, datetime(2026, 1, 1, 12, 30, 5, 999, tzinfo=UTC))

MESSAGES: list[tuple[CoordinationError, str]] = [
    (
        InvalidInputError("priority", 1.5, "is not a whole number", "Give an int"),
        "priority=1.5: is not a whole number. Give an int",
    ),
    (input_errors.InvalidKeyError("key", "", "is empty", "Give one"), "key='': is empty. Give one"),
    (
        input_errors.PayloadError("payload", [1], "is list, not a JSON object", "Give a dict"),
        "payload=[1]: is list, not a JSON object. Give a dict",
    ),
    (
        input_errors.ProgressStateError("progress_state", "{", "is corrupt", "Repair it"),
        "progress_state='{': is corrupt. Repair it",
    ),
    (
        input_errors.SettingsError("store.x", "x", "is not an option here", "Did you mean 'y'?"),
        "store.x='x': is not an option here. Did you mean 'y'?",
    ),
    (
        errors.PartitionNotFoundError("2013-01", "flights"),
        "Partition '2013-01' does not exist in source 'flights'. "
        "If it was deleted by hand, run the supplier again to create it anew.",
    ),
    (
        errors.PartitionNotOwnedError("2013-01", HELD, CURRENT, LOST, "host/dag/run/task/3/1"),
        "Partition '2013-01' is not owned under fence 7-3f9c: this tenure ended: lost at 2026-01-01T12:30:05+00:00; "
        "it is now held by 'host/dag/run/task/3/1' under fence 8-a0b1. "
        "Stop this work: nothing it writes counts any more.",
    ),
    (
        errors.PartitionNotOwnedError("2013-01", HELD, CURRENT, LOST),
        "Partition '2013-01' is not owned under fence 7-3f9c: this tenure ended: lost at 2026-01-01T12:30:05+00:00; "
        "nobody holds it now. Stop this work: nothing it writes counts any more.",
    ),
    (
        errors.PartitionNotOwnedError("2013-01", HELD, None, None),
        "Partition '2013-01' is not owned under fence 7-3f9c: how this tenure ended is no longer known; "
        "nobody holds it now. Stop this work: nothing it writes counts any more.",
    ),
    (
        errors.DeploymentError("No Java is found on worker 'w'", "Install Java 17 or 21."),
        "No Java is found on worker 'w'. Install Java 17 or 21. No partition is charged with this.",
    ),
    (
        input_errors.UnknownParentError("2013-02", "2013-01"),
        "parents='2013-01': does not exist, and partition '2013-02' comes after it. "
        "Create parents before their children, or leave out a parent that there is nothing to wait for",
    ),
    (
        input_errors.ParentCycleError(("a", "b")),
        "parents='a': goes in a circle, so that none of them could ever start: 'a' → 'b' → 'a'. "
        "Leave out the one that is no parent",
    ),
    (
        errors.ForkedChildError("2013-01", 41, 42),
        "Partition '2013-01' is held by process 41; process 42 was forked from it and holds nothing. "
        "Return the child's result to process 41, and save or publish it there.",
    ),
    (
        errors.PartitionUpdateError("complete", "2013-01", "the disk is full; free some space and run it again"),
        "Cannot complete partition '2013-01': the disk is full; free some space and run it again",
    ),
    (
        errors.BranchError("complete", "2013-01", "it runs in branch 7, which was rolled back. Reset it."),
        "Cannot complete partition '2013-01': it runs in branch 7, which was rolled back. Reset it.",
    ),
    (
        errors.ConfigurationChangedError(("ana has set maxSegmentsToMove from 5 to 10",), 3),
        "The configuration has changed meanwhile: ana has set maxSegmentsToMove from 5 to 10. Nothing was changed. "
        "Look at version 3 of it, then say again what you want.",
    ),
    (
        errors.OutcomeUnknownError("complete", "connection reset"),
        "It is not known whether complete was applied: connection reset. Nothing can count twice; "
        "the next owner, or `airflow coordination show`, sees what the store holds.",
    ),
    (
        errors.StoreUnavailableError("renew", "connection refused"),
        "The store could not be reached to renew: connection refused. Nothing was written; try again.",
    ),
    (
        errors.StoreSlowError("list hints", "canceling statement due to statement timeout"),
        "The store was too slow to list hints: canceling statement due to statement timeout. Nothing was written; "
        "try again, or raise statement_timeout.",
    ),
    (
        errors.StoreThrottledError("acquire a partition", "too many requests"),
        "The store has no capacity left to acquire a partition: too many requests. Nothing was written; "
        "try again later, or give the store more capacity.",
    ),
    (
        errors.StoreMismatchError("store-a", "store-b", "The hint"),
        "The hint belongs to store store-a, but this process uses store store-b. "
        "Give both the same store URL or connection.",
    ),
    (
        errors.SchemaVersionError("sqlite:////c.db", "has schema 9, this code reads 1 to 3", "Upgrade the package"),
        "Store sqlite:////c.db: has schema 9, this code reads 1 to 3. Upgrade the package",
    ),
    (
        errors.NoProgressError("2013-01", 3600.4),
        "Partition '2013-01' showed no progress for 3600 s; its work is cancelled. "
        "Call lease.alive() in long steps, or raise no_progress_timeout.",
    ),
]


@pytest.mark.parametrize(("error", "message"), MESSAGES, ids=lambda value: type(value).__name__)
def test_the_message_word_for_word(error: CoordinationError, message: str) -> None:
    assert str(error) == message


@pytest.mark.parametrize("error", [error for error, _ in MESSAGES], ids=lambda error: type(error).__name__)
def test_an_error_survives_the_way_between_processes(error: CoordinationError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_every_error_of_the_tree_has_its_message_here() -> None:
    classes = [kind for module in (errors, input_errors) for _, kind in inspect.getmembers(module, inspect.isclass)]
    tree = {kind for kind in classes if issubclass(kind, CoordinationError)} - {CoordinationError}
    assert tree == {type(error) for error, _ in MESSAGES}
    drawn = inspect.getdoc(errors) or ""
    assert all(kind.__name__ in drawn for kind in tree)


def test_wrong_input_is_a_value_error_too() -> None:
    assert issubclass(InvalidInputError, ValueError)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("plain", "'plain'"),
        ("new\nline \x1b[31m", r"'new\nline \x1b[31m'"),
        ("\u202egnp", r"'\u202egnp'"),
        ("caf\u00e9", r"'caf\xe9'"),
        ("x" * 100, "'" + "x" * 79 + "… (102 characters)"),
    ],
)
def test_values_are_shown_as_one_short_printable_line(value: str, line: str) -> None:
    assert shown(value) == line
