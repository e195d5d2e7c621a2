"""A sensor's words about parked partitions: the first ten, those with the same error together, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.values.errors import first_line
from airflow_coordination.values.input_errors import shown

NAMED_KEYS: Final = 10


def named(coordinator: SourceCoordinator, parked: int, some: Iterable[Partition]) -> str:
    """Return sentences that name parked partitions, and the commands for them; empty when there are none.

    :param coordinator: of their source.
    :param parked: how many there are.
    :param some: :data:`NAMED_KEYS` of them, or all when there are fewer.
    """
    by_error: dict[str, list[str]] = {}
    for partition in some:
        by_error.setdefault(_error(partition), []).append(partition.key)
    if not by_error:
        return ""
    groups = "; ".join(f"{', '.join(map(shown, keys))} ({error})" for error, keys in by_error.items())
    more = f"; and {parked - NAMED_KEYS} more" if parked > NAMED_KEYS else ""
    first = next(iter(by_error.values()))[0]
    see, reopen = (typed(coordinator, name, first) for name in ("show", "reopen"))
    return f"Parked: {groups}{more}. See why with `{see}`, then `{reopen}`."


def _error(partition: Partition) -> str:
    return first_line(partition.last_error, "no error: somebody parked it")
