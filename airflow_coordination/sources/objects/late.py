"""What comes late by its stamp: objects that a scan passes over for their age, and that are in no partition.

Replication, gateways and moves keep an old time of writing, and scans look back no further than ``lateness``.
"""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from airflow_coordination.leases.supply import SourceView, partitions_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.sources.objects.listing import Listing
from airflow_coordination.sources.objects.scan import LISTING
from airflow_coordination.sources.planned_pass import remembered
from airflow_coordination.sources.schedule import moment, written
from airflow_coordination.values.names import SEPARATOR, encode_part

LOOK_EVERY: Final = timedelta(hours=1)
"""How often the partitions are compared with what is passed over, where nobody asks for a full scan."""
WHY: Final = (
    "are older than what this scan looks at and in no partition (they came late by their time of writing, or their "
    "partitions were deleted; full_scan_every= takes such objects)"
)
_LOOKED: Final = "looked"


class Names:
    """The names of the objects in a source's partitions, in eight bytes each.

    :param view: the source.
    :param listing: where its objects are.
    """

    def __init__(self, view: SourceView, listing: Listing) -> None:
        prefix, root = f"{encode_part(listing.bucket)}{SEPARATOR}", listing.address("")
        found = array("Q", (_hash(n) for each in partitions_of(view, prefix) for n in _names(each, prefix, root)))
        self._hashes = array("Q", sorted(found))

    def __contains__(self, name: str) -> bool:
        wanted = _hash(name)
        at = bisect_left(self._hashes, wanted)
        return at < len(self._hashes) and self._hashes[at] == wanted


@dataclass(slots=True)
class Late:
    """Whether and how one run of a supplier looks for what came late.

    :param names: reads the partitions' names; ``None`` where this run does not look.
    :param takes: whether what is found becomes partitions; otherwise it is only counted and named.
    """

    names: Callable[[], Names] | None
    takes: bool
    looked: bool = False
    """Whether the partitions were read: only where something was passed over at all."""
    _known: Names | None = None

    @classmethod
    def of(
        cls, view: SourceView | None, listing: Listing, state: Mapping[str, Any], every: timedelta | None, now: datetime
    ) -> Late:
        """Return what is due.

        :param view: the source, ``None`` where the supplier was called without it.
        :param every: what :func:`object_listing` was given as ``full_scan_every``.
        """
        last = moment(remembered(state, LISTING), _LOOKED)
        due = last is None or now - last >= (LOOK_EVERY if every is None else every)
        return cls((lambda: Names(view, listing)) if view is not None and due else None, every is not None)

    def is_new(self, name: str) -> bool:
        """Tell whether an object that is passed over for its age is in no partition, as far as this run looks."""
        if self.names is None:
            return False
        if self._known is None:
            self._known, self.looked = self.names(), True
        return name not in self._known

    def document(self, state: Mapping[str, Any], now: datetime) -> dict[str, str]:
        """Return the part of ``LISTING`` that remembers when the partitions were read last."""
        before = remembered(state, LISTING).get(_LOOKED)
        last = written(now) if self.looked else before
        return {_LOOKED: last} if last else {}


def _names(partition: Partition, prefix: str, root: str) -> Iterator[str]:
    text = partition.payload_text or ""
    if '"names"' not in text:
        yield partition.key.removeprefix(prefix)
        return
    payload = partition.payload
    base, names = payload.get("base"), payload.get("names")
    if isinstance(base, str) and isinstance(names, list):
        yield from (f"{base.removeprefix(root)}{name}" for name in names)


def _hash(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest())
