"""Partitions whose keys begin alike: in byte order they lie side by side, the beginning itself first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from airflow_coordination.leases.partition import Partition
from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.values.names import check_key
from airflow_coordination.values.status import PartitionStatus


def page_of(
    store: PartitionStore,
    source: str,
    status: PartitionStatus | None,
    after: str | None,
    limit: int,
    *,
    parked: bool | None = None,
    prefix: str | None = None,
) -> Sequence[Partition]:
    """Return a page as :meth:`~.port.PartitionStore.page` does, of the keys that begin with ``prefix``.

    Only keys that may have it are read, and one row for the key that is the prefix.

    :raises InvalidKeyError: when no key can be ``after`` or ``prefix``.
    """
    for name, text in (("after", after), ("prefix", prefix)):
        if text:
            check_key(text, name)
    if not prefix:
        return store.page(source, status, after, limit, parked=parked)
    first: list[Partition] = []
    if (after or "").encode() < prefix.encode():
        after, exact = prefix, store.get(source, prefix)  # pages begin above a key, and this one is not above itself
        first = [exact] if exact is not None and _fits(exact, status, parked) else []
    found = [*first, *store.page(source, status, after, limit, parked=parked)]
    return list(takewhile(lambda each: each.key.startswith(prefix), found))[:limit]


def _fits(partition: Partition, status: PartitionStatus | None, parked: bool | None) -> bool:
    return not partition.deleted and status in (None, partition.status) and parked in (None, partition.parked)
