"""``branches …``: partitions run again aside, and are shown together, or not at all."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Final

from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.cli.subcommands.acting import agreed
from airflow_coordination.duties.branches import beginning, retiring, showing
from airflow_coordination.duties.branches.selection import Selection, named
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.values.input_errors import InvalidInputError

_ALSO: Final = ("even_if_it_reopens", "even_if_it_never_ran")
"""What a person says to take in partitions that a branch does not have otherwise."""


def begin(context: CommandContext, args: Namespace) -> None:
    """Reset partitions into a branch, after showing which.

    :raises InvalidInputError: when some of them are in its way: which, and what to do.
    :raises SettingsError: while older code may open the store.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    given = args.key or args.key_prefix or args.interval or args.all or args.empty
    selection = _selection(args) if given or args.branch is None else None
    told = {"branch": args.branch} | {name: getattr(args, name) for name in _ALSO}
    try:
        chosen, meant = beginning.look(coordinator, selection, **told)
    except InvalidInputError as error:
        raise _as_options(error) from error
    row: Row = {
        "branch": args.branch or "a new one",
        "partitions": len(meant.partitions),
        "there": meant.there,
        "running": meant.running,
        "retired": meant.retired,
        "never_ran": meant.never_ran,
        "interval": None if meant.interval is None else str(meant.interval),
    }
    print_rows([row], args.output)
    if meant.running:
        say(f"{meant.running} of them are held: their owners lose the lease, and what they do does not count.")
    if meant.retired:
        say(f"{meant.retired} are left out: others stand for their rows.")
    if meant.never_ran:
        left = f"{meant.never_ran} are left out: they have completed nowhere yet, and run as ever"
        say(f"{left}. --even-if-it-never-ran takes them in.")
    about = f"{len(meant.partitions)} partition(s) of source {args.source} ({chosen}) run again in a branch"
    if not agreed(args, f"let {about}", f"Let {about}? Readers see no change before it is published.", context.store):
        return
    done = beginning.begin(coordinator, chosen, args.by or account(), args.why, then=args.then, **told)
    say(f"Done: branch {done.number} of source {args.source} has {done.partitions} partition(s); {done.reset} reset.")
    say(f"When all have completed: {typed(coordinator, 'branches publish', str(done.number))}")


def _selection(args: Namespace) -> Selection:
    return Selection(
        keys=tuple(args.key),
        prefix=args.key_prefix,
        interval=args.interval,
        dataset=args.dataset,
        everything=args.all,
        nothing=getattr(args, "empty", False),
    )


def _as_options(error: InvalidInputError) -> InvalidInputError:
    """Return an error that says what to type in the place of what to pass."""
    remedy = error.remedy
    for name in _ALSO:
        remedy = remedy.replace(name, f"--{name.replace('_', '-')}")
    return type(error)(error.field, error.value, error.problem, remedy)


def status(context: CommandContext, args: Namespace) -> None:
    """Print how far each branch of a source is, and what it waits for."""
    coordinator = context.coordinator(args.source, args.partition_prefix)
    print_rows([_row(each) for each in showing.status(coordinator)], args.output)


def _row(found: showing.BranchStatus) -> Row:
    branch, counts = found.branch, found.counts
    return {
        "branch": branch.number,
        "state": str(branch.state),
        "partitions": counts.partitions,
        "completed": counts.completed,
        "parked": counts.parked,
        "waits_for": found.waits_for or None,
        "selection": ", ".join(f"{name} {value}" for name, value in branch.selection.items()),
        "interval": None if branch.interval is None else str(branch.interval),
        "by": branch.by,
        "at": branch.at,
        "changed_at": branch.changed_at,
        "why": branch.why,
    }


