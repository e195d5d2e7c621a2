"""``export`` and ``import``: a source goes on in another store."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.output import say
from airflow_coordination.cli.subcommands.acting import agreed
from airflow_coordination.leases.moving import Moved
from airflow_coordination.protocol.beside.documents import CONFIGURATION, DEFAULT_RULES, LOCATIONS
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.transfer.documents import staying
from airflow_coordination.transfer.exporting import export
from airflow_coordination.transfer.importing import check_place, import_, read_export
from airflow_coordination.values.input_errors import shown

_OTHER_DEFAULT: Final = (
    "Error: the default rules of all datasets are others here than where it comes from, and are left as they are: "
    "`rules apply` would hide other rows of it, and restore what is hidden. Compare `rules get` of both stores, and "
    "set those that are to hold, or rules of its datasets, before they are applied."
)
_STAYS: Final = {
    LOCATIONS: "The locations of copies are not in it: they are marked as this store's. Where the source goes, say "
    "others (`locations set`), and copies are made anew.",
    CONFIGURATION: "The configuration of the duties is not in it: it is that of all sources. See `config get`, and "
    "set there what is to hold.",
}
NAMED: Final = 10
"""The most different partitions that are named."""


def export_source(context: CommandContext, args: Namespace) -> None:
    """Write a paused source into a file."""
    coordinator = context.coordinator(args.source, args.partition_prefix)
    with _progress("Exported", sum(coordinator.counts().values())) as told:
        written = export(coordinator, Path(args.file), told, merged=Path(args.merged) if args.merged else None)
    say(f"Done: exported {written} partition(s) of source {args.source} to {args.file}.")
    if args.merged:
        say(f"What was merged of it is in {args.merged}: import both files, that one first.")
    for name in staying(coordinator):
        say(_STAYS[name])
    say("Leave the source paused here: what its owners still write is known to this store alone.")


def import_source(context: CommandContext, args: Namespace) -> int:
    """Let a source go on here; return 1 if some of its partitions were here already and are different."""
    found = read_export(Path(args.file))
    heading, count = found.heading, len(found.places)
    coordinator = context.newcomer(heading.source, heading.partition_prefix)
    check_place(coordinator, found)
    about = f"{count} partition(s) of source {heading.source}, exported at {heading.exported_at.isoformat()}"
    say(f"{args.file}: {about} from {heading.store}")
    here = context.store.description
    if not agreed(args, f"import them into {here}", f"Import {about} into {here}?", context.store):
        return 0
    with _progress("Imported", count) as told:
        done = import_(coordinator, found, args.by or account(), told)
    say(f"Done: {done.here} of {count} partition(s) go on here.")
    told_different(done)
    resume = typed(coordinator, "resume")
    say(f"The source is paused here. When its DAGs use this store, let it go on: {resume}")
    return int(bool(done.different or done.documents))


def told_different(done: Moved) -> None:
    """Name what was here already with another life."""
    for key in done.different[:NAMED]:
        say(f"Error: partition {shown(key)} was here already with another life, and is left as it is.")
    if len(done.different) > NAMED:
        say(f"Error: {len(done.different) - NAMED} more are different.")
    for name in done.documents:
        if name == DEFAULT_RULES:
            say(_OTHER_DEFAULT)
            continue
        say(f"Error: its document {shown(name)} was here already and is another one, and is left as it is.")


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[int], object]]:
    """Draw a bar on a terminal."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total or None)
        yield lambda done: bar.update(task, completed=done)
