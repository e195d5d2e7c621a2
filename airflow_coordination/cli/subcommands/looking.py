"""The commands that only read a partition: what it is, was and waits for, its records, and advice."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import islice
from typing import Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.cli.selection import filter_of
from airflow_coordination.cli.task_log import last_task_log, last_task_logs, task_log
from airflow_coordination.delivery.again.balance import lines_beside
from airflow_coordination.delivery.again.whole_source import again_of
from airflow_coordination.duties.follow_ups import told
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.explaining.explanation import Reason
from airflow_coordination.leases.explaining.facts import MOST_HEADS
from airflow_coordination.leases.explaining.wording import UNREADABLE, records_told, span
from airflow_coordination.monitoring.advice import ENOUGH, advise
from airflow_coordination.monitoring.counts import counted
from airflow_coordination.monitoring.late import late_ones
from airflow_coordination.monitoring.owners import Holding, began, owners
from airflow_coordination.monitoring.selection import listed
from airflow_coordination.monitoring.states import by_state
from airflow_coordination.monitoring.summaries import Line, lines, summary, unbalanced
from airflow_coordination.monitoring.throughput import Lately, Slow, lately, slowest
from airflow_coordination.monitoring.timeline import Event, timeline
from airflow_coordination.outputs.published import published_accounting
from airflow_coordination.planning.view.showing import dataset_of, of_dataset, unseen
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.remedies import quoted
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.accounting import AddedUp, of_partitions
from airflow_coordination.values.errors import PartitionNotFoundError
from airflow_coordination.values.fence import Owner
from airflow_coordination.values.input_errors import InvalidInputError, shown
from airflow_coordination.values.names import (
    agreed_prefix,
    check_limit,
    dataset_in_words,
    identifier_of,
    split_source,
)
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
    counts, outlook = coordinator.counts(), coordinator.looking.outlook()
    row: dict[str, object] = {"source": source, "prefix": coordinator.partition_prefix}
    row |= {state.lower(): count for state, count in by_state(counts, outlook).items()}
    row |= asdict(counted(counts, outlook))
    row |= {"overdue": outlook.overdue, "in_grace": late_ones(coordinator, outlook).number}
    return row | {"next_due": outlook.next_due, "paused": outlook.paused}


def list_partitions(context: CommandContext, args: Namespace) -> None:
    """Print one page of partitions by key, and say how to go on when there are more."""
    coordinator = context.coordinator(args.source, args.partition_prefix)
    page, after = listed(coordinator, filter_of(args), args.after, check_limit(args.limit))
    now = context.store.now()
    grace = coordinator.settings.reassign_grace
    logs = last_task_logs(context, coordinator, page)
    rows = [{**summary(each, now, grace), "since": _since(each), "log": logs.get(each.key)} for each in page]
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
    rows: list[Row] = [{"field": name, "value": value} for name, value in _details(coordinator, partition).items()]
    if records_told(partition) == UNREADABLE:
        rows.append({"field": "accounting", "value": UNREADABLE})
    elif partition.accounting is not None:
        rows.append({"field": "accounting", "value": partition.accounting.to_json()})
    rows += list(_published(coordinator, partition))
    if partition.on_parked is not None and not partition.parked:
        rows.append({"field": "to do when parked", "value": partition.on_parked})
    rows += [
        {"field": f"to do after {note.token}", "value": note.text}
        for note in coordinator.follow_ups.follow_ups(args.key)
    ]
    rows += [{"field": f"ending {ending.fence.token}", "value": str(ending)} for ending in partition.endings]
    rows += [
        {"field": "action", "value": _spoken(action)} for action in context.store.audit(partition.source, args.key)
    ]
    print_rows(rows, args.output)


def _published(coordinator: SourceCoordinator, partition: Partition) -> Iterator[Row]:
    """Yield what a partition has published, in branches, too, and why readers do not see it, where that is so."""
    heads = coordinator.store.heads(partition.source, key=partition.key, limit=MOST_HEADS)
    view = coordinator.documents.view()
    for head in heads:
        alike = of_dataset(heads, dataset_of(head))
        why = unseen(view, head, alike) if head.blocks else None
        told = f"{_told(head)}; readers do not see it: {why}" if why else _told(head)
        yield {"field": f"published {dataset_in_words(head.dataset)}", "value": told}


def _told(head: HeadRecord) -> str:
    if not head.blocks:
        return "nothing: it was taken back"
    records = records_told(head)
    rows = f"{head.rows:,} row(s) in {len(head.blocks):,} block(s) by tenure {head.token}"
    return f"{rows}; records: {records}" if records else rows


def _details(coordinator: SourceCoordinator, partition: Partition) -> Row:
    now, grace = coordinator.store.now(), coordinator.settings.reassign_grace
    named = ("priority", "payload_text", "progress_text", "reopen_at", "available_at", "created_at", "updated_at")
    fence = str(partition.fence) if partition.fence else None
    limit = {"max_failures": partition.max_failures, "max_lost_leases": partition.max_lost_leases}
    family = {name: ", ".join(map(shown, getattr(partition, name))) or None for name in ("parents", "waits_for")}
    stored = {name: getattr(partition, name) for name in named}
    return {**summary(partition, now, grace), **limit, "fence": fence, **stored, **family}


def _spoken(action: dict[str, object]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in action.items() if value not in (None, ""))


def print_history(context: CommandContext, args: Namespace) -> None:
    """Print what happened to one partition, oldest first.

    :raises PartitionNotFoundError: when nothing is known of its key.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    found = timeline(coordinator, args.key, check_limit(args.limit))
    if not found.events:
        raise PartitionNotFoundError(args.key, args.source)
    print_rows([_row(context, event) for event in found.events], args.output)
    if parts_of(context.store).history is None:
        say("This store keeps no history: of each partition the last eight endings are known, without owner and start.")
    elif sum(event.tenure is not None for event in found.events) == args.limit:
        say(f"There may be more. These are the newest {args.limit} tenures; ask for more with --limit")


