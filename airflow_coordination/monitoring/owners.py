"""The owners of a source and what they hold: the partitions of a source under a lease, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from airflow_coordination.leases.explaining.signs import is_silent, last_sign
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.fence import Fence, Owner, TaskInstance
from airflow_coordination.values.names import check_key, check_limit
from airflow_coordination.values.status import PartitionStatus

MOST_HELD: Final = 2_000
"""The most leases looked at for the oldest of a source, by key; and those of one request."""
_AT_ONCE: Final = 400
NO_GRACE: Final = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """One partition in somebody's hands; times are the store's. What other software wrote may lack all but the key.

    :param key: the partition's.
    :param owner: who holds it, as ``partitionOwner`` shows it.
    :param fence: of this tenure.
    :param since: when the tenure began; ``None`` where the partition does not tell any more, because the owner has
        written since: then it was before ``wrote_at``.
    :param wrote_at: when the owner acquired it, began to work on it or saved progress last; a renewal is no such thing.
    :param heard: whether the owner has renewed the lease or written anything at all.
    :param expires_at: when the lease ends unless it is renewed; ``None`` for one without an end.
    :param facts: what the owner's driver has said of itself: ``application`` and ``url`` of its Spark application.
    :param branch: that it runs in, ``None`` for none.
    :param late: whether the owner has not renewed in time, and the lease is in grace: others get it at its end.
    :param sign_at: when the owner gave a sign of life last: it wrote, or renewed the lease; ``None`` where its driver
        has not said how long its leases last.
    :param silent: whether it has missed :data:`MISSED` renewals since, while the lease lasts.
    :param left: how long that is from now on; not above zero for a lease that has ended and that nobody has taken yet.
    """

    key: str
    owner: str
    fence: Fence | None
    since: datetime | None
    wrote_at: datetime | None
    heard: bool
    expires_at: datetime | None
    left: timedelta | None
    facts: Mapping[str, Any]
    branch: int | None = None
    late: bool = False
    sign_at: datetime | None = None
    silent: bool = False

    @property
    def task(self) -> TaskInstance | None:
        """The Airflow task instance that holds it, ``None`` when the owner is no such thing."""
        return Owner(self.owner).instance

    @property
    def expired(self) -> bool:
        """Whether the lease has ended: the next sweep or acquirer takes the partition."""
        return self.left is not None and self.left <= timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owners:
    """A page of what is held in a source, in byte order of the keys.

    :param source: the stored source identifier.
    :param now: the moment of the look, by the store's clock.
    :param held: what is held.
    :param after: with this key the next page begins; ``None`` when this is the last one.
    """

    source: str
    now: datetime
    held: tuple[Holding, ...]
    after: str | None


def owners(
    store: PartitionStore, source: str, limit: int = 100, after: str | None = None, grace: timedelta = NO_GRACE
) -> Owners:
    """Return who holds what in a source: it costs what is held, however large the source is; and the clock.

    On DynamoDB a lease that began in this moment may be missing, because the index is late.

    :param store: sends two requests, on DynamoDB one more for each hundred that are shown; repeats none.
    :param source: the stored source identifier (:func:`~airflow_coordination.values.names.compose_source`); that of the
        kind ``GLOBAL_STATE`` tells who runs the supplier.
    :param limit: partitions; one more is read, to know whether to go on.
    :param after: only keys above this one.
    :param grace: ``reassign_grace``, as the owners have it; it tells who is late.
    :raises InvalidInputError: when ``limit`` or ``after`` cannot be.
    """
    more = check_limit(limit) + 1
    found = store.page(source, PartitionStatus.ASSIGNED, check_key(after, "after") if after else None, more)
    now = store.now()
    held = tuple(_holding(each, now, grace) for each in found[:limit])
    return Owners(source=source, now=now, held=held, after=held[-1].key if len(found) > limit else None)


def held_for(store: PartitionStore, source: str) -> timedelta:
    """Return for how long the oldest of a source's running tenures has lasted, zero where there is none.

    :param store: sends one request for each :data:`_AT_ONCE` that are held, and looks at :data:`MOST_HELD` at most.
    :param source: the stored source identifier.
    """
    now, found, after = store.now(), 0, None
    oldest = now
    while found < MOST_HELD:
        held = store.page(source, PartitionStatus.ASSIGNED, after, _AT_ONCE)
        oldest = min([oldest, *filter(None, map(began, held))])
        if len(held) < _AT_ONCE:
            break
        found, after = found + len(held), held[-1].key
    return now - oldest


def _holding(partition: Partition, now: datetime, grace: timedelta) -> Holding:
    ends = partition.ownership_timeout
    return Holding(
        key=partition.key,
        owner=partition.owner or "",
        fence=partition.fence,
        since=began(partition),
        wrote_at=partition.updated_at,
        heard=partition.confirmed or partition.last_op != partition.nonce,
        expires_at=ends,
        left=ends - now if ends else None,
        facts=partition.owner_facts,
        branch=partition.branch,
        late=partition.is_late(grace, now),
        sign_at=last_sign(partition),
        silent=is_silent(partition, now),
    )


def began(partition: Partition) -> datetime | None:
    """Return when the running tenure began, as far as the partition tells.

    Until its owner writes, that was the last write. Where older code has acquired it: who takes a partition over ends
    the tenure before in that step.
    """
    if partition.last_op == partition.nonce:
        return partition.updated_at
    since = partition.held_since
    if since is not None:
        return since
    last = partition.ending_at(partition.token - 1)
    return last.at if last is not None and last.op == partition.nonce else None
