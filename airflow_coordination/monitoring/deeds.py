"""What people did to a source, the newest first: what somebody did to many partitions at once is one line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from airflow_coordination.protocol.pages import takes
from airflow_coordination.protocol.port import AUDITED, PartitionStore

NAMED: Final = 5
"""So many partitions of a line are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """What somebody did, to one partition, to many at once, or to the source itself.

    :param source: its stored identifier.
    :param since: when it began, by the store's clock.
    :param at: when the last of it was done.
    :param by: who did it.
    :param action: what.
    :param why: what they said.
    :param keys: the first partitions by key, :data:`NAMED` at most; none of what was done to the source itself.
    :param number: to how many, of what was read.
    """

    source: str
    since: datetime
    at: datetime
    by: str
    action: str
    why: str
    keys: tuple[str, ...]
    number: int


def new_batch() -> str:
    """Return what marks all that somebody does at once."""
    return uuid4().hex


def newest(store: PartitionStore, source: str, limit: int = AUDITED) -> Sequence[Mapping[str, Any]]:
    """Return the newest lines of a source's audit, oldest first.

    A store from elsewhere, written before there was a limit, returns :data:`~.port.AUDITED`.

    :param source: the stored identifier.
    :param limit: so many at most.
    """
    if not takes(store.audit, "", None, limit):
        return store.audit(source, None)[-limit:]
    return store.audit(source, None, limit)


def deeds(source: str, lines: Iterable[Mapping[str, Any]]) -> list[Deed]:
    """Return what people did, the newest first.

    Lines are together when they have one mark, and the same person did the same for the same reason: a mark is what
    somebody's program has sent.

    :param source: the stored identifier of that whose audit it is.
    :param lines: of the audit; of a store from elsewhere they may know of no ``batch``.
    """
    together: dict[tuple[object, ...], list[Mapping[str, Any]]] = {}
    for place, line in enumerate(lines):
        mark = line.get("batch")
        said = (mark, line["by"], line["action"], line["why"]) if mark else (place,)
        together.setdefault(said, []).append(line)
    return sorted((_deed(source, each) for each in together.values()), key=lambda deed: deed.at, reverse=True)


def _deed(source: str, lines: Sequence[Mapping[str, Any]]) -> Deed:
    first = lines[0]
    moments, keys = [line["at"] for line in lines], sorted({line["key"] for line in lines if line["key"]})
    return Deed(
        source=source,
        since=min(moments),
        at=max(moments),
        by=first["by"],
        action=first["action"],
        why=first["why"],
        keys=tuple(keys[:NAMED]),
        number=len(keys),
    )
