"""The commands that only read."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.cli.selection import filter_of
from airflow_coordination.cli.task_log import last_task_logs
from airflow_coordination.leases.explaining.facts import MOST_HEADS
from airflow_coordination.leases.explaining.wording import UNREADABLE, records_told
from airflow_coordination.monitoring.counts import counted
from airflow_coordination.monitoring.owners import began
from airflow_coordination.monitoring.selection import listed
from airflow_coordination.monitoring.states import by_state
from airflow_coordination.monitoring.summaries import summary
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.remedies import quoted
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.errors import PartitionNotFoundError
from airflow_coordination.values.input_errors import shown
from airflow_coordination.values.names import agreed_prefix, check_limit, split_source
from airflow_coordination.values.status import PartitionStatus


def status(context: CommandContext, args: Namespace) -> None:
    """Print the counts of one source, or of all that are registered."""
    print_rows([_counted(context, prefix, source) for prefix, source in chosen(context, args)], args.output)


def chosen(context: CommandContext, args: Namespace) -> list[tuple[str | None, str]]:
    """Return prefix and name of the source that is named, or of all that are registered."""
    if args.source:
        return [(args.partition_prefix, args.source)]
    return registered(context, args.partition_prefix)


def registered(context: CommandContext, partition_prefix: str | None) -> list[tuple[str | None, str]]:
    """Return prefix and name of all sources, of one prefix where the store or the command names one."""
    agreed = agreed_prefix(context.store.partition_prefix, partition_prefix)
    named = [split_source(name)[:2] for name, _ in context.store.sources()]
    found = [(prefix, source) for prefix, source in named if agreed in (None, prefix)]
    if named and not found:
        elsewhere = ", ".join(sorted({"none" if prefix is None else ascii(prefix) for prefix, _ in named}))
        say(f"There is no source under partition_prefix {agreed!a}; the store has {len(named)} under: {elsewhere}")
    return found


def _counted(context: CommandContext, prefix: str | None, source: str) -> Row:
    coordinator = context.coordinator(source, prefix)
    counts, outlook = coordinator.counts(), coordinator.outlook()
    row: dict[str, object] = {"source": source, "prefix": coordinator.partition_prefix}
    row |= {state.lower(): count for state, count in by_state(counts, outlook).items()}
    row |= asdict(counted(counts, outlook))
    return row | {"overdue": outlook.overdue, "next_due": outlook.next_due, "paused": outlook.paused}


def list_partitions(context: CommandContext, args: Namespace) -> None:
    """Print one page of partitions by key, and say how to go on when there are more."""
    coordinator = context.coordinator(args.source, args.partition_prefix)
    page, after = listed(coordinator, filter_of(args), args.after, check_limit(args.limit))
    now = context.store.now()
    logs = last_task_logs(context, coordinator, page)
    rows = [{**summary(each, now), "since": _since(each), "log": logs.get(each.key)} for each in page]
    print_rows(rows, args.output)
    if after is not None:
        say(f"There are more. These are the first {len(page)}; go on with --after={quoted(after)}")


def _since(partition: Partition) -> datetime | None:
    """Return since when a partition is what it is: the last that was written of it, of a held one its beginning."""
    return began(partition) if partition.status is PartitionStatus.ASSIGNED else partition.updated_at


def show(context: CommandContext, args: Namespace) -> None:
    """Print one partition with its endings and people's actions.

    :raises PartitionNotFoundError: when there is none of this key.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    partition = coordinator.partition(args.key)
    if partition is None:
        raise PartitionNotFoundError(args.key, args.source)
    rows: list[Row] = [
        {"field": name, "value": value} for name, value in _details(partition, context.store.now()).items()
    ]
    if records_told(partition) == UNREADABLE:
        rows.append({"field": "accounting", "value": UNREADABLE})
    elif partition.accounting is not None:
        rows.append({"field": "accounting", "value": partition.accounting.to_json()})
    rows += [{"field": f"published {head.dataset}", "value": _told(head)} for head in _published(context, partition)]
    if partition.on_parked is not None and not partition.parked:
        rows.append({"field": "to do when parked", "value": partition.on_parked})
    rows += [{"field": f"to do after {note.token}", "value": note.text} for note in coordinator.follow_ups(args.key)]
    rows += [{"field": f"ending {ending.fence.token}", "value": str(ending)} for ending in partition.endings]
    rows += [
        {"field": "action", "value": _spoken(action)} for action in context.store.audit(partition.source, args.key)
    ]
    print_rows(rows, args.output)


def _published(context: CommandContext, partition: Partition) -> Sequence[HeadRecord]:
    return context.store.heads(partition.source, key=partition.key, limit=MOST_HEADS)


def _told(head: HeadRecord) -> str:
    if not head.blocks:
        return "nothing: it was taken back"
    records = records_told(head)
    rows = f"{head.rows:,} row(s) in {len(head.blocks):,} block(s) by tenure {head.token}"
    return f"{rows}; records: {records}" if records else rows


def _details(partition: Partition, now: datetime) -> Row:
    named = ("priority", "payload_text", "progress_text", "reopen_at", "available_at", "created_at", "updated_at")
    fence = str(partition.fence) if partition.fence else None
    limit = {"max_failures": partition.max_failures, "max_lost_leases": partition.max_lost_leases}
    family = {name: ", ".join(map(shown, getattr(partition, name))) or None for name in ("parents", "waits_for")}
    stored = {name: getattr(partition, name) for name in named}
    return {**summary(partition, now), **limit, "fence": fence, **stored, **family}


def _spoken(action: dict[str, object]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in action.items() if value not in (None, ""))
