"""What people may do to what readers see, each with what it does and the command that does the same."""

from __future__ import annotations

from typing import Final

from airflow_coordination.board.models import Offer
from airflow_coordination.board.showing.models import ViewAction
from airflow_coordination.planning.view.view import Branch, BranchState, Hidden
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.beside.documents import BranchCounts
from airflow_coordination.protocol.port import PartitionStore

_DOES: Final = {
    ViewAction.PUBLISH: "Let readers see the branch, all of it from one instant on",
    ViewAction.ROLL_BACK: "Let nobody see the branch, now and for ever; each partition has again what it had",
    ViewAction.FINALIZE: "Let the branch show for good: no roll back any more, and what it hides may be purged",
    ViewAction.HIDE: "Hide what lies in an interval from all readers, until somebody restores it",
    ViewAction.RESTORE: "Let readers see again what is hidden here",
}
_COMMANDS: Final = {
    ViewAction.PUBLISH: "branches publish",
    ViewAction.ROLL_BACK: "branches roll-back",
    ViewAction.FINALIZE: "branches finalize",
    ViewAction.HIDE: "outputs hide",
    ViewAction.RESTORE: "outputs restore",
}
_FITS: Final = {
    BranchState.BEGUN: (ViewAction.PUBLISH, ViewAction.ROLL_BACK),
    BranchState.PUBLISHED: (ViewAction.ROLL_BACK, ViewAction.FINALIZE),
}
_ANY: Final = "…"
"""Stands in a command for what is still to be said."""


def of_branch(store: PartitionStore, source: str, branch: Branch, counts: BranchCounts | None) -> list[Offer]:
    """Return what fits a branch now: one is published when nothing is missing.

    :param source: the stored identifier.
    :param counts: how far its partitions are, where that was counted: else a dry run says whether something is missing.
    """
    ready = counts is None or is_ready(branch, counts)
    fits = (action for action in _FITS.get(branch.state, ()) if ready or action is not ViewAction.PUBLISH)
    return [_offer(action, typed(store, source, action, branch.number)) for action in fits]


def is_ready(branch: Branch, counts: BranchCounts) -> bool:
    """Return whether a branch that has begun can be published."""
    whole = branch.expected is not None and branch.retiring is None and counts.partitions >= branch.expected
    return whole and 0 < counts.partitions == counts.completed


def of_hidden(store: PartitionStore, source: str, hidden: Hidden) -> list[Offer]:
    """Return what fits a hidden interval now."""
    if hidden.purging:
        return []
    action = ViewAction.RESTORE
    return [_offer(action, typed(store, source, action, dataset=hidden.dataset, interval=str(hidden.interval)))]


def of_dataset(store: PartitionStore, source: str, dataset: str | None) -> list[Offer]:
    """Return what one may do to a dataset; nothing where none is meant."""
    if dataset is None:
        return []
    return [_offer(ViewAction.HIDE, typed(store, source, ViewAction.HIDE, dataset=dataset))]


def _offer(action: ViewAction, command: str) -> Offer:
    return Offer(action=action.value, does=_DOES[action], typed=command)


def typed(
    store: PartitionStore,
    source: str,
    action: ViewAction,
    branch: int | None = None,
    dataset: str | None = None,
    interval: str | None = None,
) -> str:
    """Return the command that does the same.

    :param source: the stored identifier.
    """
    shell, name = remedies.shell_of(store), _COMMANDS[action]
    if action not in (ViewAction.HIDE, ViewAction.RESTORE):
        return remedies.about(shell, name, source, _ANY if branch is None else str(branch))
    options = ["--dataset", dataset or _ANY, "--why", remedies.WHY, "--yes"]
    return remedies.about(shell, name, source, interval or _ANY, options=options)
