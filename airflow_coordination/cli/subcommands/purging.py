"""``outputs purge``: what was hidden long ago is deleted for good, after showing exactly which files that are."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.cli.subcommands.hiding import meant
from airflow_coordination.duties.retention.purge import ToPurge, purge, to_purge
from airflow_coordination.outputs.collector import foreseen
from airflow_coordination.outputs.layout import attempts_root
from airflow_coordination.planning.periods import parse_period
from airflow_coordination.planning.unused.deleting import Margins
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.systems.objects.storage import StoredFile, join, normal_root
from airflow_coordination.values.input_errors import printable, shown
from airflow_coordination.values.names import dataset_in_words

NAMED = 20
_WAITS = {
    "held": "held by an owner: wait for its lease, or release it",
    "staged": "with saved blocks that are not published yet: let the next pass end, or reset them",
    "gone": "deleted, with their output left: create them again, then purge",
    "changed": "changed meanwhile: the next run looks at them again",
}


def purge_outputs(context: CommandContext, args: Namespace) -> int:
    """Show which files go, and with ``--yes`` mark and empty what names them; return 1 if a partition is in the way.

    :raises InvalidInputError: when a margin is none, no dataset is named, or it shall be done for no reason.
    :raises OutputError: when the storage cannot be listed.
    """
    args.yes = args.yes and not args.dry_run
    coordinator = context.coordinator(args.source, args.partition_prefix)
    margins = margins_of(args)
    found = to_purge(coordinator, margins)
    emptied = {(each.head.dataset, each.head.key) for each in found.heads}
    files = foreseen(context.store, args.source, args.output_root, emptied, args.partition_prefix)
    root = attempts_root(normal_root(args.output_root))
    print_rows([_row(root, file) for file in files], args.output)
    _tell(found)
    total = sum(file.size for file in files)
    what = (
        f"{len(found.heads)} head record(s) of source {args.source}, which lets {len(files)} file(s) go, {total} bytes"
    )
    if not found.heads and not found.marks:
        say("There is nothing to purge.")
    elif meant(args, f"empty {what}"):
        done = purge(coordinator, margins, by=args.by or account(), why=args.why)
        _tell_waiting(done.skipped)
        marked = f"marked {done.marked} interval(s), emptied {done.emptied} head record(s), {done.removed} interval(s)"
        say(f"Done: {marked} and {done.forgotten} branch(es) are left with nothing, and gone from the view.")
        collect = typed(coordinator, "outputs collect", options=["--output-root", args.output_root])
        say(f"The files go when readers who have begun before are done: {collect}")
        return int(any(done.skipped.values()))
    _tell_waiting(found.skipped)
    return int(any(found.skipped.values()))


def margins_of(args: Namespace) -> Margins:
    """Return the margins that a command line says.

    :raises InvalidInputError: when one is none, or leaves no time and nobody says ``--i-know``.
    """
    return Margins(
        duration_to_retain=parse_period("--retain", args.retain, negative=True),
        buffer=parse_period("--buffer", args.buffer),
        most=args.most,
        datasets=args.dataset,
        i_know=args.i_know,
    )


def _row(root: str, file: StoredFile) -> Row:
    return {"file": join(root, file.path), "bytes": file.size}


def _tell(found: ToPurge) -> None:
    """Say what is marked, and why each head record goes."""
    for entry in found.marks:
        say(f"{entry.interval} of {shown(entry.dataset)} is marked, from where on nobody can restore it.")
    reasons: dict[str, list[str]] = {}
    for each in found.heads:
        reasons.setdefault(each.why, []).append(f"{shown(each.head.key)} of {dataset_in_words(each.head.dataset)}")
    for why, heads in reasons.items():
        more = f" and {len(heads) - NAMED} more" if len(heads) > NAMED else ""
        say(f"{', '.join(heads[:NAMED])}{more}: {printable(why)}.")


def _tell_waiting(skipped: Mapping[str, int]) -> None:
    for reason, number in skipped.items():
        say(f"{number} partition(s) wait, {_WAITS[reason]}.")
