"""A coordinator whose every call is noted in a history, and whose counts can be compared with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from airflow_coordination.leases.cleaning import Cleaning
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.people import People
from airflow_coordination.leases.supply import FunctionOfState, Supplied, SupplierRun, identified
from airflow_coordination.outputs.heads.showing import shown_pages, steadily
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.beside.documents import ABSENT, VIEW
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.metrics import CountingMetrics, Metric
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.partition import Partition, PartitionIdentifier
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.results import Created, Outlook, Swept
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.history.log import MemoryLog
from airflow_coordination.testing.history.operations import Kind, Operation, Output, Told
from airflow_coordination.testing.history.views import said
from airflow_coordination.values.accounting import Accounting, flat
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.documents import encode_progress
from airflow_coordination.values.errors import OutcomeUnknownError, PartitionNotFoundError, PartitionNotOwnedError
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.names import identifier_of

T = TypeVar("T")
Result = dict[str, Any]
NO_RESULT: Result = {}


def outputs(blocks: Iterable[Block]) -> tuple[Output, ...]:
    """Return blocks as histories name them."""
    return tuple(Output(block.dataset, block.digest, block.follows, block.mode) for block in blocks)


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None


def seen(partition: Partition | None) -> Result:
    """Return what a history keeps of a partition that was read."""
    if partition is None or partition.deleted:
        return {"status": None}
    return {
        "status": str(partition.status),
        "branch": partition.branch,
        "parked": partition.parked,
        "token": partition.token,
        "progress": partition.progress_text,
        "counts": flat(partition.accounting) if partition.accounting else {},
        "blocks": outputs(partition.staged),
        "closed": partition.closed_count,
        "failures": partition.failures,
        "lost": partition.lost_leases,
        "limit": partition.max_lost_leases,
    }


def held(lease: Lease) -> Result:
    """Return what a history keeps of a lease that was given."""
    return {**seen(lease.partition), "nonce": lease.fence.nonce, "expires": _seconds(lease.expires_at)}


Noted = Callable[[Kind, str, Mapping[str, Any], Callable[[], Partition]], Partition]


class RecordedPeople(People):
    """The same part of a coordinator, which notes each call: a branch resets partitions, a purge empties head records.

    :param coordinator: whose part.
    :param noted: makes a call on a partition and notes what came of it.
    """

    def __init__(self, coordinator: SourceCoordinator, noted: Noted) -> None:
        has = parts_of(coordinator.store)
        super().__init__(coordinator._core, has.follow_ups, has.head_intervals, coordinator.documents)
        self._noted = noted

    def act(  # noqa: D102
        self,
        action: Action,
        key: str,
        by: str,
        why: str,
        seen: Partition | None = None,
        *,
        branch: int | None = None,
        out_of_branch: bool = False,
        batch: str | None = None,
    ) -> Partition:
        more: dict[str, Any] = {"branch": branch, "out_of_branch": out_of_branch, "batch": batch}
        call = lambda: People.act(self, action, key, by, why, seen, **more)  # noqa: E731
        given = {"branch": branch} if action is Action.RESET else {}
        return self._noted(Kind(action.value), key, given, call)

    def purge(self, seen: Partition, datasets: Iterable[str], by: str, why: str) -> Partition:  # noqa: D102
        stored = sorted(datasets)
        call = lambda: People.purge(self, seen, stored, by, why)  # noqa: E731
        return self._noted(Kind.RETRACT, seen.key, {"datasets": stored}, call)


class RecordedCoordinator:
    """The calls of a :class:`SourceCoordinator`, each noted before it is made and when it is answered.

    :param coordinator: makes the calls.
    :param log: keeps them; shared by all coordinators of a simulation, one per process otherwise.
    :param process: names who calls, unique for every start of a process.
    """

    def __init__(self, coordinator: SourceCoordinator, log: MemoryLog, process: str) -> None:
        self.coordinator, self.log, self.process = coordinator, log, process
        self._changes = 0

    def get_next_partition(self, hint: str | None = None) -> Lease | None:
        """See :meth:`SourceCoordinator.get_next_partition`; its supplier is called with :meth:`run_supplier`."""
        made = self._call(Kind.ACQUIRE, given=self._limit)
        return self._leased(made, lambda: self.coordinator.get_next_partition(hint=hint))

    def acquire_partition(self, key: str) -> Lease | None:
        """See :class:`SourceCoordinator`, here and below."""
        made = self._call(Kind.ACQUIRE, key, given=self._limit)
        return self._leased(made, lambda: self.coordinator.acquire_partition(key))

    def retake(self, key: str) -> Lease | None:  # noqa: D102
        made = self._call(Kind.RETAKE, key, given=self._limit)
        return self._leased(made, lambda: self.coordinator.tries.retake(key))

    def adopt(self, key: str, fence: Fence) -> Lease | None:  # noqa: D102
        made = self._call(Kind.ADOPT, key, fence)
        return self._leased(made, lambda: self.coordinator.tries.adopt(key, fence))

    def begin(self, key: str, fence: Fence) -> Lease:  # noqa: D102
        made = self._call(Kind.BEGIN, key, fence)

        def begun(lease: Lease) -> Result:
            if lease.fence != fence:
                made.kind = Kind.RETAKE
            return held(lease)

        return self._told(made, lambda: self.coordinator.begin(key, fence), begun)

    def renew(self, lease: Lease) -> Lease:  # noqa: D102
        made = self._call(Kind.RENEW, lease.key, lease.fence)
        return self._told(made, lambda: self.coordinator.renew(lease), _until)

    def save_progress_state(  # noqa: D102
        self, lease: Lease, state: object, blocks: Sequence[Block] = (), counted: Accounting | None = None
    ) -> Lease:
        given = {"progress": encode_progress(state), "blocks": outputs(blocks), **_counts(counted)}
        made = self._call(Kind.SAVE, lease.key, lease.fence, given)
        return self._told(made, lambda: self.coordinator.save_progress_state(lease, state, blocks, counted), _until)

    def complete(  # noqa: D102
        self,
        lease: Lease,
        blocks: Sequence[Block] = (),
        counted: Accounting | None = None,
        then: str | None = None,
        interval: str | None = None,
    ) -> None:
        given = {"blocks": outputs(blocks), **_counts(counted), **_noted(then), **_where(lease, interval)}
        made = self._call(Kind.COMPLETE, lease.key, lease.fence, given)
        self._told(made, lambda: self.coordinator.complete(lease, blocks, counted, then, interval))

    def close(  # noqa: D102
        self,
        lease: Lease,
        reopen_after: timedelta,
        state: object = None,
        blocks: Sequence[Block] = (),
        counted: Accounting | None = None,
        then: str | None = None,
    ) -> None:
        given = {
            "after": reopen_after.total_seconds(),
            "progress": encode_progress(state),
            "blocks": outputs(blocks),
            **_counts(counted),
            **_noted(then),
            **_where(lease, None),
        }
        made = self._call(Kind.CLOSE, lease.key, lease.fence, given)
        self._told(made, lambda: self.coordinator.close(lease, reopen_after, state, blocks, counted, then))

    def fail(self, lease: Lease, error: str, retry_after: timedelta | None = None) -> None:  # noqa: D102
        made = self._call(Kind.FAIL, lease.key, lease.fence, _after(retry_after))
        self._told(made, lambda: self.coordinator.fail(lease, error, retry_after))

    def give_up(self, lease: Lease, retry_after: timedelta | None = None) -> None:  # noqa: D102
        made = self._call(Kind.GIVE_UP, lease.key, lease.fence, _after(retry_after))
        self._told(made, lambda: self.coordinator.give_up(lease, retry_after))

    def hand_over(self, lease: Lease) -> None:  # noqa: D102
        made = self._call(Kind.HAND_OVER, lease.key, lease.fence)
        self._told(made, lambda: self.coordinator.workers.hand_over(lease))

    def ask(self, held: Partition, patience: timedelta) -> bool:  # noqa: D102
        made = self._call(Kind.ASK, held.key, held.fence, {"patience": patience.total_seconds()})
        return self._ended(made, lambda: self.coordinator.workers.ask(held, patience), otherwise=Told.NOTHING)

    def steal(self, held: Partition) -> Lease | None:  # noqa: D102
        made = self._call(Kind.STEAL, held.key, held.fence, self._limit)
        return self._leased(made, lambda: self.coordinator.workers.steal(held))

    def complete_and_get_next(  # noqa: D102
        self, lease: Lease, blocks: Sequence[Block] = (), counted: Accounting | None = None, then: str | None = None
    ) -> Lease | None:
        given = {"blocks": outputs(blocks), **_counts(counted), **_noted(then), **_where(lease, None)}
        made = self._call(Kind.COMPLETE, lease.key, lease.fence, given)
        following = self._call(Kind.ACQUIRE, given=self._limit)
        try:
            ends = lambda: self.coordinator.complete_and_get_next(lease, blocks, counted=counted, then=then)  # noqa: E731
            found = self._told(made, ends)
        except CoordinationError:
            unknown = made.told is Told.UNKNOWN
            self.log.answer(following, Told.UNKNOWN if unknown else Told.NOT_DONE, NO_RESULT)
            raise
        return self._note_lease(following, found)

    def fail_for_dead_owner(self, key: str, fence: Fence, error: str) -> bool:  # noqa: D102
        made = self._call(Kind.FAIL, key, fence, {"after": None, "for": "dead owner"})
        return self._ended(made, lambda: self.coordinator.tries.fail_for_dead_owner(key, fence, error))

    def give_up_for_dead_owner(self, key: str, fence: Fence) -> bool:  # noqa: D102
        made = self._call(Kind.GIVE_UP, key, fence, {"after": None, "for": "dead owner"})
        return self._ended(made, lambda: self.coordinator.tries.give_up_for_dead_owner(key, fence))

    def create_partitions(  # noqa: D102
        self, partitions: Sequence[str | PartitionIdentifier], branch: int | None = None
    ) -> Created:
        named: dict[str, PartitionIdentifier] = {}
        for one in map(identified, partitions):
            named.setdefault(one.key, one)
        inside: Result = {} if branch is None else {"branch": branch}
        made = [self._call(Kind.CREATE, key, given={**_parents(one), **inside}) for key, one in named.items()]
        return self._together(made, lambda: self.coordinator.create_partitions(partitions, branch=branch))

    def run_supplier(self, supplier: FunctionOfState) -> SupplierRun:
        """Note every partition that the supplier gives as a creation of its own."""
        run, made = self._call(Kind.STATE), dict[str, Operation]()

        def noted(state: dict[str, Any]) -> Iterable[Supplied]:
            for item in supplier(state) or ():
                key = getattr(item, "key", item)
                if isinstance(key, str) and key not in made:
                    made[key] = self._call(Kind.CREATE, key, given=_parents(identified(item)))
                yield item

        ran = self._told(run, lambda: self.coordinator.run_supplier(noted), lambda ran: {"state": ran.state})
        for one in made.values():  # after an error, what it gave may exist by now, or later, or never
            self.log.answer(one, Told.OK, NO_RESULT)
        return ran

    @cached_property
    def people(self) -> RecordedPeople:
        """What people do to partitions, noted."""

        def noted(kind: Kind, key: str, given: Mapping[str, Any], call: Callable[[], Partition]) -> Partition:
            return self._told(self._call(kind, key, given=dict(given)), call, seen)

        return RecordedPeople(self.coordinator, noted)

    @cached_property
    def commands(self) -> SourceCoordinator:
        """The coordinator as commands of branches and purges are given it: what they do to partitions is noted.

        That is what its parts ``people`` and ``cleaning`` do. What they change of the view is noted by
        :meth:`change_view`.
        """
        one = copy(self.coordinator)
        vars(one).update(people=self.people, cleaning=Cleaning(one._core, self.people))
        return one

    def act(self, action: Action, key: str) -> Partition:
        """Do a person's action to what is seen now."""
        return self.people.act(action, key, "ana", "because")

    def reset(self, key: str, branch: int | None = None, *, out_of_branch: bool = False) -> Partition:
        """Reset a partition as it is seen now, into a branch or out of any."""
        return self.people.reset(key, "ana", "because", branch=branch, out_of_branch=out_of_branch)

    def pause(self) -> Pause:
        """Pause the source, as it is seen now."""
        return self._told(self._call(Kind.PAUSE), lambda: self.coordinator.pausing.pause("ana", "because"))

    def resume(self) -> Pause:
        """Let the source go on."""
        return self._told(self._call(Kind.RESUME), lambda: self.coordinator.pausing.resume("ana", "because"))

    def sweep(self, limit: int = 1000) -> Swept:  # noqa: D102
        made = self._call(Kind.SWEEP, given={"limit": limit})
        return self._told(made, lambda: self.coordinator.sweep(limit), _swept)

    def claimable(self, limit: int = 100) -> list[str]:  # noqa: D102
        return self._told(self._call(Kind.HINTS), lambda: self.coordinator.claimable(limit))

    def outlook(self) -> Outlook:  # noqa: D102
        return self._told(self._call(Kind.LOOK), self.coordinator.looking.outlook)

    def held_by_task(self) -> Sequence[Partition]:  # noqa: D102
        return self._told(self._call(Kind.HINTS), self.coordinator.tries.held_by_task)

    def partition(self, key: str) -> Partition | None:  # noqa: D102
        return self._told(self._call(Kind.READ, key), lambda: self.coordinator.partition(key), seen)

    def published(self, key: str) -> dict[str, tuple[str, ...]]:
        """Return the digests of the published blocks of a partition, by dataset."""
        one = self.coordinator

        def read() -> dict[str, tuple[str, ...]]:
            heads = every_head(one.store, identifier_of(one), key=key)
            return {head.dataset: tuple(block.digest for block in head.blocks) for head in heads}

        return self._told(self._call(Kind.PUBLISHED, key), read, lambda found: {"published": found})

    def shown(self, dataset: str) -> dict[str, tuple[str, ...]]:
        """Return the digests of what readers see of a dataset, by partition."""
        one = self.coordinator

        def read(view: View) -> Result:
            pages = shown_pages(one.store, identifier_of(one), dataset, view)
            heads = {head.key: tuple(block.digest for block in head.blocks) for page in pages for head in page}
            return {**said(view), "published": heads}

        made = self._call(Kind.SHOWN, given={"dataset": dataset})
        found = self._told(made, lambda: steadily(one.store, identifier_of(one), read), lambda found: found)
        return dict(found["published"])

    def change_view(self, call: Callable[[str], T], what: str) -> T:
        """Change the view, once or several times, by a call that gives the comment that it is given.

        :param call: a command of branches, or a change of ``coordinator.documents``.
        :param what: it does, for people.
        """
        self._changes += 1
        comment = f"{what} ({self._changes} of {self.process})"
        made = self._call(Kind.VIEW, given={"comment": comment})
        return self._told(made, lambda: call(comment), lambda changed: self._version())

    def _version(self) -> Result:
        """Return which version of the view is there now; nothing where that cannot be heard."""
        try:
            found = self.coordinator.documents.newest(VIEW)
        except CoordinationError:
            return NO_RESULT
        return {"version": found.version if found else ABSENT}

    def global_state(self) -> dict[str, Any]:  # noqa: D102
        return self._told(
            self._call(Kind.STATE), self.coordinator.supplying.global_state, lambda state: {"state": state}
        )

    @property
    def _limit(self) -> Result:
        """What is given with every acquisition: the limit that is to travel with the lease."""
        return {"limit": self.coordinator.settings.max_lost_leases}

    def _call(self, kind: Kind, key: str = "", fence: Fence | None = None, given: Result = NO_RESULT) -> Operation:
        under = (fence.token, fence.nonce) if fence else None
        return self.log.call(self.process, kind, key, under, given)

    def _told(self, made: Operation, call: Callable[[], T], result: Callable[[T], Result] | None = None) -> T:
        """Make a call and note its answer. What ends the process, ends it without one."""
        try:
            found = call()
        except CoordinationError as error:
            self.log.answer(made, *_meaning(error))
            raise
        self.log.answer(made, Told.OK, result(found) if result else NO_RESULT)
        return found

    def _leased(self, made: Operation, call: Callable[[], Lease | None]) -> Lease | None:
        try:
            lease = call()
        except CoordinationError as error:
            self.log.answer(made, *_meaning(error))
            raise
        return self._note_lease(made, lease)

    def _note_lease(self, made: Operation, lease: Lease | None) -> Lease | None:
        if lease is None:
            self.log.answer(made, Told.NOTHING, NO_RESULT)
        else:
            made.key = lease.key
            self.log.answer(made, Told.OK, held(lease))
        return lease

    def _ended(self, made: Operation, call: Callable[[], bool], otherwise: Told = Told.REFUSED) -> bool:
        try:
            ended = call()
        except CoordinationError as error:
            self.log.answer(made, *_meaning(error))
            raise
        self.log.answer(made, Told.OK if ended else otherwise, NO_RESULT)
        return ended

    def _together(self, made: Sequence[Operation], call: Callable[[], T]) -> T:
        try:
            found = call()
        except CoordinationError as error:
            for one in made:  # pages before the one that failed are created
                told = _meaning(error)[0]
                self.log.answer(one, Told.UNKNOWN if len(made) > 1 else told, NO_RESULT)
            raise
        for one in made:
            self.log.answer(one, Told.OK, NO_RESULT)
        return found


