"""``owners``, ``sources``, ``workers`` and ``shards``: who holds what, and what there is in the store."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.cli.subcommands.looking import chosen, registered
from airflow_coordination.cli.task_log import task_log
from airflow_coordination.leases.explaining.wording import ahead, holder, span
from airflow_coordination.leases.supply import partitions_of
from airflow_coordination.monitoring.counts import counted
from airflow_coordination.monitoring.owners import Holding, owners
from airflow_coordination.monitoring.states import by_state, state_of
from airflow_coordination.monitoring.summaries import SourceSummary, sources
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.remedies import quoted
from airflow_coordination.spark.balance import look_at
from airflow_coordination.systems.kinesis.shards import ShardLease, newest_read
from airflow_coordination.values.input_errors import InvalidInputError, SettingsError
from airflow_coordination.values.names import check_limit, compose_source

_SECOND = timedelta(seconds=1)
_TASK = {
    "host": "hostname",
    "dag": "dag",
    "run": "run",
    "task": "task",
    "map_index": "map_index",
    "try": "try_number",
}
"""The columns of an Airflow task instance, and where its parts are."""


def print_owners(context: CommandContext, args: Namespace) -> None:
    """Print who holds what, of one source by key or of all of them, and say how to go on when there is more.

    :raises SettingsError: when it is to begin after a key of no source.
    """
    limit = check_limit(args.limit)
    if args.after is not None and not args.source:
        raise SettingsError("--after", args.after, "is a key of one source", "Name the source first: owners SOURCE")
    rows: list[Row] = []
    more = None
    for prefix, source in chosen(context, args):
        coordinator = context.coordinator(source, prefix)
        prefix = coordinator.partition_prefix
        grace = coordinator.settings.reassign_grace
        page = owners(context.store, compose_source(source, prefix, "PARTITION"), limit - len(rows), args.after, grace)
        rows += [_held(context, source, prefix, each) for each in page.held]
        more = page.after
        if more is not None or len(rows) == limit:
            break
    print_rows(rows, args.output)
    _say_more(args, rows, more)
    if args.source:
        _say_supplier(context, args.source, prefix)


def _held(context: CommandContext, source: str, prefix: str | None, held: Holding) -> Row:
    task = held.task
    return {
        "source": source,
        "prefix": prefix,
        "key": held.key,
        **{column: getattr(task, part, None) for column, part in _TASK.items()},
        "owner": None if task else held.owner,
        "since": held.since,
        "wrote_at": held.wrote_at,
        "expires_at": held.expires_at,
        "late": held.late,
        "sign_at": held.sign_at,
        "silent": held.silent,
        "seconds_left": None if held.left is None else held.left // _SECOND,
        "spark": held.facts.get("application"),
        "spark_ui": held.facts.get("url"),
        "log": task_log(context, held.owner),
    }


def _say_more(args: Namespace, rows: Sequence[Row], after: str | None) -> None:
    if args.source and after is not None:
        say(f"There are more. These are the first {len(rows)}; go on with --after={quoted(after)}")
    elif not args.source and len(rows) == args.limit:
        say(f"There may be more. These are the first {len(rows)}; name a source, or give a higher --limit")


def _say_supplier(context: CommandContext, source: str, prefix: str | None) -> None:
    found = owners(context.store, compose_source(source, prefix, "GLOBAL_STATE"), 1)
    for held in found.held:
        until = f" until {ahead(held.expires_at, found.now)}" if held.expires_at and not held.expired else ""
        say(f"The supplier of source {source} is in the hands of {holder(held.owner)}{until}.")


def print_sources(context: CommandContext, args: Namespace) -> None:
    """Print all sources of the store: their partitions by state, and the DAGs that registered them."""
    found = registered(context, args.partition_prefix)
    wanted = {compose_source(source, prefix, "PARTITION") for prefix, source in found}
    print_rows([_summed_up(each) for each in sources(context.store, wanted)], args.output)


def _summed_up(source: SourceSummary) -> Row:
    outlook, oldest = source.outlook, source.outlook.oldest_claimable
    return {
        "source": source.name,
        "prefix": source.prefix,
        "dags": ", ".join(source.dags) or None,
        "partitions": source.total,
        **{state.lower(): count for state, count in by_state(source.counts, outlook).items()},
        **asdict(counted(source.counts, outlook)),
        "paused": outlook.paused,
        "oldest_claimable_seconds": None if oldest is None else oldest // _SECOND,
        "next_due": outlook.next_due,
    }


def print_workers(context: CommandContext, args: Namespace) -> None:
    """Print the workers of a source that are alive.

    :raises SettingsError: when the store has never seen the source.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    coordinator.looking.check_known()
    fleet = look_at(coordinator)
    share = fleet.shares
    rows: list[Row] = [
        {
            "worker": name,
            "capacity": fleet.capacity[name],
            "held": len(fleet.leases[name]),
            "share": share[name],
            "wanted": sum(one.wanted is not None for one in fleet.leases[name]),
        }
        for name in fleet.capacity
    ]
    print_rows(rows, args.output)


def print_shards(context: CommandContext, args: Namespace) -> None:
    """Print the shards among a source's partitions, by stream and shard.

    *newest* is when Kinesis got the newest record that was read, *ago* how long that is: of a quiet shard it grows.

    :raises SettingsError: when the store has never seen the source.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    coordinator.looking.check_known()
    now = context.store.now()
    rows, others = [], 0
    for partition in partitions_of(coordinator, ""):
        row = _row(partition, now)
        if row is None:
            others += 1
        else:
            rows.append(row)
    print_rows(rows, args.output)
    if others:
        say(f"{others} other partition(s) of the source are no shards. KinesisShards makes those that are")


def _row(partition: Partition, now: datetime) -> Row | None:
    try:
        lease = ShardLease.of(partition.key, partition.payload)
    except InvalidInputError:
        return None
    after, newest = _place(partition)
    return {
        "stream": lease.stream.name,
        "shard": lease.shard,
        "status": state_of(partition),
        "owner": partition.owner,
        "parents": _shards(partition.parents),
        "waits_for": _shards(partition.waits_for),
        "start": str(lease.position.start),
        "after": after,
        "newest": newest,
        "ago": None if newest is None else span(now - newest),
    }


def _shards(keys: tuple[str, ...]) -> str | None:
    return ", ".join(key.rpartition(":")[2] for key in keys) or None


def _place(partition: Partition) -> tuple[str | None, datetime | None]:
    """Return the place that was read last, and when its record came; a function may have saved something else."""
    progress = partition.progress_state
    if not isinstance(progress, Mapping) or not isinstance(progress.get("after"), list):
        return None, None
    return ":".join(map(str, progress["after"])), newest_read(progress)
