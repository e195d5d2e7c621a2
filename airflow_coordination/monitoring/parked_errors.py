"""What parked partitions failed of: equal errors together, however the numbers in them differ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.errors import first_line
from airflow_coordination.values.failing import alike


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Partitions that were parked with the same error.

    :param error: the first line of one of them, printable.
    :param like: what all their errors have in common from the beginning on; empty when that is nothing.
    :param number: how many.
    :param key: one of them.
    :param since: since when the first of them is parked, as far as the partitions tell.
    """

    error: str
    like: str
    number: int
    key: str
    since: datetime | None = None


def grouped(parked: Iterable[Partition]) -> list[ErrorGroup]:
    """Return the errors of parked partitions, the most frequent first."""
    groups_of: dict[str, list[Partition]] = {}
    for each in parked:
        groups_of.setdefault(alike(each.last_error, each.key), []).append(each)
    groups = [_group(each) for each in groups_of.values()]
    return sorted(groups, key=lambda group: (-group.number, group.error))


def _group(found: list[Partition]) -> ErrorGroup:
    texts = [(each.last_error or "").strip().partition("\n")[0] for each in found]
    same = takewhile(lambda pair: pair[0] == pair[1], zip(min(texts), max(texts), strict=False))
    like = "".join(char for char, _ in same)
    since = min(filter(None, (each.updated_at for each in found)), default=None)
    return ErrorGroup(_said(found[0]), like[:200].strip(), len(found), found[0].key, since)


def _said(partition: Partition) -> str:
    return first_line(partition.last_error, "without an error")
