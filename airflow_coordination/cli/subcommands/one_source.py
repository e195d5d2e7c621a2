"""``source``, ``ended``, ``errors``, ``audit``: a source at a glance, what ended when, what failed, who did what."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.cli.subcommands.acting import age_of
from airflow_coordination.cli.subcommands.looking import chosen
from airflow_coordination.cli.subcommands.upkeep import moment_of
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.creation import dags_of, registered
from airflow_coordination.monitoring.became import LOOKED_AT, Became, became, spoken
from airflow_coordination.monitoring.changes import Change, called, newest_changes
from airflow_coordination.monitoring.counts import counted
from airflow_coordination.monitoring.deeds import Deed, Meant, Reach, deeds
from airflow_coordination.monitoring.ended import ended_day
from airflow_coordination.monitoring.late import late_ones
from airflow_coordination.monitoring.owners import owners
from airflow_coordination.monitoring.progress import Progress
from airflow_coordination.monitoring.states import by_state
from airflow_coordination.monitoring.summaries import ErrorGroup, grouped
from airflow_coordination.monitoring.throughput import lately
from airflow_coordination.protocol.beside.ended_sums import EndedSums
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import AUDITED
from airflow_coordination.protocol.remedies import listing, shell_of, typed
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import check_limit, everybody, identifier_of, split_source

MOST: Final = 20_000
"""The most parked partitions that are looked at."""
OWNERS: Final = 1_000
"""The most leases that are looked at."""
_PAGE: Final = 1_000
_COUNTED: Final = timedelta(hours=3)
"""Where no duty has counted, it is counted from so long ago on."""
_PORTIONS: Final = 40
"""Looks at the history at most, of 1,500 endings each."""
_NAMED: Final = 5
"""Sources that are named of which not all documents were read."""
_SETTINGS: Final = 50
"""Changes of settings that are printed at most."""


def print_errors(context: CommandContext, args: Namespace) -> None:
    """Print what parked partitions failed of, equal errors together, the most frequent first."""
    coordinator = context.coordinator(args.source, args.partition_prefix)
    parked = list(_parked(coordinator))
    groups, limit = grouped(parked), check_limit(args.limit)
    print_rows([_error_row(each) for each in groups[:limit]], args.output)
    if len(parked) == MOST:
        say(f"There may be more parked partitions. These are the errors of the first {MOST} by key.")
    if len(groups) > limit:
        say(f"And {len(groups) - limit} other error(s). Ask for more with --limit")
    if groups:
        prefix, alike = coordinator.partition_prefix, groups[0].alike
        see = listing(shell_of(context.store), coordinator.source, prefix, status="parked", error_alike=alike)
        say(f"Those of the first one: {see}")


def _parked(coordinator: SourceCoordinator) -> Iterator[Partition]:
    after: str | None = None
    for _ in range(MOST // _PAGE):
        page = coordinator.partitions(after=after, limit=_PAGE, parked=True)
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1].key


def _error_row(group: ErrorGroup) -> Row:
    return {
        "partitions": group.number,
        "since": group.since,
        "last": group.last,
        "error": group.error,
        "for_example": group.key,
        "alike": group.alike,
    }


def print_audit(context: CommandContext, args: Namespace) -> None:
    """Print what people did to a source and its partitions, or to all sources, oldest first.

    What was done to many at once is one line. With each stands what became of it, as on the board.

    :raises SettingsError: when the age or time is none, or something is given that narrows no settings.
    """
    since = _since(args.since, context.store.now()) if args.since else None
    reach = Reach(args.reach) if args.reach else None
    meant = Meant(by=args.by, action=args.action, reach=reach, has=args.has, since=since)
    if args.settings:
        _print_settings(context, args, meant)
        return
    told: list[Deed] = []
    more = False
    for prefix, source in chosen(context, args):
        coordinator = context.coordinator(source, prefix)
        lines = coordinator.looking.actions()
        told += filter(meant.means, deeds(identifier_of(coordinator), lines))
        more = more or (len(lines) == AUDITED and (since is None or lines[0]["at"] > since))
    told.sort(key=lambda deed: deed.at, reverse=True)
    found = became(context.store, told, context.store.now())
    rows = [_deed_row(deed, said) for deed, said in zip(told, found, strict=True)]
    print_rows(rows[::-1], args.output)
    if sum(deed.number for deed in told) > LOOKED_AT:
        say(f"What became of it was looked at for {LOOKED_AT} partitions only.")
    if more:
        say(f"There may be more. Looked at were the newest {AUDITED}; `history KEY` has all of one partition")


def _since(text: str, now: datetime) -> datetime:
    """Return the moment that an age in hours or days, or a time, says."""
    with suppress(SettingsError):
        return now - age_of(text, "--since")
    return moment_of(text, now, "--since")


def _print_settings(context: CommandContext, args: Namespace, meant: Meant) -> None:
    """Print what was set in a source, or in all and for all of them, oldest first, with what it was before."""
    for option, value in (("--action", meant.action), ("--reach", meant.reach)):
        if value is not None:
            raise SettingsError(option, str(value), "does not narrow what was set", "Leave it out, or --settings")
    of = [context.coordinator(source, prefix) for prefix, source in chosen(context, args)]
    prefixes = {args.partition_prefix, context.store.partition_prefix, *(each.partition_prefix for each in of)}
    serving_all = [] if args.source else [everybody(prefix) for prefix in prefixes]
    found = newest_changes(context.store, [*serving_all, *map(identifier_of, of)], meant, _SETTINGS)
    print_rows([_setting_row(each) for each in reversed(found.found)], args.output)
    if found.since is not None:
        say(f"There is more, set at {found.since.isoformat(timespec='seconds')} or before; `rules history`,")
        say("`compaction history` and `config history` have all of one document.")
    if found.unread:
        named = ", ".join(split_source(each)[1] for each in found.unread[:_NAMED])
        more = f" and {len(found.unread) - _NAMED:,} more" if len(found.unread) > _NAMED else ""
        say(f"Of {named}{more} there are more documents than were read. Name one source for more of its own.")


def _setting_row(change: Change) -> Row:
    said = change.document
    return {
        "at": said.at,
        "source": called(said.source),
        "by": said.author,
        "set": f"{change.what}, version {said.version}",
        "changed": None if change.differences is None else "; ".join(map(str, change.told)),
        "why": said.comment,
    }


def _deed_row(deed: Deed, found: Became | None) -> Row:
    key = deed.keys[0] if deed.keys else ""
    return {
        "at": deed.at,
        "source": split_source(deed.source)[1],
        "by": deed.by,
        "action": deed.action,
        "key": key,
        "partitions": deed.number or None,
        "why": deed.why,
        "became": spoken(deed, found) if found else None,
    }


def print_source(context: CommandContext, args: Namespace) -> None:
    """Print one source at a glance: how much is in which state, who has paused it and why, who works, what failed."""
    coordinator = context.coordinator(args.source, args.partition_prefix)
    print_rows([{"field": name, "value": value} for name, value in _told(coordinator).items()], args.output)
    if coordinator.looking.outlook().parked:
        say(f"What is parked failed of: {typed(coordinator, 'errors')}")


def print_ended(context: CommandContext, args: Namespace) -> None:
    """Print what ended in each five minutes of the last day, the oldest first, those left out in which nothing did.

    :raises SettingsError: when the age is none, or the store keeps no history.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    book, now = coordinator.looking.ended, context.store.now()
    if not book.are_kept:
        problem = "keeps no history, from which it is counted what ended"
        raise SettingsError("store", context.store.description, problem, "Set history_retention in its configuration")
    day, rows = ended_day(book, now, now - _COUNTED)
    for _ in range(_PORTIONS):
        before = day.counted_to
        day, rows = ended_day(book, now, now - _COUNTED, rows)
        if day.counted_to == before:
            break
    since = max(day.since, now - age_of(args.since, "--since")) if args.since else day.since
    shown = [row for row in day.rows if row.end > since and (row.completed or row.failed or row.lost or row.rows)]
    print_rows([_ended_row(row) for row in shown], args.output)
    say(f"Counted from {day.since.isoformat()} to {day.counted_to.isoformat()}.")
    if not day.by_duty:
        say("No duty has counted of late: countEnded does, and then a whole day is known. See `duties`")


