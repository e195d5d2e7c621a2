"""``outputs hide`` and ``outputs restore``: an interval of a dataset goes from readers' sight, and comes back."""

from __future__ import annotations

from argparse import Namespace

from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.duties.retention import hiding
from airflow_coordination.duties.retention.hiding import Effect
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.planning.view.showing import branch_of, interval_of_head
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.input_errors import InvalidInputError


def hide(context: CommandContext, args: Namespace) -> None:
    """Show what would vanish, and hide it with ``--yes``.

    :raises InvalidInputError: when the interval is none, or it shall be done for no reason.
    :raises SettingsError: as long as older code may work with the store.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    effect = hiding.would_hide(coordinator, args.dataset, args.interval)
    _show(effect, args)
    if effect.sticking_out:
        say(f"{effect.sticking_out} partition(s) overlap {args.interval} without lying in it, and stay.")
    if effect.timeless:
        say(f"{effect.timeless} partition(s) have no interval, and stay (`outputs set-interval` gives them one).")
    what = f"{_counted(effect)} of dataset {args.dataset} of source {args.source}"
    if meant(args, f"hide {what}"):
        hiding.hide(coordinator, args.dataset, args.interval, args.by or account(), args.why)
        say(f"Done: hid {what}. Nothing was deleted.")


def restore(context: CommandContext, args: Namespace) -> None:
    """Show what would come back, and restore it with ``--yes``.

    :raises InvalidInputError: when the interval is none, nothing of it is hidden, only a part of what was hidden at
        once lies in it, it is being purged, or it shall be done for no reason.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    effect = hiding.would_restore(coordinator, args.dataset, args.interval)
    _show(effect, args)
    for told in _again(coordinator, args, effect):
        say(told)
    what = f"{_counted(effect)} of dataset {args.dataset} of source {args.source}"
    if meant(args, f"restore {what}"):
        hiding.restore(coordinator, args.dataset, args.interval, args.by or account(), args.why)
        say(f"Done: restored {what}.")


def meant(args: Namespace, would: str) -> bool:
    """Return whether a command shall do what it has shown; where it shall not, say so.

    :raises InvalidInputError: when it shall, and nobody says why.
    """
    if not args.yes:
        say(f"Dry run: would {would}. Nothing was changed; --yes does it.")
        return False
    if not (args.why or "").strip():
        raise InvalidInputError("--why", args.why, "is missing", "Say why with --yes; it is kept in the history")
    return True


def _again(coordinator: SourceCoordinator, args: Namespace, effect: Effect) -> list[str]:
    """Return what rules would do to what comes back."""
    see = typed(coordinator, "rules get", options=["--dataset", args.dataset])
    return [
        f"{rule} would hide {number} of these intervals again, as soon as rules are applied. "
        f"Change the rules first: `{see}`"
        for rule, number in hiding.hidden_again(coordinator, args.dataset, effect)
    ]


def _counted(effect: Effect) -> str:
    return f"{effect.partitions} partition(s) with {effect.rows} row(s)"


def _show(effect: Effect, args: Namespace) -> None:
    print_rows([_row(head) for head in effect.first], args.output)
    if effect.partitions > len(effect.first):
        say(f"These are the first {len(effect.first)} of {effect.partitions}.")


def _row(head: HeadRecord) -> Row:
    interval = interval_of_head(head)
    said = {"key": head.key, "interval": str(interval) if interval else None, "rows": head.rows, "bytes": head.bytes}
    return {**said, "branch": branch_of(head), "published_at": head.published_at}
