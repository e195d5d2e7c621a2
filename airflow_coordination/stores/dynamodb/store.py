"""The store port on a DynamoDB table: each step one conditional write, told apart from its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from boto3.dynamodb.conditions import Key

from airflow_coordination.protocol.beside.documents import BranchCounts, Document, Looked, SetDocument
from airflow_coordination.protocol.beside.parts import StoreParts
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.refreshing import Refresh
from airflow_coordination.protocol.results import Answer, Created, Outlook, PauseAnswer, Swept
from airflow_coordination.protocol.writes import (
    AcquireNext,
    Act,
    Create,
    End,
    FencedWrite,
    KnownAcquisition,
    Place,
    Retake,
    SetPause,
    Steal,
    Sweep,
)
from airflow_coordination.stores.calls import THROUGH_OVERLAYS, THROUGH_VIEWS, Call, StoreFacts
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb import steps
from airflow_coordination.stores.dynamodb.acquiring import Acquiring
from airflow_coordination.stores.dynamodb.beside import documents as kept
from airflow_coordination.stores.dynamodb.beside.ended import KeepsEnded
from airflow_coordination.stores.dynamodb.beside.tombstones import check_keeps, refuse_ttl
from airflow_coordination.stores.dynamodb.client import make_client
from airflow_coordination.stores.dynamodb.counting import Counting
from airflow_coordination.stores.dynamodb.creating import Creating
from airflow_coordination.stores.dynamodb.expressions import query
from airflow_coordination.stores.dynamodb.history import History
from airflow_coordination.stores.dynamodb.index_reads import Listing, Looking
from airflow_coordination.stores.dynamodb.keys import SOURCES
from airflow_coordination.stores.dynamodb.options import DynamoDBOptions
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.stores.dynamodb.queue import Queue, Sweeping
from airflow_coordination.stores.dynamodb.requests import ServiceClock, Table
from airflow_coordination.stores.dynamodb.setup.table import (
    Layout,
    keep_out_before,
    layout_of,
    make_table,
    read_facts,
    refuse_newer,
    write_facts,
)
from airflow_coordination.stores.dynamodb.setup.takeover import Takeover
from airflow_coordination.stores.dynamodb.side_items import Beside, Parkings
from airflow_coordination.stores.dynamodb.steps import ASKED_AGAIN, Failures, Owning, Pausing
from airflow_coordination.values.names import holds_partitions
from airflow_coordination.values.status import ASSIGNED, CLOSED, UNASSIGNED, PartitionStatus
from airflow_coordination.values.times import Clock, Randomness, SystemClock

CREATE_PAGE: Final = 100
"""At 10 write units a second, Data Prepper's default, a page takes about 20 seconds."""


