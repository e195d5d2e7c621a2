"""The commands that change something: people's actions, audited, and the store's schema."""

from __future__ import annotations

import logging
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from airflow_coordination import stores
from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.output import print_rows, say
from airflow_coordination.cli.selection import selected, sentence
from airflow_coordination.monitoring.acting import TOLD, at_stake, carry_out, each
from airflow_coordination.monitoring.summaries import summary
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.writes import Action
from airflow_coordination.values.input_errors import SettingsError

MANY: Final = 100
"""From so many partitions on a person wants to see how far it is."""


def act(context: CommandContext, action: Action, args: Namespace) -> int:
    """Carry out a person's action on the partitions meant, after showing them; return 1 if it was refused for some.

    A dry run checks what the action would check. What is refused for one partition does not keep the others from it.

    :raises PartitionNotFoundError: when one that is named does not exist; nothing is changed then.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    meant = selected(coordinator, args)
    now = context.store.now()
    stakes = [at_stake(context.store, action, one) for one in meant.shown]
    columns = dict.fromkeys(name for stake in stakes for name in stake)
    rows = [{**summary(one, now), **columns, **stake} for one, stake in zip(meant.shown, stakes, strict=True)]
    print_rows(rows, args.output)
    if "released" in columns:
        say("What was released after it goes on: nothing takes that back.")
    if scope := sentence(args.source, meant):
        say(scope)
    partitions, about = meant.partitions, f"partition(s) of source {args.source}"
    if args.dry_run:
        fit = _told(partitions, lambda partition: coordinator.check_action(action, partition))
        say(f"Dry run: would {action} {fit} of {len(partitions)} {about}. Nothing was changed.")
        return int(fit < len(partitions))
    if not partitions or (not args.yes and not confirmed(f"{action} {len(partitions)} {about}?", context.store)):
        say("Nothing was changed.")
        return 0
    by = args.by or account()
    done = _told(partitions, lambda partition: carry_out(coordinator, action, partition, by, args.why))
    say(f"Done: {action} {done} of {len(partitions)} {about}.")
    return int(done < len(partitions))


def _told(partitions: Sequence[Partition], do: Callable[[Partition], object]) -> int:
    """Do something with every partition, say for which it was refused and why, and return for how many it was not."""
    refused = 0
    for error in each(_with_progress(partitions), do):
        if error is None:
            continue
        refused += 1
        if refused <= TOLD:
            say(f"Error: {error}")
    if refused > TOLD:
        say(f"Error: {refused - TOLD} more were refused.")
    return len(partitions) - refused


def _with_progress(partitions: Sequence[Partition]) -> Iterable[Partition]:
    """Return the partitions; going through many of them draws a bar on a terminal."""
    if len(partitions) < MANY or not sys.stderr.isatty():
        return partitions
    from rich.console import Console
    from rich.progress import track

    return track(partitions, "Partitions", console=Console(stderr=True), transient=True)


def migrate(context: CommandContext, args: Namespace) -> None:
    """Create the store's schema or migrate it to this version, telling what is done: a takeover may take hours."""
    with _aloud():
        context.store.setup()
    say(f"Store {context.store.store_id} at {context.store.description} is up to date.")


class _Saying(logging.Handler):
    """Says what is logged, without times and names."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


@contextmanager
def _aloud() -> Iterator[None]:
    """Say what this package's stores log."""
    log, saying = logging.getLogger(stores.__name__), _Saying()
    before = log.level, log.propagate
    log.addHandler(saying)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(saying)
        log.setLevel(before[0])
        log.propagate = before[1]


def agreed(args: Namespace, would: str, question: str, store: PartitionStore) -> bool:
    """Return whether a command shall do what it has shown; where it shall not, say that nothing was changed.

    :param args: ``dry_run``, where the command has one, and ``yes``.
    :param would: what a dry run says that it would do.
    :raises SettingsError: where there is nobody to ask.
    """
    if getattr(args, "dry_run", False):
        say(f"Dry run: would {would}. Nothing was changed.")
        return False
    if args.yes or confirmed(question, store):
        return True
    say("Nothing was changed.")
    return False


def confirmed(question: str, store: PartitionStore) -> bool:
    """Ask on a terminal, naming the store that would be changed.

    :raises SettingsError: where there is nobody to ask.
    """
    if not sys.stdin.isatty():
        raise SettingsError("--yes", False, "is needed where there is no terminal to ask on", "Add --yes, or --dry-run")
    say(f"The store is {store.description}.")
    say(f"{question} [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
