"""Which partitions a person acts on: those named one by one, or all that a filter finds."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from airflow_coordination.cli.output import working
from airflow_coordination.cli.queries import PARKED, wanted
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.errors import PartitionNotFoundError, SettingsError
from airflow_coordination.leases.names import check_key, check_limit
from airflow_coordination.leases.partition import Partition

SAMPLE: Final = 5
"""So many of what a filter finds are shown."""
_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class Filter:
    """What a person narrows the partitions of a source by. What is ``None`` narrows nothing.

    :param state: a status, or ``PARKED``.
    :param error_like: a part of the last error; upper and lower case are the same.
    :param key_prefix: what the keys begin with.
    """

    state: str | None = None
    error_like: str | None = None
    key_prefix: str | None = None

    def __bool__(self) -> bool:
        return any(value is not None for value in (self.state, self.error_like, self.key_prefix))

    def __str__(self) -> str:
        said = (
            self.state and f"are {self.state}",
            self.error_like and f"have a last error with {self.error_like!r} in it",
            self.key_prefix and f"have a key that begins with {self.key_prefix!r}",
        )
        return " and ".join(filter(None, said))

    def found(self, coordinator: SourceCoordinator, after: str | None) -> Iterator[Partition]:
        """Yield what it finds by key, page by page: where it names a prefix, only what may have it is read."""
        status, parked = wanted(self.state)
        while page := coordinator.partitions(status, after, _PAGE, parked=parked, prefix=self.key_prefix):
            yield from filter(self._has_error, page)
            if len(page) < _PAGE:
                return
            after = page[-1].key

    def _has_error(self, partition: Partition) -> bool:
        return self.error_like is None or self.error_like.casefold() in (partition.last_error or "").casefold()


@dataclass(frozen=True, slots=True)
class Selection:
    """The partitions that are meant, as the person saw them: each action is conditioned on that.

    :param partitions: those named, or the first ones found.
    :param matching: how many the filter finds altogether.
    :param scope: what the filter says, empty where partitions are named.
    """

    partitions: list[Partition]
    matching: int
    scope: str = ""

    @property
    def shown(self) -> list[Partition]:
        """Return all that were named, or a few of what was found."""
        return self.partitions[:SAMPLE] if self.scope else self.partitions

    def sentence(self, source: str) -> str | None:
        """Return how much the filter finds, how much of it is meant, and how to go on; ``None`` without a filter."""
        if not self.scope:
            return None
        said = f"{self.matching} partition(s) of source {source} {self.scope}."
        if self.matching > len(self.shown):
            said += f" These are the first {len(self.shown)} by key."
        if self.matching > len(self.partitions):
            said += f" At most {len(self.partitions)} are meant at once: repeat the command for the others, with"
            said += f" --after={self.partitions[-1].key!r} if it leaves them as they are, or give a higher --limit."
        return said


def selected(coordinator: SourceCoordinator, args: Namespace) -> Selection:
    """Return what the arguments mean, read now.

    :raises SettingsError: when they name neither partitions nor a filter, or both.
    :raises PartitionNotFoundError: when one that is named does not exist.
    """
    chosen = Filter(args.status, args.error_like, args.key_prefix)
    _check(args, chosen)
    if not chosen:
        found = [_existing(coordinator, key) for key in args.key]
        return Selection(found, len(found))
    limit, kept, matching = check_limit(args.limit), list[Partition](), 0
    with working("Counting"):
        for partition in chosen.found(coordinator, args.after):
            matching += 1
            if len(kept) < limit:
                kept.append(partition)
    return Selection(kept, matching, str(chosen))


def _check(args: Namespace, chosen: Filter) -> None:
    if args.key and chosen:
        raise SettingsError("key", args.key[0], "is named beside a filter", "Name the partitions, or give a filter")
    if not args.key and not chosen:
        remedy = f"Name partitions, or give a filter: --status {PARKED}, --error-like TEXT, --key-prefix TEXT"
        raise SettingsError("key", None, "is missing", remedy)
    for name in ("error_like", "key_prefix"):
        if getattr(args, name) == "":
            raise SettingsError(f"--{name.replace('_', '-')}", "", "is empty", "Leave it out: it would narrow nothing")
    if args.key_prefix is not None:
        check_key(args.key_prefix, "--key-prefix")


def _existing(coordinator: SourceCoordinator, key: str) -> Partition:
    found = coordinator.partition(key)
    if found is None:
        raise PartitionNotFoundError(key, coordinator.source)
    return found
