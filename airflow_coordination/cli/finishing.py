"""``finish-actions``: what is still to be done at a source after partitions have ended."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter

from airflow_coordination.cli.actions import agreed
from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.duties.follow_ups import follow_up_notes, told
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.systems.kafka.offsets import options_in
from airflow_coordination.systems.rights import FollowUpRights
from airflow_coordination.values.input_errors import InvalidInputError

SHOWN = 100
"""So many notes are printed."""


def finish_actions(context: CommandContext, args: Namespace) -> int:
    """Do what notes of a source say, or only print them, or take them away undone; 1 when some stay.

    A note is in the store, and whoever may write there may have written it; so they are shown and asked about first.

    :raises InvalidInputError: when notes are to be forgotten for no reason.
    :raises CoordinationError: when the store does not answer.
    """
    if args.forget and not args.why:
        raise InvalidInputError("--why", args.why, "is missing", "Say why with --forget; it is kept in the audit")
    coordinator = context.coordinator(args.source, args.partition_prefix)
    found = list(coordinator.follow_ups(args.key))
    _show(found, args)
    if not found:
        say("Nothing is left to be done after partitions that have ended.")
        return 0
    if args.forget:
        return _forget(coordinator, found, args)
    return _do(coordinator, found, args)


def _show(found: list[FollowUp], args: Namespace) -> None:
    print_rows([_row(note) for note in found[:SHOWN]], args.output)
    if len(found) > SHOWN:
        say(f"These are the first {SHOWN} of {len(found)}. All of them together say:")
        for what, number in Counter(told(note) for note in found).most_common():
            say(f"  {what} ({number})")


def _do(coordinator: SourceCoordinator, found: list[FollowUp], args: Namespace) -> int:
    """Do what was shown, and no note that has come since."""
    options = options_in(args.options_from) if args.options_from and not args.dry_run else {}
    what = f"o what {len(found)} note(s) say, with the rights of this process"
    if not agreed(args, f"d{what}", f"D{what}?", coordinator.store):
        return 0
    done = follow_up_notes(coordinator, found, FollowUpRights.of_a_person(options))
    for left in done.left_alone:
        say(f"Left alone: {left}.")
    for note, error in done.failed:
        say(f"Not done for {note.key!a}: {error}")
    untried = " Others were not tried, because too many failed in a row." if done.gave_up else ""
    say(f"Done: {done.done} of {len(found)} note(s).{untried}")
    return 1 if done.done < len(found) else 0


def _forget(coordinator: SourceCoordinator, found: list[FollowUp], args: Namespace) -> int:
    notes = f"{len(found)} note(s)"
    if not agreed(args, f"forget {notes}", f"Forget {notes} without doing what they say?", coordinator.store):
        return 0
    by = args.by or account()
    for note in found:
        coordinator.forget_follow_up(note, by, args.why)
    say(f"Done: forgot {len(found)} note(s). What they say was not done.")
    return 0


def _row(note: FollowUp) -> Row:
    said = {"key": note.key, "tenure": note.token, "noted_at": note.noted_at}
    return {**said, "to_do": told(note), "what": note.text}
