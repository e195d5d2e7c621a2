"""What a change of the view would do to what readers see: counted from head records, where these are not too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from airflow_coordination.board.showing.models import Effect, ViewAction, ViewDryRunRequest
from airflow_coordination.duties.branches import showing
from airflow_coordination.duties.branches.look import BranchLook, Change, KeyLook, look_at
from airflow_coordination.duties.branches.selection import named
from airflow_coordination.duties.retention import hiding
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.planning.intervals import interval_of
from airflow_coordination.planning.view import changing
from airflow_coordination.values.input_errors import InvalidInputError

MOST_HEADS: Final = 200_000
"""Head records that a dry run reads; of more, as the planner has added them up, no rows are counted here."""
_NOT_COUNTED: Final = "Rows are not counted here: there are {:,} head records, and the command reads them all."
_CHANGES: Final = (Change.CHANGED, Change.NEW, Change.GONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What would happen.

    :param sentences: in words.
    :param effects: by dataset.
    :param counted: whether the effects were counted.
    """

    sentences: tuple[str, ...]
    effects: tuple[Effect, ...] = ()
    counted: bool = True


def foresee(coordinator: SourceCoordinator, asked: ViewDryRunRequest) -> Foreseen:
    """Return what a change would do, and change nothing.

    :raises InvalidInputError: what the change itself would raise.
    """
    if asked.action in (ViewAction.HIDE, ViewAction.RESTORE):
        return _of_interval(coordinator, asked.action, *interval_meant(asked))
    return _FORESEE[asked.action](coordinator, branch_meant(asked))


def branch_meant(asked: ViewDryRunRequest) -> int:
    """Return the branch that a request names.

    :raises InvalidInputError: when it names none.
    """
    if asked.branch is None:
        raise InvalidInputError("branch", None, "is missing", f"Name the branch to {asked.action}")
    return asked.branch


def interval_meant(asked: ViewDryRunRequest) -> tuple[str, str]:
    """Return the dataset and the interval that a request names.

    :raises InvalidInputError: when it lacks one of them.
    """
    if asked.dataset is None or asked.interval is None:
        field = "dataset" if asked.dataset is None else "interval"
        raise InvalidInputError(field, None, "is missing", f"Name the dataset, and the interval to {asked.action}")
    return asked.dataset, asked.interval


def _publish(coordinator: SourceCoordinator, number: int) -> Foreseen:
    _, found = showing.one(coordinator, number)
    showing.check_ready(coordinator, found)
    says = f"Readers would see branch {number}, all of it from one instant on; it can be rolled back until it is final."
    many = too_many(coordinator)
    if many:
        return Foreseen(sentences=(says, many), counted=False)
    look = look_at(coordinator, number)
    return Foreseen(sentences=(says, *_left_as_it_is(look)), effects=_added_up(look.of(*_CHANGES)))


def _left_as_it_is(look: BranchLook) -> list[str]:
    said = [
        (look.missing, "published nothing to {} in it: the rows that they had there stay"),
        (look.since, "published anew to {} elsewhere since: that stays, as the newest of a partition shows"),
        (look.hidden, "lie in hidden intervals of {}: their rows show when these are restored"),
    ]
    return [_told(keys, what) for keys, what in said if keys]


def _told(keys: Iterable[KeyLook], what: str) -> str:
    row = list(keys)
    datasets = ", ".join(sorted({each.dataset for each in row}))
    found = list(dict.fromkeys(each.key for each in row))
    return f"{len(found):,} partition(s) {what.format(datasets)} ({named(found)})."


def _roll_back(coordinator: SourceCoordinator, number: int) -> Foreseen:
    before = coordinator.documents.view()
    changing.rolled_back(before, number, coordinator.store.now())
    for_ever = f"Branch {number} would never come back: nobody sees what it has published, now or later."
    if number not in before.shown:
        left = _unfinished(coordinator, number)
        return Foreseen(sentences=(for_ever, "For readers nothing changes.", *left))
    many = too_many(coordinator)
    if many:
        return Foreseen(sentences=(for_ever, many), counted=False)
    look = look_at(coordinator, number)
    says = ["Readers would see again what each partition had before."]
    if look.since:
        says.append(_told(look.since, "published anew to {} since: they keep that"))
    return Foreseen(sentences=(for_ever, *says), effects=_added_up(look.of(*_CHANGES), back=True))


