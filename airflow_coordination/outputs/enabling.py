"""Keeping code out that knows no overlays, or no branches and no hidden intervals: what is in the way (S16)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from airflow_coordination.outputs.heads.showing import read_view
from airflow_coordination.protocol.beside.parts import Enabling, parts_of
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.remedies import of_store, shell_of
from airflow_coordination.values.input_errors import InvalidKeyError, SettingsError, shown
from airflow_coordination.values.names import UPKEEP, check_upkeep, split_dataset, split_source

NAMED: Final = 10
"""How many names are said."""


def enabling_of(store: PartitionStore) -> Enabling:
    """Return the part of a store that keeps older code out.

    :raises SettingsError: when it has none.
    """
    found = parts_of(store).enabling
    if found is None:
        problem = "cannot keep older code out, so originals stay"
        raise SettingsError("store", store.description, problem, "Use a store of this package; nothing else is lost")
    return found


def check_branches_enabled(store: PartitionStore) -> None:
    """Refuse what code of before would not keep to: it shows what is hidden, and publishes a branch into the base.

    :raises SettingsError: naming the command that keeps such code out.
    """
    found = parts_of(store).enabling
    if found is None or not found.branches_enabled():
        problem = "lets code work that knows no branches and shows what is hidden"
        remedy = f"Run `{of_store('store enable branches', shell_of(store))}` first"
        raise SettingsError("store", store.description, problem, remedy if found else "Use a store of this package")


def check_names(store: PartitionStore) -> None:
    """Refuse to go on while users' sources or datasets have names that this package keeps for itself.

    Earlier versions let users give them. Every head record is looked at.

    :raises SettingsError: naming them.
    """
    found = list(_users_names(store))
    if found:
        more = f", and {len(found) - NAMED} more" if len(found) > NAMED else ""
        problem = f"has names that begin with {UPKEEP}, which are kept: {', '.join(found[:NAMED])}{more}"
        remedy = "Publish them again under other names, then purge these sources, and retract these datasets"
        raise SettingsError("store", store.description, problem, remedy)


def _users_names(store: PartitionStore) -> Iterator[str]:
    """Yield each once."""
    for identifier, _ in store.sources():
        source = split_source(identifier)[1]
        try:
            check_upkeep(source)
        except InvalidKeyError:
            yield f"source {shown(source)}"
        datasets = (head.dataset for head in every_head(store, identifier) if head.blocks)
        begun = read_view(store, identifier).next_number
        for dataset in sorted({each for each in datasets if each.startswith(UPKEEP)}):
            if (split_dataset(dataset)[0] or begun) >= begun:  # no branch of that number has ever been begun
                yield f"dataset {shown(dataset)} of source {shown(source)}"
