"""``compaction get``, ``set`` and ``history``: how a dataset is compacted, as Druid writes it, and since when."""

from __future__ import annotations

import json
from argparse import Namespace

from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.documents import print_versions, text_of
from airflow_coordination.cli.output import say
from airflow_coordination.cli.subcommands.acting import agreed
from airflow_coordination.duties.compaction.configured import compaction_document, drafted, said_by, set_compaction
from airflow_coordination.duties.compaction.planner import Planner


def get(context: CommandContext, args: Namespace) -> None:
    """Print how a dataset is compacted, as JSON: as its document says, else as it was compacted last."""
    coordinator = context.coordinator(args.source, args.partition_prefix)
    found = coordinator.documents.newest(compaction_document(args.dataset))
    if found is not None:
        print(json.dumps(said_by(found).to_json(), indent=2, ensure_ascii=False))
        say(f"Version {found.version} of {_of(args)}, by {found.author} at {found.at.isoformat()}: {found.comment}")
        return
    last = {each.dataset: each for each in Planner(coordinator).remembered().configs()}.get(args.dataset)
    print(json.dumps(last.to_json() if last else {}, indent=2, ensure_ascii=False))
    say(f"Nobody has set {_of(args)}{': it is as it was compacted last' if last else ''}.")


def set_(context: CommandContext, args: Namespace) -> None:
    """Set how a dataset is compacted, from a file or standard input.

    :raises InvalidInputError: when it is no configuration of this dataset.
    :raises SettingsError: when the file cannot be read, or there is nobody to ask.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    content = drafted(args.dataset, text_of(args.file))
    if agreed(args, f"set {_of(args)} to {content}", f"Set {_of(args)} to {content}?", context.store):
        written = set_compaction(coordinator, args.dataset, content, args.by or account(), args.why)
        version = f", version {written.version}" if written else ""
        say(f"Done: set {_of(args)}{version}. It is in force from the next run of compactSegments.")


def history(context: CommandContext, args: Namespace) -> None:
    """Print who has set how a dataset is compacted, when and why: so many versions, or those of an interval.

    :raises InvalidInputError: when the interval is none.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    print_versions(coordinator.documents.versions(compaction_document(args.dataset)), args)


def _of(args: Namespace) -> str:
    return f"how dataset {args.dataset} of source {args.source} is compacted"
