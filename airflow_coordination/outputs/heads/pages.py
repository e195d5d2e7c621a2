"""Head records of a source, page by page, of which this code understands each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from airflow_coordination.protocol.pages import narrowed
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.values.names import branch_dataset, dataset_in_words, partition_label
from airflow_coordination.values.times import Span

Rows = list[list[HeadRecord]]
"""The head records of each of several partitions."""
PAGE = 10_000
"""Head records per read: a row is a few hundred bytes, and each read a round trip."""


def head_pages(
    store: PartitionStore, source: str, dataset: str | None, within: Span | None = None
) -> Iterator[Sequence[HeadRecord]]:
    """Yield the head records of one dataset, or of all for ``None``, page by page.

    :param within: only those with a moment in common with it, and those that have no interval.
    :raises SettingsError: when ``within`` is given and the store cannot narrow what it reads.
    """
    after: tuple[str, str | None] | tuple[None, None] = (None, None)
    more = narrowed(store, within)
    while page := store.heads(source, dataset=dataset, after=after[0], limit=PAGE, after_dataset=after[1], **more):
        for head in page:
            _check_kind(head)
        yield page
        if len(page) < PAGE:
            return
        after = (page[-1].key, page[-1].dataset if dataset is None else None)


Aside = dict[str, list[HeadRecord]]
"""The head records of partitions in branches, by key."""


def read_aside(store: PartitionStore, source: str, dataset: str, branches: Iterable[int]) -> Aside:
    """Return the head records that a dataset has in branches. They are read before the base.

    What a partition publishes in between has a higher token in whichever of them it is, and what it had before is still
    there.

    :param dataset: as users name it.
    :param branches: their numbers.
    """
    found: Aside = {}
    for number in branches:
        for page in head_pages(store, source, branch_dataset(number, dataset)):
            for head in page:
                found.setdefault(head.key, []).append(head)
    return found


def with_aside(pages: Iterable[Sequence[HeadRecord]], aside: Mapping[str, Sequence[HeadRecord]]) -> Iterator[Rows]:
    """Yield the head records of each partition together, page by page; those that are only in branches come last.

    :param pages: of the base.
    """
    left = dict(aside)
    for page in pages:
        yield [[head, *left.pop(head.key, ())] for head in page]
    if left:
        yield [list(heads) for _, heads in sorted(left.items())]


def _check_kind(head: HeadRecord) -> None:
    if head.kind != "files":
        raise OutputError(
            f"read the output of {partition_label(head.source, head.key)}",
            f"head record of dataset {dataset_in_words(head.dataset)!r}",
            f"is of kind {head.kind!r}, not files",
            "Update this package",
        )
