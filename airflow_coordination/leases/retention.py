"""Forgetting what was completed long ago: many deletions by a person's rule, each conditioned on what was seen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from airflow_coordination.leases.settling_in import SettlingIn
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import Swept
from airflow_coordination.values.errors import PartitionNotFoundError, PartitionUpdateError
from airflow_coordination.values.names import check_key, check_limit
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import aware, positive

PORTION: Final = 500
"""How many completed partitions one sweep with a retention looks at."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What one portion of a purge did.

    :param deleted: how many partitions it deleted; with ``dry_run`` how many it would have.
    :param changed: how many were changed by somebody else between the look and the deletion; they are left.
    :param after: where the next portion begins, ``None`` when this was the last.
    """

    deleted: int = 0
    changed: int = 0
    after: str | None = None


class Retention(SettlingIn):
    """The part of :class:`SourceCoordinator` that forgets."""

    _forgotten_to: str | None = None
    """Where the next sweep goes on to forget, by key; not kept beyond this object, so that nothing is lost with it."""

    def sweep(self, limit: int = 1000, retention: timedelta | None = None) -> Swept:
        """Reopen CLOSED partitions whose time has come and reclaim expired leases, at most ``limit`` of each.

        :param retention: forget, too, what was completed longer ago than this, a portion of the source with each call;
            see :meth:`purge`. Only for sources whose supplier does not name old keys again.
        :raises InvalidInputError: when the retention is not above zero.
        """
        positive("retention", retention)
        swept = super().sweep(limit)
        if retention is not None:
            before, why = self.store.now() - retention, f"completed longer than {retention} ago"
            done = self.purge(before, self.owner.text, why, after=self._forgotten_to, limit=PORTION)
            self._forgotten_to = done.after
        return swept

    def purge(
        self,
        completed_before: datetime,
        by: str,
        why: str,
        *,
        after: str | None = None,
        limit: int = 1000,
        dry_run: bool = False,
    ) -> Purged:
        """Delete what was completed before a time, looking at no more than ``limit`` completed partitions.

        What was published stays, and so does a tombstone with token and ring: whoever comes late is refused, and no
        fence is given twice (promise S1). A supplier that still names a purged key creates it anew, and it is worked
        again; its output is then replaced; ``publish(…, mode="append")`` is refused as long as it is there.

        :param completed_before: by the store's clock, with a time zone.
        :param by: who asks, kept in the audit of each partition.
        :param why: the reason, kept in the audit of each partition.
        :param after: the key above which to begin; from the portion before.
        :param limit: how many completed partitions to look at.
        :param dry_run: count and change nothing.
        :raises InvalidInputError: when it is no time, or has no zone.
        :raises OutcomeUnknownError: when the store stopped answering; what was deleted until then stays deleted.
        """
        aware("completed_before", completed_before)
        check_limit(limit)
        if after:
            check_key(after, "after")
        read = lambda: self.store.page(self._source_id, PartitionStatus.COMPLETED, after, limit)  # noqa: E731
        page = self._settler.repeat("list partitions", read)
        old = [one for one in page if one.updated_at is not None and one.updated_at < completed_before]
        deleted = len(old) if dry_run else sum(self._forgot(one, by, why) for one in old)
        return Purged(deleted, len(old) - deleted, page[-1].key if len(page) == limit else None)

    def _forgot(self, seen: Partition, by: str, why: str) -> bool:
        """Delete one partition as it was seen; return whether it still was so."""
        try:
            self.delete(seen.key, by=by, why=why, seen=seen)
        except (PartitionUpdateError, PartitionNotFoundError):
            return False
        return True
