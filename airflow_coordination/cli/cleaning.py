"""``cleanup``: removing finished parents that nobody needs any more."""

from __future__ import annotations

import re
from argparse import Namespace
from datetime import timedelta
from functools import partial
from typing import Final

from airflow_coordination.cli.actions import agreed
from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.output import say
from airflow_coordination.leases.cleaning import CleanedUp
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.values.input_errors import SettingsError, shown

NAMED: Final = 10
"""So many of those that go are named."""
_AGE: Final = re.compile(r"(\d{1,6})([hd])")


def clean_up(context: CommandContext, args: Namespace) -> None:
    """Remove what may go, portion by portion; killed, it goes on when it is called again.

    :raises SettingsError: when the age is none, or there is nobody to ask.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    every = partial(_every, coordinator, args, age_of(args.clean_after))
    found = every(dry_run=True)
    about = f"{len(found.keys)} finished parent(s) of source {args.source}{_names(found)}"
    question = f"Clean up {about}? Whoever names one of them as a partition creates it anew."
    if (found.keys or args.dry_run) and not agreed(args, f"clean up {about}", question, context.store):
        return
    done = every(dry_run=False) if found.keys else found
    left = f" {len(done.changed)} had changed meanwhile and were left." if done.changed else ""
    say(f"Done: cleaned up {len(done.keys)} finished parent(s) of source {args.source}.{left}")


def age_of(text: str, option: str = "--clean-after") -> timedelta:
    """Return the duration that ``text`` says, in hours or days.

    :param option: how the error names it.
    :raises SettingsError: when it says none.
    """
    if not (age := _AGE.fullmatch(text)):
        raise SettingsError(option, text, "is no age", "Write a number of hours or days: 36h, 2d")
    return timedelta(hours=int(age[1]) * (24 if age[2] == "d" else 1))


def _every(coordinator: SourceCoordinator, args: Namespace, clean_after: timedelta, *, dry_run: bool) -> CleanedUp:
    done = CleanedUp(after="")
    while done.after is not None:
        done += coordinator.clean_up(
            clean_after,
            gone=args.gone,
            by=args.by or account(),
            why=args.why,
            after=done.after or None,
            dry_run=dry_run,
        )
    return done


def _names(found: CleanedUp) -> str:
    named = ", ".join(map(shown, found.keys[:NAMED])) + (", …" if len(found.keys) > NAMED else "")
    return f": {named}" if named else ""