def _unfinished(coordinator: SourceCoordinator, number: int) -> list[str]:
    """Return how many partitions of a branch would work on for nobody."""
    _, found = showing.one(coordinator, number)
    left = found.counts.partitions - found.counts.completed
    if not left:
        return []
    return [f"{left:,} partition(s) have not completed in it: nobody would see their work, and it ends parked."]


def _finalize(coordinator: SourceCoordinator, number: int) -> Foreseen:
    changing.finalized(coordinator.documents.view(), number, coordinator.store.now())
    says = f"Branch {number} could not be rolled back any more, and what it hides may be purged."
    return Foreseen(sentences=("For readers nothing changes.", says))


def _added_up(keys: Iterable[KeyLook], *, back: bool = False) -> tuple[Effect, ...]:
    sums: dict[str, Counter[str]] = {}
    for each in keys:
        counted = sums.setdefault(each.dataset, Counter())
        counted.update(partitions=1, rows_before=each.rows_before, rows_after=each.rows_after)
        counted.update(bytes_before=each.bytes_before, bytes_after=each.bytes_after)
    return tuple(_effect(dataset, counted, back=back) for dataset, counted in sorted(sums.items()))


def _effect(dataset: str, counted: Counter[str], *, back: bool) -> Effect:
    before, after = ("after", "before") if back else ("before", "after")
    return Effect(
        dataset=dataset,
        partitions=counted["partitions"],
        rows_before=counted[f"rows_{before}"],
        rows_after=counted[f"rows_{after}"],
        bytes_before=counted[f"bytes_{before}"],
        bytes_after=counted[f"bytes_{after}"],
    )


def _of_interval(coordinator: SourceCoordinator, action: ViewAction, dataset: str, interval: str) -> Foreseen:
    hides = action is ViewAction.HIDE
    if hides:
        hiding.check_hide(coordinator, dataset, interval)
    many = too_many(coordinator, dataset)
    if many:
        _check_restorable(coordinator, dataset, interval, hides=hides)
        return Foreseen(sentences=(_says(interval, hides=hides), many), counted=False)
    would = hiding.would_hide if hides else hiding.would_restore
    found = would(coordinator, dataset, interval)
    before, after = ((found.rows, found.bytes), (0, 0)) if hides else ((0, 0), (found.rows, found.bytes))
    effect = Effect(
        dataset=dataset,
        partitions=found.partitions,
        rows_before=before[0],
        rows_after=after[0],
        bytes_before=before[1],
        bytes_after=after[1],
    )
    says = [_says(interval, hides=hides)]
    if hides and found.sticking_out:
        says.append(f"{found.sticking_out:,} partition(s) overlap it without lying in it, and stay.")
    if hides and found.timeless:
        says.append(f"{found.timeless:,} partition(s) have no interval, and stay.")
    if not hides:
        says += _hidden_again(coordinator, dataset, found)
    return Foreseen(sentences=tuple(says), effects=(effect,) if found.partitions else ())


def _says(interval: str, *, hides: bool) -> str:
    if hides:
        return f"Readers would not see what lies in {interval}, nor what is published there later. Nothing is deleted."
    return f"Readers would see again what lies in {interval}, whoever has hidden it."


def _check_restorable(coordinator: SourceCoordinator, dataset: str, interval: str, *, hides: bool) -> None:
    if not hides:
        changing.restored(coordinator.documents.view(), dataset, interval_of("interval", interval))


def _hidden_again(coordinator: SourceCoordinator, dataset: str, found: hiding.Effect) -> list[str]:
    """Return what rules would do to what comes back."""
    return [
        f"{rule} would hide {number:,} of its intervals again, as soon as rules are applied."
        for rule, number in hiding.hidden_again(coordinator, dataset, found)
    ]


def too_many(coordinator: SourceCoordinator, dataset: str | None = None) -> str | None:
    """Return that there are too many head records for a page, ``None`` where there are not, or nobody knows."""
    known = sum(each.heads or 0 for each in coordinator.looking.chunks.totals(dataset))
    return _NOT_COUNTED.format(known) if known > MOST_HEADS else None


_FORESEE: Final = {
    ViewAction.PUBLISH: _publish,
    ViewAction.ROLL_BACK: _roll_back,
    ViewAction.FINALIZE: _finalize,
}
