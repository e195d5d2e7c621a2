"""The commands that look after a store over the years: forgetting what is done, and giving a copy its own id."""

from __future__ import annotations

import re
from argparse import Namespace
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.output import say
from airflow_coordination.cli.subcommands.acting import agreed
from airflow_coordination.duties.duty import run_duties
from airflow_coordination.duties.standing import Retention
from airflow_coordination.values.input_errors import SettingsError

_AGE: Final = re.compile(r"(\d{1,6})d")


def purge(context: CommandContext, args: Namespace) -> None:
    """Delete what was completed before a time, portion by portion; killed, it goes on when it is called again."""
    coordinator = context.coordinator(args.source, args.partition_prefix)
    before = moment_of(args.completed_before, context.store.now())
    about = f"partition(s) of source {args.source} that were completed before {before.isoformat(timespec='seconds')}"

    meant = Retention(before, args.by or account(), args.why)
    [looked] = run_duties(coordinator, [replace(meant, dry_run=True)])
    found = looked.result().deleted
    question = f"Purge {found} {about}? Suppliers that still name them create them anew."
    if not agreed(args, f"purge {found} {about}", question, context.store):
        return
    [report] = run_duties(coordinator, [meant])
    done = report.result()
    left = f" {done.changed} had changed meanwhile and were left." if done.changed else ""
    left += f" {done.kept} stay, because a branch needs them." if done.kept else ""
    say(f"Done: purged {done.deleted} {about}.{left} What they published stays.")


def moment_of(text: str, now: datetime, option: str = "--completed-before") -> datetime:
    """Return the time that ``text`` says: a day in UTC, a time with its zone, or an age in days before ``now``.

    :param option: how the error names it.
    :raises SettingsError: when it says none.
    """
    try:
        if age := _AGE.fullmatch(text):
            return now - timedelta(days=int(age[1]))
        found = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        found = None
    if found is not None and (found.tzinfo or re.fullmatch(r"[\d-]+", text)):
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    problem = "is no time" if found is None else "has no time zone"
    raise SettingsError(option, text, problem, "Write 2026-01-31, 2026-01-31T12:00:00+01:00 or 90d")


def new_id(context: CommandContext, args: Namespace) -> None:
    """Give the store another id, after asking.

    :raises SettingsError: while leases are held in it, or when it is no store in an SQL database.
    """
    from airflow_coordination.stores.sql.store import SqlStore

    store = context.store
    if not isinstance(store, SqlStore):
        raise SettingsError("--store", store.description, "is not in an SQL database", "Copies of others keep their id")
    old = store.store_id
    question = (
        f"Is the store at {store.description} a copy of another one, and shall get an id of its own in place of {old}?"
    )
    if not agreed(args, "", question, store):
        return
    say(f"Done: store {old} at {store.description} is {store.new_id()} now.")
    say("Its collector leaves output directories alone that name another store, or none.")
