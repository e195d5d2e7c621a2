"""The partitions that the arguments of a command mean."""

from __future__ import annotations

from argparse import Namespace

from airflow_coordination.cli.output import working
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.monitoring import selection
from airflow_coordination.monitoring.selection import Filter, Selection
from airflow_coordination.monitoring.states import PARKED
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.errors import PartitionNotFoundError
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import check_key, check_limit


def selected(coordinator: SourceCoordinator, args: Namespace) -> Selection:
    """Return what the arguments mean, read now.

    :raises SettingsError: when they name neither partitions nor a filter, or both.
    :raises PartitionNotFoundError: when one that is named does not exist.
    """
    chosen = filter_of(args)
    _check(args, chosen)
    if not chosen:
        found = [_existing(coordinator, key) for key in args.key]
        return Selection(found, len(found))
    limit = check_limit(args.limit)
    with working("Counting"):
        return selection.count(coordinator, chosen, args.after, limit)


def filter_of(args: Namespace) -> Filter:
    """Return the filter that the arguments make.

    :raises SettingsError: when a part of it is empty.
    """
    for name in ("error_like", "error_alike", "key_prefix", "owner_like", "payload_like", "key_from", "key_to"):
        if getattr(args, name) == "":
            raise SettingsError(f"--{name.replace('_', '-')}", "", "is empty", "Leave it out: it would narrow nothing")
    for name in ("key_prefix", "key_from", "key_to"):
        if getattr(args, name) is not None:
            check_key(getattr(args, name), f"--{name.replace('_', '-')}")
    texts = (args.error_like, args.key_prefix, args.owner_like, args.payload_like, args.error_alike)
    return Filter(args.status, *texts, args.key_from, args.key_to)


def sentence(source: str, found: Selection) -> str | None:
    """Return how much a filter finds, how much of it is meant, and how to go on; ``None`` without a filter."""
    if not found.scope:
        return None
    said = selection.sentence(source, found.scope, found.matching, len(found.partitions))
    if found.matching > len(found.partitions):
        said += ": repeat the command for the others, with"
        said += f" --after={found.partitions[-1].key!r} if it leaves them as they are, or give a higher --limit."
    return said


def _check(args: Namespace, chosen: Filter) -> None:
    if args.key and chosen:
        raise SettingsError("key", args.key[0], "is named beside a filter", "Name the partitions, or give a filter")
    if not args.key and not chosen:
        others = "--error-like TEXT, --key-prefix TEXT, --key-from KEY, --owner-like TEXT, --payload-like TEXT"
        remedy = f"Name partitions, or give a filter: --status {PARKED}, {others}"
        raise SettingsError("key", None, "is missing", remedy)


def _existing(coordinator: SourceCoordinator, key: str) -> Partition:
    found = coordinator.partition(key)
    if found is None:
        raise PartitionNotFoundError(key, coordinator.source)
    return found
