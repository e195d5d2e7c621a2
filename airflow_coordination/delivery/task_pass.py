"""One Spark task's one pass over its records: count, deliver, count what came of it, return one row.

Nothing is shuffled behind it, so Spark accepts exactly one such row for each task, however often the task was retried
or speculated; what other attempts counted is never seen.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, islice
from typing import Any, Final

from airflow_coordination.delivery.dead_letters import LetterPlace, LetterWriter
from airflow_coordination.delivery.tally import TOLD, Arrival, Refusals, Tally
from airflow_coordination.systems.sink import (
    Answer,
    AnswerKind,
    ColumnWriter,
    Record,
    Records,
    Sink,
    SinkTask,
    SinkWriter,
    failed,
    refused,
)

FLAG: Final = "__deliver_"
"""How the columns begin that hold the conditions: of the reasons, of the dead letters where there is one, of sinks."""
DEAD_LETTERS: Final = -1
"""The number of the dead letters among the errors."""
BY_CONDITION: Final = "dead_letters"
"""The sink that a dead letter names when none has refused it."""


@dataclass(frozen=True, slots=True)
class TaskPass:
    """What ``mapInArrow`` calls, on an executor.

    :param task: what all tasks have in common; the schema comes with the first batch.
    :param columns: the number of a record's columns; those of the conditions are behind them.
    :param variants: the columns that hold JSON text in the place of a value.
    :param sums: the number of columns behind the conditions that are summed up for each block.
    :param key: the number of the column that identifies a record, where this task is the only one and looks at all
        keys before it delivers any record; ``None`` where they were looked at.
    :param reasons: the number of reasons for drops.
    :param names: of the sinks.
    :param sinks: in the order of their names; ``None`` for one that is owed, but not written here: a block.
    :param dead_letters: where refused records go, if anywhere.
    :param aside: why records are dead letters by condition, before any sink is asked; ``None`` without such a
        condition.
    """

    task: SinkTask
    columns: int
    reasons: int
    names: tuple[str, ...]
    sinks: tuple[Sink | None, ...]
    dead_letters: LetterPlace | None
    aside: str | None = None
    sums: int = 0
    variants: frozenset[str] = frozenset()
    key: int | None = None

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield one row: this attempt's counts."""
        import pyarrow as pa

        attempt = _Attempt(self, replace(self.task, attempt=secrets.token_hex(6)))
        yield pa.RecordBatch.from_pydict({"summary": [attempt.run(batches).to_json()]})


