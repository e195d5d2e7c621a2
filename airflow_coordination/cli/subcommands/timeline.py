"""``outputs timeline`` and ``outputs history``: what readers find of a dataset, and who has changed what they see."""

from __future__ import annotations

from argparse import Namespace
from contextlib import suppress

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.outputs.heads.showing import covered
from airflow_coordination.outputs.published import source_identifier
from airflow_coordination.planning.intervals import parse_interval, written
from airflow_coordination.planning.unused.deleting import BUFFER
from airflow_coordination.planning.view.slices import Slice
from airflow_coordination.planning.view.view import Hidden, View
from airflow_coordination.protocol.beside.documents import VIEW, Document
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import check_users_name


def timeline(context: CommandContext, args: Namespace) -> None:
    """Print which stretches of a dataset are there, missing, hidden, or only in a branch.

    :raises InvalidInputError: when the interval is none.
    """
    context.coordinator(args.source, args.partition_prefix)
    check_users_name(args.dataset, "dataset", MAX_DATASET_BYTES)
    within = parse_interval("interval", args.interval) if args.interval else None
    identifier = source_identifier(context.store, args.source, args.partition_prefix)
    found = covered(context.store, identifier, args.dataset, within)
    print_rows([_row(each) for each in found.slices], args.output)
    if found.timeless:
        say(f"{found.timeless} partition(s) have no interval: they are always visible, and in none of these rows.")
    if within is not None:
        say(f"Readers find {found.percent(within):.1f} % of {within}.")


def _row(found: Slice) -> Row:
    hidden = found.hidden
    return {
        "interval": str(found.interval),
        "state": found.state.value,
        "branch": found.branch,
        "partitions": found.partitions,
        "rows": found.rows,
        "hidden_by": hidden and hidden.by,
        "since": hidden and hidden.since,
        "why": hidden and hidden.why,
        "restorable_until": hidden and _until(hidden),
    }


def _until(hidden: Hidden) -> str:
    """Return how long what is hidden can be had back: until somebody purges it, which nothing does by itself."""
    if hidden.purging:
        return "never: it is being deleted"
    return f"a purge: by default not before {written(BUFFER.after(hidden.since))}"


def history(context: CommandContext, args: Namespace) -> None:
    """Print the versions of what readers see of a source, the newest first."""
    coordinator = context.coordinator(args.source, args.partition_prefix)
    found = coordinator.documents.history(VIEW, limit=args.limit)
    print_rows([_version(each) for each in found], args.output)


def _version(document: Document) -> Row:
    """Return a version for people; one that is corrupt, too, because this is where its error sends them."""
    view = None
    with suppress(InvalidInputError):
        view = View.said_by(document)
    return {
        "version": document.version,
        "at": document.at,
        "author": document.author,
        "comment": document.comment,
        "branches": "corrupt" if view is None else len(view.branches),
        "shown": view and ", ".join(map(str, view.shown)),
        "hidden": view and len(view.hidden),
    }
