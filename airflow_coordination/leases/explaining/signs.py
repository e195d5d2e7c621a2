"""When an owner gave a sign of life last: a renewal leaves no time, but it moves the end of the lease."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.settings import LEASE_FACT, RENEWAL_FACT

MISSED: Final = 3
"""An owner that has missed so many renewals is silent, however long its lease still lasts."""
_YEAR: Final = 365 * 86_400_000


def last_sign(partition: Partition) -> datetime | None:
    """Return when the owner wrote or renewed last; ``None`` where its driver has not said how long its leases last."""
    ends, lease = partition.ownership_timeout, _length(partition.owner_facts.get(LEASE_FACT))
    if ends is None or lease is None or _renewal(partition) is None:
        return None
    renewed = ends - lease
    return max(renewed, partition.updated_at or renewed)


def is_silent(partition: Partition, now: datetime) -> bool:
    """Return whether the owner has missed :data:`MISSED` renewals since, while its lease lasts.

    :param now: the store's clock.
    """
    sign, ends, renewal = last_sign(partition), partition.ownership_timeout, _renewal(partition)
    if sign is None or ends is None or renewal is None:
        return False
    return ends > now > sign + MISSED * renewal


def _renewal(partition: Partition) -> timedelta | None:
    return _length(partition.owner_facts.get(RENEWAL_FACT))


def _length(said: object) -> timedelta | None:
    """Return milliseconds that a driver has said; other software may have written anything there."""
    return timedelta(milliseconds=said) if isinstance(said, int) and 0 < said < _YEAR else None
