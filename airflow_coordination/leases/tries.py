"""What others have left: the next try of a task adopts or retakes it, or ends it in the place of who is dead."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Final

from airflow_coordination.leases.acquisition import Acquisition
from airflow_coordination.leases.counting import Counting
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.outcomes import EndRequest, FailRequest, GiveUpRequest
from airflow_coordination.leases.participant import Participant
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.errors import PartitionNotFoundError, PartitionNotOwnedError
from airflow_coordination.values.fence import Fence, Owner
from airflow_coordination.values.input_errors import CoordinationError, shown
from airflow_coordination.values.names import check_key
from airflow_coordination.values.status import Outcome, PartitionStatus
from airflow_coordination.values.whereabouts import is_gone

log = logging.getLogger(__name__)

LOOK_EVERY: Final = 5.0
"""Seconds between two looks for owners that are gone, of a driver that has enough to do."""
_AT_ONCE: Final = 400
_NO_WAIT: Final = timedelta(0)


class GoneOwners:
    """Ends in their place what processes of this machine held that are gone: killed, mostly, without a word.

    It saves the wait for the end of the lease and of its grace, and nothing depends on it: each ending goes under the
    tenure's own fence, as any other one (promise S2).

    :param core: whose source.
    :param end: ends the tenure of a key under a fence, unless it is over; says whether it has.
    """

    def __init__(self, core: Participant, end: Callable[[str, Fence, FailRequest], bool]) -> None:
        self._core, self._end = core, end
        self._next = core.clock.monotonic() + LOOK_EVERY
        self._lock = threading.Lock()

    def look_now_and_then(self) -> None:
        """Look as :meth:`look` does, but not more often than each :data:`LOOK_EVERY`."""
        with self._lock:
            now = self._core.clock.monotonic()
            if now < self._next:
                return
            self._next = now + LOOK_EVERY
        self.look()

    def look(self) -> list[str]:
        """End as failed what the gone held in this source, and return the keys.

        Sends a request for each 400 that are held, once, and two for each ending. The first failure in a row costs no
        wait: mostly the partition has nothing to do with it. One that fails again rests as others do, and is parked.
        A store that does not answer ends the look, and nothing else: leases run out all the same.
        """
        ended: list[str] = []
        try:
            ended += (each.key for each in self._held_by_the_gone() if self._ended(each))
        except CoordinationError as error:
            log.info("Source %s: could not look for owners that are gone: %s", shown(self._core.source), error)
        return ended

    def _ended(self, held: Partition) -> bool:
        who, fence, here = Owner(held.owner or "").plain, Fence(held.token, held.nonce), self._core.owner.plain
        error = f"Its process is gone without an ending ({who}); noticed on the same machine, by {here}"
        request = FailRequest(error, wait=None if held.failures else _NO_WAIT, most=held.max_failures)
        ended = self._end(held.key, fence, request)
        if ended:
            log.warning("Partition %s of source %s: %s", shown(held.key), shown(self._core.source), error)
        return ended

    def _held_by_the_gone(self) -> list[Partition]:
        found: list[Partition] = []
        after: str | None = None
        while True:
            page = self._core.store.page(self._core.source_id, PartitionStatus.ASSIGNED, after, _AT_ONCE)
            found += (each for each in page if is_gone(each.owner))
            if len(page) < _AT_ONCE:
                return found
            after = page[-1].key


@dataclass(eq=False, repr=False)
class Tries:
    """What one try of a task does about another one's tenures: :class:`SourceCoordinator` ``.tries``.

    :param core: whose source.
    :param acquisition: of the source's partitions.
    :param counting: counts what is retaken.
    :param end: ends a tenure, and counts it.
    """

    _core: Participant
    _acquisition: Acquisition
    _counting: Counting
    _end: Callable[[Lease, EndRequest], object]

    @cached_property
    def gone(self) -> GoneOwners:
        """What processes of this machine have left behind, of whatever owner."""
        return GoneOwners(self._core, self._end_for_dead_owner)

    def retake(self, key: str) -> Lease | None:
        """Take a partition over, at once, from an earlier try of this task; ``None`` if none holds it."""
        lease = self._acquisition.retake(check_key(key))
        return self._counting.count_acquired(lease) if lease else None

    def adopt(self, key: str, fence: Fence) -> Lease | None:
        """Put a running tenure of an earlier try of this task under this try's watch, and renew it.

        Its driver may go on with the chain of writes; this lease is for renewing, and for ending it once the driver
        is dead.

        :return: the lease, ``None`` if the tenure is over.
        """
        return self._acquisition.adopt(check_key(key), fence)

    def held_by_task(self) -> Sequence[Partition]:
        """Return what any try of this owner's Airflow task holds, not of its namesake in another Airflow."""
        action, task = "look for own leases", self._core.owner.task
        found = self._core.settler.repeat(action, lambda: self._core.store.find_task(self._core.source_id, task))
        return [each for each in found if self._core.owner.is_also(each.owner)]

    def fail_for_dead_owner(self, key: str, fence: Fence, error: str) -> bool:
        """End a tenure as failed in the place of its driver, which is known to be dead.

        :return: whether the tenure was still going on; false when it had ended by itself.
        :raises PartitionNotFoundError: when there is no such partition.
        """
        return self._end_for_dead_owner(key, fence, FailRequest(error))

    def give_up_for_dead_owner(self, key: str, fence: Fence) -> bool:
        """Give a tenure up in the place of its driver, which was ended on purpose; see :meth:`fail_for_dead_owner`."""
        return self._end_for_dead_owner(key, fence, GiveUpRequest())

    def _end_for_dead_owner(self, key: str, fence: Fence, request: EndRequest) -> bool:
        while True:
            seen = self._core.settler.read(self._core.source_id, key)
            if seen is None:
                raise PartitionNotFoundError(key, self._core.source)
            if not seen.held_under(fence):
                return False
            lease = self._core.tenures.start(seen, self._core.clock.monotonic())
            try:
                self._end(lease, request)
            except PartitionNotOwnedError as refused:
                if refused.ending is None or refused.ending.outcome is not Outcome.OVERTAKEN:
                    return False
            except PartitionNotFoundError:  # a person has deleted it under its owner
                return False
            else:
                return True
