"""``history``: who held a partition, from when until when, how that ended, and what people did to it."""

from __future__ import annotations

from argparse import Namespace

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.cli.task_log import task_log
from airflow_coordination.leases.explaining.wording import records_told, span
from airflow_coordination.monitoring.timeline import Event, timeline
from airflow_coordination.protocol.port import keeps_history
from airflow_coordination.values.errors import PartitionNotFoundError
from airflow_coordination.values.fence import Owner
from airflow_coordination.values.names import check_limit


def print_history(context: CommandContext, args: Namespace) -> None:
    """Print what happened to one partition, oldest first.

    :raises PartitionNotFoundError: when nothing is known of its key.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    found = timeline(coordinator, args.key, check_limit(args.limit))
    if not found.events:
        raise PartitionNotFoundError(args.key, args.source)
    print_rows([_row(context, event) for event in found.events], args.output)
    if not keeps_history(context.store):
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
