"""Moving a source to another store: reading whole lives while nobody works on them, and letting them go on there.

Fences go on, never back: a partition keeps its token, its generation, its counts, its progress and what it has
published. The ring of its endings stays behind, because late owners ask the store in which their tenure was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from typing import Final

from airflow_coordination.leases.looking import Looking
from airflow_coordination.leases.participant import Participant
from airflow_coordination.leases.people import Pausing, People
from airflow_coordination.protocol.pages import Read, every_head
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.protocol.results import Answer, HeadRecord, Swept
from airflow_coordination.protocol.writes import Create, NewPartition, Place
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import shown
from airflow_coordination.values.names import GLOBAL_STATE_KEY
from airflow_coordination.values.status import ASSIGNED, UNASSIGNED, PartitionStatus, Rank

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
        if one is None or self.heads or one.branch is not None:  # a creation here is one outside of all branches
            return False
        untouched = (
            one.token == 0 and one.status is UNASSIGNED and one.rank is Rank.NEW and one.last_op == one.create_op
        )
        return untouched and one.available_at == one.created_at


_FORGOTTEN: Final = ("import", "it was deleted where it comes from; its output is still read")


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of some lives.

    :param here: how many partitions have their life here, from now on or since an earlier try.
    :param different: keys of those that were here already with another life; they are left as they are.
    :param documents: names of rules that were here already and are others; they are left as they are, too. Those of the
        default rules, ``rules/_default``, if those here are others than where it comes from, or only one store has any.
    """

    here: int = 0
    different: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()

    def __add__(self, other: Moved) -> Moved:
        return Moved(self.here + other.here, self.different + other.different, self.documents + other.documents)


