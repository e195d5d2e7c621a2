"""The port's reads on an SQL database, and how each statement is sent, in the words of :mod:`.statements`."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from airflow_coordination.protocol.beside.chunk_sums import ChunkSums, ChunkTotals
from airflow_coordination.protocol.beside.documents import BranchCounts, Document, Looked
from airflow_coordination.protocol.beside.ended_sums import EndedSums, EndedTenure
from airflow_coordination.protocol.beside.key_ranges import KeyRanges
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.protocol.pages import number_of_place
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.protocol.pause import NEVER_PAUSED, Pause
from airflow_coordination.protocol.port import AUDITED
from airflow_coordination.protocol.results import HeadRecord, Outlook
from airflow_coordination.stores.calls import Call, StoreFacts
from airflow_coordination.stores.sql.columns import (
    audited_of,
    chunk_of,
    chunk_totals_of,
    document_of,
    ended_sums_of,
    ended_tenure_of,
    follow_up_of,
    heads_of,
    moment,
    partition_of,
    past_tenure_of,
    pause_of_row,
)
from airflow_coordination.stores.sql.database import Database, Rows
from airflow_coordination.stores.sql.schema import read_facts
from airflow_coordination.stores.sql.statements import acquire, create, ended, ranges, read, writes
from airflow_coordination.stores.sql.statements import chunks as sums
from airflow_coordination.stores.sql.statements import documents as kept
from airflow_coordination.stores.sql.statements.dialect import Statement
from airflow_coordination.values.accounting import AddedUp, added_up
from airflow_coordination.values.in_bulk import unsearched
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import Clock, Span, from_micros, to_micros

_SEEN: Final = 4
"""Columns of a look at a document before the document itself."""


class SqlReading(ABC):
    """What SQLite and PostgreSQL have in common where nothing is written.

    :param database: connections and the engine's exceptions.
    :param clock: replaces the store's own, for tests.
    """

    def __init__(self, database: Database, clock: Clock | None) -> None:
        self.database = database
        self._clock = clock
        self._facts: StoreFacts | None = None
        self.statement = cache(self._statement)

    @property
    def store_id(self) -> str:
        """The id this store was given when it was set up (promise S18)."""
        return self._ready().store_id

    @property
    @abstractmethod
    def description(self) -> str:
        """The store's address without credentials, for people."""

    def now(self) -> datetime:
        """Return the clock that decides when leases end."""
        [[micros]] = self.ask(Call("read the clock", writes=False), read.now, {})
        return from_micros(micros)

    def _ready(self) -> StoreFacts:
        """Return the store's id, having checked its schema once in this process."""
        if self._facts is None:
            self._facts = read_facts(self.database, self.description)
        return self._facts

    def _statement(self, build: Callable[..., str], *arguments: Any, **options: Any) -> Statement:
        return self.database.dialect.statement(build(*arguments, **options))

    def timed(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Return ``parameters`` with the clock's time, where the engine's own does not decide."""
        return parameters if self._clock is None else {**parameters, "now": to_micros(self._clock.now())}

    def execute(self, call: Call, statement: Statement, parameters: dict[str, Any]) -> Rows:
        """Execute one statement, and return its rows."""
        self._ready()
        return self.database.fetch(call, statement, self.timed(parameters))

    def ask(self, call: Call, build: Callable[..., str], parameters: dict[str, Any], **options: Any) -> Rows:
        """Execute the statement that ``build`` makes for this dialect, and return its rows."""
        return self.execute(call, self.statement(build, self.database.dialect, **options), parameters)

    def sources(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """Return the registered sources with their facts, by name."""
        rows = self.execute(Call("list the sources", writes=False), self.statement(read.list_sources), {})
        return [(source, json.loads(facts)) for source, facts in rows]

    def pause(self, source: str) -> Pause:
        """Return whether a source is paused, and who has said so."""
        call = Call("look for a pause", source, writes=False)
        rows = self.ask(call, writes.pause, {"source": source})
        return pause_of_row(rows[0]) if rows else NEVER_PAUSED

    def holds_back(self, source: str) -> bool:
        """Return whether a source is paused."""
        return self.pause(source).paused

    def _partitions(self, build: Callable[..., str], parameters: dict[str, Any], **options: object) -> list[Partition]:
        rows = self.execute(Call("read partitions", writes=False), self.statement(build, **options), parameters)
        return [partition_of(row) for row in rows]

    def get(self, source: str, key: str) -> Partition | None:
        """Return one partition, tombstones included."""
        return next(iter(self._partitions(read.get, {"source": source, "key": key})), None)

    def find_nonce(self, source: str, nonce: str) -> Partition | None:
        """Return the ASSIGNED partition whose fence has this nonce."""
        return next(iter(self._partitions(read.find_nonce, {"source": source, "nonce": nonce})), None)

    def find_task(self, source: str, task: str) -> Sequence[Partition]:
        """Return the ASSIGNED partitions held by any try of this task identity."""
        return self._partitions(read.find_task, {"source": source, "task": task})

    def page(
        self,
        source: str,
        status: PartitionStatus | None,
        after: str | None,
        limit: int,
        *,
        parked: bool | None = None,
    ) -> Sequence[Partition]:
        """Return up to ``limit`` partitions with a key above ``after`` in byte order, tombstones left out."""
        parameters = {"source": source, "after": after or "", "limit": limit}
        return self._partitions(read.page, parameters, status=status, parked=parked)

    def children(self, source: str, parent: str, after: str | None, limit: int) -> Sequence[Partition]:
        """Return partitions that have ``parent`` among their parents, by key in byte order."""
        call, place = Call("look for children", parent, writes=False), {"after": after or "", "limit": limit}
        rows = self.ask(call, create.children, {"source": source, "parent": parent, **place})
        return [partition_of(row) for row in rows]

    def claimable(self, source: str, limit: int) -> Sequence[tuple[str, int]]:
        """Return key and token of what can be acquired now, in the acquisition order."""
        call = Call("list what is claimable", writes=False)
        parameters = {"source": source, "limit": limit, **self.not_used_up(source)}
        return [(key, token) for key, token in self.ask(call, acquire.claimable_list, parameters)]

    def counts(self, source: str) -> dict[PartitionStatus, int]:
        """Return how many partitions are in each status, all four named."""
        [row] = self.execute(Call("count partitions", writes=False), self.statement(read.counts), {"source": source})
        return dict(zip(PartitionStatus, row, strict=True))

    def outlook(self, source: str) -> Outlook:
        """Return what can still happen in the source, counted in indexes."""
        parameters = {"source": source, **self.not_used_up(source)}
        [row] = self.ask(Call("look ahead", writes=False), read.outlook, parameters)
        claimable, assigned, waiting, parked, completed = (int(number or 0) for number in row[:5])
        age = None if row[7] is None else timedelta(microseconds=max(0, int(row[7])))
        return Outlook(
            claimable,
            assigned,
            waiting,
            parked,
            completed,
            moment(row[5]),
            int(row[6]),
            age,
            pause_of_row(row[10:]),
            int(row[8]),
            int(row[9]),
        )

    def key_ranges(self, source: str, number: int) -> KeyRanges:
        """Return how many partitions of what are where in the keys."""
        call, whole = Call("count ranges of keys", writes=False), sum(self.counts(source).values())
        keys = self.ask(call, ranges.sampled, {"source": source, "skipped": ranges.every(whole, number) - 1})
        ends = ranges.ends_of((key for [key] in keys), number)
        parameters = {"source": source, "bounds": ranges.bounds_of(ends), **self.not_used_up(source)}
        return ranges.key_ranges_of(self.ask(call, ranges.key_ranges, parameters), ends)

    def parked_before(self, source: str, key: str) -> str | None:
        """Return the key of the last parked partition below another one."""
        call, statement = Call("look for what is parked", key, writes=False), self.statement(ranges.parked_before)
        [[found]] = self.execute(call, statement, {"source": source, "key": key})
        return None if found is None else str(found)

    def accounting(self, source: str) -> AddedUp:
        """Return what became of the records of all partitions together."""
        rows = self.ask(Call("add up the accounting", writes=False), read.accounting, {"source": source})
        counts = {str(name): int(total) for name, total in rows}
        partitions = counts.pop("")
        return added_up(counts, partitions)

    def heads(
        self,
        source: str,
        dataset: str | None = None,
        key: str | None = None,
        after: str | None = None,
        limit: int = 1000,
        after_dataset: str | None = None,
        *,
        within: Span | None = None,
    ) -> Sequence[HeadRecord]:
        """Return head records by key in byte order, then by dataset."""
        named = {"one_dataset": dataset is not None, "one_key": key is not None}
        more = {"goes_on": after_dataset is not None, "within": within is not None}
        statement = self.statement(read.heads, **named, **more)
        parameters = {"source": source, "dataset": dataset, "key": key, "after": after or "", "limit": limit}
        parameters["after_dataset"] = after_dataset
        if within is not None:
            parameters |= {"start": to_micros(within.start), "end": to_micros(within.end)}
        with unsearched():
            return heads_of(self.execute(Call("read head records", writes=False), statement, parameters))

    def history(self, source: str, key: str | None = None, limit: int = 1000) -> Sequence[PastTenure]:
        """Return the newest tenures that have ended, the newest first, of one partition if it is named."""
        call, parameters = Call("read the history", key or "", writes=False), {"source": source, "limit": limit}
        if key is not None:
            parameters["key"] = key
        return [past_tenure_of(row) for row in self.ask(call, writes.list_history, parameters, one_key=key is not None)]

    def follow_ups(self, source: str, key: str | None, after: FollowUp | None, limit: int) -> Sequence[FollowUp]:
        """Return notes of what follows endings, by key in byte order, then by token and operation."""
        call = Call("read the follow-ups", key or "", writes=False)
        parameters: dict[str, Any] = {"source": source, "limit": limit}
        if key is not None:
            parameters["key"] = key
        if after is not None:
            parameters |= {"after_key": after.key, "after_token": after.token, "after_op": after.op}
        shape = {"one_key": key is not None, "after": after is not None}
        return [follow_up_of(row) for row in self.ask(call, writes.list_follow_ups, parameters, **shape)]

    def chunks(
        self, source: str, dataset: str | None = None, after: tuple[str, str] | None = None, limit: int = 1000
    ) -> Sequence[ChunkSums]:
        """Return sums by dataset in byte order, then the newest chunk first."""
        call, parameters = Call("read sums of chunks", source, writes=False), {"source": source, "limit": limit}
        if dataset is not None:
            parameters["dataset"] = dataset
        if after is not None:
            parameters |= dict(zip(("after_dataset", "after_place"), after, strict=True))
        shape = {"one_dataset": dataset is not None, "after": after is not None}
        return [chunk_of(row) for row in self.ask(call, sums.page, parameters, **shape)]

    def chunk_totals(self, source: str, dataset: str | None = None) -> Sequence[ChunkTotals]:
        """Return what the sums of chunks add up to, by dataset and state."""
        call, named = Call("add up sums of chunks", source, writes=False), {"source": source, "dataset": dataset}
        rows = self.ask(call, sums.totals, named, one_dataset=dataset is not None)
        return [chunk_totals_of(row) for row in rows]

    def ended_between(self, source: str, since: datetime, until: datetime, limit: int) -> Sequence[EndedTenure]:
        """Return the first endings of the history from a time up to another one, the oldest first."""
        call = Call("read what ended", source, writes=False)
        given = {"source": source, "since": to_micros(since), "until": to_micros(until), "limit": limit}
        return [ended_tenure_of(row) for row in self.ask(call, ended.between, given)]

    def ended_sums(self, source: str, limit: int) -> Sequence[EndedSums]:
        """Return the newest sums of what ended, the newest first."""
        call, given = Call("read sums of what ended", source, writes=False), {"source": source, "limit": limit}
        return [ended_sums_of(row) for row in self.ask(call, ended.newest, given)]

    def document(self, source: str, name: str) -> Document | None:
        """Return the newest version of a document."""
        return next(iter(self.document_history(source, name, limit=1)), None)

    def look(self, source: str, name: str, branch: int | None = None) -> Looked:
        """Return the newest version of a document, the time, and how far a branch is: one statement."""
        call, given = Call("read a document", name, writes=False), {"source": source, "name": name, "branch": branch}
        [row] = self.ask(call, kept.look, given, branch=branch is not None)
        found = document_of(row[_SEEN:]) if row[_SEEN] is not None else None
        counts = None if branch is None else BranchCounts(*map(int, row[1:_SEEN]))
        return Looked(found, from_micros(row[0]), counts)

    def document_history(self, source: str, name: str, before: int | None = None, limit: int = 100) -> list[Document]:
        """Return versions of a document, the newest first."""
        given = {"source": source, "name": name, "before": before, "limit": limit}
        statement = self.statement(kept.versions, before=before is not None)
        return [document_of(row) for row in self.execute(Call("read a document", name, writes=False), statement, given)]

    def documents(self, source: str, limit: int | None = None) -> list[Document]:
        """Return the newest version of each document of a source, by name."""
        call, statement = Call("read the documents", source, writes=False), self.statement(kept.newest_of_all)
        given = {"source": source, "limit": kept.ALL if limit is None else limit}
        return [document_of(row) for row in self.execute(call, statement, given)]

    def branch_counts(self, source: str, branch: int) -> BranchCounts:
        """Return how far the partitions of a branch are."""
        call, given = Call("count the partitions of a branch", writes=False), {"source": source, "branch": branch}
        [row] = self.execute(call, self.statement(kept.branch_counts), given)
        return BranchCounts(*map(int, row))

    def branch_partitions(self, source: str, branch: int, after: str | None, limit: int) -> Sequence[Partition]:
        """Return partitions that run in a branch, by key in byte order."""
        given = {"source": source, "branch": branch, "after": after or "", "limit": limit}
        return self._partitions(kept.branch_partitions, given)

    def audit(
        self, source: str, key: str | None, limit: int = AUDITED, before: str | None = None
    ) -> Sequence[dict[str, Any]]:
        """Return the people's actions on a partition, or the newest of a source, oldest first."""
        call = Call("read the audit", key or "", writes=False)
        if key is not None:
            return [audited_of(row) for row in self.ask(call, writes.list_audit, {"source": source, "key": key})]
        given = {"source": source, "limit": min(limit, AUDITED), "before": number_of_place(before)}
        rows = self.ask(call, writes.list_audit_of_source, given)
        return [{**audited_of(row), "place": str(number)} for *row, number in reversed(rows)]

    def not_used_up(self, source: str) -> dict[str, Any]:
        """Return the parameters that say where a look at the queue starts, where the engine needs them."""
        return {}
