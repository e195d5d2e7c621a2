"""The store port on an SQL database: each step one conditional statement, in the words of :mod:`.statements`."""

from __future__ import annotations

import json
import logging
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from airflow_coordination.leases.supply import without_repeats
from airflow_coordination.protocol.beside.chunk_sums import ChunkSums, in_order
from airflow_coordination.protocol.beside.documents import SetDocument
from airflow_coordination.protocol.beside.ended_sums import EndedSums
from airflow_coordination.protocol.beside.parts import StoreParts
from airflow_coordination.protocol.follow_up import FollowUp, Forget
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.refreshing import Outdated, Refresh
from airflow_coordination.protocol.results import Answer, Created, FusedAnswer, PauseAnswer, Swept
from airflow_coordination.protocol.rules import waited_for
from airflow_coordination.protocol.side_writes import TenureEnded
from airflow_coordination.protocol.steps import possible
from airflow_coordination.protocol.writes import (
    AcquireHinted,
    AcquireNext,
    Act,
    Adopt,
    Ask,
    Begin,
    Create,
    End,
    FencedWrite,
    KnownAcquisition,
    NewPartition,
    OnParked,
    Place,
    Renew,
    Save,
    SetInterval,
    SetPause,
    Sweep,
)
from airflow_coordination.stores.calls import THROUGH_OVERLAYS, THROUGH_VIEWS, Call
from airflow_coordination.stores.sql.columns import given_of_chunk, given_of_ended, moment, partition_of, pause_of_row
from airflow_coordination.stores.sql.database import Database, Rows, Sender
from airflow_coordination.stores.sql.reading import SqlReading
from airflow_coordination.stores.sql.schema import give_new_id, keep_out_before, read_facts, set_up
from airflow_coordination.stores.sql.statements import acquire, create, ended, read, writes
from airflow_coordination.stores.sql.statements import chunks as sums
from airflow_coordination.stores.sql.statements import documents as kept
from airflow_coordination.stores.sql.statements.step import parameters
from airflow_coordination.stores.sql.steps import (
    Step,
    acquisition,
    acquisition_of_known,
    action,
    ending,
    forgetting,
    owners,
    placement,
    reclaiming,
    refreshing,
    setting_interval,
    setting_pause,
)
from airflow_coordination.values.errors import OutcomeUnknownError, StoreUnavailableError
from airflow_coordination.values.input_errors import CoordinationError, SettingsError
from airflow_coordination.values.settings import CREATE_PAGE
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import Clock, from_micros, to_micros

_log = logging.getLogger(__name__)

SELDOM: Final = 600.0
"""Seconds between two looks of a process at one source."""
AT_ONCE: Final = 1_000
"""Sums of chunks that one statement writes at most."""
PORTION: Final = 5_000
"""Rows that one sweep removes at most; while there are so many, the next sweep goes on."""


@dataclass(slots=True)
class Thinning:
    """What this process has removed, and when it looks again.

    :param retention: how long the history is kept; ``None`` = none is kept, and what there is stays.
    :param ask: executes a statement.
    :param clock: monotonic seconds.
    """

    retention: timedelta | None
    ask: Sender
    clock: Callable[[], float] = time.monotonic
    _again_at: dict[str, float] = field(default_factory=dict)

    def after_sweep(self, source: str) -> None:
        """Remove what is too old of a source, if it is time to look.

        What prevents it is logged and tried again at the next look: the sweep itself is done, and what it has reclaimed
        must be heard of.
        """
        if self.retention is None or self.clock() < self._again_at.get(source, 0.0):
            return
        self._again_at[source] = self.clock() + SELDOM
        try:
            if self.thin(source, self.retention) == PORTION:
                self._again_at[source] = 0.0
        except CoordinationError as error:
            _log.warning("The history of %s cannot be thinned and grows: %s", source, error)

    def thin(self, source: str, retention: timedelta) -> int:
        """Remove at most a portion of what is older than ``retention``, and return how many rows that were."""
        kept = retention // timedelta(microseconds=1)
        given = {"source": source, "kept": kept, "limit": PORTION}
        return len(self.ask(Call("thin the history", source), writes.thin_history, given))


_OWNER_STATEMENTS: Final[dict[type, Callable[..., str]]] = {
    Adopt: writes.adopt,
    Renew: writes.renew,
    Begin: writes.begin,
    Save: writes.save,
    OnParked: writes.on_parked,
    Ask: writes.ask,
}


