"""``finish-actions``: what is still to be done at a source after partitions have ended."""

from __future__ import annotations

from argparse import Namespace

from airflow_coordination.cli.actions import confirmed
from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.follow_ups import follow_up_all
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.errors import InvalidInputError
from airflow_coordination.leases.follow_up import FollowUp

SHOWN = 100
"""So many notes are printed."""


def finish_actions(context: CommandContext, args: Namespace) -> int:
    """Do what notes of a source say, or only print them, or take them away undone; 1 when some stay.

    :raises InvalidInputError: when notes are to be forgotten for no reason.
    :raises CoordinationError: when the store does not answer.
    """
    if args.forget and not args.why:
        raise InvalidInputError("--why", args.why, "is missing", "Say why with --forget; it is kept in the audit")
    coordinator = context.coordinator(args.source, args.partition_prefix)
    found = list(coordinator.follow_ups(args.key))
    print_rows([_row(note) for note in found[:SHOWN]], args.output)
    if len(found) > SHOWN:
        say(f"These are the first {SHOWN} of {len(found)}.")
    if not found:
        say("Nothing is left to be done after partitions that have ended.")
        return 0
    if args.forget:
        return _forget(coordinator, found, args)
    if args.dry_run:
        say(f"Dry run: would do what {len(found)} note(s) say, with the rights of this process. Nothing was changed.")
        return 0
    done = follow_up_all(coordinator, args.key)
    for left in done.left_alone:
        say(f"Left alone: {left}.")
    for note, error in done.failed:
        say(f"Not done for {note.key!a}: {error}")
    untried = " The others were not tried, because too many failed in a row." if done.gave_up else ""
    say(f"Done: {done.done} of {len(found)} note(s).{untried}")
    return 1 if done.failed else 0


def _forget(coordinator: SourceCoordinator, found: list[FollowUp], args: Namespace) -> int:
    if args.dry_run:
        say(f"Dry run: would forget {len(found)} note(s). Nothing was changed.")
        return 0
    if not args.yes and not confirmed(f"Forget {len(found)} note(s) without doing what they say?", coordinator.store):
        say("Nothing was changed.")
        return 0
    by = args.by or account()
    for note in found:
        coordinator.forget_follow_up(note, by, args.why)
    say(f"Done: forgot {len(found)} note(s). What they say was not done.")
    return 0


def _row(note: FollowUp) -> Row:
    return {"key": note.key, "tenure": note.token, "noted_at": note.noted_at, "what": note.text}
