"""Steps that need several statements on SQLite: they share one transaction that holds the write lock."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

from airflow_coordination.protocol.hierarchy import unfinished
from airflow_coordination.protocol.partition import Partition, dump_keys
from airflow_coordination.protocol.results import Answer, FusedAnswer
from airflow_coordination.protocol.rules import waited_for
from airflow_coordination.protocol.side_writes import ForgetFailures, TenureEnded
from airflow_coordination.protocol.writes import AcquireNext, Create, End, NewPartition
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql.columns import partition_of
from airflow_coordination.stores.sql.database import Rows, Run
from airflow_coordination.stores.sql.sqlite import SqliteDatabase
from airflow_coordination.stores.sql.statements import acquire, create, writes
from airflow_coordination.stores.sql.steps import Step, acquisition, ending, together
from airflow_coordination.stores.sql.steps import rows as rows_of
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import Clock, SystemClock

_NOT_THE_ENDED = "AND source_partition_key <> :ended_key"


class SqliteStore(SqlStore):
    """The store in one file of this host; its clock is the host's.

    :param database: the file.
    :param clock: the host's clock, unless a test gives another.
    """

    database: SqliteDatabase

    def __init__(self, database: SqliteDatabase, clock: Clock | None) -> None:
        super().__init__(database, clock or SystemClock())

    @property
    def description(self) -> str:
        """The file's path."""
        return f"sqlite:///{self.database.file}"

    @property
    def reference(self) -> str | None:
        """The file's URL, with its options."""
        return self.database.url.text()

    def insert_page(self, call: Call, write: Create, page: list[NewPartition]) -> int:
        """Insert a page in one transaction."""
        self._ready()
        parameters = self.timed(self._page(write, page))
        with self.database.transaction(call) as run:
            [[number]] = run(self.statement(create.next_page), {})
            insert = self.statement(create.create_page_in_transaction, self.database.dialect)
            return len(run(insert, {**parameters, "first": number * create.PLACES_PER_PAGE}))

    def insert_children(self, call: Call, write: Create, page: list[NewPartition]) -> int:
        """Insert a page in one transaction, in which the parents are judged; nobody changes them meanwhile."""
        self._ready()
        by_key = {new.key: new for new in page}
        place = {"source": write.source, "op": write.op, "branch": write.branch}
        with self.database.transaction(call) as run:
            keys = {**place, "keys": json.dumps(list(by_key))}
            absent = [by_key[key] for (key,) in run(self.statement(create.absent), keys)]
            parents = dict.fromkeys(parent for new in absent for parent in new.parents)
            keys = {**place, "keys": json.dumps(list(parents))}
            statuses = {key: PartitionStatus(each) for key, each in run(self.statement(create.statuses), keys)}
            waits = {new.key: unfinished(new, statuses.get) for new in absent}
            [[number]] = run(self.statement(create.next_page), {})
            rows = json.dumps([_row(new, waits[new.key]) for new in page if new.key in waits])
            given = self.timed({**place, "page": rows}) | {"first": number * create.PLACES_PER_PAGE}
            made = run(self.statement(create.create_in_transaction, self.database.dialect), given)
            for new in absent:
                child = {**place, "key": new.key, "hash": sha256(new.key.encode()).hexdigest()}
                for parent in new.parents:
                    run(self.statement(create.put_child), {**child, "parent": parent})
            for parent in dict.fromkeys(parent for waiting in waits.values() for parent in waiting):
                run(self.statement(create.stamp), {**place, "parent": parent})
            return len(made)

    def release_straggler(self, call: Call, source: str, parent: str) -> int:
        """Take the stamp off a parent that has finished, and release who waits for it, in one transaction."""
        self._ready()
        with self.database.transaction(call) as run:
            held = run(self.statement(create.settle_straggler), {"source": source, "parent": parent})
            return len(self._release_in(run, source, parent)) if held else 0

    def _release_in(self, run: Run, source: str, parent: str) -> Rows:
        release = self.statement(create.release, self.database.dialect)
        return run(release, self.timed({"source": source, "parent": parent}))

    def _page(self, write: Create, page: list[NewPartition]) -> dict[str, Any]:
        rows = json.dumps([_row(new) for new in page])
        return {"source": write.source, "op": write.op, "branch": write.branch, "page": rows}

    def carry_out(self, call: Call, step: Step) -> Rows:
        """Execute a step and write its records: in one transaction, if there are any."""
        step = self.kept(step)
        if not step.records:
            return self.ask(call, step.build, step.parameters, **step.shape)
        self._ready()
        with self.database.transaction(call) as run:
            return self._carry_out_in(run, step)

    def carry_out_and_release(self, call: Call, step: Step) -> tuple[Rows, int]:
        """Execute a step that completes a partition, and release who waits for it, in one transaction."""
        self._ready()
        with self.database.transaction(call) as run:
            rows = self._carry_out_in(run, step)
            released = self._release_in(run, step.parameters["source"], step.parameters["key"]) if rows else ()
            return rows, len(released)

    def acquire_next(self, write: AcquireNext) -> Partition | None:
        """Acquire the first claimable partition; ``None`` when there is none."""
        if write.key is not None:
            return super().acquire_next(write)
        self._ready()
        with self.database.transaction(Call("acquire a partition")) as run:
            rows = self._acquire_first_in(run, write, self.queued(write))
        return partition_of(rows[0]) if rows else None

    def _acquire_first_in(self, run: Run, write: AcquireNext, parameters: dict[str, Any], only: str = "") -> Rows:
        """Find what is first in the order, and acquire it: whether that ends a tenure is known in between."""
        timed = self.timed(parameters)
        look = self.statement(acquire.find_first, self.database.dialect, new_first=write.new_first, only=only)
        for key, status in run(look, timed):
            step = acquisition(replace(write, key=key))
            held = status == PartitionStatus.ASSIGNED
            return self._carry_out_in(run, step if held else replace(step, records=()), timed["now"])
        return ()

    def _carry_out_in(self, run: Run, step: Step, now: int | None = None) -> Rows:
        """Execute a step and write its records; all of its statements are given one time."""
        step, dialect = self.kept(step), self.database.dialect
        timed = self.timed(step.parameters) if now is None else {**step.parameters, "now": now}
        for record in step.records:
            if isinstance(record, TenureEnded):
                statement = self.statement(writes.before, dialect, step=step.build, **step.shape)
                run(statement, {**timed, **together(record)})
        rows = run(self.statement(step.build, dialect, **step.shape), timed)
        for record in step.records if rows else ():
            kind: type = type(record)
            if kind is TenureEnded or (kind is ForgetFailures and not rows[0][-1]):
                continue
            statement = self.statement(writes.one, dialect, kind=kind)
            for row in rows_of(record):
                run(statement, {**row, "now": timed["now"]})
        return rows

    def complete_and_acquire(self, end: End, following: AcquireNext) -> FusedAnswer:
        """End one tenure and start the next in one transaction."""
        self._ready()
        call = Call("complete and acquire next", end.key)
        with self.database.transaction(call) as run:
            applied = bool(self._carry_out_in(run, ending(end)))
            rows = self._acquire_in(run, end, following) if applied else ()
        if applied:
            return FusedAnswer(Answer(True), partition_of(rows[0]) if rows else None)
        refused = self.refusal(end.source, end.key)
        if not waited_for(end, refused.partition):
            return FusedAnswer(refused)
        with self.database.transaction(call) as run:
            applied = bool(self._carry_out_in(run, ending(end, releases=True)))
            released = len(self._release_in(run, end.source, end.key)) if applied else 0
            if applied:
                rows = self._acquire_in(run, end, following)
        answer = Answer(True, released=released) if applied else self.refusal(end.source, end.key)
        return FusedAnswer(answer, partition_of(rows[0]) if rows else None)

    def _acquire_in(self, run: Run, end: End, following: AcquireNext) -> Rows:
        if following.key is None:
            parameters = {**self.queued(following), "ended_key": end.key}
            return self._acquire_first_in(run, following, parameters, _NOT_THE_ENDED)
        return () if following.key == end.key else self._carry_out_in(run, acquisition(following))


def _row(new: NewPartition, waits_for: tuple[str, ...] = ()) -> tuple[Any, ...]:
    """Return a partition of a page as the statements take it apart."""
    return new.key, new.payload_text, new.priority, dump_keys(new.parents), dump_keys(waits_for)