class _Attempt:
    def __init__(self, plan: TaskPass, task: SinkTask) -> None:
        self._plan, self._task = plan, task
        self._tally = Tally([0] * len(plan.sinks), [0] * plan.reasons)
        self._writers: dict[int, SinkWriter] = {}
        self._down: dict[int, Answer] = {}
        self._refusals = [Refusals() for _ in plan.sinks]
        self._dead_letters: LetterWriter | None = None

    def run(self, batches: Iterable[Any]) -> Tally:
        for batch in batches if self._plan.key is None else self._looked_at(batches, self._plan.key):
            records = batch.select(range(self._plan.columns))
            if self._task.schema is None:
                self._task = replace(self._task, schema=records.schema)
            self._take(batch, Records(records, self._plan.variants))
        for number, writer in self._writers.items():
            self._close(number, writer)
        self._close_dead_letters()
        return self._tally

    def _looked_at(self, batches: Iterable[Any], key: int) -> Iterator[Any]:
        """Yield the batch that has all records; none where it is not the only one, or its keys cannot tell them apart.

        What a sink has got nobody takes back, so nothing is delivered before all keys were seen.
        """
        few = list(islice((batch for batch in batches if batch.num_rows), 2))
        self._tally.held_back = len(few) > 1 or not all(self._are_apart(batch, key) for batch in few)
        yield from () if self._tally.held_back else few

    def _are_apart(self, batch: Any, key: int) -> bool:
        """Return whether no key is null or there twice, among the records that some sink is owed."""
        import pyarrow.compute as pc

        *before, sinks = self._conditions(batch)
        owed = reduce(pc.or_, sinks)
        for holds in chain(*before):
            owed = pc.and_not(owed, holds)
        keys = batch.column(key).filter(owed)
        return bool(keys.null_count == 0 and pc.count_distinct(keys).as_py() == len(keys))

    def _take(self, batch: Any, records: Records) -> None:
        """Sort one batch by its conditions, and deliver it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        reasons, aside, sinks = self._conditions(batch)
        last = batch.num_columns
        parts = [batch.column(place) for place in range(last - self._plan.sums, last)]
        self._tally.read += batch.num_rows
        kept = pa.repeat(True, batch.num_rows)
        for number, holds in enumerate(reasons):
            self._tally.dropped[number] += pc.and_(kept, holds).true_count
            kept = pc.and_not(kept, holds)
        for holds in aside:
            rows = pc.indices_nonzero(pc.and_(kept, holds))
            self._set_aside(records, rows.to_pylist())
            self._sum_up(len(sinks), parts, rows)
            kept = pc.and_not(kept, holds)
        arrived = []
        for number, holds in enumerate(sinks):
            rows = pc.indices_nonzero(pc.and_(kept, holds))
            self._tally.owed[number] += len(rows)
            if self._plan.sinks[number] is None:
                self._sum_up(number, parts, rows)
            arrived.append((rows, self._deliver(number, records, rows)))
        self._count(kept.true_count, arrived)

    def _count(self, kept: int, arrived: Sequence[tuple[Any, list[Arrival]]]) -> None:
        """Count how the records of a batch have arrived.

        :param kept: how many were left for the sinks.
        :param arrived: of each sink the rows that it was owed, and what became of them.
        """
        [(_, first), *others] = arrived
        if len(first) == kept and not others:  # one sink that takes all: nothing has to be put together
            found = Counter(first)
        else:
            merged: dict[int, Arrival] = {}
            for rows, told in arrived:
                for row, new in zip(rows.to_pylist(), told, strict=True):
                    mine = merged.get(row)
                    merged[row] = new if mine is None else Arrival(*(a | b for a, b in zip(mine, new, strict=True)))
            found = Counter(merged.values())
        self._tally.arrivals.update(found)
        self._tally.unrouted += kept - found.total()

    def _conditions(self, batch: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Return which records which condition holds for: of the reasons, of the dead letters, of the sinks."""
        flags = [batch.column(place) for place in range(self._plan.columns, batch.num_columns - self._plan.sums)]
        reasons = self._plan.reasons
        before_sinks = reasons + (self._plan.aside is not None)
        return flags[:reasons], flags[reasons:before_sinks], flags[before_sinks:]

    def _sum_up(self, number: int, parts: Sequence[Any], rows: Any) -> None:
        """Add what was hashed of some records to the sums of a block, or of the dead letters by condition."""
        if parts and len(rows):
            import pyarrow.compute as pc

            self._tally.add_sums(number, [pc.sum(part.take(rows)).as_py() for part in parts])

    def _set_aside(self, records: Records, rows: Sequence[int]) -> None:
        """Make dead letters of records that no sink is asked about."""
        if not rows:
            return
        stored = self._bury(BY_CONDITION, [(records[row], self._plan.aside or "") for row in rows])
        dead = self._tally.aside
        self._tally.arrivals[dead if stored else Arrival(failed=dead.dead)] += len(rows)

    def _deliver(self, number: int, records: Records, rows: Any) -> list[Arrival]:
        """Return what became of each row in one sink.

        :param rows: their numbers, of Arrow.
        """
        delivered, sink = Arrival(delivered=1 << number), self._plan.sinks[number]
        if sink is None:  # a block: what it got is told by the footers of its files
            return [delivered] * len(rows)
        arrivals: list[Arrival] = []
        for start in range(0, len(rows), sink.bulk_records):
            part = rows.slice(start, sink.bulk_records)
            if self._arrives_whole(number, sink, records, part):
                arrivals += [delivered] * len(part)
            else:
                arrivals += self._one_by_one(number, sink, records, part.to_pylist())
        return arrivals

    def _arrives_whole(self, number: int, sink: Sink, records: Records, rows: Any) -> bool:
        """Say whether a sink that takes columns has taken these; if not, it is asked about each record."""
        if number in self._down:
            return False
        try:
            writer = self._opened(number, sink)
        except ModuleNotFoundError:  # told when it is asked
            return False
        return isinstance(writer, ColumnWriter) and writer.write_columns(records.columns(rows))

    def _one_by_one(self, number: int, sink: Sink, records: Records, rows: Sequence[int]) -> Iterator[Arrival]:
        bit, bulk = 1 << number, [records[row] for row in rows]
        answers = self._answers(number, sink, bulk, records.refusals(rows, _chosen(sink)))
        refusals = [(r, a.reason) for r, a in zip(bulk, answers, strict=True) if _is_refused(a)]
        dead = self._bury(self._plan.names[number], refusals)
        for answer in answers:
            if answer.kind is AnswerKind.DELIVERED:
                yield Arrival(delivered=bit)
            else:
                yield Arrival(dead=bit) if dead and _is_refused(answer) else Arrival(failed=bit)

    def _answers(
        self, number: int, sink: Sink, bulk: Sequence[Record], unreadable: Mapping[int, str]
    ) -> Sequence[Answer]:
        """Return an answer for each record; those that no sink can be given are refused."""
        if not unreadable:
            return self._write(number, sink, bulk)
        good = [record for place, record in enumerate(bulk) if place not in unreadable]
        told = iter(self._write(number, sink, good) if good else ())
        odd = {place: refused(reason) for place, reason in unreadable.items()}
        self._tally.note_error(number, next(iter(odd.values())).reason)
        self._tally.note_refusals(number, odd.values())
        return [odd[place] if place in odd else next(told) for place in range(len(bulk))]

    def _write(self, number: int, sink: Sink, bulk: Sequence[Record]) -> Sequence[Answer]:
        """Return an answer for each record. After one that the sink's own patience did not help, do not ask again."""
        if number in self._down:
            return [self._down[number]] * len(bulk)
        answers = self._asked(number, sink, bulk)
        if len(answers) != len(bulk):
            answers = [failed(f"the sink answered for {len(answers)} of {len(bulk)} records")] * len(bulk)
        wrong = next((each for each in answers if each.kind is not AnswerKind.DELIVERED), None)
        if wrong is not None and self._refusals[number].are_the_sink_s(answers):
            answers = [failed(f"{TOLD}{wrong.reason}")] * len(bulk)
            self._tally.blame(number, answers[0].reason)
        elif wrong is not None:
            self._tally.note_error(number, wrong.reason)
            self._tally.note_refusals(number, answers)
        if all(each.kind is AnswerKind.FAILED for each in answers):
            self._down[number] = answers[0]
        return answers

    def _opened(self, number: int, sink: Sink) -> SinkWriter:
        if number not in self._writers:
            self._writers[number] = sink.open(self._task)
        return self._writers[number]

    def _asked(self, number: int, sink: Sink, bulk: Sequence[Record]) -> list[Answer]:
        try:
            return list(self._opened(number, sink).write(bulk))
        except ModuleNotFoundError as error:  # of this host: no record and no other try mends it
            self._tally.note_failure(number, error)
            return [failed(self._tally.errors[number])] * len(bulk)

    def _bury(self, sink: str, refusals: Sequence[tuple[Record, str]]) -> bool:
        """Write refused records to the dead letters; return whether they are there."""
        if self._plan.dead_letters is None or not refusals or DEAD_LETTERS in self._tally.errors:
            return False
        try:
            self._dead_letters = self._dead_letters or self._plan.dead_letters.open(self._task)
            self._dead_letters.write(sink, refusals)
        except Exception as error:
            self._tally.note_failure(DEAD_LETTERS, error)
            return False
        return True

    def _close(self, number: int, writer: SinkWriter) -> None:
        try:
            note = writer.close()
        except Exception as error:
            self._tally.note_failure(number, error)
            self._tally.not_safe(number)
            return
        if note is not None:
            self._tally.notes[number] = [note]

    def _close_dead_letters(self) -> None:
        if self._dead_letters is None:
            return
        try:
            names = self._dead_letters.close()
            if DEAD_LETTERS in self._tally.errors:
                raise OSError(self._tally.errors[DEAD_LETTERS])
        except Exception as error:
            self._tally.note_failure(DEAD_LETTERS, error)
            self._tally.no_dead_letters()
        else:
            self._tally.dead_letter_files = names


def _chosen(sink: Sink) -> Sequence[str] | None:
    """Return the columns that a sink gets, if it says so."""
    found = getattr(sink, "columns", None)
    return found if isinstance(found, tuple) else None


def _is_refused(answer: Answer) -> bool:
    return answer.kind is AnswerKind.REFUSED
