"""What parked partitions failed of: equal errors together, however the numbers in them differ."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from airflow_coordination.leases.explaining.wording import first_line
from airflow_coordination.leases.partition import Partition

_VARYING: Final = re.compile(r"[0-9A-Fa-f]*\d[0-9A-Fa-f]*")
"""Numbers, and the hexadecimal words that contain any: what differs from one partition to the next."""


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Partitions that were parked with the same error.

    :param error: the first line of one of them, printable.
    :param like: what all their errors have in common from the beginning on; empty when that is nothing.
    :param number: how many.
    :param key: one of them.
    """

    error: str
    like: str
    number: int
    key: str


def grouped(parked: Iterable[Partition]) -> list[ErrorGroup]:
    """Return the errors of parked partitions, the most frequent first."""
    alike: dict[str, list[Partition]] = {}
    for each in parked:
        alike.setdefault(_VARYING.sub("#", _said(each)), []).append(each)
    groups = [_group(each) for each in alike.values()]
    return sorted(groups, key=lambda group: (-group.number, group.error))


def _group(alike: list[Partition]) -> ErrorGroup:
    texts = [(each.last_error or "").strip().partition("\n")[0] for each in alike]
    same = takewhile(lambda pair: pair[0] == pair[1], zip(min(texts), max(texts), strict=False))
    like = "".join(char for char, _ in same)
    return ErrorGroup(_said(alike[0]), like[:200].strip(), len(alike), alike[0].key)


def _said(partition: Partition) -> str:
    return first_line(partition.last_error, "without an error")
