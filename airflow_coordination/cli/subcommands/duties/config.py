"""``config …``: what people may change while duties run, with its history."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any, Final

from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.documents import text_of
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.cli.subcommands.acting import agreed
from airflow_coordination.duties.configuring import (
    Version,
    config_at,
    newest_version,
    read_config,
    replace_config,
    set_config,
    versions,
)
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.planning.duties.configuration import Difference, DynamicConfig, differences
from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.protocol.beside.documents import MAX_DOCUMENT_BYTES
from airflow_coordination.values.documents import parse
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import ALL

_REMEDY: Final = "Write KEY=VALUE, such as maxSegmentsToMove=10, or KEY=null for the default"


def get(context: CommandContext, args: Namespace) -> None:
    """Print the configuration of now, every key, as JSON."""
    found = read_config(_coordinator(context, args))
    print(json.dumps(found.config.to_json(), indent=2, ensure_ascii=False))
    if found.at is None:
        say("Nobody has set anything: these are the defaults.")
    else:
        say(f"Version {found.version}, by {found.author} at {found.at.isoformat()}: {found.comment}")
    _note(found.config)


def set_(context: CommandContext, args: Namespace) -> None:
    """Change keys of the configuration.

    :raises SettingsError: for a key or a value that cannot be, or a file that cannot be read.
    :raises ConfigurationChangedError: when somebody else has set one of them meanwhile.
    """
    coordinator, changes = _coordinator(context, args), _changes(args)
    if args.replace:
        _replace(context, args, coordinator, changes)
        return
    newest = read_config(coordinator)
    after = newest.config.updated(changes)
    changed = differences(newest.config, after)
    print_rows([_row(each) for each in changed], args.output)
    _note(after)
    if not changed:
        say("There is nothing to change.")
        return
    what = ", ".join(map(str, changed))
    if agreed(args, f"set {what}", f"Set {what}?", context.store):
        seen = newest.version if args.seen is None else args.seen
        done = set_config(coordinator, changes, args.by or account(), args.why, seen)
        say(f"Done: set {what}, version {done.version}. It is in force from the next run of each group.")


def _replace(context: CommandContext, args: Namespace, coordinator: SourceCoordinator, said: Any) -> None:
    """Write the whole configuration anew, also where the newest version cannot be read."""
    newest, after = newest_version(coordinator), DynamicConfig().updated(said)
    it = newest.configured
    if newest.problem is None:
        print_rows([_row(each) for each in differences(it.config, after)], args.output)
    else:
        say(f"Version {it.version}, by {it.author} ({it.comment}), cannot be read: {newest.problem}")
        print_rows([_row(each) for each in differences(DynamicConfig(), after)], args.output)
    _note(after)
    what = f"version {it.version} of the configuration"
    if agreed(args, f"replace {what}", f"Replace {what}? Keys that are not named are the default then.", context.store):
        seen = it.version if args.seen is None else args.seen
        done = replace_config(coordinator, said, args.by or account(), args.why, seen)
        say(f"Done: replaced {what}, version {done.version}. It is in force from the next run of each group.")


def history(context: CommandContext, args: Namespace) -> None:
    """Print who has set what, when and why, the newest first: so many versions, or those of an interval.

    :raises InvalidInputError: when the interval is none.
    """
    within = parse_interval("interval", args.interval) if args.interval else None
    rows: list[Row] = []
    for version in versions(_coordinator(context, args)):
        at = version.configured.at
        if len(rows) >= args.limit or (within and at and at < within.start):
            break
        if within is None or (at and at < within.end):
            rows.append(_version_row(version))
    print_rows(rows, args.output)


def diff(context: CommandContext, args: Namespace) -> None:
    """Print what two versions say differently.

    :raises SettingsError: when one of them is not kept.
    """
    coordinator = _coordinator(context, args)
    newer = read_config(coordinator) if args.newer is None else config_at(coordinator, args.newer)
    older = config_at(coordinator, args.older)
    print_rows([_row(each) for each in differences(older.config, newer.config)], args.output)
    say(f"From version {older.version} to version {newer.version}.")


def _coordinator(context: CommandContext, args: Namespace) -> SourceCoordinator:
    return context.newcomer(ALL, args.partition_prefix)


def _note(config: DynamicConfig) -> None:
    for note in config.notes:
        say(f"Note: {note}.")


def _row(found: Difference) -> Row:
    return {"key": found.key, "old": found.old, "new": found.new}


def _version_row(found: Version) -> Row:
    it = found.configured
    changed = None if found.changes is None else "; ".join(map(str, found.changes))
    if found.problem is not None:
        changed = f"cannot be read: {found.problem}"
    return {"version": it.version, "at": it.at, "author": it.author, "comment": it.comment, "changed": changed}


def _changes(args: Namespace) -> Any:
    """Return what a command says to change.

    :raises SettingsError: when it names no key, or one of them twice, or keys and a file.
    """
    if args.file and args.changes:
        raise SettingsError("--file", args.file, "is named beside keys", "Give the one or the other")
    if args.file:
        return _of_file(args.file)
    if not args.changes:
        raise SettingsError("changes", args.changes, "name nothing", _REMEDY)
    return _of_words(args.changes)


def _of_words(words: Sequence[str]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise SettingsError("changes", word, "has no key and value", _REMEDY)
        if key in found:
            raise SettingsError(f"config.{key}", text, "is named twice", "Leave one of them out")
        found[key] = _value(text)
    return found


def _value(text: str) -> Any:
    """Return what a word means: JSON where it is some, else itself, so that ``PT5M`` needs no quotes."""
    try:
        return parse(text, max_bytes=MAX_DOCUMENT_BYTES, max_depth=3)
    except ValueError:
        return text


def _of_file(file: str) -> Any:
    text = text_of(file)
    try:
        return parse(text, max_bytes=MAX_DOCUMENT_BYTES, max_depth=3)
    except ValueError as error:
        problem, remedy = f"is no JSON ({error})", 'Write such as {"maxSegmentsToMove": 10}'
        raise SettingsError("config", text[:200], problem, remedy) from None
