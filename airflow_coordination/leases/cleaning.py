"""The clean-up: finished parents whose children have begun (KCL: ``LeaseCleanupManager``), and what ended long ago."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from airflow_coordination.leases.participant import Participant
from airflow_coordination.leases.people import People
from airflow_coordination.protocol.hierarchy import CLEAN_AFTER, has_begun, may_go
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import Action
from airflow_coordination.values.errors import PartitionNotFoundError, PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import check_key, check_limit
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import aware, positive

PORTION: Final = 100
"""How many completed partitions a clean-up beside the supplier looks at between two looks at its own lease."""


PURGE_PORTION: Final = 500
"""How many completed partitions one sweep with a retention looks at."""


@dataclass(frozen=True, slots=True)
class CleanedUp:
    """The result of one portion of a clean-up.

    :param keys: of what it has removed, in byte order; with ``dry_run`` of what it would have.
    :param changed: of what was changed by somebody else between the look and the removal; it stays.
    :param after: where the next portion begins, ``None`` when this was the last.
    """

    keys: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    after: str | None = None

    def __add__(self, other: CleanedUp) -> CleanedUp:
        return CleanedUp(self.keys + other.keys, self.changed + other.changed, other.after)


@dataclass(frozen=True, slots=True)
class Purged:
    """The result of one portion of a purge.

    :param deleted: how many partitions it deleted; with ``dry_run`` how many it would have.
    :param changed: how many were changed by somebody else between the look and the deletion; they are left.
    :param after: where the next portion begins, ``None`` when this was the last.
    :param kept: how many stay because a branch needs them: it has begun, or others stand for their rows in it.
    """

    deleted: int = 0
    changed: int = 0
    after: str | None = None
    kept: int = 0

    def __add__(self, other: Purged) -> Purged:
        kept = self.kept + other.kept
        return Purged(self.deleted + other.deleted, self.changed + other.changed, other.after, kept)


@dataclass(eq=False, repr=False)
class Cleaning:
    """Removes finished parents, and what ended long ago: :class:`SourceCoordinator` ``.cleaning``.

    :param core: whose source.
    :param people: deletes, as a person would.
    """

    _core: Participant
    _people: People
    _forgotten_to: str | None = field(default=None, init=False)
    """Where the next sweep goes on to forget, by key; not kept beyond this object: nothing is lost with it."""

    def clean_up(
        self,
        clean_after: timedelta = CLEAN_AFTER,
        *,
        gone: Collection[str] = (),
        keep: Collection[str] = (),
        by: str | None = None,
        why: str | None = None,
        after: str | None = None,
        limit: int = 1000,
        dry_run: bool = False,
    ) -> CleanedUp:
        """Remove finished parents that nobody needs, looking at no more than ``limit`` completed partitions.

        A partition goes when it is COMPLETED since ``clean_after``, nobody waits for it, it has children and each of
        them was acquired once, and none of its own parents is left (KCL: ``LeaseCleanupManager``). What has no children
        stays: forgetting that is :meth:`purge`. Each is removed as it was seen: one that a person resets meanwhile
        stays.

        What runs in a branch that has begun stays, too, and what was retired in one, unless that was rolled back.

        What was published stays, and so does a tombstone that says that it had finished: a child that names it later
        need not wait for it. On DynamoDB it is kept for a week. Whoever creates the partition itself again makes it
        anew, as over any tombstone, so this is for sources whose supplier does not name old keys again.

        :param clean_after: how long each stays at least after it was finished, by the store's clock.
        :param gone: keys that the source knows no more: they go at once, children or not, if they are COMPLETED and
            nobody waits for them (KCL: the shard does not exist).
        :param keep: keys that stay in any case, such as those that the supplier still names.
        :param by: who asks, kept in the audit of each partition; this coordinator's owner if left out.
        :param why: the reason, kept in the audit of each partition.
        :param after: the key above which to begin; from the portion before.
        :param limit: how many completed partitions to look at.
        :param dry_run: look and change nothing.
        :raises InvalidInputError: when the time is not above zero, or ``gone`` or ``keep`` is no list of keys.
        :raises OutcomeUnknownError: when the store stopped answering; what was removed until then stays removed.
        """
        positive("clean_after", clean_after)
        known_gone, kept = _keys("gone", gone), set(_keys("keep", keep))
        check_limit(limit)
        if after:
            check_key(after, "after")
        read = lambda: self._core.store.page(self._core.source_id, PartitionStatus.COMPLETED, after, limit)  # noqa: E731
        page = self._core.settler.repeat("list partitions", read)
        now = self._core.settler.repeat("read the clock", self._core.store.now)
        kept |= self._core.branches.needed(page)
        removed: list[str] = []
        changed: list[str] = []
        for one in page:
            if one.key not in kept and self._may_go(one, now, clean_after, known_gone):
                done = dry_run or self._cleaned(one, by, why or _why(one, clean_after, known_gone))
                (removed if done else changed).append(one.key)
        return CleanedUp(tuple(removed), tuple(changed), page[-1].key if len(page) == limit else None)

    def _may_go(self, one: Partition, now: datetime, clean_after: timedelta, gone: Collection[str]) -> bool:
        """Return whether a completed partition may go; what is asked of others is asked last."""
        finished_for, is_gone = now - (one.updated_at or now), one.key in gone
        if finished_for < clean_after and not is_gone:
            return False
        parents = [] if is_gone else [parent for parent in one.parents if self._is_left(parent)]
        children = [] if parents else list(self._people.children(one.key))
        if any(one.key in child.waits_for for child in children):
            return False  # older code has written its end: the next sweep releases them
        begun = {child.key: has_begun(child) for child in children}
        return may_go(begun, parents, finished_for, clean_after=clean_after, source_gone=is_gone)

    def _is_left(self, parent: str) -> bool:
        found = self._core.settler.read(self._core.source_id, parent)
        return found is not None and not found.deleted

    def _cleaned(self, seen: Partition, by: str | None, why: str) -> bool:
        """Remove one partition as it was seen; return whether it still was so."""
        try:
            self._people.act(Action.CLEAN_UP, seen.key, by or self._core.owner.text, why, seen)
        except (PartitionUpdateError, PartitionNotFoundError):
            return False
        return True

    def forget(self, retention: timedelta) -> None:
        """Purge one portion of the source; the next call goes on where this one has ended.

        :param retention: what was completed longer ago than this.
        """
        before, why = self._core.store.now() - retention, f"completed longer than {retention} ago"
        done = self.purge(before, self._core.owner.text, why, after=self._forgotten_to, limit=PURGE_PORTION)
        self._forgotten_to = done.after

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
        again; its output is then replaced; ``publish(…, mode="append")`` is refused as long as it is there. What runs
        in a branch that has begun stays, and what was retired in one, unless that was rolled back.

        :param completed_before: by the store's clock, with a time zone.
        :param by: who asks, kept in the audit of each partition.
        :param why: the reason, kept in the audit of each partition.
        :param after: the key above which to begin; from the portion before.
        :param limit: how many completed partitions to look at.
        :param dry_run: count and change nothing.
        :raises InvalidInputError: when it is no time, or has no zone.
        :raises PartitionUpdateError: for what groups of compaction have merged, which readers need.
        :raises OutcomeUnknownError: when the store stopped answering; what was deleted until then stays deleted.
        """
        aware("completed_before", completed_before)
        self._people.check_kept(Action.DELETE)
        check_limit(limit)
        if after:
            check_key(after, "after")
        read = lambda: self._core.store.page(self._core.source_id, PartitionStatus.COMPLETED, after, limit)  # noqa: E731
        page = self._core.settler.repeat("list partitions", read)
        old = [one for one in page if one.updated_at is not None and one.updated_at < completed_before]
        kept = self._core.branches.needed(old)
        going = [one for one in old if one.key not in kept]
        deleted = len(going) if dry_run else sum(self._forgot(one, by, why) for one in going)
        return Purged(deleted, len(going) - deleted, page[-1].key if len(page) == limit else None, len(kept))

    def _forgot(self, seen: Partition, by: str, why: str) -> bool:
        """Delete one partition as it was seen; return whether it still was so."""
        try:
            self._people.delete(seen.key, by=by, why=why, seen=seen)
        except (PartitionUpdateError, PartitionNotFoundError):
            return False
        return True


def _keys(field: str, given: object) -> Collection[str]:
    """Return keys that were given, to be looked up."""
    if isinstance(given, frozenset):
        return given  # has been looked at
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidInputError(field, given, f"is {type(given).__name__}, not a list of keys", "Give a list")
    return frozenset(check_key(key, field) for key in given)


def _why(one: Partition, clean_after: timedelta, gone: Collection[str]) -> str:
    if one.key in gone:
        return "finished, and its source knows it no more"
    return f"finished longer than {clean_after} ago, and its children have begun"
