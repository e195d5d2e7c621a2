"""``rules …``: what is kept of a dataset and what goes, as Druid writes it; why, from when on, and since when."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence

from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.documents import print_versions, text_of
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.cli.subcommands.acting import agreed
from airflow_coordination.cli.subcommands.hiding import meant
from airflow_coordination.duties.retention.applying import Applied, apply_rules
from airflow_coordination.duties.retention.explaining import explained
from airflow_coordination.duties.retention.ruled import (
    draft,
    endangered,
    endangered_by_default,
    read_document,
    rules_document,
    set_rules,
)
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.planning.rules.lint import Finding
from airflow_coordination.planning.rules.rule import Rule
from airflow_coordination.protocol.beside.documents import DEFAULT_RULES
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import ALL, everybody


def get(context: CommandContext, args: Namespace) -> None:
    """Print the rules of a dataset, or those of all, as Druid's JSON."""
    coordinator, name, source = _document(context, args)
    found = coordinator.documents.newest(name, source)
    print(json.dumps(json.loads(found.content) if found else [], indent=2, ensure_ascii=False))
    if found is None:
        say(f"Nobody has set {_of(args)}.")
    else:
        say(f"Version {found.version} of {_of(args)}, by {found.author} at {found.at.isoformat()}: {found.comment}")


def set_(context: CommandContext, args: Namespace) -> int:
    """Set rules from a file or standard input, after looking what is odd about them; return 1 if they are refused.

    :raises InvalidInputError: when they are no rules.
    :raises SettingsError: when the file cannot be read, or there is nobody to ask.
    """
    coordinator, _, _ = _document(context, args)
    found = draft("rules", text_of(args.file), context.store.now())
    for finding in found.findings:
        say(f"{'Error' if finding.error else 'Note'}: {finding}")
    if found.errors:
        say("Nothing was changed.")
        return 1
    for told in _endangered(coordinator, args, found.rules):
        say(told)
    what = f"{_of(args)} to {len(found.rules)} rule(s)"
    if agreed(args, f"set {what}", f"Set {what}?", context.store):
        written = set_rules(coordinator, args.dataset, found.content, args.by or account(), args.why)
        version = f", version {written.version}" if written else ""
        say(f"Done: set {what}{version}. They hide nothing before `rules apply`.")
    return 0


def _endangered(coordinator: SourceCoordinator, args: Namespace, rules: Sequence[Rule]) -> Iterator[str]:
    now = coordinator.store.now()
    if args.dataset is None:
        for source, number, interval in endangered_by_default(coordinator, rules, now):
            told = f"{interval} of branch {number} of source {source}, which has begun, is dropped in datasets without"
            yield f"Note: {told} rules of their own that keep it: published, it is hidden at once."
        return
    default = coordinator.documents.newest(DEFAULT_RULES, everybody(args.partition_prefix))
    view = coordinator.documents.view()
    for number, interval in endangered([*rules, *read_document(default)], view, now):
        yield f"Note: {interval} of branch {number}, which has begun, is dropped: published, it is hidden at once."


def lint(context: CommandContext, args: Namespace) -> int:
    """Say what is odd about rules that are set, or about those in a file; return 1 if one of them never applies."""
    if args.file is None and args.dataset is None:  # one word without a dataset is a file, for the default rules
        args.source, args.file = None, args.source
    coordinator, name, source = _document(context, args)
    now = context.store.now()
    if args.file is not None:
        found = draft("rules", text_of(args.file), now)
    else:
        document = coordinator.documents.newest(name, source)
        found = draft(name, document.content if document else "[]", now)
    print_rows([_finding_row(each) for each in found.findings], args.output)
    for told in _endangered(coordinator, args, found.rules):
        say(told)
    return int(bool(found.errors))


def _finding_row(found: Finding) -> Row:
    place = None if found.index is None else found.index + 1
    return {"rule": place, "error": found.error, "problem": found.problem, "remedy": found.remedy}


def history(context: CommandContext, args: Namespace) -> None:
    """Print who has set rules, when and why, the newest first: so many of them, or those of an interval.

    :raises InvalidInputError: when the interval is none.
    """
    coordinator, name, source = _document(context, args)
    print_versions(coordinator.documents.versions(name, source=source), args)


def explain(context: CommandContext, args: Namespace) -> None:
    """Say which rule decides about a partition or an interval, why, and when that will be another one.

    :raises InvalidInputError: when it is neither the key of a partition with an interval, nor an interval.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    found = explained(coordinator, args.dataset, args.what)
    row = {
        "interval": str(found.interval),
        "becomes": found.becomes,
        "why": found.why,
        "changes_at": found.changes_at,
        "then": found.then,
        "hidden_by": found.hidden and f"{found.hidden.by}: {found.hidden.why}",
        "hidden_since": found.hidden and found.hidden.since,
    }
    print_rows([row], args.output)


def apply(context: CommandContext, args: Namespace) -> None:
    """Show what rules would hide and what would come back, and do it with ``--yes``.

    :raises InvalidInputError: when it shall be done for no reason.
    :raises SettingsError: as long as older code may work with the store.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    names = args.dataset or None
    looked = apply_rules(coordinator, names, dry_run=True)
    print_rows([row for each in looked for row in _entry_rows(each)], args.output)
    for each in looked:
        _tell(each)
    if not any(each.made or each.ended for each in looked):
        say("There is nothing to change.")
        return
    if meant(args, "apply them: nothing is deleted"):
        done = apply_rules(coordinator, names, args.by or account(), args.why)
        vanished, back = (sum(getattr(each, name).partitions for each in done) for name in ("vanished", "back"))
        say(f"Done: {vanished} partition(s) are hidden now, {back} came back. Nothing was deleted.")


def _entry_rows(found: Applied) -> Iterator[Row]:
    for change, entries in (("hide", found.made), ("end", found.ended)):
        for each in entries:
            said = {"dataset": found.dataset, "change": change, "interval": str(each.interval)}
            yield {**said, "since": each.since, "why": each.why}


def _tell(found: Applied) -> None:
    say(
        f"Dataset {found.dataset}: {found.vanished.partitions} partition(s) with {found.vanished.rows} row(s) vanish, "
        f"{found.back.partitions} with {found.back.rows} come back, {found.kept} are kept."
    )
    if found.unruled:
        say(f"  No rule applies to {found.unruled} partition(s): they are left as they are.")
    if found.timeless:
        say(f"  {found.timeless} partition(s) have no interval: they are left as they are, and always visible.")


def _document(context: CommandContext, args: Namespace) -> tuple[SourceCoordinator, str, str | None]:
    """Return whose rules are meant: of a dataset of a source, or, where neither is named, of all.

    :raises SettingsError: when only one of them is named.
    """
    if (args.source is None) is not (args.dataset is None):
        problem, remedy = "is named alone", "Name a source and --dataset, or neither for the default rules of all"
        raise SettingsError("SOURCE" if args.source else "--dataset", args.source or args.dataset, problem, remedy)
    if args.dataset is None:
        return context.newcomer(ALL, args.partition_prefix), DEFAULT_RULES, everybody(args.partition_prefix)
    return context.coordinator(args.source, args.partition_prefix), rules_document(args.dataset), None


def _of(args: Namespace) -> str:
    if args.dataset is None:
        return "the default rules of all datasets"
    return f"the rules of dataset {args.dataset} of source {args.source}"
