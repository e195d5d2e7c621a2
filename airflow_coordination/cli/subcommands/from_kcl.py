"""``import-kcl``: a source goes on where an application of the Kinesis Client Library has stopped."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Mapping

from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.output import say
from airflow_coordination.cli.subcommands.acting import agreed
from airflow_coordination.cli.subcommands.moving import told_different
from airflow_coordination.cli.subcommands.upkeep import moment_of
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.systems.kinesis.kcl_table import KclLease, read_leases
from airflow_coordination.systems.kinesis.kcl_takeover import TakeoverPlan, make_plan, take_over
from airflow_coordination.systems.kinesis.listing import connect, default_client
from airflow_coordination.systems.suppliers import wrapped
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import shown

FAILOVER: float = 10.0
"""Seconds: the KCL's default ``failoverTimeMillis``, in which each worker renews each of its leases three times."""
_NAMED = 10


def import_kcl(context: CommandContext, args: Namespace) -> int:
    """Take the positions of a KCL application over; return 1 if some of its shards were here with another life."""
    begin = moment_of(args.begin_at, context.store.now(), "--begin-at") if args.begin_at else None
    with wrapped("read the KCL's leases", args.table):
        tables, kinesis = default_client("dynamodb", args.region), connect(None, args.region, None)
    leases = read_leases(tables, args.table)
    plan = make_plan(kinesis, leases.values(), args.stream or (), begin)
    _print(args.table, plan)
    time.sleep(args.still_for)
    _check_still(leases, read_leases(tables, args.table), "Nothing was changed")
    coordinator = context.newcomer(args.source, args.partition_prefix)
    coordinator.looking.check_prefix()
    where = f"source {args.source} of {context.store.description}"
    question = f"Take {len(plan)} shard(s) over into {where}?"
    if not agreed(args, f"take them over into {where}", question, context.store):
        return 0
    done = take_over(coordinator, plan, args.by or account(), args.table)
    say(f"Done: {done.here} of {len(plan)} shard(s) go on here.")
    told_different(done)
    _check_still(leases, read_leases(tables, args.table), "What it reads from now on is read again here")
    resume = typed(coordinator, "resume")
    say(f"The source is paused. When its DAG has KinesisShards for these streams, let it go on: {resume}")
    return int(bool(done.different))


def _print(table: str, plan: TakeoverPlan) -> None:
    streams = sorted({one.stream.name for one in plan.shards})
    about = f"{len(plan)} shard(s) of {', '.join(streams) or 'no stream'}, {plan.done} of them read to the end"
    say(f"Table {table}: {about}")
    for key, why in list(plan.left.items())[:_NAMED]:
        say(f"Left out: {shown(key)}: {why}.")
    if len(plan.left) > _NAMED:
        say(f"Left out: {len(plan.left) - _NAMED} more.")


def _check_still(before: Mapping[str, KclLease], now: Mapping[str, KclLease], meanwhile: str) -> None:
    """Refuse a table that somebody writes: what is read after its positions were read would be read again.

    :raises PartitionUpdateError: naming a lease and its worker.
    """
    moved = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
    if moved:
        lease = now.get(moved[0]) or before[moved[0]]
        problem = f"worker {shown(lease.owner or 'nobody')} still works on it, and on {len(moved) - 1} other lease(s)."
        remedy = f" {meanwhile}. Stop all workers of the KCL's application, and begin again."
        raise PartitionUpdateError("take over from the KCL", lease.key, problem + remedy)
