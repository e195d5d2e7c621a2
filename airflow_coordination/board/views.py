"""The views: what was read, in the words of the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

from airflow_coordination.board.counting import Counted
from airflow_coordination.board.models import (
    CountView,
    EventView,
    ExplanationView,
    HeadView,
    HoldingView,
    NeedView,
    Numbers,
    Offer,
    PartitionRow,
    PartitionView,
    RelativeView,
    SourceView,
    State,
    TaskView,
)
from airflow_coordination.board.showing.notes import branch_note, why_unseen
from airflow_coordination.board.visibility import VisibleSource
from airflow_coordination.delivery.again.balance import lines_beside
from airflow_coordination.leases.explaining.explanation import Explanation
from airflow_coordination.leases.explaining.facts import MOST_HEADS
from airflow_coordination.leases.explaining.wording import UNREADABLE, records_told
from airflow_coordination.monitoring.acting import offered
from airflow_coordination.monitoring.owners import NO_GRACE, Holding
from airflow_coordination.monitoring.states import by_state, word_of
from airflow_coordination.monitoring.summaries import lines, summary, unbalanced
from airflow_coordination.monitoring.timeline import Event, Timeline
from airflow_coordination.outputs.heads.showing import read_view
from airflow_coordination.planning.view.view import EMPTY, View
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.writes import Action
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.fence import Owner
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import split_dataset, split_source

_PARENTS: Final = 3
"""So many parents that a blocked partition waits for are named in a list."""
MOST_CHILDREN: Final = 20
"""The most children of a partition that are shown; it has at most 16 parents."""
FINAL: Final = frozenset({Action.RESET, Action.FINISH, Action.RETRACT})
"""What cannot be taken back: it ends work, or takes rows from readers."""


def source_view(connection: str, seen: VisibleSource, counted: Counted | None) -> SourceView:
    """Return a source, in numbers if it was counted."""
    prefix, name, _ = split_source(seen.identifier)
    return SourceView(
        store=connection,
        source=seen.identifier,
        name=name,
        prefix=prefix,
        dags=sorted(seen.dags),
        may_act=seen.may_act,
        numbers=_numbers(counted) if counted else None,
        trouble=counted.trouble if counted else None,
        said=counted.said if counted else None,
        owners=counted.owners if counted else None,
        all_owners=counted.all_owners if counted else True,
    )


def need_views(source: SourceView, counted: Counted | None) -> list[NeedView]:
    """Return what only a person can move in a source that the user sees."""
    if counted is None:
        return []
    where = {"store": source.store, "source": source.source, "name": source.name, "now": counted.now}
    return [NeedView.model_validate({**where, **asdict(need)}) for need in counted.needs]


def _numbers(counted: Counted) -> Numbers:
    outlook = counted.outlook
    return Numbers(
        counts={State(state): count for state, count in by_state(counted.counts, outlook).items()},
        in_words=counted.in_words,
        claimable=outlook.claimable,
        overdue=outlook.overdue,
        next_due=outlook.next_due,
        oldest_claimable=None if outlook.oldest_claimable is None else outlook.oldest_claimable.total_seconds(),
        pause=str(outlook.pause) if outlook.paused else None,
        now=counted.now,
        counted_at=counted.at,
    )


def row(partition: Partition, now: datetime, view: View, grace: timedelta = NO_GRACE) -> PartitionRow:
    """Return a partition in a list.

    :param now: the store's clock.
    :param view: from :func:`~.showing.notes.view_for`.
    :param grace: of those who work through the connection.
    """
    told = summary(partition, now, grace)
    waits_for = list(partition.waits_for[:_PARENTS]) if partition.blocked else []
    seen = {"word": word_of(partition, now), "since": partition.updated_at, "waits_for": waits_for}
    return PartitionRow.model_validate({**told, **seen, "branch": branch_note(view, partition.branch)})


def holding_view(held: Holding, view: View) -> HoldingView:
    """Return one partition in somebody's hands.

    :param view: of its source, if one of those that are shown runs in a branch.
    """
    return HoldingView(
        key=held.key,
        owner=held.owner,
        task=task_view(held.owner),
        since=held.since,
        wrote_at=held.wrote_at,
        heard=held.heard,
        expires_at=held.expires_at,
        expired=held.expired,
        late=held.late,
        branch=branch_note(view, held.branch),
        sign_at=held.sign_at,
        silent=held.silent,
        **_spark(held.facts),
    )


def _event_view(event: Event) -> EventView:
    return EventView(
        at=event.at,
        since=event.since,
        what=event.what,
        who=event.who,
        task=task_view(event.who),
        why=event.why,
        rows=event.tenure.rows if event.tenure else None,
        records=records_told(event.tenure) if event.tenure else None,
        **_spark(event.owner_facts),
    )


def task_view(owner: str | None) -> TaskView | None:
    """Return the task instance that an owner is, ``None`` for anybody else."""
    found = Owner(owner).instance if owner else None
    return TaskView(**asdict(found)) if found else None


def _spark(facts: Mapping[str, Any]) -> dict[str, str | None]:
    """Return which Spark application a driver has said to be, and where it is watched."""
    return {"application": _text(facts.get("application")), "spark_url": _address(facts.get("url"))}


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _address(value: object) -> str | None:
    """Return what a driver has said of its address, if a browser only goes there by it."""
    text = _text(value) or ""
    return text if text.startswith(("http://", "https://")) else None


def offers(store: PartitionStore, seen: VisibleSource) -> list[Offer]:
    """Return what the user may do to partitions; nothing where the user may not act."""
    found = offered().items() if seen.may_act else ()
    return [Offer(action=action, does=does, final=action in FINAL) for action, does in found]


def _offers_of(
    store: PartitionStore, seen: VisibleSource, partition: Partition, advised: str | None, published: bool
) -> list[Offer]:
    """Return what the user may do to a partition: only what can do something, and which of it is advised.

    :param advised: the command that its explanation says one should type.
    :param published: whether there is something that could be taken back.
    """
    found = offered(partition).items() if seen.may_act else ()
    shell = remedies.shell_of(store)
    typed = {action: remedies.about(shell, action.value, seen.identifier, partition.key) for action, _ in found}
    return [
        Offer(action=action, does=does, typed=typed[action], advised=typed[action] == advised, final=action in FINAL)
        for action, does in found
        if not (action is Action.RETRACT and not published)
        if not (action is Action.PARK and partition.parked)
    ]


def partition_view(
    store: PartitionStore,
    found: Partition,
    seen: VisibleSource,
    why: Explanation,
    happened: Timeline,
    now: datetime,
    grace: timedelta,
) -> PartitionView:
    """Return one partition with what happened to it and its head records.

    :param grace: of those who work through the connection.
    """
    heads = store.heads(found.source, key=found.key, limit=MOST_HEADS)
    children = store.children(found.source, found.key, None, MOST_CHILDREN + 1)
    view = read_view(store, found.source) if heads or found.branch is not None else EMPTY
    return PartitionView(
        summary=row(found, now, view, grace),
        explanation=ExplanationView(reason=why.reason, sentence=why.sentence, next=why.next, command=why.command),
        offers=_offers_of(store, seen, found, why.command, any(head.blocks for head in heads)),
        typed=remedies.about(remedies.shell_of(store), "explain", found.source, found.key),
        priority=found.priority,
        fence=str(found.fence) if found.fence else None,
        max_lost_leases=found.max_lost_leases,
        payload=found.payload_text,
        progress=found.progress_text,
        available_at=found.available_at,
        reopen_at=found.reopen_at,
        created_at=found.created_at,
        updated_at=found.updated_at,
        events=[_event_view(event) for event in happened.events],
        heads=[_head_view(head, view, heads) for head in heads],
        accounting=_counted(store, found),
        unbalanced=_unbalanced(found),
        parents=_parents(store, found, now),
        children=[_relative(each, now, found.key in each.waits_for) for each in children[:MOST_CHILDREN]],
        all_children=len(children) <= MOST_CHILDREN,
    )


def _parents(store: PartitionStore, found: Partition, now: datetime) -> list[RelativeView]:
    read = ((key, store.get(found.source, key)) for key in found.parents)
    return [
        _relative(parent, now, key in found.waits_for)
        if parent and not parent.deleted
        else RelativeView(key=key, word=None, waits=key in found.waits_for)
        for key, parent in read
    ]


def _relative(partition: Partition, now: datetime, waits: bool) -> RelativeView:
    return RelativeView(key=partition.key, word=word_of(partition, now), waits=waits)


def _head_view(head: HeadRecord, view: View, heads: Sequence[HeadRecord]) -> HeadView:
    branch, dataset = split_dataset(head.dataset)
    return HeadView(
        dataset=dataset,
        branch=branch_note(view, branch),
        unseen=why_unseen(view, head, heads),
        blocks=len(head.blocks),
        rows=head.rows,
        bytes=head.bytes,
        token=head.token,
        published_at=head.published_at,
        records=records_told(head),
    )


def _counted(store: PartitionStore, partition: Partition) -> list[CountView]:
    """Return the counts of a partition, and behind them what became of its dead letters."""
    unreadable = CountView(count=UNREADABLE, sink=None, records=None)
    if records_told(partition) == UNREADABLE:
        return [unreadable]
    counts = count_views(partition.accounting) if partition.accounting else []
    try:
        return [*counts, *(CountView(**asdict(line)) for line in lines_beside(store, partition))]
    except InvalidInputError:  # of a partition that delivers them again
        return [*counts, unreadable]


def _unbalanced(partition: Partition) -> list[str]:
    unreadable = records_told(partition) == UNREADABLE
    return [] if unreadable or partition.accounting is None else unbalanced(partition.accounting)


def count_views(counted: Accounting) -> list[CountView]:
    """Return what became of records: of all of them, then of what each sink was owed."""
    return [CountView(**asdict(line)) for line in lines(counted)]
