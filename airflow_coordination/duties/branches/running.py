"""The partitions that run in a branch, and whether a store may have branches at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.enabling import check_branches_enabled
from airflow_coordination.protocol.beside import parts
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import identifier_of

_PAGE: Final = 1_000


def branches_of(coordinator: SourceCoordinator) -> parts.Branches:
    """Return the part of a store that knows which partitions run in a branch.

    :raises SettingsError: when it has none.
    """
    found = parts_of(coordinator.store).branches
    if found is None:
        problem = "comes from elsewhere and keeps no branches"
        raise SettingsError("store", coordinator.store.description, problem, "Use a store of this package")
    return found


def check_enabled(coordinator: SourceCoordinator) -> None:
    """Refuse while code that knows no branches may open the store: it would publish a branch into the base.

    :raises SettingsError: naming the command that keeps such code out.
    """
    branches_of(coordinator)
    check_branches_enabled(coordinator.store)


def partitions_of(coordinator: SourceCoordinator, number: int) -> Iterator[Partition]:
    """Yield the partitions that run in a branch, by key.

    :raises SettingsError: when the store knows of none.
    """
    part, after = branches_of(coordinator), None
    while page := part.branch_partitions(identifier_of(coordinator), number, after, _PAGE):
        yield from page
        after = page[-1].key