class DynamoDBStore(Beside, KeepsEnded):
    """Keeps partitions in a DynamoDB table under Data Prepper's names; no step is ever repeated here.

    :param options: where the table is, and how it is made.
    :param clock: decides when leases end instead of the service's own time, for tests.
    :param client: makes the client; a boto3 session of the environment unless Airflow's connection gives another.
    :param randomness: injected chance.
    :param local: this process's clock, of which only the monotonic time is used; the machine's unless a test gives one.
    """

    create_page: Final = CREATE_PAGE
    pause_holds_after: Final = timedelta(seconds=ASKED_AGAIN)
    partition_prefix: str | None = None

    def __init__(
        self,
        options: DynamoDBOptions,
        clock: Clock | None = None,
        client: Callable[[DynamoDBOptions], Any] = make_client,
        randomness: Randomness | None = None,
        local: Clock | None = None,
    ) -> None:
        self.options, local = options, local or SystemClock()
        self.table = Table(lambda: client(options), options.table_name, ServiceClock(clock, local), self.description)
        self._facts: StoreFacts | None = None
        self._layout: Layout | None = None
        self._watched: set[str] = set()
        self._local, self._looked_out_until = local, dict[str, float]()
        partitions = Partitions(self.table, History(self.table, options.history_retention))
        queue = Queue(self.table)
        self._partitions, self._queue = partitions, queue
        chance = randomness or Randomness()
        self._counting = Counting(self.table, local, chance)
        self._listing = Listing(partitions)
        self._looking = Looking(partitions, queue, self._counting)
        self._creating = Creating(partitions)
        self._acquiring = Acquiring(partitions, queue, self._creating.just_created, self._counting, chance)
        self._parkings = Parkings(partitions)
        self._owning = Owning(partitions, options.ttl, self._parkings)
        self._sweeping = Sweeping(partitions, queue)
        self._pausing = Pausing(self.table, local)
        self._failures = Failures(self.table, self._pausing)

    def parts(self) -> StoreParts:
        """Return what this store has beside leases: no fused step, and a history where its options ask for one.

        Where items of completed partitions go by themselves, their tokens begin anew, and the highest one of a name is
        not the newest any more: there are no branches then (promise S22).
        """
        history = None if self.options.history_retention is None else self
        return StoreParts(
            pauses=self,
            history=history,
            follow_ups=self,
            glances=self,
            head_intervals=self,
            enabling=self,
            chunks=self,
            documents=self,
            branches=None if self.options.ttl else self,
            ended=history,
        )

    @property
    def store_id(self) -> str:
        """The id this store was given when it was set up (promise S18)."""
        return self._ready().store_id

    @property
    def description(self) -> str:
        """The table's address, for people."""
        return self.options.public_url

    @property
    def reference(self) -> str | None:
        """A URL without credentials that opens this store, ``None`` when an external id belongs to it."""
        return self.options.url if self.options.sts_external_id is None else None

    @property
    def layout(self) -> Layout:
        """What the table's index repeats: native, or as on the table that Data Prepper makes."""
        if self._layout is None:
            self._layout = layout_of(self.table)
        return self._layout

    def setup(self) -> None:
        """Make the table if it is absent, check it, take it over from Data Prepper if that made it; idempotent."""
        self._layout = make_table(self.table, self.options)
        refuse_newer(self.table)
        Takeover(self.table).run()
        write_facts(self.table, self._layout)
        self._facts = self._read()

    def outputs_enabled(self) -> bool:
        """Return whether code that knows no overlays is kept out."""
        return read_facts(self.table).outputs_enabled

    def enable_outputs(self) -> None:
        """Keep out code that knows no overlays."""
        keep_out_before(self.table, THROUGH_OVERLAYS)

    def branches_enabled(self) -> bool:
        """Return whether code that knows no branches and no hidden intervals is kept out."""
        return read_facts(self.table).branches_enabled

    def enable_branches(self) -> None:
        """Keep out code that knows no branches and no hidden intervals.

        :raises SettingsError: when completed partitions shall go by themselves (``ttl``).
        """
        refuse_ttl(self.options)
        keep_out_before(self.table, THROUGH_VIEWS)

    def close(self) -> None:
        """Bring what was counted, and give the connections back."""
        if self._facts is not None:
            self._counting.end()
        self.table.close()

    def now(self) -> datetime:
        """Return the service's time, as its newest answer gave it."""
        self._ready()
        return self.table.clock.now()

    def _begin(self, source: str) -> bool:
        """Look once in this process whether another writer has completed partitions of a source; whether it was now."""
        self._ready()
        if source in self._watched:
            return False
        self._queue.watch_completed(Call("look for another writer", writes=False), source)
        self._watched.add(source)
        return True

    def _look_out(self, source: str) -> None:
        """Look for another writer before partitions are created, or changed by a person: once in 30 s.

        Its partitions need not be those that are created or changed, and nothing else would name it then.

        :raises SchemaVersionError: naming what it has written.
        """
        self._ready()
        now = self._local.monotonic()
        if holds_partitions(source) and now >= self._looked_out_until.get(source, now):
            self._queue.watch(Call("look for another writer", writes=False), source)
            self._looked_out_until[source] = now + ASKED_AGAIN

    def _ready(self) -> StoreFacts:
        """Return the store's id, having checked its schema and heard the service's time once in this process."""
        if self._facts is None or not self.table.clock.is_set:
            self._facts = self._read()
        return self._facts

    def _read(self) -> StoreFacts:
        """Read the store's facts, and refuse options that do not go with them."""
        facts = read_facts(self.table)
        check_keeps(self.options, facts)
        return facts

    def register(self, source: str, facts: dict[str, Any]) -> None:
        """Record or refresh a source and what is known of it."""
        self._ready()
        item = {it.SOURCE: SOURCES, it.KEY: source, "facts": json.dumps(facts, sort_keys=True)}
        call = Call("register the source", source)
        self.table.send(call, "put_item", TableName=self.table.name, Item=it.whole_item(item))

    def sources(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """Return the registered sources with their facts, by name."""
        self._ready()
        call = Call("list the sources", writes=False)
        pages = self.table.pages(call, None, ConsistentRead=True, **query(Key(it.SOURCE).eq(SOURCES)))
        return [(item[it.KEY], json.loads(item["facts"])) for page in pages for item in page]

    def create(self, write: Create) -> Created:
        """Create what is absent, in this order; repeated, it goes on and counts the same."""
        self._look_out(write.source)
        created = self._creating.create(write)
        self._counting.moved(write.source, None, UNASSIGNED, created.created)
        return created

    def acquire_next(self, write: AcquireNext) -> Partition | None:
        """Acquire the first claimable partition; ``None`` when there is none, and no other writer has been here."""
        if self.holds_back(write.source):
            return None
        if write.key is not None:
            return self._acquiring.known(write, write.key)
        has_looked = self._begin(write.source)
        found = self._acquiring.next(write)
        if found is None and not has_looked:
            self._queue.watch_completed(Call("acquire a partition"), write.source)
        return found

    def acquire(self, write: KnownAcquisition) -> Answer:
        """Acquire one known partition."""
        self._begin(write.source)
        if isinstance(write, Retake):
            return self._acquiring.retake(write)
        if self.holds_back(write.source):
            return Answer(False, self.get(write.source, write.key))
        if isinstance(write, Steal):
            return self._acquiring.steal(write)
        return self._acquiring.hinted(write)

    def holds_back(self, source: str) -> bool:
        """Return whether nothing of a source is acquired, as an acquisition judges it: asked for once in 30 s."""
        self._ready()
        return self._pausing.holds_back(Call("look for a pause", source, writes=False), source)

    def write(self, write: FencedWrite) -> Answer:
        """Apply an owner's write under its fence."""
        self._ready()
        return self._end(write) if isinstance(write, End) else self._owning.write(write)

    def _end(self, write: End) -> Answer:
        self._failures.before(write)
        answer = self._owning.write(write)
        if answer.applied:
            self._counting.moved(write.source, ASSIGNED, write.status)
            self._failures.after(write)
        return answer

    def sweep(self, write: Sweep) -> Swept:
        """Reopen and reclaim what is due."""
        self._ready()
        swept = self._sweeping.sweep(write)
        self._counting.moved(write.source, CLOSED, UNASSIGNED, swept.reopened)
        self._counting.moved(write.source, ASSIGNED, UNASSIGNED, swept.reclaimed)
        self._counting.moved(write.source, ASSIGNED, CLOSED, swept.parked)
        return swept

    def act(self, write: Act) -> Answer:
        """Carry out a person's action, audited in the same transaction."""
        self._look_out(write.source)
        answer = steps.act(self._partitions, write)
        if answer.applied and answer.partition is not None:
            after = None if answer.partition.deleted else answer.partition.status
            self._counting.moved(write.source, write.seen.status, after)
        return answer

    def place(self, write: Place) -> Answer:
        """Give a new partition the life that it had in another store."""
        self._ready()
        answer = steps.place(self._partitions, self._parkings, write)
        if answer.applied:
            self._counting.moved(write.source, UNASSIGNED, write.life.status)
        return answer

    def refresh(self, write: Refresh) -> Answer:
        """Give a partition that was reset, and that nobody has held since, another payload."""
        self._ready()
        return steps.refresh(self._partitions, write)

    def set_pause(self, write: SetPause) -> PauseAnswer:
        """Pause or resume a source if nobody has since the person looked, audited in the same transaction."""
        self._ready()
        return self._pausing.set_pause(Call("pause" if write.paused else "resume", write.source), write)

    def pause(self, source: str) -> Pause:
        """Return whether a source is paused, and who has said so."""
        self._ready()
        return self._pausing.pause(Call("look for a pause", source, writes=False), source)

    def get(self, source: str, key: str) -> Partition | None:
        """Return one partition, tombstones included, with every acknowledged write in it."""
        self._ready()
        return self._partitions.get(Call("read a partition", key, writes=False), source, key)

    def find_nonce(self, source: str, nonce: str) -> Partition | None:
        """Return the ASSIGNED partition whose fence has this nonce."""
        self._ready()
        return self._acquiring.find_nonce(source, nonce)

    def find_task(self, source: str, task: str) -> Sequence[Partition]:
        """Return the ASSIGNED partitions held by any try of this task identity."""
        self._ready()
        return self._acquiring.find_task(source, task)

    def page(
        self,
        source: str,
        status: PartitionStatus | None,
        after: str | None,
        limit: int,
        *,
        parked: bool | None = None,
    ) -> Sequence[Partition]:
        """Return up to ``limit`` partitions with a key above ``after`` in byte order, tombstones left out.

        By status they are found in the index, which may be late, and read as they are; see :mod:`.listing`.
        """
        self._ready()
        call = Call("list partitions", writes=False)
        return self._listing.page(call, source, status, after, limit, parked)

    def branch_counts(self, source: str, branch: int) -> BranchCounts:
        """Return how far the partitions of a branch are; see :meth:`branch_partitions` for what that reads."""
        self._ready()
        return self._listing.branch_counts(Call("count the partitions of a branch", writes=False), source, branch)

    def branch_partitions(self, source: str, branch: int, after: str | None, limit: int) -> Sequence[Partition]:
        """Return partitions that run in a branch, by key in byte order."""
        self._ready()
        return self._listing.branch(Call("list partitions", writes=False), source, branch, after, limit)

    def document(self, source: str, name: str) -> Document | None:
        """Return the newest version of a document."""
        self._ready()
        return kept.document(self.table, source, name)

    def look(self, source: str, name: str, branch: int | None = None) -> Looked:
        """Return the newest version of a document, the service's time, and how far a branch is."""
        found = self.document(source, name)
        return Looked(found, self.now(), None if branch is None else self.branch_counts(source, branch))

    def set_document(self, write: SetDocument) -> bool:
        """Write the next version of a document if the newest one is the one seen."""
        self._ready()
        return kept.set_document(self.table, write)

    def document_history(self, source: str, name: str, before: int | None = None, limit: int = 100) -> list[Document]:
        """Return versions of a document, the newest first."""
        self._ready()
        return kept.document_history(self.table, source, name, before, limit)

    def documents(self, source: str, limit: int | None = None) -> list[Document]:
        """Return the newest version of each document of a source, by name."""
        self._ready()
        return kept.documents(self.table, source, limit)

    def forget_versions(self, source: str, beginning: str, before: datetime) -> int:
        """Remove versions that no longer counted at a moment, and return how many."""
        self._ready()
        return kept.forget_versions(self.table, source, beginning, before)

    def claimable(self, source: str, limit: int) -> Sequence[tuple[str, int]]:
        """Return key and token of what can be acquired now, in the acquisition order.

        As the index knows it; leases that seem to have ended are read once more, because renewals do not move them.
        Before it says that there is nothing, it looks for another writer.
        """
        has_looked = self._begin(source)
        call = Call("list what is claimable", writes=False)
        found = self._looking.claimable(call, source, limit)
        if not found and not has_looked:
            self._queue.watch_completed(call, source)
        return [(row.seen.key, row.seen.token) for row in found]

    def counts(self, source: str) -> dict[PartitionStatus, int]:
        """Return how many partitions are in each status, all four named; see :mod:`.counting`."""
        self._ready()
        return self._counting.counts(source, self.table.clock.now())

    def outlook(self, source: str) -> Outlook:
        """Return what can still happen in the source, counting no further than ``LOOK`` of each kind."""
        self._ready()
        return replace(self._looking.outlook(source), pause=self.pause(source))

    def glance(self, source: str) -> Outlook:
        """Return what the index shows of it, perhaps a moment late, counting no further than ``LOOK`` of each kind."""
        self._ready()
        return replace(self._looking.glance(source), pause=self.pause(source))
