"""Head records of a source, page by page, of which this code understands each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.values.names import dataset_in_words, partition_label
from airflow_coordination.values.times import Span

PAGE = 10_000
"""Head records per read: a row is a few hundred bytes, and each read a round trip."""


def head_pages(
    store: PartitionStore, source: str, dataset: str | None, within: Span | None = None
) -> Iterator[Sequence[HeadRecord]]:
    """Yield the head records of one dataset, or of all for ``None``, page by page.

    :param within: only those with a moment in common with it, and those that have no interval.
    """
    after: tuple[str, str | None] | tuple[None, None] = (None, None)
    narrowed: dict[str, Any] = {} if within is None else {"within": within}  # a store from elsewhere may not know of it
    while page := store.heads(source, dataset=dataset, after=after[0], limit=PAGE, after_dataset=after[1], **narrowed):
        for head in page:
            _check_kind(head)
        yield page
        if len(page) < PAGE:
            return
        after = (page[-1].key, page[-1].dataset if dataset is None else None)


def _check_kind(head: HeadRecord) -> None:
    if head.kind != "files":
        raise OutputError(
            f"read the output of {partition_label(head.source, head.key)}",
            f"head record of dataset {dataset_in_words(head.dataset)!r}",
            f"is of kind {head.kind!r}, not files",
            "Update this package",
        )
