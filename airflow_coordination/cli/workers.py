"""``workers``: who shares a source evenly (``balance=True``), how many leases each holds and should hold.

*wanted* are those of its leases that others have asked for.
"""

from __future__ import annotations

from argparse import Namespace

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import Row, print_rows
from airflow_coordination.spark.balance import look_at


def print_workers(context: CommandContext, args: Namespace) -> None:
    """Print the workers of a source that are alive.

    :raises SettingsError: when the store has never seen the source.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    coordinator.check_known()
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
