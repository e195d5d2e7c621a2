"""Acquiring: one update where a hint or the index says what there is, the next candidate when somebody was faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import Final

from airflow_coordination.protocol import steps
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.writes import AcquireHinted, AcquireNext, Retake, Steal, Tenancy
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import changes
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.changes import Change, Moment
from airflow_coordination.stores.dynamodb.counting import Counting
from airflow_coordination.stores.dynamodb.items import Candidate
from airflow_coordination.stores.dynamodb.keys import CRASHED, DELAYED
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.stores.dynamodb.queue import LOOK, Queue, batches
from airflow_coordination.stores.dynamodb.requests import Refusal, Remembered
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import ProgressStateError
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import Randomness

PAGE: Final = 25
"""How many candidates of a class one query brings: about one read unit."""
CROWDED_PAGE: Final = 300
"""The same while others take from the same page."""
CROWDED: Final = timedelta(seconds=10)
"""For how long a lost race says that there is a crowd, and a page that was read in it may be worked through."""
_RACES: Final = 3
"""Races lost on a page that say it is old; twice as many on the next, in case the index itself is old."""
_LAG: Final = timedelta(seconds=30)
"""For how long a row of the index is taken for old: after that a smaller token is a new life of the partition, whose
item was removed by TTL and created again."""

_ACQUIRE: Final = "acquire"


@dataclass(slots=True)
class _Page:
    """A page of claimable partitions that one process works through while others take from the same place.

    :param since: when everything there is was looked at.
    :param rest: what is left of the page; ``None`` where nobody else was met.
    """

    since: datetime
    rest: Iterator[Candidate] | None = None


class Acquiring:
    """The steps that start tenures.

    :param partitions: the items.
    :param queue: the index.
    :param just_created: gives key and token of what this process has created and the index may not show.
    :param counting: hears of every acquisition.
    :param randomness: draws the next candidate after a lost race.
    """

    def __init__(
        self,
        partitions: Partitions,
        queue: Queue,
        just_created: Callable[[str], Iterator[tuple[str, int]]],
        counting: Counting,
        randomness: Randomness,
    ) -> None:
        self._partitions, self._queue, self._just_created = partitions, queue, just_created
        self._counting, self._randomness = counting, randomness
        self._tokens = Remembered()
        """The newest token known of a partition, and since when: rows with an older one are old themselves."""
        self._attempts = Remembered()
        """Where a nonce was sent to, for when the answer is lost."""
        self._pages: dict[str, _Page] = {}
        """What is left of a page that was read in a crowd, by source."""

    def hinted(self, write: AcquireHinted) -> Answer:
        """Acquire a partition if its token is the one seen."""
        call = Call(_ACQUIRE, write.key)
        found = self._take(call, write)
        if isinstance(found, Partition):
            return Answer(True, found, found.ownership_timeout)
        now = self._partitions.refused(call, found)
        if now is None or now.token != write.token or now.status is not PartitionStatus.ASSIGNED:
            return Answer(False, now)
        return self._take_over_seen(call, now, write.tenancy)

    def known(self, write: AcquireNext, key: str) -> Partition | None:
        """Acquire one partition whatever its token: one read more."""
        call = Call(_ACQUIRE, key)
        seen = self._partitions.get(call, write.source, key)
        if seen is None:
            return None
        if seen.status is PartitionStatus.ASSIGNED:
            answer = self._take_over_seen(call, seen, write.tenancy)
        else:
            answer = self.hinted(_as_hinted(seen, write.tenancy))
        return answer.partition if answer.applied else None

    def retake(self, write: Retake) -> Answer:
        """Take over from an earlier try of the same task; who that is stands in the item, so it is read first."""
        call = Call("retake", write.key)
        seen = self._partitions.get(call, write.source, write.key)
        at = self._partitions.moment()
        after = seen and steps.step(write, seen, at.now)
        if seen is None or after is None:
            return Answer(False, seen)
        begun, after = after, it.as_kept(after)
        self._attempts.put(write.source, write.tenancy.op, write.key)
        refusal = self._partitions.change(call, write.source, write.key, changes.replace(seen, after, at))
        if refusal is not None:
            return Answer(False, self._partitions.refused(call, refusal))
        self._partitions.history.ended(seen, begun)
        self._partitions.history.began(begun)
        return Answer(True, after, after.ownership_timeout)

    def steal(self, write: Steal) -> Answer:
        """Take a lease that was asked for; how its tenure ends stands in the item, so it is read first."""
        call = Call("steal", write.key)
        seen = self._partitions.get(call, write.source, write.key)
        at = self._partitions.moment()
        if seen is None or steps.step(write, seen, at.past) is None:
            return Answer(False, seen)
        found = self._granted(call, write, changes.steal(seen, write, at), at)
        if isinstance(found, Partition):
            return Answer(True, found, found.ownership_timeout)
        return Answer(False, self._partitions.refused(call, found))

    def _take(self, call: Call, write: AcquireHinted) -> Partition | Refusal:
        at = self._partitions.moment()
        return self._granted(call, write, changes.acquire(write, at), at)

    def _take_over(self, call: Call, seen: Partition, tenancy: Tenancy) -> Partition | Refusal:
        at = self._partitions.moment()
        write = _as_hinted(seen, tenancy)
        return self._granted(call, write, changes.take_over(seen, write, at), at)

    def _take_over_seen(self, call: Call, seen: Partition, tenancy: Tenancy) -> Answer:
        """Take an expired lease over that was just seen; nothing is sent while it lasts."""
        if not steps.claimable(seen, self._partitions.moment().past, tenancy.max_lost_leases):
            return Answer(False, seen)
        found = self._take_over(call, seen, tenancy)
        if isinstance(found, Partition):
            return Answer(True, found, found.ownership_timeout)
        return Answer(False, self._partitions.refused(call, found))

    def _granted(self, call: Call, write: AcquireHinted | Steal, change: Change, at: Moment) -> Partition | Refusal:
        """Send an acquisition; what was there before tells which status it came from, and what it is now."""
        self._attempts.put(write.source, write.tenancy.op, write.key)
        try:
            before = self._partitions.change_and_see(call, write.source, write.key, change, before=True)
        except ProgressStateError:  # nobody can work on it: count the lease, so that it is parked in the end
            fence = Fence(write.token + 1, write.tenancy.op)
            self._partitions.change(call, write.source, write.key, changes.confirm(fence))
            raise
        if isinstance(before, Refusal):
            return before
        self._tokens.put(write.source, write.key, (write.token + 1, at.now))
        self._counting.moved(write.source, before.status, PartitionStatus.ASSIGNED)
        after = steps.step(write, before, at.now)
        if after is None:
            return self._read_again(call, write)
        self._partitions.history.ended(before, after)
        self._partitions.history.began(after)
        return it.as_kept(after)

    def _read_again(self, call: Call, write: AcquireHinted | Steal) -> Partition:
        """Return what was acquired, unless this process slept so long that others have taken it since."""
        found = self._partitions.get(call, write.source, write.key)
        if found is None or not found.held_under(Fence(write.token + 1, write.tenancy.op)):
            raise call.lost(f"partition {write.key!r} was acquired, and is not held any more")
        return found

    def next(self, write: AcquireNext) -> Partition | None:
        """Acquire the first that can be had; ``None`` when there is none.

        Who loses a race to somebody else reads a longer page of what waits, and works through it for a while
        from a place of its own on: in one line behind each other, all workers would lose all races but one (Data
        Prepper's acquirers do). Every ten seconds, and when nothing waits, it looks again at everything there is.
        """
        call, races = Call("acquire a partition"), 1
        while True:
            page = self._pages.pop(write.source, None) or _Page(self._partitions.moment().now)
            found, lost = self._from_page(call, write, page, races)
            if found is None and not lost:
                found, lost = self._from_all(call, write, page, races)
            if found is not None:
                return found
            if not lost:
                return self._unseen(call, write)
            races *= 2

    def _from_page(self, call: Call, write: AcquireNext, page: _Page, races: int) -> tuple[Partition | None, bool]:
        """Go on with the page that was read in a crowd; with a new one after lost races."""
        if page.rest is None or self._partitions.moment().now - page.since >= CROWDED:
            return None, False
        found, lost = self._race(call, page.rest, write, races)
        if found is not None:
            self._pages[write.source] = page
        elif lost:
            self._pages[write.source] = _Page(page.since, self._crowded(call, write))
        return found, lost

    def _from_all(self, call: Call, write: AcquireNext, page: _Page, races: int) -> tuple[Partition | None, bool]:
        """Look at everything there is, in the acquisition order; a crowd that was or is met gets a page of its own."""
        since, crowded = self._partitions.moment().now, page.rest is not None or races > 1
        candidates = self._candidates(call, write, crowded=crowded)
        found, lost = self._race(call, candidates, write, max(_RACES, races) if crowded else races)
        if lost or (found is not None and crowded):
            self._pages[write.source] = _Page(since, self._crowded(call, write))
        return found, lost

    def _race(
        self, call: Call, candidates: Iterator[Candidate], write: AcquireNext, races: int
    ) -> tuple[Partition | None, bool]:
        """Return the first that can be had, and whether too many races were lost before one could."""
        for candidate in candidates:
            found = self._try(call, candidate, write.tenancy)
            if found is not None:
                return found, False
            races -= self._is_old(candidate)
            if not races:
                return None, True
        return None, False

    def _unseen(self, call: Call, write: AcquireNext) -> Partition | None:
        """Acquire what this process has just created: the index may not show it yet."""
        fresh = (new for new in self._just_created(write.source) if self._tokens.get(write.source, new[0]) is None)
        for key, token in islice(fresh, PAGE):
            found = self._take(call, AcquireHinted(source=write.source, key=key, token=token, tenancy=write.tenancy))
            if (mine := self._mine(call, found, write.tenancy)) is not None:
                return mine
        return None

    def _crowded(self, call: Call, write: AcquireNext) -> Iterator[Candidate]:
        """Yield what waits, class by class, each from a place of its own on: one query a page, when it is wanted.

        From there to where the next worker has begun is nobody else, so that races are lost at the end of a stretch.
        """
        past, above = self._partitions.moment().past, DELAYED if write.new_first else CRASHED
        for _, rows in self._queue.waiting(call, write.source, past, CROWDED_PAGE, above):
            yield from (row for row in self._randomness.rotated(rows) if not self._is_old(row))

    def _candidates(self, call: Call, write: AcquireNext, *, crowded: bool) -> Iterator[Candidate]:
        """Yield what may be had in the acquisition order; where it is crowded, by lot from page after page."""
        past = self._partitions.moment().past
        size = CROWDED_PAGE if crowded else PAGE
        for page in batches(self._queue, call, write.source, past, size, new_first=write.new_first):
            candidates = [candidate for candidate in page if not self._is_old(candidate)]
            if crowded:
                self._randomness.shuffle(candidates)
            yield from candidates

    def _is_old(self, candidate: Candidate) -> bool:
        """Return whether somebody is known to have had it since the index knew."""
        known = self._tokens.get(candidate.seen.source, candidate.seen.key)
        if known is None or candidate.seen.token >= known[0]:
            return False
        return bool(self._partitions.moment().now - known[1] < _LAG)

    def _try(self, call: Call, candidate: Candidate, tenancy: Tenancy) -> Partition | None:
        seen = candidate.seen
        if seen.status is PartitionStatus.ASSIGNED:  # how its tenure ends, the index does not say
            return self._after_look(call, candidate, self._partitions.bare(call, seen.source, seen.key), tenancy)
        found = self._take(call, _as_hinted(seen, tenancy))
        mine = self._mine(call, found, tenancy)
        if mine is not None or isinstance(found, Partition):
            return mine
        return self._after_look(call, candidate, self._partitions.refused(call, found, texts=False), tenancy)

    def _mine(self, call: Call, found: Partition | Refusal, tenancy: Tenancy) -> Partition | None:
        """Return what was acquired, also where boto itself has repeated the request, and its first copy refused it.

        Retries of an Airflow connection do so; going on would take a second partition under one nonce.
        """
        if isinstance(found, Partition):
            return found
        item = found.item or {}
        if (item.get(it.STATUS), item.get(it.NONCE), item.get(it.LAST_OP)) != ("ASSIGNED", tenancy.op, tenancy.op):
            return None
        return self._partitions.decode(call, item)

    def _after_look(
        self, call: Call, candidate: Candidate, now: Partition | None, tenancy: Tenancy
    ) -> Partition | None:
        """Go on by what the item says, as it was read or refused: the row is old, or the lease was renewed, or over."""
        if now is None:
            return None
        self._tokens.put(now.source, now.key, (now.token, self._partitions.moment().now))
        seen = candidate.seen
        if now.status is not PartitionStatus.ASSIGNED or (now.token, now.nonce) != (seen.token, seen.nonce):
            return None
        if now.ownership_timeout is not None and now.ownership_timeout > self._partitions.moment().past:
            self._partitions.change(call, seen.source, seen.key, changes.follow_renewals(seen, candidate.standing))
            return None
        if not steps.claimable(now, self._partitions.moment().past, tenancy.max_lost_leases):
            return None
        found = self._take_over(call, now, tenancy)
        mine = self._mine(call, found, tenancy)
        if mine is None and isinstance(found, Refusal) and found.item is not None:  # a race that was lost
            token = it.number(found.item, it.TOKEN)
            self._tokens.put(now.source, now.key, (token, self._partitions.moment().now))
        return mine

    def find_nonce(self, source: str, nonce: str) -> Partition | None:
        """Return the ASSIGNED partition whose fence has this nonce.

        Read from where this process sent it; a nonce of another process is looked for in the index.
        """
        call = Call("look for an acquisition", writes=False)
        key = self._attempts.get(source, nonce)
        if isinstance(key, str):
            found = self._partitions.get(call, source, key)
            return found if found and _assigned(found) and found.nonce == nonce else None
        return next(self._held(call, source, lambda seen: seen.nonce == nonce), None)

    def find_task(self, source: str, task: str) -> list[Partition]:
        """Return the ASSIGNED partitions held by any try of this task identity."""
        call = Call("look for a task's partitions", writes=False)
        return list(self._held(call, source, lambda seen: seen.owner_task == task))

    def _held(self, call: Call, source: str, wanted: Callable[[Partition], bool]) -> Iterator[Partition]:
        """Yield the ASSIGNED partitions that are wanted, judged by their rows first and then read whole."""
        for row in chain.from_iterable(self._queue.pages(call, source, PartitionStatus.ASSIGNED, None, LOOK)):
            found = self._partitions.get(call, source, row.seen.key) if wanted(row.seen) else None
            if found is not None and _assigned(found) and wanted(found):
                yield found


def _assigned(partition: Partition) -> bool:
    return partition.status is PartitionStatus.ASSIGNED and not partition.deleted


def _as_hinted(seen: Partition, tenancy: Tenancy) -> AcquireHinted:
    """Return the acquisition of a partition with the token that was seen."""
    return AcquireHinted(source=seen.source, key=seen.key, token=seen.token, tenancy=tenancy)
