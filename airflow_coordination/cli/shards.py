"""``shards``: how far each shard of a stream is read, and what it waits for."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from datetime import datetime

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.leases.explaining.wording import span
from airflow_coordination.leases.supply import partitions_of
from airflow_coordination.monitoring.states import state_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.systems.kinesis.shards import ShardLease, newest_read
from airflow_coordination.values.input_errors import InvalidInputError


def print_shards(context: CommandContext, args: Namespace) -> None:
    """Print the shards among a source's partitions, by stream and shard.

    *newest* is when Kinesis got the newest record that was read, *ago* how long that is: of a quiet shard it grows.

    :raises SettingsError: when the store has never seen the source.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    coordinator.check_known()
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
