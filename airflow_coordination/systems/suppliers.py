"""The common ground of suppliers: their error, the client they ask with, and passes in planned steps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar

from airflow_coordination.leases.supply import Supplied
from airflow_coordination.protocol.partition import Checkpoint, PartitionIdentifier
from airflow_coordination.values.input_errors import CoordinationError, ProgressStateError, printable
from airflow_coordination.values.scrubbing import without_secrets

_LONGEST: Final = 10_000
"""Of a message, in characters: it may name ten items, and what a library says of each."""


class SourceError(CoordinationError):
    """The place a supplier lists cannot be read, or is not what its options say.

    :param what: the attempt, as a verb.
    :param place: the bucket, directory or table concerned, without credentials.
    :param problem: the problem with it.
    :param remedy: the way out.
    """

    def __init__(self, what: str, place: str, problem: str, remedy: str) -> None:
        super().__init__(what, place, problem, remedy)
        self.what, self.place, self.problem, self.remedy = what, place, problem, remedy

    def __str__(self) -> str:
        said = without_secrets(f"Cannot {self.what}: {self.place} {self.problem}. {self.remedy}")
        return printable(said, limit=_LONGEST, keep="\n\t")


@contextmanager
def wrapped(what: str, place: str) -> Iterator[None]:
    """Turn the exceptions of a client library into :class:`SourceError`; every library has its own."""
    try:
        yield
    except CoordinationError:
        raise
    except Exception as error:
        problem = f"answers {type(error).__name__}: {getattr(error, 'orig', None) or error}"
        raise SourceError(what, place, problem, "Check its name, and that this process may read there") from error


def client_of(given: Any, default: Callable[[], Any]) -> Any:
    """Return a client of boto3.

    :param given: a client, a hook of Airflow's, or a function that returns one of them; ``None`` for the default.
    :param default: makes the default.
    """
    if given is None:
        return default()
    if not hasattr(given, "get_conn") and not hasattr(given, "get_paginator") and callable(given):
        given = given()
    return given.get_conn() if hasattr(given, "get_conn") else given


class Step(Protocol):
    """The position of a pass after a step, as a frozen value."""

    @property
    def plan(self) -> Sequence[Mapping[str, Any]]:
        """The step's partitions as JSON: planned, and perhaps not created."""

    def document(self) -> dict[str, Any]:
        """Return the step as the global state keeps it."""


S = TypeVar("S", bound=Step)


def planned_pass(
    last: S,
    steps: Iterable[S],
    partition_of: Callable[[Mapping[str, Any]], PartitionIdentifier],
    saved: Callable[[S], Checkpoint],
) -> Iterator[Supplied]:
    """Yield the partitions of a pass, and a checkpoint before those of each step.

    :param last: the step that the global state holds; its partitions come first. The beginning of a pass has none.
    :param steps: the steps after it, each looked for when the one before is created.
    :param partition_of: makes a partition of its JSON in a plan.
    :param saved: makes the global state of a step.
    :raises InvalidInputError: when a step has a partition that no store can hold. It is not saved: otherwise each
        further run would begin with it.
    """
    yield from map(partition_of, last.plan)
    for step in steps:
        partitions = [partition_of(document) for document in step.plan]
        yield saved(step)
        yield from partitions


def remembered(state: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the record of passes that the global state keeps under ``name``.

    :raises ProgressStateError: when that is no JSON object.
    """
    found = state.get(name, {})
    if not isinstance(found, dict):
        raise ProgressStateError(f"global_state.{name}", found, "is not a JSON object", "Repair it in the store")
    return found


def fingerprint(asked: Sequence[Any]) -> str:
    """Return a short text that changes with what a pass is asked for."""
    return hashlib.sha256(json.dumps(asked).encode("utf-8", "surrogatepass")).hexdigest()[:16]