@dataclass(eq=False, repr=False)
class Moving:
    """Reads whole lives for another store, and lets those of another one go on here: ``.moving`` of a coordinator.

    :param core: whose source.
    :param sweep: sweeps so many partitions, and forgets none.
    """

    _core: Participant
    _looking: Looking
    _pausing: Pausing
    _people: People
    _sweep: Callable[[int], Swept]

    def check_at_rest(self) -> Pause:
        """Sweep, and refuse to go on unless the source is paused and nobody holds anything of it.

        :return: its pause.
        :raises PartitionUpdateError: naming what is in the way, and the command for it.
        """
        pause = self._pausing.current_pause()
        self._check_stays_paused(pause)
        while self._sweep(_PAGE).total:
            pass
        if held := self._looking.counts()[ASSIGNED]:
            raise self.not_at_rest(f"has {held} partition(s) that are held: wait for their owners", "owners")
        self.supplier_life()
        return pause

    def _check_stays_paused(self, pause: Pause) -> None:
        """Refuse a source that is not paused, or whose pause would end by itself before it has moved."""
        if not pause.unending:
            raise self.not_at_rest("is paused for a time only" if pause.paused else "is not paused", "pause")

    def not_at_rest(self, problem: str, name: str) -> PartitionUpdateError:
        """Return the error that says why a source cannot be moved now.

        :param name: of the command that shows it, or mends it.
        """
        remedy = typed(self._core, name)
        return PartitionUpdateError(f"move source {shown(self._core.source)}", "", f"it {problem}. See `{remedy}`.")

    def lives(self) -> Iterator[Life]:
        """Yield every partition with its head records, also those of which only these are left.

        :raises PartitionUpdateError: when one is held, or has parents: what waits is judged where it is created.
        """
        heads = groupby(every_head(self._core.store, self._core.source_id, hear=self._heard), key=lambda head: head.key)
        ahead = next(heads, None)
        for partition in self._looking.each(_PAGE):
            if partition.status is ASSIGNED:
                raise self.not_at_rest(f"has partition {shown(partition.key)}, which is held now", "owners")
            if partition.parents:
                raise self.not_at_rest(f"has partition {shown(partition.key)} with parents: such sources stay", "list")
            while ahead is not None and ahead[0].encode() < partition.key.encode():
                yield from self._of_heads(*ahead)
                ahead = next(heads, None)
            its: tuple[HeadRecord, ...] = ()
            if _is_long(partition.key):
                its = tuple(every_head(self._core.store, self._core.source_id, key=partition.key, hear=self._heard))
            elif ahead is not None and ahead[0] == partition.key:
                its = tuple(ahead[1])
                ahead = next(heads, None)
            yield Life(partition.key, partition, its)
        while ahead is not None:
            yield from self._of_heads(*ahead)
            ahead = next(heads, None)

    def _of_heads(self, key: str, heads: Iterable[HeadRecord]) -> Iterator[Life]:
        """Yield what is left of a partition that is not among the others, unless it is one with a long key."""
        if not _is_long(key) or self._looking.partition(key) is None:
            yield Life(key, None, tuple(heads))

    def _heard(self, read: Read) -> Sequence[HeadRecord]:
        return self._core.settler.repeat("read head records", read)

    def supplier_life(self) -> Partition | None:
        """Return what the supplier remembers, as the partition that it is kept in; ``None`` when it never ran.

        :raises PartitionUpdateError: when it runs.
        """
        found = self._core.settler.read(self._core.global_id, GLOBAL_STATE_KEY)
        if found is None or found.deleted:
            return None
        if found.status is not ASSIGNED:
            return found
        now = self._core.store.now()
        if found.ownership_timeout is None or found.ownership_timeout > now:
            raise self.not_at_rest("has a supplier that runs: wait for its end", "owners")
        return replace(found, status=UNASSIGNED, available_at=now)

    def wait_until_paused(self) -> None:
        """Wait until a pause holds in every process: on DynamoDB each asks only now and then.

        :raises PartitionUpdateError: when the source is not paused.
        """
        pause = self._pausing.current_pause()
        self._check_stays_paused(pause)
        since = pause.at or self._core.store.now()
        while (left := since + self._pausing.holds_after - self._core.store.now()) > timedelta(0):
            self._core.clock.sleep(min(left, _SECOND).total_seconds())

    def settle_in(self, lives: Sequence[Life], op: str) -> Moved:
        """Create what is not here yet, and give it the life that it had; what is here already stays as it is.

        Repeated, it goes on where it was interrupted.

        :param lives: in the order in which they were created there, at most ``store.create_page``.
        :param op: the operation that creates them, the same when it is repeated.
        :raises PartitionUpdateError: when the source is not paused.
        """
        self._check_stays_paused(self._pausing.current_pause())
        return self._settle_in(lives, op, self._core.source_id)

    def settle_supplier_in(self, life: Partition, op: str) -> Moved:
        """Let the supplier remember here what it remembered there; see :meth:`settle_in`."""
        return self._settle_in([Life(life.key, life)], op, self._core.global_id)

    def _settle_in(self, lives: Sequence[Life], op: str, source: str) -> Moved:
        create = Create(source=source, op=op, partitions=tuple(map(_created, lives)))
        mine = self._core.settler.repeat("create partitions", lambda: self._core.store.create(create)).created == len(
            lives
        )
        different = tuple(life.key for life in lives if not self._goes_on(life, op if mine else None, source))
        return Moved(len(lives) - len(different), different)

    def _goes_on(self, life: Life, created: str | None, source: str) -> bool:
        """Return whether a life goes on here.

        :param created: the operation that has created it, ``None`` where that is not known.
        """
        seen = None if created else self._core.settler.read(source, life.key)
        if life.partition is None:
            return self._leaves_its_output(life, seen, created, source)
        wanted = replace(life.partition, source=source)
        if seen is not None and not (is_fresh(seen) and _same_work(seen, wanted)):
            return _alike(seen, wanted)
        if life.is_fresh:
            return True
        answer = self._place(life, wanted, seen.create_op if seen else created)
        return answer.applied or (answer.partition is not None and _alike(answer.partition, wanted))

    def _leaves_its_output(self, life: Life, seen: Partition | None, created: str | None, source: str) -> bool:
        """Return whether the output of a partition that was deleted is read here.

        The head records come with a completion, which is deleted again; or to what a supplier has created anew here.
        """
        newest = max(life.heads, key=lambda head: head.token)
        past = Partition(
            source=source,
            key=life.key,
            status=PartitionStatus.COMPLETED,
            token=newest.token,
            nonce=newest.op,
            last_op=newest.op,
            generation=newest.generation,
            created_at=newest.published_at or self._core.store.now(),
        )
        if seen is not None and is_fresh(seen):
            past = replace(past, status=UNASSIGNED, available_at=seen.available_at, generation=seen.generation)
        if seen is None or is_fresh(seen):
            answer = self._place(life, past, seen.create_op if seen else created)
            seen = past if answer.applied else answer.partition
        if seen is None or not (seen.deleted or seen.last_op == past.last_op):
            return False
        if not seen.deleted and seen.status is PartitionStatus.COMPLETED:
            self._people.delete(life.key, *_FORGOTTEN)
        return True

    def _place(self, life: Life, wanted: Partition, created: str | None) -> Answer:
        heads = tuple(replace(head, source=wanted.source) for head in life.heads)
        write = Place(source=wanted.source, key=life.key, created=created or "", life=wanted, heads=heads)
        return self._core.settler.repeat(f"place {life.key!r}", lambda: self._core.store.place(write))


def _created(life: Life) -> NewPartition:
    one = life.partition
    if one is None:
        return NewPartition(key=life.key, payload_text=None, priority=0)
    return NewPartition(key=life.key, payload_text=one.payload_text, priority=one.priority, parents=one.parents)


def _same_work(one: Partition, other: Partition) -> bool:
    return (one.payload_text, one.priority) == (other.payload_text, other.priority)


def _alike(seen: Partition, wanted: Partition) -> bool:
    """Return whether what is here is that life, placed by an earlier try, or created by it."""
    same = (seen.token, seen.nonce, seen.last_op) == (wanted.token, wanted.nonce, wanted.last_op)
    return not seen.deleted and _same_work(seen, wanted) and same


def is_fresh(one: Partition) -> bool:
    """Return whether nobody has touched a partition since its creation."""
    return one.token == 0 and one.status is UNASSIGNED and one.last_op == one.create_op and not one.deleted


def _is_long(key: str) -> bool:
    """Return whether a store may shorten a key, so that it stands at another place among the head records."""
    return len(key.encode()) > _LONG