def _row(context: CommandContext, event: Event) -> Row:
    task = Owner(event.who).instance if event.who else None
    tenure = event.tenure
    return {
        "at": event.at,
        "what": event.what,
        "since": event.since,
        "lasted": span(tenure.lasted) if tenure and tenure.lasted is not None else None,
        "who": event.who if task is None else f"{task.task}[{task.map_index}] try {task.try_number}",
        "run": task and task.run,
        "rows": (tenure and tenure.rows) or None,
        "records": records_told(tenure) if tenure else None,
        "spark": event.owner_facts.get("application"),
        "spark_ui": event.owner_facts.get("url"),
        "why": event.why,
        "fence": str(tenure.fence) if tenure else None,
        "log": task_log(context, event.who),
    }


_NOTES: Final = 10
"""The most notes of what follows its endings that are printed."""


def explain(context: CommandContext, args: Namespace) -> int:
    """Print why a partition is not moving; return 1 where there is none of the key, after naming the nearest.

    The table leaves the command to a line of its own, so that it can be copied.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    said = asdict(coordinator.explain(args.key))
    command = said.pop("command") if args.output == "table" else None
    known = said["reason"] is not Reason.ABSENT
    said["log"] = last_task_log(context, coordinator, coordinator.partition(args.key)) if known else None
    rows: list[Row] = [{"field": name, "value": value} for name, value in said.items()]
    rows += [{"field": f"to do after {note.token}", "value": told(note)} for note in _notes(coordinator, args.key)]
    print_rows(rows, args.output)
    if command:
        say(f"Type: {command}")
    return int(said["reason"] in (Reason.ABSENT, Reason.DELETED))


def _notes(coordinator: SourceCoordinator, key: str) -> Iterator[FollowUp]:
    return islice(coordinator.follow_ups.follow_ups(key), _NOTES)


def print_accounting(context: CommandContext, args: Namespace) -> None:
    """Print the counts of one partition, or of all of a source added up: of the records, of each sink, of dead letters.

    :raises InvalidInputError: when both a partition and a dataset are named.
    :raises PartitionNotFoundError: when there is no partition of the key.
    """
    if args.key is not None and args.dataset is not None:
        remedy = "Leave the key out: show says it of one partition"
        raise InvalidInputError("--dataset", args.dataset, "is of all partitions", remedy)
    coordinator = context.coordinator(args.source, args.partition_prefix)
    beside: list[Line] = []
    if args.key is None:
        found = _of_a_source(context, coordinator, args)
        if args.dataset is None and (again := again_of(context.store, identifier_of(coordinator))).partitions:
            beside = list(again.balance(found.dead_lettered))
    elif (partition := coordinator.partition(args.key)) is not None:
        found = of_partitions([partition])
        beside = lines_beside(context.store, partition)
    else:
        raise PartitionNotFoundError(args.key, args.source)
    counts = rows(found) if found.partitions else []
    print_rows([*counts, *map(asdict, beside)], args.output)
    for sentence in unbalanced(found):
        say(sentence)
    if not found.partitions and args.dataset is not None:
        say(f"Nothing published in dataset {args.dataset!a} was counted: see lease.deliver.")
    elif not found.partitions:
        whose = "this source" if args.key is None else "this partition"
        say(f"Nothing of {whose} was counted: no accepted save or ending has delivered anything (lease.deliver).")


def _of_a_source(context: CommandContext, coordinator: SourceCoordinator, args: Namespace) -> AddedUp:
    """Return the counts of a source as they are now, or as they were when what a dataset holds was published."""
    if args.dataset is None:
        return coordinator.accounting()
    return published_accounting(context.store, args.source, args.dataset, coordinator.partition_prefix)


def rows(counted: AddedUp) -> list[Row]:
    """Return the lines, and how many partitions they are of."""
    return [asdict(Line("partitions", None, counted.partitions)), *(asdict(line) for line in lines(counted))]


HELD = 1_000
"""The most held partitions that are looked at."""
UNKNOWN = (
    "This store keeps no history: nobody knows how long partitions take. PostgreSQL and SQLite keep one, and DynamoDB "
    "with history_retention."
)


def _of_late(context: CommandContext, args: Namespace) -> tuple[SourceCoordinator, Sequence[Holding], Lately | None]:
    """Return a source, what is held of it, and what ended lately; say so where nobody knows that."""
    coordinator = context.coordinator(args.source, args.partition_prefix)
    held = owners(context.store, identifier_of(coordinator), HELD)
    if (known := lately(coordinator, held.now)) is None:
        say(UNKNOWN)
    return coordinator, held.held, known


def print_slowest(context: CommandContext, args: Namespace) -> None:
    """Print which partitions of a source took longest in the last day, and how that ended.

    :raises InvalidInputError: for a limit below 1.
    """
    check_limit(args.limit)
    _, held, known = _of_late(context, args)
    if known is None:
        return
    found = slowest(known, held, args.limit)
    print_rows([_slow(each) for each in found], args.output)
    if not known.whole:
        say(f"More has ended in the last day than is read: this is since {known.since.isoformat(timespec='seconds')}.")


def _slow(each: Slow) -> Row:
    seconds = round(each.lasted.total_seconds(), 1)
    ended = str(each.ended or "held")
    return {"key": each.key, "took": span(each.lasted), "seconds": seconds, "ended": ended, "owner": each.owner}


def print_advice(context: CommandContext, args: Namespace) -> None:
    """Print what follows from the tenures of a source that ended in the last day; say where too little has ended."""
    coordinator, held, known = _of_late(context, args)
    if known is None:
        return
    found = advise(known, held, coordinator.looking.outlook())
    rows = [{"advice": str(each.kind), "about": each.about, "why": each.sentence} for each in found]
    if rows or args.output != "table":
        print_rows(rows, args.output)
    if not rows:
        ended = f"{len(known.past)} tenure(s) ended in the last day"
        say(f"No advice: {ended}, and nothing is concluded from fewer than {ENOUGH} finished ones.")
