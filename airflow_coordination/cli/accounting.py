"""``accounting``: what became of the records that were delivered."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.monitoring.summaries import Line, lines
from airflow_coordination.outputs.published import published_accounting
from airflow_coordination.values.accounting import AddedUp, of_partitions
from airflow_coordination.values.errors import PartitionNotFoundError
from airflow_coordination.values.input_errors import InvalidInputError


def print_accounting(context: CommandContext, args: Namespace) -> None:
    """Print the counts of one partition, or of all of a source added up: of the records, then of each sink.

    :raises InvalidInputError: when both a partition and a dataset are named.
    :raises PartitionNotFoundError: when there is no partition of the key.
    """
    if args.key is not None and args.dataset is not None:
        remedy = "Leave the key out: show says it of one partition"
        raise InvalidInputError("--dataset", args.dataset, "is of all partitions", remedy)
    coordinator = context.coordinator(args.source, args.partition_prefix)
    if args.key is None:
        found = _of_a_source(context, coordinator, args)
    elif (partition := coordinator.partition(args.key)) is not None:
        found = of_partitions([partition])
    else:
        raise PartitionNotFoundError(args.key, args.source)
    print_rows(rows(found) if found.partitions else [], args.output)
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
