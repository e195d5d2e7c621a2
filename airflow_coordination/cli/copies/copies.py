"""``copies …``: where the copies of a source lie and what waits, making them here, and deleting what was dropped."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import print_rows, say
from airflow_coordination.cli.subcommands.acting import age_of, agreed
from airflow_coordination.duties.configuring import read_config
from airflow_coordination.duties.copies.status import copies_status
from airflow_coordination.outputs.copies.collecting import collect_copies
from airflow_coordination.values.names import COPIES


def status(context: CommandContext, args: Namespace) -> None:
    """Print where each chunk lies and what waits, after how full the locations are."""
    coordinator = context.coordinator(args.source, args.partition_prefix)
    found = copies_status(coordinator, read_config(coordinator).config)
    if args.locations:
        print_rows([asdict(each) for each in found.locations], args.output)
        return
    print_rows(
        [
            asdict(each) | {name: ", ".join(getattr(each, name)) for name in ("there", "stale", "pending")}
            for each in found.chunks
        ],
        args.output,
    )
    for each in found.locations:
        percent = round(100 * each.used / each.capacity, 1)
        lost = f", lost since {each.lost_since:%Y-%m-%d %H:%M} UTC ({each.why})" if each.lost_since else ""
        draining = ", draining" if each.draining else ""
        say(f"{each.name} (tier {each.tier}): {percent} % of {each.capacity} bytes used{draining}{lost}")
    if found.needless:
        say(f"{found.needless} copies are of what shows no more, and go by unloadUnused.")


def run(context: CommandContext, args: Namespace) -> int:
    """Make the copies that were asked for, in this process and without Spark; return 1 if one failed."""
    from airflow_coordination.spark.draining import drain  # imports what drivers need, which few commands do
    from airflow_coordination.spark.upkeep import copy

    context.coordinator(args.source, args.partition_prefix)
    done = drain(
        copy,
        store=context.store,
        source=f"{COPIES}{args.source}",
        spark=None,
        max_leases=args.max_copies,
        partition_prefix=args.partition_prefix,
    )
    for key, error in done.errors:
        say(f"Error: {key}: {error}")
    later = f"; {done.given_up} wait" if done.given_up else ""
    say(f"Done: made {done.completed} copies of source {args.source}; {len(done.errors)} failed or were lost{later}.")
    return int(bool(done.errors))


def collect(context: CommandContext, args: Namespace) -> int:
    """Delete the files of copies that were dropped or made anew, in all locations that can be read.

    :raises OutputError: when a storage cannot be used, or something may not be deleted.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    older = age_of(args.older_than, "--older-than")
    looked, unread = collect_copies(coordinator, older, dry_run=True)
    rows = [
        {"location": name, "blocks": each.blocks, "files": each.files, "bytes": each.bytes, "kept": each.kept}
        for name, each in looked.items()
    ]
    print_rows(rows, args.output)
    for name, why in unread.items():
        say(f"Error: location {name} cannot be read from here, and is left: {why}")
    files = sum(each.files for each in looked.values())
    about = f"{files} file(s) of copies of source {args.source}"
    if files and agreed(args, f"delete {about}", f"Delete {about}?", context.store):
        collect_copies(coordinator, older, dry_run=False)
        say(f"Done: deleted {about}.")
    return int(bool(unread))
