"""``outputs collect``, ``outputs index`` and ``store enable``: what is published is read faster, or goes."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.cli.subcommands.acting import age_of, agreed
from airflow_coordination.monitoring.owners import held_for
from airflow_coordination.outputs.collector import Collected, collect
from airflow_coordination.outputs.enabling import check_names, enabling_of
from airflow_coordination.outputs.index import LEAST
from airflow_coordination.outputs.overlays import merged_source, with_merged
from airflow_coordination.outputs.published import index_outputs
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.remedies import of_store, shell_of
from airflow_coordination.values.names import agreed_prefix, split_source


def collect_outputs(context: CommandContext, args: Namespace) -> int:
    """Delete what no reader can follow, of a source and of what was merged of it; return 1 if a person has to look.

    :raises SettingsError: when the age is none, or there is nobody to ask.
    :raises OutputError: when the storage cannot be used, or something may not be deleted; what may be, is.
    """
    context.coordinator(args.source, args.partition_prefix)
    age_of(args.older_than, "--older-than")
    found = _collected(context, args, dry_run=args.dry_run or not args.yes)
    print_rows([_row(source, each) for source, each in found.items()], args.output)
    _tell_originals(context, args)
    gone = any(each.blocks or each.lists or each.names or each.uploads for each in found.values())
    asked, about = args.dry_run or (gone and not args.yes), _about(args, found)
    if asked and agreed(args, f"delete {about}", f"Delete {about}? No reader can follow them.", context.store):
        found = _collected(context, args, dry_run=False)
    if not any(each.dry_run for each in found.values()):
        say(f"Done: deleted {_about(args, found)}.")
    elif not asked:
        say("There is nothing to delete.")
    for error in (error for each in found.values() for error in each.errors):
        say(f"Error: {error}")
    return int(any(each.errors for each in found.values()))


def index(context: CommandContext, args: Namespace) -> None:
    """Bring the index of a dataset up to date, and say what it has, by output root.

    :raises OutputError: when a manifest is missing or was changed, or the index cannot be written.
    """
    context.coordinator(args.source, args.partition_prefix)
    found = index_outputs(context.store, args.source, args.dataset, args.partition_prefix)
    if not found:
        fewer = f"has fewer than {LEAST} manifests below any output root"
        say(f"Dataset {args.dataset} {fewer}: no reader looks for an index.")
    print_rows([asdict(each) for each in found], args.output)


def _collected(context: CommandContext, args: Namespace, *, dry_run: bool) -> Mapping[str, Collected]:
    store = context.store
    sources = with_merged(args.source, agreed_prefix(store.partition_prefix, args.partition_prefix))
    return {
        source: collect(
            store,
            source,
            args.output_root,
            older_than=age_of(args.older_than, "--older-than"),
            dry_run=dry_run,
            partition_prefix=args.partition_prefix,
            keep_originals=True if args.keep_originals else None,
        )
        for source in sources
    }


def _about(args: Namespace, found: Mapping[str, Collected]) -> str:
    blocks = sum(each.blocks for each in found.values())
    return f"{blocks} block(s) of source {args.source} below {args.output_root}"


def _row(source: str, found: Collected) -> Row:
    counted = ("blocks", "files", "bytes", "uploads", "lists", "names", "kept")
    named = ("foreign", "unmarked", "unknown", "errors")
    return (
        {"source": source}
        | {name: getattr(found, name) for name in counted}
        | {name: len(getattr(found, name)) for name in named}
    )


def _tell_originals(context: CommandContext, args: Namespace) -> None:
    """Say why the blocks that were merged stay, where some were."""
    enabling = parts_of(context.store).enabling
    known = {split_source(identifier)[1] for identifier, _ in context.store.sources()}
    if merged_source(args.source) in known and enabling and not enabling.outputs_enabled():
        enabled = of_store("store enable outputs", shell_of(context.store))
        say(f"Blocks that were merged stay, because older code reads them. `{enabled}` lets them go.")


def enable(context: CommandContext, args: Namespace) -> None:
    """Keep code out that knows no overlays, so that originals may go; or no branches either, so that there may be some.

    :raises SettingsError: when users' names are in the way, this role may not, or there is nobody to ask.
    """
    store = context.store
    enabling = enabling_of(store)
    branches = args.what == "branches"
    if enabling.branches_enabled() if branches else enabling.outputs_enabled():
        say(f"{args.what.capitalize()} are enabled already in store {store.store_id} at {store.description}.")
        return
    check_names(store)
    older = "no branches and no hidden intervals" if branches else "no overlays"
    say(f"From then on processes of versions that know {older} refuse this store when they start.")
    say("Those that run already do not look again. End them first: drivers, triggerers, readers, collectors.")
    if branches:
        say("One that is left would publish at once what runs in a branch, and read what is hidden.")
    longest = max((held_for(store, identifier) for identifier, _ in store.sources()), default=timedelta(0))
    if longest:
        say(f"The oldest tenure has been running for {_hours(longest)}: is its driver of this version?")
    would = f"enable {args.what} in store {store.store_id}"
    question = "Is everything that uses this store of this version? Nothing takes this back."
    if agreed(args, would, question, store):
        (enabling.enable_branches if branches else enabling.enable_outputs)()
        say(f"Done: {args.what} are enabled in store {store.store_id} at {store.description}.")


def _hours(age: timedelta) -> str:
    return f"{age // timedelta(hours=1)} h {age // timedelta(minutes=1) % 60} min"
