"""One pass over a storage or a table in planned steps. A supplier that was killed goes on with it, and doubles nothing.

The global state gets each step with its plan before the plan's partitions are created. So what a kill has left open is
created from the plan, and not from a second look at a place that has changed since: nothing is in two partitions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from airflow_coordination.leases.supply import Supplied
from airflow_coordination.protocol.partition import Checkpoint, PartitionIdentifier
from airflow_coordination.values.input_errors import ProgressStateError


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
