"""The command that says why a partition is not moving."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import print_rows, say
from airflow_coordination.cli.task_log import last_task_log
from airflow_coordination.leases import Reason


def explain(context: CommandContext, args: Namespace) -> int:
    """Print why a partition is not moving; return 1 where there is none of the key, after naming the nearest.

    The table leaves the command to a line of its own, so that it can be copied.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    said = asdict(coordinator.explain(args.key))
    command = said.pop("command") if args.output == "table" else None
    known = said["reason"] is not Reason.ABSENT
    said["log"] = last_task_log(context, coordinator, coordinator.partition(args.key)) if known else None
    print_rows([{"field": name, "value": value} for name, value in said.items()], args.output)
    if command:
        say(f"Type: {command}")
    return int(said["reason"] in (Reason.ABSENT, Reason.DELETED))
