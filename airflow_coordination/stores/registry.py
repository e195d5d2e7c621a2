"""Stores from elsewhere, by the scheme of their URL: installed packages register them as entry points.

Our own are registered in the same way, and nobody looks there for them: a Spark driver has this package as a plain zip
without metadata, and reading metadata goes through every installed distribution.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from airflow_coordination.leases.handover import HANDOVER_VARIABLE
from airflow_coordination.stores.addresses import public_address
from airflow_coordination.values.input_errors import SettingsError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "airflow_coordination.stores"
OWN_URLS: Final = (
    "sqlite:////path.db, postgresql+psycopg://user@host/database, dynamodb://TABLE?region=…, memory:// or a "
    "source_coordination object"
)
_IN_A_DRIVER: Final = (
    "Install the store's package where this Spark driver runs, or send it along with py_files, as a zip that holds its "
    ".dist-info"
)


def scheme_of(url: str) -> str:
    """Return the scheme under which a store is registered: ``postgresql`` for ``postgresql+psycopg://…``."""
    return url.partition("://")[0].lower().partition("+")[0]


def is_registered(scheme: str) -> bool:
    """Return whether an installed package registers a store of this scheme."""
    return bool(_registered(scheme))


def registered_schemes() -> list[str]:
    """Return all schemes that installed packages register."""
    from importlib.metadata import entry_points

    return sorted(entry_points(group=GROUP).names)


def unregistered(url: str) -> SettingsError:
    """Return the error for the URL of a store that nobody registers here."""
    problem = f"is not the URL of a store: no package that is installed here registers {scheme_of(url)!a} in {GROUP}"
    remedy = _IN_A_DRIVER if HANDOVER_VARIABLE in os.environ else f"Use {OWN_URLS}, or install the store's package"
    return SettingsError("store", public_address(url), problem, remedy)


def registered_opener(url: str) -> Any:
    """Return the function that an installed package registers to open the store at ``url``.

    :raises SettingsError: when nobody registers its scheme, when several packages do, or when what is registered cannot
        be imported.
    """
    found = _registered(scheme_of(url))
    if not found:
        raise unregistered(url)
    if len({each.value for each in found}) > 1:
        problem = f"has a scheme that several packages register: {', '.join(map(_package, found))}"
        raise SettingsError("store", public_address(url), problem, "Uninstall all of them but one")
    return _loaded(found[0], url)


def _registered(scheme: str) -> Sequence[EntryPoint]:
    from importlib.metadata import entry_points

    return tuple(entry_points(group=GROUP, name=scheme))


def _loaded(entry: EntryPoint, url: str) -> Any:
    try:
        return entry.load()
    except Exception as error:  # importing it runs code of others
        problem = (
            f"is opened by {entry.value} of {_package(entry)}, which cannot be imported here "
            f"({type(error).__name__}: {error})"
        )
        remedy = "Install what it imports where this runs, or mend the package's entry point"
        raise SettingsError("store", public_address(url), problem, remedy) from error


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
