"""One source in detail: how fast, until when, who, what failed, what one might set; from 2,000 rows of it at most."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board import pausing
from airflow_coordination.board.counting import COUNTER, HELD, PARKED
from airflow_coordination.board.reading import Read
from airflow_coordination.board.source_models import (
    AdviceView,
    ErrorView,
    PaceView,
    SourceDetail,
    SupplierView,
    WorkerView,
)
from airflow_coordination.board.views import task_view
from airflow_coordination.board.visibility import coordinator_of, open_visible
from airflow_coordination.monitoring.advice import advise
from airflow_coordination.monitoring.owners import Holding, owners
from airflow_coordination.monitoring.progress import Progress
from airflow_coordination.monitoring.summaries import ErrorGroup, grouped
from airflow_coordination.monitoring.throughput import Lately, lately
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.values.names import compose_source, split_source
from airflow_coordination.values.status import PartitionStatus

TENURES: Final = 1_000
LEFT: Final = 100
"""The most rows of each that one look reads, beside leases and parked partitions."""
SHOWN: Final = 5
"""The most owners that are shown, live ones first, then those with most; of the others, their number."""
ERRORS: Final = 100
"""The most errors that are told, those that most have first; of the others, their number."""


def detail(user: BaseUser, connection: str, source: str) -> Read[SourceDetail]:
    """Return one source in detail.

    :raises NotVisibleError: when the user does not see such a source.
    :raises StoreDoesNotAnswerError: when the store does not.
    """
    with open_visible(user, connection, source) as (store, seen):
        counted = COUNTER.latest(store, [source]).get(source)
        held = owners(store, source, HELD)
        known = lately(coordinator_of(user, store, seen), held.now, TENURES)
        outlook = counted.outlook if counted else None
        notes = parts_of(store).follow_ups
        left = () if notes is None else notes.follow_ups(source, None, None, LEFT)
        parked = store.page(source, PartitionStatus.CLOSED, None, PARKED, parked=True)
        errors = [_error_view(each) for each in grouped(parked)]
        workers = _workers(held.held)
        body = SourceDetail(
            since=known.since if known else None,
            whole=known is not None and known.whole,
            pace=_pace(known, outlook) if known and outlook else None,
            advice=_advice(known, held.held, outlook) if known and outlook else [],
            owners=workers[:SHOWN],
            more_owners=len(workers[SHOWN:]),
            looked_at_all_owners=held.after is None,
            errors=errors[:ERRORS],
            more_errors=len(errors[ERRORS:]),
            looked_at_all_parked=len(parked) < PARKED,
            supplier=_supplier(store, source),
            acquired_at=_last_acquired(known, held.held),
            spent=known.spent if known and known.past else None,
            pausing=pausing.offered(user, store, seen),
            may_act=seen.may_act,
            in_words=counted.in_words if counted else None,
            trouble=counted.trouble if counted else None,
            said=counted.said if counted else None,
            left_to_do=len(left),
            looked_at_all_left=len(left) < LEFT,
            finishing=remedies.about(remedies.shell_of(store), "finish-actions", source),
        )
        return Read(body, held.now)


def _error_view(group: ErrorGroup) -> ErrorView:
    return ErrorView(
        error=group.error,
        like=group.like or None,
        alike=group.alike,
        number=group.number,
        since=group.since,
        last=group.last,
    )


def _pace(known: Lately, outlook: Outlook) -> PaceView | None:
    rate = known.rate()
    if rate is None:
        return None
    seen = Progress(outlook, rate)
    return PaceView(
        per_minute=rate.per_minute,
        least=rate.least,
        most=rate.most,
        seconds=_seconds(seen.remaining),
        soonest=_seconds(seen.soonest),
        latest=_seconds(seen.latest),
        sentence=seen.ahead,
    )


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else duration.total_seconds()


def _advice(known: Lately, held: Sequence[Holding], outlook: Outlook) -> list[AdviceView]:
    found = advise(known, held, outlook)
    return [AdviceView(kind=each.kind, about=each.about, sentence=each.sentence) for each in found]


def _workers(held: Sequence[Holding]) -> list[WorkerView]:
    """Return who holds how many: who lives first, then those with most, and last of all who has fallen silent."""
    by_owner: dict[str, list[Holding]] = {}
    for each in held:
        by_owner.setdefault(each.owner, []).append(each)
    found = [
        WorkerView(owner=owner, task=task_view(owner), held=len(mine), expired=sum(each.expired for each in mine))
        for owner, mine in by_owner.items()
    ]
    return sorted(found, key=lambda one: (one.expired == one.held, -one.held, one.owner))


def _supplier(store: PartitionStore, source: str) -> SupplierView | None:
    """Return what the global state tells of the supplier; nothing of a source that has none."""
    prefix, name, _ = split_source(source)
    for state in store.page(compose_source(name, prefix, "GLOBAL_STATE"), None, None, 1):
        holder = state.owner if state.status is PartitionStatus.ASSIGNED else None
        return SupplierView(at=state.updated_at, owner=holder, task=task_view(holder))
    return None


def _last_acquired(known: Lately | None, held: Sequence[Holding]) -> datetime | None:
    moments = [each.since for each in held] + [each.acquired_at for each in (known.past if known else ())]
    return max(filter(None, moments), default=None)
