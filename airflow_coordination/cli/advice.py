"""``advice``: what one might look at in a source, or set otherwise, and why."""

from __future__ import annotations

from argparse import Namespace

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import print_rows, say
from airflow_coordination.monitoring.advice import ENOUGH, advise
from airflow_coordination.monitoring.owners import owners
from airflow_coordination.monitoring.throughput import lately
from airflow_coordination.values.names import compose_source

HELD = 1_000
"""So many held partitions are looked at."""
UNKNOWN = (
    "This store keeps no history: nobody knows how long partitions take. PostgreSQL and SQLite keep one, and DynamoDB "
    "with history_retention."
)


def print_advice(context: CommandContext, args: Namespace) -> None:
    """Print what follows from the tenures of a source that ended in the last day; say where too little has ended."""
    coordinator = context.coordinator(args.source, args.partition_prefix)
    held = owners(context.store, compose_source(args.source, coordinator.partition_prefix, "PARTITION"), HELD)
    known = lately(coordinator, held.now)
    if known is None:
        say(UNKNOWN)
        return
    found = advise(known, held.held, coordinator.outlook())
    rows = [{"advice": str(each.kind), "about": each.about, "why": each.sentence} for each in found]
    if rows or args.output != "table":
        print_rows(rows, args.output)
    if not rows:
        ended = f"{len(known.past)} tenure(s) ended in the last day"
        say(f"No advice: {ended}, and nothing is concluded from fewer than {ENOUGH} finished ones.")
