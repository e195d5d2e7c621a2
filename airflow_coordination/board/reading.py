"""What the routes read: permissions first, then the store."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.models import (
    ActionView,
    EndingView,
    ExplanationView,
    HeadView,
    Overview,
    PartitionPage,
    PartitionRow,
    PartitionView,
    SourceView,
    State,
    StoreView,
)
from airflow_coordination.board.permissions import Permissions
from airflow_coordination.board.stores import StoreDoesNotAnswerError, connections, opened
from airflow_coordination.cli.queries import by_state, summary, wanted
from airflow_coordination.leases.creation import dags_of
from airflow_coordination.leases.explaining.explanation import Explanation
from airflow_coordination.leases.explaining.facts import MOST_HEADS, Inquiry
from airflow_coordination.leases.explaining.reasons import explain
from airflow_coordination.leases.names import check_key, split_source
from airflow_coordination.leases.partition import Partition
from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.leases.prefixes import page_of
from airflow_coordination.leases.settings import Settings


class NotVisibleError(Exception):
    """There is no such thing, or none that this user may see: the two cannot be told apart."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A source that the user may see."""

    identifier: str
    dags: frozenset[str]
    may_act: bool


def overview(user: BaseUser) -> Overview:
    """Return every store with the user's sources; one that does not answer says so, and the others are there."""
    return Overview(stores=[_store_view(user, connection) for connection in connections()])


def page(
    user: BaseUser, connection: str, source: str, state: State | None, prefix: str | None, after: str | None, limit: int
) -> PartitionPage:
    """Return a page of partitions.

    :param prefix: only keys that begin so.
    :param after: only keys above this one in byte order.
    :param limit: partitions; one more is read, to know whether to go on.
    :raises NotVisibleError: when the user does not see such a source.
    :raises StoreDoesNotAnswerError: when the store does not.
    """
    with _open_visible(connection) as store:
        _visible(user, store, source)
        found = _found(store, source, state, prefix, after, limit + 1)
        now = store.now()
        shown = [PartitionRow.model_validate(summary(each, now)) for each in found[:limit]]
        return PartitionPage(now=now, partitions=shown, after=shown[-1].key if len(found) > limit else None)


def partition(user: BaseUser, connection: str, source: str, key: str) -> PartitionView:
    """Return one partition with its endings, people's actions and head records; raises as :func:`page` does."""
    with _open_visible(connection) as store:
        seen = _visible(user, store, source)
        found, beside, now = Inquiry(store, source, Settings()).about(check_key(key))
        if found is None or found.deleted:
            raise NotVisibleError
        return _partition_view(store, found, seen, explain(found, beside, now), now)


def _open_visible(connection: str) -> AbstractContextManager[PartitionStore]:
    if connection not in connections():
        raise NotVisibleError
    return opened(connection)


def _visible(user: BaseUser, store: PartitionStore, source: str) -> _Seen:
    for seen in _all_visible(user, store):
        if seen.identifier == source:
            return seen
    raise NotVisibleError


def _all_visible(user: BaseUser, store: PartitionStore) -> list[_Seen]:
    registered = [(identifier, dags_of(facts)) for identifier, facts in store.sources()]
    permissions = Permissions(user, (dag for _, dags in registered for dag in dags))
    return [
        _Seen(identifier, dags, permissions.may_act(dags))
        for identifier, dags in registered
        if permissions.may_see(dags)
    ]


def _store_view(user: BaseUser, connection: str) -> StoreView:
    try:
        with opened(connection) as store:
            sources = [_source_view(connection, store, seen) for seen in _all_visible(user, store)]
            return StoreView(connection=connection, now=store.now(), sources=sources)
    except StoreDoesNotAnswerError as error:
        return StoreView(connection=connection, problem=str(error))


def _source_view(connection: str, store: PartitionStore, seen: _Seen) -> SourceView:
    prefix, name, _ = split_source(seen.identifier)
    counts, outlook = store.counts(seen.identifier), store.outlook(seen.identifier)
    return SourceView(
        store=connection,
        source=seen.identifier,
        name=name,
        prefix=prefix,
        dags=sorted(seen.dags),
        may_act=seen.may_act,
        counts={State(state): count for state, count in by_state(counts, outlook).items()},
        claimable=outlook.claimable,
        overdue=outlook.overdue,
        next_due=outlook.next_due,
    )


def _found(
    store: PartitionStore, source: str, state: State | None, prefix: str | None, after: str | None, limit: int
) -> Sequence[Partition]:
    """Return the partitions of a page."""
    status, parked = wanted(state)
    return page_of(store, source, status, after, limit, parked=parked, prefix=prefix)


def _partition_view(
    store: PartitionStore, found: Partition, seen: _Seen, why: Explanation, now: datetime
) -> PartitionView:
    return PartitionView(
        now=now,
        summary=PartitionRow.model_validate(summary(found, now)),
        explanation=ExplanationView(reason=why.reason, sentence=why.sentence, next=why.next, command=why.command),
        may_act=seen.may_act,
        priority=found.priority,
        fence=str(found.fence) if found.fence else None,
        max_lost_leases=found.max_lost_leases,
        payload=found.payload_text,
        progress=found.progress_text,
        available_at=found.available_at,
        reopen_at=found.reopen_at,
        created_at=found.created_at,
        updated_at=found.updated_at,
        endings=[
            EndingView(token=one.fence.token, outcome=one.outcome, at=one.at, closed_count=one.closed_count)
            for one in found.endings
        ],
        actions=[
            ActionView(fields={name: str(value) for name, value in action.items() if value not in (None, "")})
            for action in store.audit(found.source, found.key)
        ],
        heads=[
            HeadView(
                dataset=head.dataset,
                blocks=len(head.blocks),
                rows=head.rows,
                bytes=head.bytes,
                token=head.token,
                published_at=head.published_at,
            )
            for head in store.heads(found.source, key=found.key, limit=MOST_HEADS)
        ],
    )
