"""Documents of a source: read, and changed by compare-and-swap, with lost answers settled (promise S6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from airflow_coordination.leases.participant import Participant
from airflow_coordination.planning.view.view import EMPTY, View
from airflow_coordination.protocol.beside import parts
from airflow_coordination.protocol.beside.documents import (
    ABSENT,
    MAX_DOCUMENT_BYTES,
    MAX_NAME_BYTES,
    VIEW,
    Document,
    Looked,
    SetDocument,
)
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidInputError, SettingsError
from airflow_coordination.values.names import check_key, check_said, storable
from airflow_coordination.values.times import aware

MOST_TRIES: Final = 20
"""How often a change is made anew because somebody else was faster."""
MAX_COMMENT_CHARACTERS: Final = 1_000
LEAST_KEPT: Final = timedelta(days=1)
"""So long at least a version stays after another one has followed it: whoever has written it may still ask whether they
have, and would write it once more if it were gone."""
_PAGE: Final = 100


@dataclass(eq=False, repr=False)
class SourceDocuments:
    """What people say of a source beside its partitions: :class:`SourceCoordinator` ``.documents``.

    :param core: whose source.
    :param kept: where the store keeps documents, if it does.
    """

    _core: Participant
    _kept: parts.Documents | None

    @property
    def _documents(self) -> parts.Documents:
        if self._kept is None:
            problem, remedy = "comes from elsewhere and keeps no documents", "Use another store"
            raise SettingsError("store", self._core.store.description, problem, remedy)
        return self._kept

    def newest(self, name: str, source: str | None = None) -> Document | None:
        """Return the newest version of a document; ``None`` where nobody has written one, or the store keeps none.

        :param source: the stored identifier of another source than this one.
        """
        if self._kept is None:
            return None
        read = partial(self._kept.document, source or self._core.source_id, name)
        return self._core.settler.repeat(f"read the document {name!r}", read)

    def look(self, name: str, source: str | None = None, branch: int | None = None) -> Looked:
        """Return the newest version of a document with the store's time, and how far a branch is.

        :param source: the stored identifier of another source than this one.
        :raises SettingsError: when the store keeps no documents.
        """
        read = partial(self._documents.look, source or self._core.source_id, name, branch)
        return self._core.settler.repeat(f"read the document {name!r}", read)

    def view(self) -> View:
        """Return what readers see of the source; an empty view where nobody has said anything.

        :raises InvalidInputError: when it is corrupt.
        """
        return View.said_by(self.newest(VIEW))

    def change(
        self,
        name: str,
        change: Callable[[Looked], str | None],
        author: str,
        comment: str,
        source: str | None = None,
        branch: int | None = None,
    ) -> Document | None:
        """Write the next version of a document, made from the newest one; made anew when somebody else was faster.

        :param change: returns the next content of what is there, or raises what shall stop it. When it returns nothing,
            or what is there already, nothing is written.
        :param author: who changes it.
        :param comment: why.
        :param source: the stored identifier of another source than this one.
        :param branch: that ``change`` wants to know the counts of.
        :return: the document as it was written, or as it stays; ``None`` where there is none, and shall be none.
        :raises InvalidInputError: when nobody, or no reason, is named, or the content is too long.
        :raises PartitionUpdateError: when others have been faster again and again.
        """
        check_said(author, comment)
        check_key(name, "document", MAX_NAME_BYTES)
        for _ in range(MOST_TRIES):
            looked = self.look(name, source, branch)
            seen = looked.document
            content = change(looked)
            if content is None or (seen is not None and content == seen.content):
                return seen
            written = self._write(name, looked, content, author, comment, source)
            if written is not None:
                return written
        problem = f"others have changed it {MOST_TRIES} times meanwhile. Look at it again"
        raise PartitionUpdateError(f"change the document {name!r}", "", problem)

    def change_view(self, change: Callable[[View], View], author: str, comment: str, branch: int | None = None) -> View:
        """Change what readers see by one compare-and-swap, and return it as it is then.

        :param change: from :mod:`~airflow_coordination.planning.view.changing`; called once more for each time that
            somebody else was faster, always with the newest one. What the store said with it, the time above all, is
            its :attr:`~.View.looked`.
        :param branch: that ``change`` wants to know the counts of.
        :raises InvalidInputError: what ``change`` refuses, and as :meth:`change`.
        """
        result = EMPTY

        def changed(looked: Looked) -> str | None:
            nonlocal result
            before = replace(View.of(looked.content), looked=looked)
            result = change(before)
            return looked.content if result == before else result.text

        self.change(VIEW, changed, author, comment, branch=branch)
        return result

    def history(
        self, name: str, before: int | None = None, limit: int = 100, source: str | None = None
    ) -> list[Document]:
        """Return versions of a document, the newest first.

        :param before: only those older than this version.
        :raises SettingsError: when the store keeps no documents.
        """
        read = partial(self._documents.document_history, source or self._core.source_id, name, before, limit)
        return self._core.settler.repeat(f"read the history of {name!r}", read)

    def versions(self, name: str, before: int | None = None, source: str | None = None) -> Iterator[Document]:
        """Yield all versions of a document that are kept, the newest first; as :meth:`history`, page by page."""
        while page := self.history(name, before, _PAGE, source):
            yield from page
            before = page[-1].version

    def forget(self, beginning: str, before: datetime, source: str | None = None) -> int:
        """Remove versions that no longer counted at a moment, and return how many; none where the store keeps none.

        What counted then stays, and so does the newest version of each document.

        :param beginning: of the names of the documents that are meant.
        :param before: at least :data:`LEAST_KEPT` ago, by the store's clock.
        :param source: the stored identifier of another source than this one.
        :raises InvalidInputError: when the moment is not so long ago, or has no time zone.
        :raises PartitionUpdateError: when the store's role may not remove documents.
        """
        if self._kept is None:
            return 0
        aware("before", before)
        if before > (latest := self._core.store.now() - LEAST_KEPT):
            problem, remedy = "is less than a day ago", f"Give {latest.isoformat(timespec='seconds')} or earlier"
            raise InvalidInputError("before", before.isoformat(), problem, remedy)
        send = partial(self._kept.forget_versions, source or self._core.source_id, beginning, before)
        return self._core.settler.repeat("forget old versions of documents", send)

    def all(self, source: str | None = None) -> list[Document]:
        """Return the newest version of each document, by name; none where the store keeps none."""
        if self._kept is None:
            return []
        read = partial(self._kept.documents, source or self._core.source_id)
        return self._core.settler.repeat("read the documents", read)

    def _write(
        self, name: str, looked: Looked, content: str, author: str, comment: str, source: str | None
    ) -> Document | None:
        if (size := len(content.encode())) > MAX_DOCUMENT_BYTES:
            problem = f"takes {size} bytes, the limit is {MAX_DOCUMENT_BYTES}"
            raise InvalidInputError(f"document {name}", content[:100], problem, "Say less in it")
        write = SetDocument(
            source=source or self._core.source_id,
            name=name,
            seen=looked.document.version if looked.document else ABSENT,
            content=content,
            author=storable(author)[:MAX_COMMENT_CHARACTERS],
            comment=storable(comment)[:MAX_COMMENT_CHARACTERS],
            op=self._core.randomness.op_id(),
        )
        send = partial(self._documents.set_document, write)
        if self._core.settler.repeat(f"write the document {name!r}", send):
            return write.written(looked.now)
        return None
