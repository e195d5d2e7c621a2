"""What the routes read: permissions first, then the store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.counting import COUNTER
from airflow_coordination.board.models import Overview, OwnersPage, PartitionPage, PartitionView, State, StoreView
from airflow_coordination.board.stores import StoreDoesNotAnswerError, connections, opened
from airflow_coordination.board.views import holding_view, offers, partition_view, row, source_view
from airflow_coordination.board.visibility import NotVisibleError, coordinator_of, open_visible, visible_sources
from airflow_coordination.leases.explaining.facts import Inquiry
from airflow_coordination.leases.explaining.reasons import explain
from airflow_coordination.leases.names import check_key
from airflow_coordination.leases.prefixes import page_of
from airflow_coordination.leases.settings import Settings
from airflow_coordination.monitoring.owners import owners
from airflow_coordination.monitoring.states import wanted
from airflow_coordination.monitoring.timeline import timeline

MOST_TENURES: Final = 100
"""So many of the newest tenures of a partition are shown."""
Body = TypeVar("Body")


@dataclass(frozen=True, slots=True)
class Read(Generic[Body]):
    """What was read of one store, and when by the store's clock, which is no part of the body."""

    body: Body
    now: datetime


def overview(user: BaseUser, dag: str | None) -> Overview:
    """Return every store with the user's sources; one that does not answer says so, and the others are there.

    :param dag: only sources that this DAG has registered.
    """
    return Overview(stores=[_store_view(user, connection, dag) for connection in connections()])


def page(
    user: BaseUser, connection: str, source: str, state: State | None, prefix: str | None, after: str | None, limit: int
) -> Read[PartitionPage]:
    """Return a page of partitions.

    :param prefix: only keys that begin so.
    :param after: only keys above this one in byte order.
    :param limit: partitions; one more is read, to know whether to go on.
    :raises NotVisibleError: when the user does not see such a source.
    :raises StoreDoesNotAnswerError: when the store does not.
    """
    with open_visible(user, connection, source) as (store, seen):
        status, parked = wanted(state)
        found = page_of(store, source, status, after, limit + 1, parked=parked, prefix=prefix)
        now = store.now()
        shown = [row(each, now) for each in found[:limit]]
        following = shown[-1].key if len(found) > limit else None
        return Read(PartitionPage(offers=offers(seen), partitions=shown, after=following), now)


def partition(user: BaseUser, connection: str, source: str, key: str) -> Read[PartitionView]:
    """Return one partition with what happened to it and its head records; raises as :func:`page` does."""
    with open_visible(user, connection, source) as (store, seen):
        found, beside, now = Inquiry(store, source, Settings()).about(check_key(key))
        if found is None or found.deleted:
            raise NotVisibleError
        happened = timeline(coordinator_of(user, store, seen), key, MOST_TENURES)
        return Read(partition_view(store, found, seen, explain(found, beside, now), happened, now), now)


def holdings(user: BaseUser, connection: str, source: str, after: str | None, limit: int) -> Read[OwnersPage]:
    """Return who holds what in a source; raises as :func:`page` does."""
    with open_visible(user, connection, source) as (store, _):
        found = owners(store, source, limit, after)
        return Read(OwnersPage(held=[holding_view(each) for each in found.held], after=found.after), found.now)


def _store_view(user: BaseUser, connection: str, dag: str | None) -> StoreView:
    try:
        with opened(connection) as store:
            seen = [each for each in visible_sources(user, store) if dag is None or dag in each.dags]
            counted = COUNTER.latest(store, [each.identifier for each in seen])
            shown = [source_view(connection, each, counted.get(each.identifier)) for each in seen]
            return StoreView(connection=connection, sources=shown)
    except StoreDoesNotAnswerError as error:
        return StoreView(connection=connection, problem=str(error))