def _swept(swept: Swept) -> Result:
    return {"reopened": swept.reopened, "reclaimed": swept.reclaimed, "parked": swept.parked}


def _parents(one: PartitionIdentifier) -> Result:
    return {"parents": list(one.parents)} if one.parents else NO_RESULT


def _where(lease: Lease, interval: str | None) -> Result:
    """Return where an ending publishes, and of which time that is."""
    return {"branch": lease.partition.branch} | ({} if interval is None else {"interval": interval})


def _noted(then: str | None) -> Result:
    return {} if then is None else {"then": then}


def _counts(counted: Accounting | None) -> Result:
    return {} if counted is None else {"counts": flat(counted)}


def _until(lease: Lease) -> Result:
    return {"expires": _seconds(lease.expires_at)}


def _after(retry_after: timedelta | None) -> Result:
    return {"after": retry_after.total_seconds() if retry_after is not None else None}


def _meaning(error: CoordinationError) -> tuple[Told, Result]:
    if isinstance(error, PartitionNotOwnedError):
        return Told.REFUSED, {"ending": str(error.ending.outcome) if error.ending else None}
    if isinstance(error, OutcomeUnknownError):
        return Told.UNKNOWN, {"why": error.reason}
    if isinstance(error, PartitionNotFoundError):
        return Told.MISSING, NO_RESULT
    return Told.NOT_DONE, {"error": f"{type(error).__name__}: {error}"}


class CountedCoordinator(SourceCoordinator):
    """The coordinator as it is; it knows which of its refusals no history has: those of a supplier's heartbeat."""

    beats: ClassVar[type[Heartbeat]] = Heartbeat
    """What keeps its leases alive."""
    unrecorded_refusals = 0

    def heartbeat(
        self,
        lease: Lease,
        on_lost: Callable[[CoordinationError], object] = lambda error: None,
        progress: Callable[[], object] | None = None,
    ) -> Heartbeat:
        """Return a context manager that keeps ``lease`` alive."""
        return self.beats(self._beat, lease, on_lost, self.settings, progress, self._core.clock, self._core.randomness)

    def _beat(self, lease: Lease) -> Lease:
        try:
            return self.renew(lease)
        except PartitionNotOwnedError:
            self.unrecorded_refusals += 1
            raise

    def short_counts(self) -> Counter[str]:
        """Return what was counted, by the metrics' short names, as far as histories have it."""
        assert isinstance(self.metrics, CountingMetrics)
        counts = Counter({name.rpartition("_")[2]: count for name, count in self.metrics.counts.items()})
        counts[Metric.NOT_OWNED] -= self.unrecorded_refusals
        return counts