def _ended_row(row: EndedSums) -> Row:
    counts = {each: getattr(row, each) for each in ("completed", "failed", "lost", "rows", "bytes")}
    return {"from": row.start, "to": min(row.end, row.counted_to), **counts}


def _told(coordinator: SourceCoordinator) -> dict[str, object]:
    store, prefix = coordinator.store, coordinator.partition_prefix
    counts, outlook, pause = coordinator.counts(), coordinator.looking.outlook(), coordinator.pausing.current_pause()
    facts = registered(store, identifier_of(coordinator))
    return {
        "source": coordinator.source,
        "prefix": prefix,
        "store": store.description,
        "dags": ", ".join(sorted(dags_of(facts))) or None,
        **{state.lower(): count for state, count in by_state(counts, outlook).items()},
        **asdict(counted(counts, outlook)),
        "overdue": outlook.overdue,
        "in_grace": str(late_ones(coordinator, outlook)) or None,
        "oldest_claimable_seconds": outlook.oldest_claimable and outlook.oldest_claimable // timedelta(seconds=1),
        "next_due": outlook.next_due,
        "paused": outlook.paused,
        "paused_or_resumed_last": None if pause.op is None else str(pause),
        **_working(coordinator, identifier_of(coordinator)),
        **_moving(coordinator, outlook),
    }


def _moving(coordinator: SourceCoordinator, outlook: Outlook) -> dict[str, object]:
    """Return how fast the source moves and until when, and what that takes; nothing where no history is kept."""
    known = lately(coordinator, coordinator.store.now(), OWNERS)
    if known is None:
        return {}
    return {"pace": Progress(outlook, known.rate()).ahead, "spent_since": known.since, "spent": known.spent}


def _working(coordinator: SourceCoordinator, identifier: str) -> dict[str, object]:
    page = owners(coordinator.store, identifier, OWNERS)
    living = {each.owner for each in page.held if not each.expired}
    silent = {each.owner for each in page.held} - living
    more = "at least " if page.after is not None else ""
    return {"owners": f"{more}{len(living)}", "silent_owners": f"{more}{len(silent)}"}
