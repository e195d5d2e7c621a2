"""Moving a source to another store, the first half: reading whole lives, while nobody works on them.

Fences go on, never back: a partition keeps its token, its generation, its counts, its progress and what it has
published. The ring of its endings stays behind, because late owners ask the store in which their tenure was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from typing import Final

from airflow_coordination.leases.overview import Overview
from airflow_coordination.leases.pausing import Pausing
from airflow_coordination.protocol.pages import Read, every_head
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import shown
from airflow_coordination.values.names import GLOBAL_STATE_KEY
from airflow_coordination.values.status import ASSIGNED, UNASSIGNED, Rank

_PAGE: Final = 500
_SECOND: Final = timedelta(seconds=1)
_LONG: Final = 512
"""Bytes."""


@dataclass(frozen=True, slots=True)
class Life:
    """Everything of one partition that moves.

    :param key: the partition key.
    :param partition: ``None`` where only what it has published is left: it was deleted or purged.
    :param heads: its head records.
    """

    key: str
    partition: Partition | None
    heads: tuple[HeadRecord, ...] = ()

    @property
    def is_fresh(self) -> bool:
        """Whether nothing was done with it since its creation, so that creating it says all."""
        one = self.partition
        if one is None or self.heads:
            return False
        untouched = (
            one.token == 0 and one.status is UNASSIGNED and one.rank is Rank.NEW and one.last_op == one.create_op
        )
        return untouched and one.available_at == one.created_at


class Moving(Overview, Pausing):
    """The part of :class:`SourceCoordinator` that reads whole lives, for another store."""

    def check_at_rest(self) -> Pause:
        """Sweep, and refuse to go on unless the source is paused and nobody holds anything of it.

        :return: its pause.
        :raises PartitionUpdateError: naming what is in the way, and the command for it.
        """
        pause = self.current_pause()
        if not pause.paused:
            raise self.not_at_rest("is not paused", "pause")
        while self.sweep(_PAGE).total:
            pass
        if held := self.counts()[ASSIGNED]:
            raise self.not_at_rest(f"has {held} partition(s) that are held: wait for their owners", "owners")
        self.supplier_life()
        return pause

    def not_at_rest(self, problem: str, name: str) -> PartitionUpdateError:
        """Return the error that says why a source cannot be moved now.

        :param name: of the command that shows it, or mends it.
        """
        remedy = typed(self, name)
        return PartitionUpdateError(f"move source {shown(self.source)}", "", f"it {problem}. See `{remedy}`.")

    def lives(self) -> Iterator[Life]:
        """Yield every partition with its head records, also those of which only these are left.

        :raises PartitionUpdateError: when one is held, or has parents: what waits is judged where it is created.
        """
        heads = groupby(every_head(self.store, self._source_id, hear=self._heard), key=lambda head: head.key)
        ahead = next(heads, None)
        for partition in self._each(_PAGE):
            if partition.status is ASSIGNED:
                raise self.not_at_rest(f"has partition {shown(partition.key)}, which is held now", "owners")
            if partition.parents:
                raise self.not_at_rest(f"has partition {shown(partition.key)} with parents: such sources stay", "list")
            while ahead is not None and ahead[0].encode() < partition.key.encode():
                yield from self._of_heads(*ahead)
                ahead = next(heads, None)
            its: tuple[HeadRecord, ...] = ()
            if _is_long(partition.key):
                its = tuple(every_head(self.store, self._source_id, key=partition.key, hear=self._heard))
            elif ahead is not None and ahead[0] == partition.key:
                its = tuple(ahead[1])
                ahead = next(heads, None)
            yield Life(partition.key, partition, its)
        while ahead is not None:
            yield from self._of_heads(*ahead)
            ahead = next(heads, None)

    def _of_heads(self, key: str, heads: Iterable[HeadRecord]) -> Iterator[Life]:
        """Yield what is left of a partition that is not among the others, unless it is one with a long key."""
        if not _is_long(key) or self.partition(key) is None:
            yield Life(key, None, tuple(heads))

    def _heard(self, read: Read) -> Sequence[HeadRecord]:
        return self._settler.repeat("read head records", read)

    def supplier_life(self) -> Partition | None:
        """Return what the supplier remembers, as the partition that it is kept in; ``None`` when it never ran.

        :raises PartitionUpdateError: when it runs.
        """
        found = self._settler.read(self._global_id, GLOBAL_STATE_KEY)
        if found is None or found.deleted:
            return None
        if found.status is not ASSIGNED:
            return found
        now = self.store.now()
        if found.ownership_timeout is None or found.ownership_timeout > now:
            raise self.not_at_rest("has a supplier that runs: wait for its end", "owners")
        return replace(found, status=UNASSIGNED, available_at=now)


def is_fresh(one: Partition) -> bool:
    """Return whether nobody has touched a partition since its creation."""
    return one.token == 0 and one.status is UNASSIGNED and one.last_op == one.create_op and not one.deleted


def _is_long(key: str) -> bool:
    """Return whether a store may shorten a key, so that it stands at another place among the head records."""
    return len(key.encode()) > _LONG
