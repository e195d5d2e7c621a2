"""Branches and hidden intervals of a source: read from its view and from counts by branch, never from head records."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.reading import Read
from airflow_coordination.board.showing import offering
from airflow_coordination.board.showing.counting import BRANCHES
from airflow_coordination.board.showing.models import BranchView, HiddenView, ViewPage
from airflow_coordination.board.visibility import VisibleSource, open_visible
from airflow_coordination.outputs.heads.showing import view_document
from airflow_coordination.planning.intervals import newest_first
from airflow_coordination.planning.unused.deleting import BUFFER, RETAIN
from airflow_coordination.planning.view.view import Branch, BranchState, Hidden, View
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.beside.documents import ABSENT, BranchCounts
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.names import check_key

MOST_COUNTED: Final = 10
"""Branches that have begun of which one look counts how far they are, the newest."""
_PURGING: Final = "It is being deleted, and cannot be restored."
_RESTORABLE: Final = "It can be restored until a purge marks it, which with the default margins {}."
_WAITS_FOR: Final = {
    BranchState.PUBLISHED: "Readers see it; it can be rolled back until it is final.",
    BranchState.FINAL: "Readers see it for good: what it hides may be emptied.",
    BranchState.ROLLED_BACK: "Readers do not see it, and never will.",
}


def view_page(user: BaseUser, connection: str, source: str, dataset: str | None) -> Read[ViewPage]:
    """Return what readers see of a source.

    :param dataset: only what is hidden of this one.
    :raises NotVisibleError: when the user does not see such a source.
    :raises StoreDoesNotAnswerError: when the store does not.
    """
    if dataset is not None:
        check_key(dataset, "dataset", MAX_DATASET_BYTES)
    with open_visible(user, connection, source) as (store, seen):
        now, document = store.now(), view_document(store, source)
        view = View.said_by(document)
        hidden = [each for each in view.hidden if dataset in (None, each.dataset)]
        kept = parts_of(store).documents is not None
        body = ViewPage(
            kept=kept,
            version=document.version if document else ABSENT,
            author=document.author if document else None,
            why=document.comment if document else None,
            changed_at=document.at if document else None,
            branches=branch_views(store, seen, view, reversed(view.branches)),
            hidden=[
                _hidden(store, seen, each, now) for each in sorted(hidden, key=lambda each: newest_first(each.interval))
            ],
            offers=offering.of_dataset(store, source, dataset) if kept and seen.may_act else [],
            typed=remedies.about(remedies.shell_of(store), "branches status", source),
        )
        return Read(body, now)


def begun(store: PartitionStore, seen: VisibleSource, view: View) -> list[BranchView]:
    """Return the branches that have begun, the newest first."""
    return branch_views(store, seen, view, (branch for branch in reversed(view.branches) if branch.begun))


def branch_views(
    store: PartitionStore, seen: VisibleSource, view: View, branches: Iterable[Branch]
) -> list[BranchView]:
    """Return branches with how far they are: those that wait for something are counted."""
    counted = {each.number for each in [each for each in view.branches if each.begun][-MOST_COUNTED:]}
    return [
        _branch(
            store,
            seen,
            branch,
            BRANCHES.counts(store, seen.identifier, branch.number) if branch.number in counted else None,
        )
        for branch in branches
    ]


def _branch(store: PartitionStore, seen: VisibleSource, branch: Branch, counts: BranchCounts | None) -> BranchView:
    return BranchView(
        number=branch.number,
        state=branch.state.value,
        selection=json.dumps(dict(branch.selection), ensure_ascii=False),
        interval=None if branch.interval is None else str(branch.interval),
        expected=branch.expected,
        partitions=None if counts is None else counts.partitions,
        completed=None if counts is None else counts.completed,
        parked=None if counts is None else counts.parked,
        sentence=_waits_for(branch, counts),
        by=branch.by,
        why=branch.why,
        at=branch.at,
        changed_at=branch.changed_at,
        offers=offering.of_branch(store, seen.identifier, branch, counts) if seen.may_act else [],
    )


def _waits_for(branch: Branch, counts: BranchCounts | None) -> str:
    if not branch.begun:
        return _WAITS_FOR[branch.state]
    if branch.expected is None:
        so_far = "" if counts is None else f" ({counts.partitions:,} so far)"
        return f"Its partitions are still being reset into it{so_far}, or whoever began it was interrupted."
    if counts is None:
        return f"It has {branch.expected:,} partitions; readers see none of it until it is published."
    said = [f"{counts.completed:,} of {branch.expected:,} partitions completed"]
    if counts.parked:
        said.append(f"{counts.parked:,} parked")
    if counts.partitions < branch.expected:
        said.append(f"{branch.expected - counts.partitions:,} not in it any more")
    if branch.retiring is not None:
        said.append("others are still being retired in it")
    return f"{', '.join(said)}."


def _hidden(store: PartitionStore, seen: VisibleSource, hidden: Hidden, now: datetime) -> HiddenView:
    until = None if hidden.purging else _restorable_until(hidden)
    return HiddenView(
        dataset=hidden.dataset,
        interval=str(hidden.interval),
        start=hidden.interval.start,
        end=hidden.interval.end,
        state=hidden.state.value,
        since=hidden.since,
        by=hidden.by,
        why=hidden.why,
        sentence=_PURGING if until is None else _restorable(until, now),
        restorable_until=until,
        offers=offering.of_hidden(store, seen.identifier, hidden) if seen.may_act else [],
    )


def _restorable(until: datetime, now: datetime) -> str:
    return _RESTORABLE.format("one may do now" if until <= now else f"none does before {until:%Y-%m-%d}")


def _restorable_until(hidden: Hidden) -> datetime:
    """Return until when no purge with the default margins takes an interval: both of them have to be over."""
    return max(BUFFER.after(hidden.since), RETAIN.after(hidden.interval.end))
