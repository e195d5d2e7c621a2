"""The head records that readers see: of each partition the newest that counts, unless it is hidden (promise S22)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from airflow_coordination.outputs.heads.pages import head_pages, read_aside, with_aside
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.view.showing import as_if_published, hiding, newest
from airflow_coordination.planning.view.slices import Coverage, coverage
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.beside.documents import ABSENT, VIEW, Document
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.systems.objects.storage import OutputError

T = TypeVar("T")

MOST_LOOKS: Final = 20
"""How often what is read while the view changes is read again."""


def view_document(store: PartitionStore, identifier: str) -> Document | None:
    """Return the newest version of the document that keeps a source's view: one statement.

    :param identifier: the source's stored one.
    :return: ``None`` where nobody has written one, or the store keeps none.
    """
    documents = parts_of(store).documents
    return None if documents is None else documents.document(identifier, VIEW)


def read_view(store: PartitionStore, identifier: str) -> View:
    """Return what readers see of a source."""
    return View.said_by(view_document(store, identifier))


def steadily(store: PartitionStore, identifier: str, read: Callable[[View], T], *, branch: int | None = None) -> T:
    """Return what ``read`` reads under a view that was the same before and after it.

    So a branch shows whole: it is read before the instant at which it shows, or after it.

    :param branch: read as if this one were published.
    :raises InvalidInputError: when there is no such branch.
    :raises OutputError: when the view changes again and again.
    """
    before = view_document(store, identifier)
    for _ in range(MOST_LOOKS):
        view = View.said_by(before)
        found = read(view if branch is None else as_if_published(view, branch))
        after = view_document(store, identifier)
        if _version(after) == _version(before):
            return found
        before = after
    problem = f"was changed {MOST_LOOKS} times while it was read"
    raise OutputError("read what is published", f"the view of {identifier!r}", problem, "Look who hides or publishes")


def _version(document: Document | None) -> int:
    return ABSENT if document is None else document.version


def shown_pages(store: PartitionStore, identifier: str, dataset: str, view: View) -> Iterator[Sequence[HeadRecord]]:
    """Yield the head records of one dataset that readers see, page by page, at most one of each partition.

    :param dataset: as users name it.
    :param view: from :func:`steadily`.
    """
    for page in newest_pages(store, identifier, dataset, view):
        yield [head for head in page if hiding(view, head) is None]


def newest_pages(
    store: PartitionStore, identifier: str, dataset: str, view: View, within: Interval | None = None
) -> Iterator[Sequence[HeadRecord]]:
    """Yield of each partition the head record of one dataset that shows unless it is hidden, page by page.

    :param dataset: as users name it.
    :param view: from :func:`steadily`.
    :param within: those that lie elsewhere may be left out. While a branch shows they are all read: one that lies
        elsewhere may be newer than one in it.
    """
    aside = read_aside(store, identifier, dataset, view.shown)
    pages = head_pages(store, identifier, dataset, None if view.shown else within)
    if not aside:  # as mostly: what is in the base alone shows
        yield from pages
        return
    for rows in with_aside(pages, aside):
        yield [head for heads in rows if (head := newest(view, heads)) is not None]


def covered(store: PartitionStore, identifier: str, dataset: str, within: Interval | None = None) -> Coverage:
    """Return what is there of a dataset, what is hidden, what is missing, and what branches have that begun.

    :param identifier: the stored one of the source.
    :param dataset: as users name it.
    :param within: only of this interval; all there is by default.
    :raises OutputError: when the view changes again and again.
    """

    def read(view: View) -> Coverage:
        newest = (head for page in newest_pages(store, identifier, dataset, view, within) for head in page)
        aside = read_aside(store, identifier, dataset, (each.number for each in view.branches if each.begun))
        return coverage(view, newest, (head for heads in aside.values() for head in heads), within)

    return steadily(store, identifier, read)
