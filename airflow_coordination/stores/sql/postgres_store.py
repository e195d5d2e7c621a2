"""Steps on PostgreSQL that touch several rows: each is one data-modifying statement, one commit, one round trip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from airflow_coordination.protocol.partition import Partition, dump_keys
from airflow_coordination.protocol.results import Answer, FusedAnswer, Swept
from airflow_coordination.protocol.rules import waited_for
from airflow_coordination.protocol.side_writes import Record
from airflow_coordination.protocol.writes import AcquireNext, Create, End, NewPartition, Sweep
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql.columns import PARTITIONS, partition_of
from airflow_coordination.stores.sql.database import Rows
from airflow_coordination.stores.sql.postgres import PostgresDatabase
from airflow_coordination.stores.sql.queue import FROM_THE_BEGINNING, Floors, Marks, ShortWay, UsedUp, apart
from airflow_coordination.stores.sql.queue import parameters as floors
from airflow_coordination.stores.sql.statements import acquire, create, writes
from airflow_coordination.stores.sql.statements.acquire import first_claimable, first_if_fresh
from airflow_coordination.stores.sql.statements.dialect import Dialect, Statement, of_numbers, of_texts, renamed
from airflow_coordination.stores.sql.statements.step import FREE, ROW, StepText, parameters
from airflow_coordination.stores.sql.steps import Step, acquisition, ending, prefixed, together
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.values.input_errors import UnknownParentError
from airflow_coordination.values.times import Clock

_NOT_THE_ENDED: Final = "AND source_partition_key <> :ended_key"


def with_records(dialect: Dialect, step: Callable[..., StepText], kinds: tuple[type, ...], **shape: Any) -> str:
    """Return the statement of a step that writes records beside its partition.

    :param step: makes the step's own statement, of ``shape``.
    :param kinds: of the records.
    """
    done = step(dialect, **shape)
    return f"WITH done AS ({done}){writes.beside(dialect, done, kinds)} SELECT * FROM done"


def _one_key() -> str:
    """Return the key of one partition if nobody is changing it, as an expression: two such steps may cross."""
    return f"""(SELECT source_partition_key FROM {PARTITIONS} WHERE source_identifier = :source
        AND source_partition_key = :key {_NOT_THE_ENDED} FOR UPDATE SKIP LOCKED)"""


def end_and_acquire(
    dialect: Dialect,
    *,
    kinds: tuple[type, ...],
    following_kinds: tuple[type, ...],
    new_first: bool,
    by_key: bool,
    short: bool,
    **shape: Any,
) -> str:
    """Return the statement that ends one tenure and, only if this execution did, starts the next.

    :param kinds: of the records that the ending writes.
    :param following_kinds: of the records that the acquisition writes.
    :param short: look for a fresh partition only, and find none where anything else may be due.
    :param shape: of the ending.
    """
    done = writes.end(dialect, **shape)
    ended = writes.beside(dialect, done, kinds)
    look = first_if_fresh if short else first_claimable
    key = _one_key() if by_key else look(dialect, new_first=new_first, only=_NOT_THE_ENDED)
    row = FREE if short else ROW
    following = acquire.acquire_found(dialect, key, also="EXISTS (SELECT 1 FROM done) AND", row=row)
    beside = writes.beside(dialect, following, following_kinds, "following")
    return f"""WITH {renamed(f"done AS ({done}){ended}", "ended_")}, following AS ({following}){beside}
        SELECT answer.applied, following.* FROM (SELECT count(*) AS applied FROM done) AS answer
        LEFT JOIN following ON true"""


class PostgresStore(SqlStore):
    """The store in a PostgreSQL database; its clock is the server's.

    :param database: the database.
    :param clock: replaces the server's clock, for tests.
    """

    database: PostgresDatabase

    def __init__(self, database: PostgresDatabase, clock: Clock | None) -> None:
        super().__init__(database, clock)
        self._marks = Marks()
        self._used_up = UsedUp(self.ask)
        self._short_way = ShortWay()

    @property
    def description(self) -> str:
        """The URL without its password."""
        return self.database.public_url

    @property
    def reference(self) -> str | None:
        """The URL, ``None`` when it needs the password it carries."""
        return None if self.database.has_password else self.database.public_url

    def queued(self, write: AcquireNext) -> dict[str, Any]:
        """Return the parameters of an acquisition in the order, from this process's mark on."""
        near, mark = self._used_up.of(write.source).fresh, self._marks.of(write.source)
        if mark != FROM_THE_BEGINNING:
            near = apart(near, *mark)
        return {**parameters(write), **floors("near", near), **self.not_used_up(write.source)}

    def _begin(self, source: str) -> float:
        """Return when a look at the queue begins; connecting is no part of it."""
        self._ready()
        return self._used_up.before(source)

    def not_used_up(self, source: str) -> dict[str, Any]:
        """Return from where on nothing is surely used up, as far as this process knows; not to be changed."""
        return _from(self._used_up.of(source))

    def acquire_next(self, write: AcquireNext) -> Partition | None:
        """Acquire the first claimable partition; ``None`` when there is none."""
        if write.key is not None:
            return super().acquire_next(write)
        began = self._begin(write.source)
        asked_from = self._marks.of(write.source)
        found = self._acquire_fresh(write) or super().acquire_next(write)
        self._used_up.after(write.source, began)
        self._marks.acquired(write.source, found, asked_from)
        return found

    def _acquire_fresh(self, write: AcquireNext) -> Partition | None:
        """Acquire the first claimable partition by the short way; ``None`` says nothing of what is claimable."""
        if not self._short_way.is_worth_it(write.source):
            return None
        call = Call("acquire a partition")
        rows = self.ask(call, acquire.acquire_fresh, self.queued(write), new_first=write.new_first)
        if rows:
            return partition_of(rows[0])
        self._short_way.missed(write.source)
        return None

    def claimable(self, source: str, limit: int) -> Sequence[tuple[str, int]]:
        """Return key and token of what can be acquired now, in the acquisition order."""
        began = self._begin(source)
        found = super().claimable(source, limit)
        self._used_up.after(source, began)
        return found

    def sweep(self, write: Sweep) -> Swept:
        """Reopen and reclaim what is due; what was delayed joins the queue."""
        began = self._begin(write.source)
        swept = super().sweep(write)
        self._used_up.after(write.source, began)
        return swept

    def insert_page(self, call: Call, write: Create, page: list[NewPartition]) -> int:
        """Insert a page in one statement."""
        [[made]] = self.ask(call, create.create_page, self._page(write, page))
        return int(made)

    def insert_children(self, call: Call, write: Create, page: list[NewPartition]) -> int:
        """Insert a page in one statement, which locks and judges the parents."""
        [[made, child, parent]] = self.ask(call, create.create_page_of_children, self._page(write, page))
        if parent is not None:
            raise UnknownParentError(child, parent)
        return int(made)

    def _page(self, write: Create, page: list[NewPartition]) -> dict[str, Any]:
        """Return the page's parameters by key; the place of each keeps the supplier's order."""
        by_key = sorted(enumerate(page, 1), key=lambda placed: placed[1].key.encode())
        return {
            "source": write.source,
            "op": write.op,
            "branch": write.branch,
            "keys": of_texts(new.key for _, new in by_key),
            "payloads": of_texts(new.payload_text for _, new in by_key),
            "priorities": of_numbers(new.priority for _, new in by_key),
            "places": of_numbers(place for place, _ in by_key),
            "parents": of_texts(dump_keys(new.parents) for _, new in by_key),
        }

    def carry_out(self, call: Call, step: Step) -> Rows:
        """Execute a step and write its records, in one statement."""
        step = self.kept(step)
        if not step.records:
            return self.ask(call, step.build, step.parameters, **step.shape)
        kinds, given = _kinds(step.records), step.parameters | _beside(step.records)
        return self.ask(call, with_records, given, step=step.build, kinds=kinds, **step.shape)

    def carry_out_and_release(self, call: Call, step: Step) -> tuple[Rows, int]:
        """Execute a step that completes a partition, and release who waits for it, in one transaction and round trip.

        The release looks at what is there when it begins: children that were created while the step waited for the
        parent's row are seen by it, and not by the step itself.
        """
        self._ready()
        step, dialect = self.kept(step), self.database.dialect
        shape = {"step": step.build, "kinds": _kinds(step.records), **step.shape}
        ended = (
            self.statement(with_records, dialect, **shape),
            self.timed(step.parameters | _beside(step.records)),
        )
        rows, released = self.database.together(
            call, [ended, self._release(step.parameters["source"], step.parameters["key"])]
        )
        return rows, len(released)

    def release_straggler(self, call: Call, source: str, parent: str) -> int:
        """Take the stamp off a parent that has finished, and release who waits for it, in one transaction."""
        self._ready()
        settle = self.statement(create.settle_straggler), {"source": source, "parent": parent}
        _, released = self.database.together(call, [settle, self._release(source, parent)])
        return len(released)

    def _release(self, source: str, parent: str) -> tuple[Statement, dict[str, Any]]:
        statement = self.statement(create.release, self.database.dialect)
        return statement, self.timed({"source": source, "parent": parent})

    def complete_and_acquire(self, end: End, following: AcquireNext) -> FusedAnswer:
        """End one tenure and start the next."""
        call = Call("complete and acquire next", end.key)
        began = self._begin(following.source)
        asked_from = self._marks.of(following.source)
        step = self.kept(ending(end))
        ended = step.parameters | _beside(step.records)
        given = {**prefixed("ended_", self.timed(ended)), **self.queued(following)}
        short = following.may_miss and following.key is None and self._short_way.is_worth_it(following.source)
        look: dict[str, Any] = {"new_first": following.new_first, "by_key": following.key is not None, "short": short}
        look["following_kinds"] = () if short else _kinds(self.kept(acquisition(following)).records)
        rows = self.ask(call, end_and_acquire, given, kinds=_kinds(step.records), **step.shape, **look)
        self._used_up.after(following.source, began)
        [applied, *row] = rows[0]
        if not applied:
            return self._complete(end)
        found = partition_of(row) if row[0] is not None else None
        if found is None and short:
            self._short_way.missed(following.source)
            return FusedAnswer(Answer(True), missed=True)
        if following.key is None:
            self._marks.acquired(following.source, found, asked_from)
        return FusedAnswer(Answer(True), found)

    def _complete(self, end: End) -> FusedAnswer:
        """Say why the fused statement was refused; if only because others wait, end and release them.

        What comes next is acquired by a request of its own: a second commit here could fail, or arrive late, after the
        first one is answered for.
        """
        refused = self.refusal(end.source, end.key)
        if not waited_for(end, refused.partition):
            return FusedAnswer(refused)
        ended = self.end_and_release(end)
        return FusedAnswer(ended, missed=ended.applied)


@lru_cache(maxsize=64)
def _from(known: Floors) -> dict[str, Any]:
    return {**floors("sure", known.fresh), "due_from": known.due}


def _beside(records: tuple[Record, ...]) -> dict[str, Any]:
    """Return the parameters of all records."""
    return {name: value for record in records for name, value in together(record).items()}


def _kinds(records: tuple[Record, ...]) -> tuple[type, ...]:
    return tuple(type(record) for record in records)