class SqlStore(SqlReading):
    """What SQLite and PostgreSQL have in common; no policy, and no step is ever repeated here.

    :param database: connections and the engine's exceptions.
    :param clock: replaces the store's own, for tests.
    """

    thinning: Thinning

    pause_holds_after: Final = timedelta(0)
    create_page: Final = CREATE_PAGE
    partition_prefix: str | None = None

    def __init__(self, database: Database, clock: Clock | None) -> None:
        super().__init__(database, clock)
        self.thinning = Thinning(database.history_retention, self.ask)

    def parts(self) -> StoreParts:
        """Return what this store has beside leases: all, but a history where ``history_retention=off``."""
        history = None if self.database.history_retention is None else self
        return StoreParts(
            fused=self,
            pauses=self,
            history=history,
            follow_ups=self,
            sums=self,
            ranges=self,
            head_intervals=self,
            enabling=self,
            chunks=self,
            documents=self,
            branches=self,
            ended=history,
        )

    @property
    @abstractmethod
    def reference(self) -> str | None:
        """A URL without credentials that opens this store, ``None`` when it needs a password."""

    def setup(self) -> None:
        """Create the schema or migrate it; any number of processes may do so at once."""
        self._facts = set_up(self.database, self.description)

    def new_id(self) -> str:
        """Give this store another id, because it is a copy: nobody takes it for the original then (promise S18).

        :raises SettingsError: while leases are held in it: their drivers believe in the old id.
        """
        [[count, until]] = self.ask(Call("look for held leases", writes=False), read.held, {})
        if count:
            problem = f"has {count} lease(s) that are held, the last until {from_micros(until).isoformat()}"
            remedy = "If it is a copy, wait until they have ended; if not, leave its id alone"
            raise SettingsError("store", self.description, problem, remedy)
        give_new_id(self.database)
        self._facts = None
        return self.store_id

    def outputs_enabled(self) -> bool:
        """Return whether code that knows no overlays is kept out."""
        return read_facts(self.database, self.description).outputs_enabled

    def enable_outputs(self) -> None:
        """Keep out code that knows no overlays.

        :raises SettingsError: when this role may not.
        """
        keep_out_before(self.database, THROUGH_OVERLAYS)

    def branches_enabled(self) -> bool:
        """Return whether code that knows no branches and no hidden intervals is kept out."""
        return read_facts(self.database, self.description).branches_enabled

    def enable_branches(self) -> None:
        """Keep out code that knows no branches and no hidden intervals.

        :raises SettingsError: when this role may not.
        """
        keep_out_before(self.database, THROUGH_VIEWS)

    def close(self) -> None:
        """Give this process's connections back."""
        self.database.close()

    def register(self, source: str, facts: dict[str, Any]) -> None:
        """Record or refresh a source and what is known of it."""
        text = json.dumps(facts, sort_keys=True)
        self.ask(Call("register the source", source), read.put_source, {"source": source, "facts": text})

    def create(self, write: Create) -> Created:
        """Create what is absent, in this order; repeated, it does nothing and counts the same."""
        page = list(without_repeats(write.partitions)[0])
        if not page:
            return Created()
        repeats = len(write.partitions) - len(page)
        insert = self.insert_children if any(new.parents for new in page) else self.insert_page
        made = insert(Call("create partitions"), write, page)
        if made == len(page):
            return Created(created=made, existing=repeats)
        try:
            call = Call("compare partitions", writes=False)
            mine, changed = self.compare_page(call, write, page)
            found = self.reset_of_page(call, write, page) if changed else ()
        except StoreUnavailableError as error:  # the page itself is written
            raise OutcomeUnknownError("create partitions", error.reason) from error
        outdated = tuple(Outdated(*row) for row in found)
        return Created(created=mine, existing=len(write.partitions) - mine, changed=changed, outdated=outdated)

    @abstractmethod
    def insert_page(self, call: Call, write: Create, page: list[NewPartition]) -> int:
        """Insert what is absent of ``page``; return how many rows were made or revived just now."""

    @abstractmethod
    def insert_children(self, call: Call, write: Create, page: list[NewPartition]) -> int:
        """Insert what is absent of ``page``, some with parents; return how many rows were made or revived just now.

        :raises UnknownParentError: when one of the parents does not exist; then nothing is inserted.
        """

    @abstractmethod
    def _page(self, write: Create, page: list[NewPartition]) -> dict[str, Any]:
        """Return the parameters of the statements about a page."""

    def compare_page(self, call: Call, write: Create, page: list[NewPartition]) -> tuple[int, tuple[str, ...]]:
        """Return how many of ``page`` this very operation made, and which of the others differ from what is stored."""
        found = self.ask(call, create.compare_page, self._page(write, page))
        return int(found[0][0] or 0), tuple(key for _, key in found[1:])

    def reset_of_page(self, call: Call, write: Create, page: list[NewPartition]) -> Rows:
        """Return key, generation and payload of those that were reset, not held since, and have another payload."""
        return self.ask(call, create.reset_of_page, self._page(write, page))

    def acquire_next(self, write: AcquireNext) -> Partition | None:
        """Acquire the first claimable partition; ``None`` when there is none."""
        if write.key is not None:
            return self._acquire_key(write)
        rows = self.carry_out(Call("acquire a partition"), acquisition(write, self.queued(write)))
        return partition_of(rows[0]) if rows else None

    def queued(self, write: AcquireNext) -> dict[str, Any]:
        """Return the parameters of an acquisition in the order."""
        return parameters(write)

    def _acquire_key(self, write: AcquireNext) -> Partition | None:
        rows = self.carry_out(Call("acquire", write.key or ""), acquisition(write))
        return partition_of(rows[0]) if rows else None

    def acquire(self, write: KnownAcquisition) -> Answer:
        """Acquire one known partition; one that nobody holds by a shorter statement, which mostly finds it."""
        if isinstance(write, AcquireHinted):
            rows = self.ask(Call("acquire", write.key), acquire.acquire_free, parameters(write))
            free = self._acquired(write, rows)
            seen = free.partition
            if free.applied or seen is None or seen.token != write.token or seen.status is not PartitionStatus.ASSIGNED:
                return free
        return self._acquired(write, self.carry_out(Call("acquire", write.key), acquisition_of_known(write)))

    def _acquired(self, write: KnownAcquisition, rows: Rows) -> Answer:
        return Answer(True, partition_of(rows[0])) if rows else self.refusal(write.source, write.key)

    def write(self, write: FencedWrite) -> Answer:
        """Apply an owner's write under its fence."""
        if isinstance(write, End):
            return self.end(write)
        shape = {"accounted": True} if isinstance(write, Save) and write.accounting is not None else {}
        call, build = Call(type(write).__name__.lower(), write.key), _OWNER_STATEMENTS[type(write)]
        rows = self.ask(call, build, owners(write), **shape)
        if not rows:
            return self.refusal(write.source, write.key)
        if isinstance(write, Begin):
            partition = partition_of(rows[0])
            return Answer(True, partition, partition.ownership_timeout)
        if isinstance(write, Adopt | Ask | OnParked):
            return Answer(True)
        until, wanted_by = rows[0]
        return Answer(True, expires_at=moment(until), wanted_by=wanted_by)

    def refusal(self, source: str, key: str) -> Answer:
        """Return the answer to a refused write, with the partition as it is now."""
        return Answer(False, self.get(source, key))

    def end(self, write: End) -> Answer:
        """End a tenure with all that its ending writes; one that completes releases who waits for the partition."""
        if self.carry_out(Call(str(write.outcome), write.key), ending(write)):
            return Answer(True)
        refused = self.refusal(write.source, write.key)
        if not waited_for(write, refused.partition):
            return refused
        return self.end_and_release(write)

    def end_and_release(self, write: End) -> Answer:
        """End a tenure that completes what others wait for, and release them."""
        call = Call(str(write.outcome), write.key)
        rows, released = self.carry_out_and_release(call, ending(write, releases=True))
        return Answer(True, released=released) if rows else self.refusal(write.source, write.key)

    @abstractmethod
    def carry_out(self, call: Call, step: Step) -> Rows:
        """Execute a step, and write its records in the same commit; return its rows, none if it was refused."""

    @abstractmethod
    def carry_out_and_release(self, call: Call, step: Step) -> tuple[Rows, int]:
        """Execute a step that completes a partition, and release who waits for it in the same transaction.

        :return: the step's rows, none if it was refused, and how many have waited.
        """

    @abstractmethod
    def complete_and_acquire(self, end: End, following: AcquireNext) -> FusedAnswer:
        """End one tenure and start the next in one commit; the second half only if the first applied just now."""

    def sweep(self, write: Sweep) -> Swept:
        """Reopen and reclaim what is due; what was delayed joins the queue."""
        given = {**parameters(write), **self.not_used_up(write.source)}
        reopened = self.ask(Call("reopen what is due"), writes.reopen, given)
        ended = self.carry_out(Call("reclaim expired leases"), reclaiming(write, given))
        self.ask(Call("queue what was delayed"), writes.promote, given)
        released = self._release_stragglers(write)
        self.thinning.after_sweep(write.source)
        parked = sum(status == PartitionStatus.CLOSED for _, status in ended)
        return Swept(len(reopened), len(ended) - parked, parked, released)

    def _release_stragglers(self, write: Sweep) -> int:
        """Release who waits for what has finished: where older code, which knows no children, has written its end."""
        call, found = Call("look for children left waiting", writes=False), {"source": write.source}
        parents = self.ask(call, create.stragglers, {**found, "limit": write.limit})
        return sum(self.release_straggler(Call("release children", key), write.source, key) for (key,) in parents)

    @abstractmethod
    def release_straggler(self, call: Call, source: str, parent: str) -> int:
        """Release who waits for a partition that has finished; return how many."""

    def act(self, write: Act) -> Answer:
        """Carry out a person's action, audited in the same step."""
        if not possible(write):
            return self.refusal(write.source, write.key)
        call = Call(str(write.action), write.key)
        if rows := self.carry_out(call, action(write)):
            return Answer(True, partition_of(rows[0]))
        refused = self.refusal(write.source, write.key)
        if not waited_for(write, refused.partition):
            return refused
        rows, _ = self.carry_out_and_release(call, action(write, releases=True))
        return Answer(True, partition_of(rows[0])) if rows else self.refusal(write.source, write.key)

    def place(self, write: Place) -> Answer:
        """Give a new partition the life that it had in another store."""
        rows = self.carry_out(Call("place", write.key), placement(write))
        return Answer(True) if rows else self.refusal(write.source, write.key)

    def refresh(self, write: Refresh) -> Answer:
        """Give a partition that was reset, and that nobody has held since, another payload."""
        rows = self.carry_out(Call("refresh", write.key), refreshing(write))
        return Answer(True, partition_of(rows[0])) if rows else self.refusal(write.source, write.key)

    def set_pause(self, write: SetPause) -> PauseAnswer:
        """Pause or resume a source if nobody has since the person looked, audited in the same step."""
        rows = self.carry_out(Call("pause" if write.paused else "resume", write.source), setting_pause(write))
        return PauseAnswer(True, pause_of_row(rows[0])) if rows else PauseAnswer(False, self.pause(write.source))

    def clear_follow_up(self, done: FollowUp) -> None:
        """Take a note of what follows an ending or a parking away."""
        call, named = Call("clear a follow-up", done.key), parameters(done)
        if not self.ask(call, writes.clear_follow_up, named):
            self.ask(call, writes.followed, named)

    def forget_follow_up(self, write: Forget) -> None:
        """Take a note away undone, audited in the same step."""
        call = Call("forget a follow-up", write.note.key)
        if not self.carry_out(call, forgetting(write)):
            self.carry_out(call, forgetting(write, parked=True))

    def put_chunks(self, source: str, rows: Sequence[ChunkSums]) -> None:
        """Write sums of chunks over those that are there, a thousand in a statement.

        :raises OutcomeUnknownError: when one of several statements was not applied.
        """
        ordered = in_order(rows)
        for first in range(0, len(ordered), AT_ONCE):
            given = json.dumps([given_of_chunk(row) for row in ordered[first : first + AT_ONCE]])
            try:
                self.ask(Call("write sums of chunks", source), sums.put, {"source": source, "rows": given})
            except StoreUnavailableError as error:
                if first == 0:
                    raise
                raise OutcomeUnknownError("write sums of chunks", error.reason) from error

    def forget_chunks(self, source: str, dataset: str) -> None:
        """Remove all sums of a dataset."""
        self.ask(Call("forget sums of chunks", source), sums.forget, {"source": source, "dataset": dataset})

    def put_ended_sums(self, source: str, row: EndedSums, seen: datetime | None) -> bool:
        """Write sums of what ended in five minutes, if nobody has counted on since ``seen``."""
        given = {"source": source, "seen": to_micros(seen) if seen else None, **given_of_ended(row)}
        return bool(self.ask(Call("write sums of what ended", source), ended.put, given))

    def forget_ended_sums(self, source: str, before: datetime) -> None:
        """Remove the sums of what ended before a time."""
        given = {"source": source, "before": to_micros(before)}
        self.ask(Call("forget sums of what ended", source), ended.forget, given)

    def set_document(self, write: SetDocument) -> bool:
        """Write the next version of a document if the newest one is the one seen."""
        call, given = Call("write a document", write.name), parameters(write)
        if self.ask(call, kept.put, given):
            return True
        found = self.execute(replace(call, writes=False), self.statement(kept.written), given)
        return any(op == write.op for (op,) in found)

    def forget_versions(self, source: str, beginning: str, before: datetime) -> int:
        """Remove versions that no longer counted at a moment, and return how many: one statement."""
        said = {"source": source, "beginning": beginning, "size": len(beginning), "before": to_micros(before)}
        return len(self.ask(Call("forget old versions of documents"), kept.forget, said))

    def set_interval(self, write: SetInterval) -> bool:
        """Give a head record an interval if it is as it was seen, audited in the same step."""
        return bool(self.carry_out(Call("set an interval", write.key), setting_interval(write)))

    def kept(self, step: Step) -> Step:
        """Return the step without its row of the history, where none is kept."""
        if self.database.history_retention is not None:
            return step
        return replace(step, records=tuple(record for record in step.records if not isinstance(record, TenureEnded)))