def publish(context: CommandContext, args: Namespace) -> None:
    """Let readers see a branch, after showing what changes for them.

    :raises InvalidInputError: when something is missing: what, and what to do.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    found = showing.preview(coordinator, args.number)
    showing.check_ready(coordinator, found.status)
    print_rows([_change(each) for each in found.datasets], args.output)
    _tell_missing(found.missing, empty=args.empty_missing)
    about = f"branch {args.number} of source {args.source}"
    if not agreed(args, f"publish {about}", f"Publish {about}? Readers see all of it at once.", context.store):
        return
    by = args.by or account()
    showing.publish(coordinator, args.number, by, args.why, empty_missing=args.empty_missing)
    say(f"Done: published {about}. To take it back: {typed(coordinator, 'branches roll-back', str(args.number))}")


def _change(change: showing.DatasetChange) -> Row:
    names = ("dataset", "partitions", "rows_before", "rows_after", "bytes_before", "bytes_after")
    return {name: getattr(change, name) for name in names}


def _tell_missing(missing: Sequence[showing.Missing], *, empty: bool) -> None:
    if not missing:
        return
    keys = named(each.key for each in missing)
    datasets = ", ".join(sorted({dataset for each in missing for dataset in each.datasets}))
    said = f"{len(missing)} partition(s) have published nothing to {datasets} in it: {keys}."
    say(f"{said} They {'have nothing there then.' if empty else 'keep their old rows. --empty-missing drops them.'}")


def roll_back(context: CommandContext, args: Namespace) -> None:
    """Let nobody see a branch any more, after showing what stays.

    :raises InvalidInputError: when it is final, or was rolled back before.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    foreseen = showing.foresee_roll_back(coordinator, args.number)
    since: list[Row] = [{"key": key, "keeps": "what it has published since"} for key in foreseen.kept]
    unseen: list[Row] = [{"key": key, "keeps": "nothing: it has published nowhere else"} for key in foreseen.unseen]
    print_rows(since + unseen, args.output)
    about = f"branch {args.number} of source {args.source}"
    question = f"Roll {about} back? It never comes back, and its partitions have what they had before."
    if not agreed(args, f"roll {about} back", question, context.store):
        return
    done = showing.roll_back(coordinator, args.number, args.by or account(), args.why)
    say(f"Done: rolled {about} back. {len(done.kept)} partition(s) have published since, and keep that.")
    _tell_left(coordinator, done)
    _tell_unseen(coordinator, done)


def _tell_left(coordinator: SourceCoordinator, done: showing.RolledBack) -> None:
    if not done.left:
        return
    say(f"{len(done.left)} partition(s) of it have not completed, and would be parked: {named(done.left)}.")
    say(f"To leave such a one with what it has published before: {typed(coordinator, 'finish', done.left[0])}")
    say(f"To let it run outside of any branch: {typed(coordinator, 'reset', done.left[0])}")


def _tell_unseen(coordinator: SourceCoordinator, done: showing.RolledBack) -> None:
    if not done.unseen:
        return
    say(f"Readers see nothing of {len(done.unseen)} partition(s), which published nowhere else: {named(done.unseen)}.")
    say(f"Nothing runs them again by itself. To let one do so: {typed(coordinator, 'reset', done.unseen[0])}")


def finalize(context: CommandContext, args: Namespace) -> None:
    """Let a branch show for good.

    :raises InvalidInputError: when it does not show.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    _, found = showing.one(coordinator, args.number)
    print_rows([_row(found)], args.output)
    about = f"branch {args.number} of source {args.source}"
    question = f"Make {about} final? It cannot be rolled back any more, and what it hides may be purged."
    if not agreed(args, f"make {about} final", question, context.store):
        return
    showing.finalize(coordinator, args.number, args.by or account(), args.why)
    say(f"Done: {about} is final.")


def retire(context: CommandContext, args: Namespace) -> None:
    """Let partitions have nothing in a branch, because others in it stand for their rows, after showing which.

    :raises SettingsError: when none are named.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    selection = _selection(args)
    found = retiring.look(coordinator, args.number, selection)
    first, last = (found[0].key, found[-1].key) if found else (None, None)
    print_rows([{"branch": args.number, "partitions": len(found), "first": first, "last": last}], args.output)
    about = f"{len(found)} partition(s) of source {args.source} in branch {args.number}"
    question = f"Retire {about}? When it is published, readers see none of their rows."
    if not agreed(args, f"retire {about}", question, context.store):
        return
    done = retiring.retire(coordinator, args.number, selection, args.by or account(), args.why)
    say(f"Done: retired {done.retired} of {about}; {done.partitions - done.retired} were so already.")
