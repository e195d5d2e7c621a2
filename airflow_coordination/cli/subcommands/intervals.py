"""``outputs set-interval``: say of which time rows are that were published before anybody said it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Final

from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.cli.subcommands.acting import agreed
from airflow_coordination.outputs.heads.pages import head_pages
from airflow_coordination.outputs.heads.showing import read_view
from airflow_coordination.outputs.published import source_identifier
from airflow_coordination.planning.intervals import Interval, parse_interval
from airflow_coordination.planning.keys import check_pattern, interval_from_key
from airflow_coordination.planning.view.showing import branch_of
from airflow_coordination.planning.view.view import BranchState
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import branch_dataset, check_read

SHOWN: Final = 20
Said = tuple[HeadRecord, Interval]


def set_interval(context: CommandContext, args: Namespace) -> int:
    """Give head records of one dataset an interval, after showing them; return 1 if it was too late for some.

    :raises InvalidInputError: when the pattern or the interval is none.
    :raises SettingsError: when neither a pattern nor one key with its interval is named.
    """
    if bool(args.from_key) is bool(args.interval) or bool(args.interval) is not bool(args.key):
        problem = "is given in part, or in two ways"
        raise SettingsError("interval", args.interval, problem, "Give --from-key, or --interval and --key together")
    coordinator = context.coordinator(args.source, args.partition_prefix)
    found, kept, untold = _found(context, args)
    print_rows([_row(head, interval) for head, interval in found[:SHOWN]], args.output)
    if len(found) > SHOWN:
        say(f"These are the first {SHOWN} of {len(found)}.")
    if kept:
        say(f"{kept} have an interval and keep it; --replace gives them another one.")
    if untold:
        say(f"{untold} have keys that tell none by {args.from_key!r}.")
    what = f"{len(found)} head record(s) of dataset {args.dataset} of source {args.source}"
    if not found:
        say("There is nothing to set.")
        return 0
    if not agreed(args, f"set the interval of {what}", f"Set the interval of {what}?", context.store):
        return 0
    by = args.by or account()
    done = sum(coordinator.people.set_interval(head, interval, by, args.why) for head, interval in found)
    say(f"Done: set the interval of {done} of {what}.")
    return int(done < len(found))


def _found(context: CommandContext, args: Namespace) -> tuple[list[Said], int, int]:
    """Return what gets which interval, how many keep theirs, and of how many the key tells none."""
    found: list[Said] = []
    kept = untold = 0
    for head, interval in _told(context, args):
        if interval is None:
            untold += 1
        elif (head.interval_start, head.interval_end) == (interval.start, interval.end):
            continue
        elif head.interval_start is not None and not args.replace:
            kept += 1
        else:
            found.append((head, interval))
    return found, kept, untold


def _told(context: CommandContext, args: Namespace) -> Iterator[tuple[HeadRecord, Interval | None]]:
    """Yield each head record of the dataset, those of branches that may show among them, with its interval."""
    check_read(args.dataset, MAX_DATASET_BYTES)
    store, said = context.store, parse_interval("interval", args.interval) if args.interval else None
    pattern = check_pattern("from_key", args.from_key) if said is None else ""
    identifier = source_identifier(store, args.source, args.partition_prefix)
    view = read_view(store, identifier)
    numbers = [each.number for each in view.branches if each.state is not BranchState.ROLLED_BACK]
    for stored in (args.dataset, *(branch_dataset(number, args.dataset) for number in numbers)):
        if said is not None:
            yield from ((head, said) for head in store.heads(identifier, stored, args.key))
            continue
        for page in head_pages(store, identifier, stored):
            yield from ((head, interval_from_key(pattern, head.key)) for head in page)


def _row(head: HeadRecord, interval: Interval) -> Row:
    start, end = head.interval_start, head.interval_end
    was = None if start is None or end is None else str(Interval(start, end))
    return {"key": head.key, "rows": head.rows, "interval": str(interval), "was": was, "branch": branch_of(head)}
