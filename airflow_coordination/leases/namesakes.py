"""One name under two prefixes: two sources to the store, and perhaps one to somebody who upgraded.

The versions before honoured a ``partition_prefix`` of the configuration in some places only, so that work may stand in
the store under the name without it.
"""

from __future__ import annotations

from collections.abc import Collection

from airflow_coordination.leases.errors import SettingsError
from airflow_coordination.leases.names import split_source

_REMEDY = (
    "To go on with that work, {change} partition_prefix where the store is named; "
    "otherwise create partitions under the prefix that is set first"
)


def namesakes(identifier: str, registered: Collection[str]) -> list[str]:
    """Return the stored identifiers of the sources for which a source that is not registered may have been mistaken.

    They have its name under another prefix, or under none. One that is registered itself is meant as it is.
    """
    if identifier in registered:
        return []
    _, source, kind = split_source(identifier)
    return sorted(each for each in registered if split_source(each)[1:] == (source, kind))


def confusion(identifier: str, other: str, store: str) -> SettingsError:
    """Return what to say of a source that is not there, while ``other`` is, which has its name.

    :param store: what the store is called.
    """
    prefix, source, _ = split_source(identifier)
    others, _, _ = split_source(other)
    under = f"under partition_prefix {others!a}" if others is not None else "without a partition_prefix"
    problem = (
        f"leads to {identifier!a}, which store {store} does not know; it knows source {source!a} {under} ({other!a})"
    )
    change = f"set {others!a} as" if others is not None else "leave out the"
    return SettingsError("partition_prefix", prefix, problem, _REMEDY.format(change=change))
