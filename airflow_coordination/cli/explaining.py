"""The command that says why a partition is not moving."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.cli.task_log import last_task_log
from airflow_coordination.duties.follow_ups import told
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.explaining.explanation import Reason
from airflow_coordination.protocol.follow_up import FollowUp

_NOTES: Final = 10
"""So many notes of what follows its endings are told."""


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
    return islice(coordinator.follow_ups(key), _NOTES)
