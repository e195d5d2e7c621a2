"""All head records of a source, a dataset or a partition, however many pages they take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.leases.results import HeadRecord

PAGE = 1_000
Read = Callable[[], Sequence[HeadRecord]]


def _at_once(read: Read) -> Sequence[HeadRecord]:
    return read()


def every_head(
    store: PartitionStore,
    source: str,
    *,
    dataset: str | None = None,
    key: str | None = None,
    hear: Callable[[Read], Sequence[HeadRecord]] = _at_once,
    limit: int = PAGE,
) -> Iterator[HeadRecord]:
    """Yield every head record by key, then by dataset. A record missed is output deleted or replaced by mistake.

    :param store: the store.
    :param source: the stored source identifier.
    :param dataset: only this dataset.
    :param key: only this partition.
    :param hear: sends one read, and repeats it if the caller wants that.
    :param limit: records per read.
    """
    last: HeadRecord | None = None
    while True:
        after, after_dataset = (last.key, last.dataset) if last else (None, None)

        def read(after: str | None = after, after_dataset: str | None = after_dataset) -> Sequence[HeadRecord]:
            return store.heads(source, dataset, key, after, limit, after_dataset)

        page = hear(read)
        yield from page
        if len(page) < limit:
            return
        last = page[-1]
