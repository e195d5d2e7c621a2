"""What people and duties have set: the changes of documents, the newest first, each with what it changed.

Settings and rules are documents with versions, so nothing more is written down than what counts anyway.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import heapify, heappop, heapreplace
from typing import Any, Final

from airflow_coordination.monitoring.deeds import Meant
from airflow_coordination.protocol.beside.documents import (
    ABSENT,
    COMPACTION,
    CONFIGURATION,
    DEFAULT_RULES,
    LOCATIONS,
    LOST_LOCATIONS,
    MAX_DOCUMENT_BYTES,
    VIEW,
    Document,
)
from airflow_coordination.protocol.beside.parts import Documents, parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.documents import parse
from airflow_coordination.values.input_errors import printable

VERSIONS: Final = 100
"""Versions that one look reads beside the newest of each document."""
MOST: Final = 30
"""Differences of a change that are told; of the others how many they are."""
LONGEST: Final = 300
"""Characters of a value that are told."""
RULES: Final = "rules/"
NOTHING: Final = "nothing"
"""What is said of a value that is not there."""
_PORTION: Final = 10
_DEPTH: Final = 16
_SAID: Final = {
    VIEW: "what readers see",
    DEFAULT_RULES: "the rules of all datasets",
    CONFIGURATION: "the configuration of the duties",
    LOCATIONS: "where copies may lie",
    LOST_LOCATIONS: "which locations are lost",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """What two versions say otherwise.

    :param key: where, such as ``[0].period``.
    :param old: what was said there, as JSON; ``None`` for nothing.
    :param new: what is said there now.
    """

    key: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        return f"{self.key} {self.old or NOTHING} → {self.new or NOTHING}".lstrip()


@dataclass(frozen=True, slots=True)
class Change:
    """A version that somebody has written, and what was other than in the one before.

    :param document: the version.
    :param differences: :data:`MOST` at most; ``None`` where one of both is no JSON, or the one before is not kept.
    :param more: how many differences there are beside these.
    """

    document: Document
    differences: tuple[Difference, ...] | None
    more: int = 0

    @property
    def what(self) -> str:
        """What was set, in words."""
        return said_of(self.document.name)

    @property
    def told(self) -> list[str]:
        """Each difference in words, and how many more there are."""
        more = [f"and {self.more:,} more"] if self.more else []
        return [*map(str, self.differences or ()), *more]


@dataclass(frozen=True, slots=True)
class Changes:
    """The newest changes of some documents.

    :param found: those that are meant, the newest first.
    :param documents: of how many documents.
    :param since: before this moment nothing was looked at; ``None`` where all that is kept was.
    """

    found: tuple[Change, ...]
    documents: int
    since: datetime | None


def said_of(name: str) -> str:
    """Return what a document says, for people."""
    if name in _SAID:
        return _SAID[name]
    for beginning, what in ((RULES, "the rules of {}"), (COMPACTION, "how {} is compacted")):
        if name.startswith(beginning):
            return what.format(name.removeprefix(beginning))
    return name


def newest_changes(store: PartitionStore, sources: Iterable[str], meant: Meant, limit: int) -> Changes:
    """Return the newest changes of all documents of some sources.

    It reads the newest version of each document, and :data:`VERSIONS` others at most.

    :param sources: stored identifiers.
    :param meant: only those by this person, since this moment, with this text in their reason.
    :param limit: so many at most.
    """
    kept = parts_of(store).documents
    if kept is None:
        return Changes((), 0, None)
    rows = [_Row(kept, document) for source in dict.fromkeys(sources) for document in kept.documents(source)]
    return _merged(rows, meant, limit)


def changes_of(store: PartitionStore, source: str, name: str, before: int | None, limit: int) -> Changes:
    """Return the newest changes of one document.

    :param source: the stored identifier.
    :param before: only versions older than this one.
    """
    kept = parts_of(store).documents
    found = kept.document_history(source, name, before, 1) if kept else []
    return _merged([_Row(kept, each) for each in found if kept], Meant(), limit)


class _Row:
    """The versions of one document, the newest first, read in portions."""

    def __init__(self, kept: Documents, newest: Document) -> None:
        self._kept, self.newest, self.read = kept, newest, 0
        self._older: list[Document] = []

    def __lt__(self, other: _Row) -> bool:
        return self.newest.at > other.newest.at

    @property
    def must_read(self) -> bool:
        """Whether the version before the newest one has to be read first."""
        return not self._older and self.newest.version > ABSENT + 1

    def before(self) -> Document | None:
        """Return the version before the newest one; ``None`` where there is none, or it is not kept any more."""
        if self.must_read:
            self._older = self._kept.document_history(
                self.newest.source, self.newest.name, self.newest.version, _PORTION
            )
            self.read += len(self._older)
        return self._older[0] if self._older else None

    def go_on(self) -> bool:
        """Go to the version before; return whether there is one."""
        if not self._older:
            return False
        self.newest = self._older.pop(0)
        return True


def _merged(rows: list[_Row], meant: Meant, limit: int) -> Changes:
    waiting, found = list(rows), list[Change]()
    heapify(waiting)
    while waiting and len(found) < limit:
        row = waiting[0]
        if row.must_read and sum(each.read for each in rows) + _PORTION > VERSIONS:
            break
        if meant.since is not None and row.newest.at < meant.since:
            return Changes(tuple(found), len(rows), None)
        after, before = row.newest, row.before()
        if _is_meant(after, meant):
            found.append(_change(before, after))
        if row.go_on():
            heapreplace(waiting, row)
        else:
            heappop(waiting)
    return Changes(tuple(found), len(rows), waiting[0].newest.at if waiting else None)


def _is_meant(document: Document, meant: Meant) -> bool:
    if meant.by not in (None, document.author):
        return False
    return meant.has is None or meant.has.casefold() in document.comment.casefold()


def _change(before: Document | None, after: Document) -> Change:
    if before is None and after.version > ABSENT + 1:
        return Change(after, None)
    try:
        old = {} if before is None else leaves(before.content)
        new = leaves(after.content)
    except ValueError:
        return Change(after, None)
    keys = [key for key in dict.fromkeys((*old, *new)) if old.get(key) != new.get(key)]
    told = tuple(Difference(printable(key, LONGEST), old.get(key), new.get(key)) for key in keys[:MOST])
    return Change(after, told, max(0, len(keys) - MOST))


def leaves(content: str) -> dict[str, str]:
    """Return each value that JSON says with where it says it, both as text.

    :raises ValueError: when it is none, or nested deeper than any document.
    """
    said = parse(content, max_bytes=MAX_DOCUMENT_BYTES, max_depth=_DEPTH)
    return {key: printable(json.dumps(value, ensure_ascii=False), LONGEST) for key, value in _leaves("", said)}


def _leaves(place: str, said: Any) -> Iterator[tuple[str, Any]]:
    inside: Iterable[tuple[str, Any]] = ()
    if isinstance(said, Mapping):
        inside = ((f"{place}.{key}" if place else str(key), value) for key, value in said.items())
    elif isinstance(said, Sequence) and not isinstance(said, str):
        inside = ((f"{place}[{index}]", value) for index, value in enumerate(said))
    inside = list(inside)
    if not inside:
        yield place, said
    for key, value in inside:
        yield from _leaves(key, value)
