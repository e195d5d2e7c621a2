"""``pause`` and ``resume``: whether anything of a source is acquired."""

from __future__ import annotations

from argparse import Namespace

from airflow_coordination.cli.actions import agreed
from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.output import print_rows, say
from airflow_coordination.monitoring.counts import foreseen
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.results import Outlook


def pause(context: CommandContext, args: Namespace) -> None:
    """Hold new leases of a source back, after showing what is at stake."""
    _set(context, args, paused=True)


def resume(context: CommandContext, args: Namespace) -> None:
    """Let a paused source go on."""
    _set(context, args, paused=False)


def _set(context: CommandContext, args: Namespace, *, paused: bool) -> None:
    """Pause or resume a source as it was shown.

    :raises SettingsError: when the store has never heard of the source.
    :raises PartitionUpdateError: when it is so already, or somebody else was faster.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    coordinator.check_known()
    seen = coordinator.outlook()
    coordinator.check_pause(paused, seen.pause)
    print_rows([_at_stake(args.source, seen)], args.output)
    verb = "pause" if paused else "resume"
    if not agreed(args, f"{verb} source {args.source}", f"{verb} source {args.source}?", context.store):
        return
    now = (coordinator.pause if paused else coordinator.resume)(args.by or account(), args.why, seen.pause)
    say(f"Done: source {args.source} was {now}.")
    if paused and seen.assigned:
        say(f"{seen.assigned} partition(s) are held; their owners finish, and acquire no other.")


def _at_stake(source: str, seen: Outlook) -> dict[str, object]:
    last: Pause = seen.pause
    now = foreseen(seen)
    return {
        "source": source,
        "paused": last.paused,
        "by": last.by,
        "at": last.at,
        "why": last.why,
        "claimable": now.claimable,
        "held": now.held,
        "expired": now.expired,
        "delayed": now.delayed,
        "assigned": seen.assigned,
        "waiting": seen.waiting,
    }
