"""Reading all pages of a store: head records, and partitions whose keys begin alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.input_errors import InvalidInputError, SettingsError
from airflow_coordination.values.names import check_key
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import Span

PAGE = 1_000
_ABOVE_ALL: Final = 2**63 - 1
Read = Callable[[], Sequence[HeadRecord]]


def _at_once(read: Read) -> Sequence[HeadRecord]:
    return read()


def takes(method: Callable[..., Any], *given: object, **named: object) -> bool:
    """Return whether a method of a store can be called so: one from elsewhere may be older than a parameter of it."""
    try:
        inspect.signature(method).bind(*given, **named)
    except TypeError:
        return False
    return True


def number_of_place(place: str | None) -> int:
    """Return the number that a line of the audit has in stores that count them; above all of them where none is named.

    :raises InvalidInputError: when it is none.
    """
    if place is None:
        return _ABOVE_ALL
    if place.isascii() and place.isdecimal() and len(place) < len(str(_ABOVE_ALL)):
        return int(place)
    raise InvalidInputError("before", place, "is no place in this audit", "Give the place of a line that was read")


def narrowed(store: PartitionStore, within: Span | None) -> dict[str, Any]:
    """Return what ``store.heads`` is given beside the rest; nothing where nothing is narrowed.

    A store from elsewhere, written before intervals, may not know of it, and serves all who read everything.

    :param within: only head records with a moment in common with it, and those that have no interval.
    :raises SettingsError: when the store cannot narrow what it reads.
    """
    if within is None:
        return {}
    if not takes(store.heads, "", within=within):
        problem = "cannot read the head records of an interval: its heads() has no parameter within="
        remedy = "Update that store: PartitionStore.heads says what within= means"
        raise SettingsError("store", store.description, problem, remedy)
    return {"within": within}


def every_head(
    store: PartitionStore,
    source: str,
    *,
    dataset: str | None = None,
    key: str | None = None,
    hear: Callable[[Read], Sequence[HeadRecord]] = _at_once,
    limit: int = PAGE,
    within: Span | None = None,
) -> Iterator[HeadRecord]:
    """Yield every head record by key, then by dataset. A record missed is output deleted or replaced by mistake.

    :param store: the store.
    :param source: the stored source identifier.
    :param dataset: only this dataset.
    :param key: only this partition.
    :param hear: sends one read, and repeats it if the caller wants that.
    :param limit: records per read.
    :param within: only those with a moment in common with it, and those that have no interval.
    :raises SettingsError: when ``within`` is given and the store cannot narrow what it reads.
    """
    last: HeadRecord | None = None
    more = narrowed(store, within)
    while True:
        after, after_dataset = (last.key, last.dataset) if last else (None, None)

        def read(after: str | None = after, after_dataset: str | None = after_dataset) -> Sequence[HeadRecord]:
            return store.heads(source, dataset, key, after, limit, after_dataset, **more)

        page = hear(read)
        yield from page
        if len(page) < limit:
            return
        last = page[-1]


@dataclass(frozen=True, slots=True)
class Keys:
    """Which keys are meant; what is ``None`` narrows nothing.

    :param prefix: what they begin with.
    :param first: the lowest of them in byte order, itself among them.
    :param last: the highest of them, itself among them.
    """

    prefix: str | None = None
    first: str | None = None
    last: str | None = None

    def __bool__(self) -> bool:
        return any((self.prefix, self.first, self.last))

    def __contains__(self, key: str) -> bool:
        within = self.lowest.encode() <= key.encode() and (not self.last or key.encode() <= self.last.encode())
        return within and key.startswith(self.prefix or "")

    @property
    def lowest(self) -> str:
        """No key below it is meant."""
        return max(self.prefix or "", self.first or "", key=str.encode)


ALL_KEYS: Final = Keys()


def page_of(
    store: PartitionStore,
    source: str,
    status: PartitionStatus | None,
    after: str | None,
    limit: int,
    *,
    parked: bool | None = None,
    keys: Keys = ALL_KEYS,
) -> Sequence[Partition]:
    """Return a page as :meth:`~.port.PartitionStore.page` does, of the keys that are meant.

    Only keys that may be among them are read, and one row for the lowest that there could be.

    :raises InvalidKeyError: when no key can be ``after``, or what ``keys`` names.
    """
    for name, text in (("after", after), ("prefix", keys.prefix), ("first", keys.first), ("last", keys.last)):
        if text:
            check_key(text, name)
    if not keys:
        return store.page(source, status, after, limit, parked=parked)
    first: list[Partition] = []
    if (after or "").encode() < keys.lowest.encode():
        after, exact = keys.lowest, store.get(source, keys.lowest)  # pages begin above a key: this one is not on them
        first = [exact] if exact is not None and _fits(exact, status, parked) else []
    found = [*first, *store.page(source, status, after, limit, parked=parked)]
    return list(takewhile(lambda each: each.key in keys, found))[:limit]


def _fits(partition: Partition, status: PartitionStatus | None, parked: bool | None) -> bool:
    return not partition.deleted and status in (None, partition.status) and parked in (None, partition.parked)
