"""``locations …``: where copies may lie, since when, and which of these places can be read now."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict

from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.documents import text_of, version_row
from airflow_coordination.cli.output import print_rows, say
from airflow_coordination.cli.subcommands.acting import agreed
from airflow_coordination.outputs.copies.locations import (
    Site,
    locations_document,
    missing,
    parsed_locations,
    set_locations,
    sites_of,
)
from airflow_coordination.protocol.beside.documents import ABSENT, LOCATIONS
from airflow_coordination.values.names import ALL, everybody


def get(context: CommandContext, args: Namespace) -> None:
    """Print the locations as JSON, as ``locations set`` takes it."""
    document = locations_document(context.store, _prefix(context, args))
    print(json.dumps([asdict(site) for site in sites_of(document)], indent=2, ensure_ascii=False))
    if document is None:
        say("Nobody has said any location, so nothing is copied.")
    else:
        told = f"by {document.author} at {document.at.isoformat()}: {document.comment}"
        say(f"Version {document.version} of the locations, {told}")


def set_(context: CommandContext, args: Namespace) -> None:
    """Set the locations from a file or standard input; new ones are marked.

    :raises InvalidInputError: when they are no locations, or a root is another's.
    :raises OutputError: when the root of a new one cannot be read or written.
    :raises PartitionUpdateError: when somebody has set others since these were looked at.
    :raises SettingsError: when the file cannot be read, or there is nobody to ask.
    """
    wanted = parsed_locations(text_of(args.file))
    document = locations_document(context.store, _prefix(context, args))
    for told in _changes(sites_of(document), wanted):
        say(told)
    what = f"the locations to {len(wanted)}"
    if agreed(args, f"set {what}", f"Set {what}?", context.store):
        text = json.dumps([asdict(site) for site in wanted])
        coordinator = context.newcomer(ALL, args.partition_prefix)
        seen = document.version if document else ABSENT
        written = set_locations(coordinator, text, args.by or account(), args.why, seen)
        say(f"Done: set {what}{f', version {written.version}' if written else ''}.")


def _changes(there: Sequence[Site], wanted: Sequence[Site]) -> list[str]:
    before, after = ({site.name: site for site in row} for row in (there, wanted))
    told = [f"New: {site.name}, tier {site.tier}, at {site.root}" for name, site in after.items() if name not in before]
    told += [f"Changed: {name}" for name, site in after.items() if name in before and before[name] != site]
    gone = "no longer counts as there, and its files stay"
    return told + [f"Left out: {name}: what it has {gone}" for name in before if name not in after]


def history(context: CommandContext, args: Namespace) -> None:
    """Print who has set the locations, when and why, the newest first."""
    coordinator = context.newcomer(ALL, args.partition_prefix)
    found = coordinator.documents.history(LOCATIONS, None, args.limit, everybody(coordinator.partition_prefix))
    print_rows(list(map(version_row, found)), args.output)


def status(context: CommandContext, args: Namespace) -> int:
    """Print the locations, and which of them can be read from here now; return 1 if one cannot."""
    prefix = _prefix(context, args)
    sites = sites_of(locations_document(context.store, prefix))
    unread = missing(sites, context.store.store_id, prefix)
    print_rows([{**asdict(site), "readable": site.name not in unread} for site in sites], args.output)
    for name, why in unread.items():
        say(f"Error: location {name} cannot be read from here: {why}")
    return int(bool(unread))


def _prefix(context: CommandContext, args: Namespace) -> str | None:
    return context.newcomer(ALL, args.partition_prefix).partition_prefix
