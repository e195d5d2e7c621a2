"""What people did to a source, the newest first: what somebody did to many partitions at once is one line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
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
    :param each: all of them, each with when it was done to it last.
    """

    source: str
    since: datetime
    at: datetime
    by: str
    action: str
    why: str
    keys: tuple[str, ...]
    number: int
    each: tuple[tuple[str, datetime], ...] = field(default=(), repr=False)

    @property
    def reach(self) -> Reach:
        """To how much at once it was done."""
        return Reach.SOURCE if self.number == 0 else Reach.ONE if self.number == 1 else Reach.MANY

    def has(self, text: str) -> bool:
        """Return whether a text is in the reason, or in the key of a partition, however it is written."""
        wanted = text.casefold()
        return any(wanted in said.casefold() for said in (self.why, *(key for key, _ in self.each)))


class Reach(StrEnum):
    """To how much at once something was done."""

    SOURCE = "source"
    ONE = "one"
    MANY = "many"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """Which of what people did is meant; what is ``None`` narrows nothing.

    :param by: only what this person did.
    :param action: only this action.
    :param reach: only what was done to the source itself, to one partition, or to many at once.
    :param has: only with this in its reason, or in the key of a partition to which it was done.
    :param since: only what was done from this moment on, by the store's clock.
    """

    by: str | None = None
    action: str | None = None
    reach: Reach | None = None
    has: str | None = None
    since: datetime | None = None

    def means(self, deed: Deed) -> bool:
        """Return whether something that somebody did is meant."""
        named = self.by in (None, deed.by) and self.action in (None, deed.action) and self.reach in (None, deed.reach)
        late = self.since is None or deed.at >= self.since
        return named and late and (self.has is None or deed.has(self.has))


ANYTHING: Final = Meant()


def new_batch() -> str:
    """Return what marks all that somebody does at once."""
    return uuid4().hex


def newest(
    store: PartitionStore, source: str, limit: int = AUDITED, before: str | None = None
) -> Sequence[Mapping[str, Any]]:
    """Return the newest lines of a source's audit, oldest first.

    A store from elsewhere, written before there was a limit, returns :data:`~.port.AUDITED`.

    :param source: the stored identifier.
    :param limit: so many at most.
    :param before: only those before the line with this place; such a store has none.
    :raises InvalidInputError: when no line can be there.
    """
    if before is not None and takes(store.audit, "", None, limit, before):
        return store.audit(source, None, limit, before)
    if takes(store.audit, "", None, limit):
        return store.audit(source, None, limit)
    return store.audit(source, None)[-limit:]


def deeds(source: str, lines: Iterable[Mapping[str, Any]]) -> list[Deed]:
    """Return what people did, the newest first.

    Lines are together when they have one mark, and the same person did the same for the same reason: a mark is what
    somebody's program has sent.

    :param source: the stored identifier of that whose audit it is.
    :param lines: of the audit, oldest first; of a store from elsewhere they may know of no ``batch``.
    """
    lines = list(lines)
    told = [_deed(source, [lines[place] for place in places]) for places in _together(lines)]
    return sorted(told, key=lambda deed: deed.at, reverse=True)


def page(
    source: str,
    lines: Sequence[Mapping[str, Any]],
    *,
    more: bool,
    limit: int,
    meant: Meant = ANYTHING,
) -> tuple[list[Deed], str | None]:
    """Return the newest of what people did, and before which line the next page begins; ``None`` on the last one.

    What was done to many at once is not cut where the lines end, but stands on the next page, unless it is longer than
    a page: there the rest is told as one more.

    :param source: the stored identifier.
    :param lines: the newest of the audit, oldest first.
    :param more: whether there may be lines before them.
    :param limit: so many are returned at most.
    :param meant: only that of it.
    """
    together = _together(lines)
    cut = next((place for place, each in enumerate(together) if each[0] == 0), 0) if more else len(together)
    whole = together[:cut] or together
    found: list[Deed] = []
    for place, each in enumerate(whole):
        if len(found) == limit:
            return found, _before(lines, together[place])
        deed = _deed(source, [lines[line] for line in each])
        if meant.since is not None and deed.at < meant.since:
            return found, None
        if meant.means(deed):
            found.append(deed)
    if not more:
        return found, None
    return found, _before(lines, together[cut]) if cut else lines[0].get("place")


def _before(lines: Sequence[Mapping[str, Any]], rest: Sequence[int]) -> str | None:
    """Return the place before which the newest of what is left stands."""
    return lines[rest[-1] + 1].get("place")


def _together(lines: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Return which lines are one deed, by their indexes, oldest first; the newest deed first."""
    found: dict[tuple[object, ...], list[int]] = {}
    for place, line in enumerate(lines):
        mark = line.get("batch")
        said = (mark, line["by"], line["action"], line["why"]) if mark else (place,)
        found.setdefault(said, []).append(place)
    return sorted(found.values(), key=lambda places: places[-1], reverse=True)


def _deed(source: str, lines: Sequence[Mapping[str, Any]]) -> Deed:
    first = lines[0]
    moments, each = [line["at"] for line in lines], {line["key"]: line["at"] for line in lines if line["key"]}
    keys = sorted(each)
    return Deed(
        source=source,
        since=min(moments),
        at=max(moments),
        by=first["by"],
        action=first["action"],
        why=first["why"],
        keys=tuple(keys[:NAMED]),
        number=len(keys),
        each=tuple(each.items()),
    )
