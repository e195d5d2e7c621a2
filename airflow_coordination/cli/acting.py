"""The commands that change something: people's actions, audited, and the store's schema."""

from __future__ import annotations

import logging
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from airflow_coordination import stores
from airflow_coordination.cli.output import print_rows, say
from airflow_coordination.cli.place import Place, account
from airflow_coordination.cli.reading import summary
from airflow_coordination.leases.errors import PartitionNotFoundError, SettingsError
from airflow_coordination.leases.partition import Partition
from airflow_coordination.leases.writes import Action


def act(place: Place, action: Action, args: Namespace) -> None:
    """Carry out a person's action on the partitions named, after showing them.

    :raises PartitionNotFoundError: when one does not exist; nothing is changed then.
    :raises PartitionUpdateError: when an action does not fit a partition's state.
    """
    coordinator = place.coordinator(args.source, args.partition_prefix)
    found = [_existing(coordinator.partition(key), key, args.source) for key in args.key]
    print_rows([summary(partition) for partition in found], args.output)
    if args.dry_run:
        say(f"Dry run: would {action} {len(found)} partition(s) of source {args.source}. Nothing was changed.")
        return
    if not args.yes and not _confirmed(f"{action} {len(found)} partition(s) of source {args.source}?"):
        say("Nothing was changed.")
        return
    carry_out = getattr(coordinator, action.value)
    for partition in found:
        carry_out(partition.key, by=args.by or account(), why=args.why)
        say(f"Done: {action} {partition.key}")


def migrate(place: Place, args: Namespace) -> None:
    """Create the store's schema or migrate it to this version, telling what is done: a takeover may take hours."""
    with _aloud():
        place.store.setup()
    say(f"Store {place.store.store_id} at {place.store.description} is up to date.")


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


def _existing(partition: Partition | None, key: str, source: str) -> Partition:
    if partition is None:
        raise PartitionNotFoundError(key, source)
    return partition


def _confirmed(question: str) -> bool:
    """Ask on a terminal.

    :raises SettingsError: where there is nobody to ask.
    """
    if not sys.stdin.isatty():
        raise SettingsError("--yes", False, "is needed where there is no terminal to ask on", "Add --yes, or --dry-run")
    say(f"{question} [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
