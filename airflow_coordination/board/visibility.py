"""Visibility: what a user sees of a store; what may not be seen cannot be told from what is not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.permissions import Permissions
from airflow_coordination.board.stores import connections, opened
from airflow_coordination.hooks.telemetry import TaggedStats
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.creation import dags_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.names import ALL, DUTIES, everybody, split_source

_OF_ALL: Final = frozenset({DUTIES, ALL})
"""Sources that serve all others. They belong to no DAG, whichever has registered them, so to who may edit every one."""


class NotVisibleError(Exception):
    """There is no such thing, or none that this user may see: the two cannot be told apart."""


@dataclass(frozen=True, slots=True)
class VisibleSource:
    """A source that the user may see.

    :param identifier: as the store has it.
    :param dags: those that registered it.
    :param may_act: whether the user may also change its partitions.
    """

    identifier: str
    dags: frozenset[str]
    may_act: bool


def coordinator_of(user: BaseUser, store: PartitionStore, seen: VisibleSource) -> SourceCoordinator:
    """Return what acts and reads in a source for a user."""
    prefix, name, _ = split_source(seen.identifier)
    return SourceCoordinator(store, name, user.get_id(), prefix, metrics=TaggedStats({"source": name}))


def visible_sources(user: BaseUser, store: PartitionStore) -> list[VisibleSource]:
    """Return the sources of a store that a user sees, by name: those of its deployment, where it is told apart."""
    registered = [
        (identifier, frozenset() if split_source(identifier)[1] in _OF_ALL else dags_of(facts))
        for identifier, facts in store.sources()
        if store.partition_prefix in (None, split_source(identifier)[0])
    ]
    permissions = Permissions(user, (dag for _, dags in registered for dag in dags))
    return [
        VisibleSource(identifier, dags, permissions.may_act(dags))
        for identifier, dags in registered
        if permissions.may_see(dags)
    ]


@contextmanager
def open_visible(user: BaseUser, connection: str, source: str) -> Iterator[tuple[PartitionStore, VisibleSource]]:
    """Open a store at one of its sources.

    :raises NotVisibleError: when the board does not show such a store, or the user does not see such a source.
    :raises StoreDoesNotAnswerError: when the store does not.
    """
    if connection not in connections():
        raise NotVisibleError
    with opened(connection) as store:
        for seen in visible_sources(user, store):
            if seen.identifier == source:
                yield store, seen
                return
        raise NotVisibleError


@contextmanager
def open_all(user: BaseUser, connection: str) -> Iterator[PartitionStore]:
    """Open a store at what serves all of its sources: its duties, and their configuration.

    :raises NotVisibleError: when the board does not show such a store, or the user may not edit every DAG.
    :raises StoreDoesNotAnswerError: when the store does not.
    """
    if connection not in connections() or not sees_all(user):
        raise NotVisibleError
    with opened(connection) as store:
        yield store


@contextmanager
def open_known(user: BaseUser, connection: str, source: str | None) -> Iterator[tuple[PartitionStore, list[str]]]:
    """Open a store at one of its sources, or at all that the user sees; who may edit every DAG sees what serves all.

    :param source: a stored identifier; ``None`` = all: what serves all first, then the others by name.
    :raises NotVisibleError: when the board does not show such a store, or the user does not see such a source.
    :raises StoreDoesNotAnswerError: when the store does not.
    """
    if connection not in connections():
        raise NotVisibleError
    with opened(connection) as store:
        seen = visible_sources(user, store)
        serving = _serving_all(store, seen) if sees_all(user) else []
        known = list(dict.fromkeys([*serving, *(each.identifier for each in seen)]))
        if source is not None and source not in known:
            raise NotVisibleError
        yield store, known if source is None else [source]


def serves_all(source: str) -> bool:
    """Return whether an identifier is that of what serves all sources: it has documents, and nobody registers it."""
    return source.endswith(everybody(None)) and split_source(source)[1] == ALL


def _serving_all(store: PartitionStore, seen: Iterable[VisibleSource]) -> list[str]:
    """Return what holds the documents of all sources, for each deployment of a store that one sees, by identifier."""
    prefixes = {store.partition_prefix, *(split_source(each.identifier)[0] for each in seen)}
    return sorted(map(everybody, prefixes))


def sees_all(user: BaseUser) -> bool:
    """Return whether a user sees, and may change, what serves all sources."""
    return Permissions(user, ()).may_act(frozenset())
