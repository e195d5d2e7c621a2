"""The workers of a source: a lease of each in an internal source; asking, handing over, stealing.

Source: KCL 3.x has its workers write metrics entries, which stay for hours after a clean stop (issue 1472); KCL 2.x
knows only workers that hold a lease. The internal source is kept as Data Prepper keeps a source's global state.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from airflow_coordination.leases.acquisition import Acquisition
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.outcomes import GiveUpRequest
from airflow_coordination.leases.participant import Participant
from airflow_coordination.leases.tenures import Tenures
from airflow_coordination.protocol.metrics import Metric
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import Ask, Create, NewPartition
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import positive, whole_above_zero

log = logging.getLogger(__name__)

_PAGE = 1_000
_CAPACITY = "capacity"


@dataclass(frozen=True, slots=True)
class Member:
    """A worker that is alive: its lease is held, and has not run out by the store's clock.

    :param owner: who it is; the leases that it works under carry the same name.
    :param capacity: how many leases it can hold at a time.
    :param expires_at: until when it counts as alive, unless it renews.
    """

    owner: str
    capacity: int
    expires_at: datetime


class Membership:
    """A worker's own lease, renewed in the background until :meth:`leave`.

    :param lease: the lease.
    :param tenures: renews and ends it.
    :param heartbeat: renews it; not started yet.
    """

    def __init__(self, lease: Lease, tenures: Tenures, heartbeat: Heartbeat) -> None:
        self._lease, self._tenures, self._heartbeat = lease, tenures, heartbeat
        heartbeat.__enter__()

    @property
    def lost(self) -> bool:
        """Whether others take this worker for dead, and it has to join again."""
        return self._heartbeat.lost is not None

    def leave(self) -> None:
        """End it, so that others see at once that this worker is gone; where the store is silent, it runs out."""
        self._heartbeat.stop()
        with suppress(CoordinationError):
            self._tenures.end(self._lease, GiveUpRequest())


@dataclass(eq=False, repr=False)
class Workers:
    """Who works on the source, and how they get leases of each other: :class:`SourceCoordinator` ``.workers``.

    A place in the internal source (``worker/1``, ``worker/2``, …) is taken again by whoever comes later, so there are
    never more of them than workers were there at the same time. It is never registered: lists of sources, the board,
    metrics and exports do not know it.

    :param core: whose source.
    :param acquisition: of the source's partitions.
    """

    _core: Participant
    _acquisition: Acquisition

    def join(self, capacity: int) -> Membership:
        """Become a member: take the place of one that has left or died, or make a new one.

        :param capacity: how many leases this worker can hold at a time.
        :raises InvalidInputError: when it is no whole number above zero.
        """
        whole_above_zero(_CAPACITY, capacity)
        leases = self._core.acquirer(self._core.worker_id)
        while (lease := self._take_place(leases)) is None:  # each time round, somebody has got one
            pass
        lease = self._core.tenures.save(lease, {_CAPACITY: capacity}, ())
        # A member waits as long as it likes.
        settings = dataclasses.replace(self._core.settings, no_progress_timeout=None)
        heartbeat = Heartbeat(
            self._core.tenures.renew,
            lease,
            _say_lost,
            settings,
            clock=self._core.clock,
            randomness=self._core.randomness,
        )
        return Membership(lease, self._core.tenures, heartbeat)

    def members(self) -> list[Member]:
        """Return the workers that are alive, by name: two requests, however large the source is."""
        now = self._core.store.now()
        found = {
            place.owner: Member(place.owner, _capacity_of(place), place.ownership_timeout)
            for place in self._places()
            if _alive(place, now) and place.owner and place.ownership_timeout
        }
        return [found[name] for name in sorted(found)]

    def ask(self, seen: Partition, patience: timedelta) -> bool:
        """Ask whoever holds a partition to hand it over.

        :param seen: the partition, as it was just read.
        :param patience: after it this worker may :meth:`steal` the lease, and others may ask for it.
        :return: whether it stands under this worker's name; ``False`` when the tenure is over, or another one has
            asked for it and may still get it.
        :raises InvalidInputError: for a time that is not above zero.
        """
        positive("patience", patience)
        if seen.fence is None:
            return False
        write = Ask(
            source=self._core.source_id, key=seen.key, fence=seen.fence, by=self._core.owner.text, patience=patience
        )
        answer = self._core.settler.repeat(f"ask for {seen.key!r}", lambda: self._core.store.write(write))
        if answer.applied:
            return True
        now = answer.partition  # a repetition of what was applied is refused by its own mark
        return now is not None and now.held_under(write.fence) and now.wanted == self._core.owner.text

    def steal(self, seen: Partition) -> Lease | None:
        """Take a lease that this worker has asked for, and that was not handed over in time.

        Progress and what was saved with it go on; what its owner has done since its last save is done again. It counts
        as no lost lease.

        :param seen: the partition, as it was when it was asked for.
        :return: the lease; ``None`` when the tenure is over, or this worker's time has not come.
        """
        lease = self._acquisition.steal(seen, seen.fence) if seen.fence is not None else None
        if lease is None:
            return None
        self._core.count(Metric.STOLEN)
        self._core.count(Metric.ACQUIRED)
        return lease

    def hand_over(self, lease: Lease) -> None:
        """Give a lease back because another worker has asked for it: free at once, and counts nothing.

        What was saved goes on; blocks that were not are dropped, as with :meth:`give_up`.

        :raises PartitionNotOwnedError: when it is over already.
        """
        with self._core.watched(None):
            self._core.tenures.end(lease, GiveUpRequest(wanted=True))
        self._core.count(Metric.HANDED_OVER)

    def _take_place(self, leases: Acquisition) -> Lease | None:
        places = list(self._places())
        now = self._core.store.now()
        free = [place.key for place in places if not _held(place, now)]
        if not free:
            free = [f"worker/{len(places) + 1}"]
            self._make_place(free[0])
        return next((found for key in free if (found := leases.by_query(key)) is not None), None)

    def _places(self) -> Iterator[Partition]:
        after: str | None = None
        while True:
            page = self._core.settler.repeat("list the workers", partial(self._page, after))
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].key

    def _page(self, after: str | None) -> Sequence[Partition]:
        return self._core.store.page(self._core.worker_id, None, after, _PAGE)

    def _make_place(self, key: str) -> None:
        page = (NewPartition(key=key, payload_text=None, priority=0),)
        write = Create(source=self._core.worker_id, op=self._core.randomness.op_id(), partitions=page)
        self._core.settler.repeat("make a worker's place", lambda: self._core.store.create(write))


def _alive(place: Partition, now: datetime) -> bool:
    """Return whether a member holds it, and has said by now how many leases it can hold."""
    return _held(place, now) and place.last_op != place.nonce


def _held(place: Partition, now: datetime) -> bool:
    until = place.ownership_timeout
    return place.status is PartitionStatus.ASSIGNED and until is not None and until > now


def _capacity_of(place: Partition) -> int:
    found = (place.progress_state or {}).get(_CAPACITY)
    return found if isinstance(found, int) and found > 0 else 1


def _say_lost(error: CoordinationError) -> None:
    log.warning("The other workers take this one for dead, until it looks again: %s", error)
