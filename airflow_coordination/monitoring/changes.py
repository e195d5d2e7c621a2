"""What people and duties have set: the changes of documents, the newest first, each with what it changed.

Settings and rules are documents with versions, so nothing more is written down than what counts anyway.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import heapify, heappop, heapreplace
from typing import Final

from airflow_coordination.monitoring.deeds import Meant
from airflow_coordination.monitoring.differences import Difference, differences
from airflow_coordination.protocol.beside.documents import (
    ABSENT,
    COMPACTION,
    CONFIGURATION,
    DEFAULT_RULES,
    LOCATIONS,
    LOST_LOCATIONS,
    RULES,
    VIEW,
    Document,
)
from airflow_coordination.protocol.beside.parts import Documents, parts_of
from airflow_coordination.protocol.pages import takes
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.names import ALL, split_source

DOCUMENTS: Final = 500
"""Documents whose newest version one look reads: of each source its share, the first by name."""
FEWEST: Final = 10
"""So many of a source, however many sources there are."""
VERSIONS: Final = 100
"""Versions that one look reads beside the newest of each document."""
REQUESTS: Final = 100
"""Requests at most that it sends for them: one that finds nothing counts, too."""
MOST: Final = 30
"""Differences of a change that are told; of the others how many they are."""
_PORTION: Final = 10
_SAID: Final = {
    VIEW: "what readers see",
    DEFAULT_RULES: "the rules of all datasets",
    CONFIGURATION: "the configuration of the duties",
    LOCATIONS: "where copies may lie",
    LOST_LOCATIONS: "which locations are lost",
}


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
        return said_of(self.document.source, self.document.name)

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
    :param unread: the sources that have, or may have, more documents than were looked at.
    """

    found: tuple[Change, ...]
    documents: int
    since: datetime | None
    unread: tuple[str, ...] = ()


def called(source: str) -> str | None:
    """Return what people call a source; ``None`` for what serves all.

    :param source: the stored identifier.
    """
    _, name, _ = split_source(source)
    return None if name == ALL else name


def said_of(source: str, name: str) -> str:
    """Return what a document says, for people: ``rules/_default`` of one source is of a dataset that has this name.

    :param source: the stored identifier.
    """
    if name in _SAID and (name == VIEW or called(source) is None):
        return _SAID[name]
    for beginning, what in ((RULES, "the rules of {}"), (COMPACTION, "how {} is compacted")):
        if name.startswith(beginning):
            return what.format(name.removeprefix(beginning))
    return name


def newest_changes(store: PartitionStore, sources: Iterable[str], meant: Meant, limit: int) -> Changes:
    """Return the newest changes of all documents of some sources.

    It reads the newest version of :data:`DOCUMENTS` documents, and :data:`VERSIONS` others, at most.

    :param sources: stored identifiers.
    :param meant: only those by this person, since this moment, with this text in their reason.
    :param limit: so many at most.
    """
    kept = parts_of(store).documents
    if kept is None:
        return Changes((), 0, None)
    documents, unread = _newest(kept, list(dict.fromkeys(sources)))
    return replace(_merged([_Row(kept, each) for each in documents], meant, limit), unread=tuple(unread))


def _newest(kept: Documents, sources: list[str]) -> tuple[list[Document], list[str]]:
    """Return the newest version of the documents of some sources, and of which sources there may be more."""
    left, found, unread = DOCUMENTS, list[Document](), list[str]()
    for number, source in enumerate(sources):
        share = min(left, max(FEWEST, left // (len(sources) - number)))
        some = _first(kept, source, share + 1) if share > 0 else []
        left -= len(some)
        found += some[:share]
        if share <= 0 or len(some) > share:
            unread.append(source)
    return found, unread


def _first(kept: Documents, source: str, limit: int) -> list[Document]:
    """Return the documents of a source; a store from elsewhere, written before there was a limit, returns all."""
    return kept.documents(source, limit) if takes(kept.documents, source, limit) else kept.documents(source)


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
        self._kept, self.newest, self.read, self.requests = kept, newest, 0, 0
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
            self.requests += 1
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
        if row.must_read and _is_read_up(rows):
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


def _is_read_up(rows: list[_Row]) -> bool:
    """Return whether one more portion would be more than one look reads."""
    requests = sum(each.requests for each in rows)
    return sum(each.read for each in rows) + _PORTION > VERSIONS or requests == REQUESTS


def _is_meant(document: Document, meant: Meant) -> bool:
    if meant.by not in (None, document.author):
        return False
    return meant.has is None or meant.has.casefold() in document.comment.casefold()


def _change(before: Document | None, after: Document) -> Change:
    if before is None and after.version > ABSENT + 1:
        return Change(after, None)
    try:
        return Change(after, *differences(before.content if before else None, after.content, MOST))
    except ValueError:
        return Change(after, None)
