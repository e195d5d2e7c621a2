"""One Spark task's one pass over its records: count, deliver, count what came of it, return one row.

Nothing is shuffled behind it, so Spark accepts exactly one such row for each task, however often the task was retried
or speculated; what other attempts counted is never seen.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from airflow_coordination.delivery.dead_letters import LetterPlace, LetterWriter
from airflow_coordination.delivery.tally import TOLD, Arrival, Refusals, Tally
from airflow_coordination.systems.sink import (
    Answer,
    AnswerKind,
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
        for batch in batches:
            records = batch.select(range(self._plan.columns))
            if self._task.schema is None:
                self._task = replace(self._task, schema=records.schema)
            self._take(batch, Records(records, self._plan.variants))
        for number, writer in self._writers.items():
            self._close(number, writer)
        self._close_dead_letters()
        return self._tally

    def _take(self, batch: Any, records: Records) -> None:
        """Sort one batch by its conditions, and deliver it."""
        reasons, aside, sinks = self._conditions(batch)
        last = batch.num_columns
        parts = [batch.column(place) for place in range(last - self._plan.sums, last)]
        self._tally.read += batch.num_rows
        kept = [True] * batch.num_rows
        for number, holds in enumerate(reasons):
            self._tally.dropped[number] += len(_rows(kept, holds))
            kept = _others(kept, holds)
        for holds in aside:
            rows = _rows(kept, holds)
            self._set_aside(records, rows)
            self._sum_up(len(sinks), parts, rows)
            kept = _others(kept, holds)
        arrivals = [Arrival()] * batch.num_rows
        for number, holds in enumerate(sinks):
            rows = _rows(kept, holds)
            self._tally.owed[number] += len(rows)
            if self._plan.sinks[number] is None:
                self._sum_up(number, parts, rows)
            for row, arrival in zip(rows, self._deliver(number, records, rows), strict=True):
                arrivals[row] = Arrival(*(mine | new for mine, new in zip(arrivals[row], arrival, strict=True)))
        routed = [arrival for arrival, k in zip(arrivals, kept, strict=True) if k and any(arrival)]
        self._tally.arrivals.update(routed)
        self._tally.unrouted += sum(kept) - len(routed)

    def _conditions(self, batch: Any) -> tuple[list[list[bool]], list[list[bool]], list[list[bool]]]:
        """Return which records which condition holds for: of the reasons, of the dead letters, of the sinks."""
        flags = [
            batch.column(place).to_pylist() for place in range(self._plan.columns, batch.num_columns - self._plan.sums)
        ]
        reasons = self._plan.reasons
        before_sinks = reasons + (self._plan.aside is not None)
        return flags[:reasons], flags[reasons:before_sinks], flags[before_sinks:]

    def _sum_up(self, number: int, parts: Sequence[Any], rows: Sequence[int]) -> None:
        """Add what was hashed of some records to the sums of a block, or of the dead letters by condition."""
        if parts and rows:
            import pyarrow.compute as pc

            self._tally.add_sums(number, [pc.sum(part.take(rows)).as_py() for part in parts])

    def _set_aside(self, records: Records, rows: Sequence[int]) -> None:
        """Make dead letters of records that no sink is asked about."""
        if not rows:
            return
        stored = self._bury(BY_CONDITION, [(records[row], self._plan.aside or "") for row in rows])
        dead = self._tally.aside
        self._tally.arrivals[dead if stored else Arrival(failed=dead.dead)] += len(rows)

    def _deliver(self, number: int, records: Records, rows: Sequence[int]) -> Iterator[Arrival]:
        """Yield what became of each row in one sink."""
        bit, sink = 1 << number, self._plan.sinks[number]
        if sink is None:  # a block: what it got is told by the footers of its files
            yield from [Arrival(delivered=bit)] * len(rows)
            return
        for start in range(0, len(rows), sink.bulk_records):
            part = rows[start : start + sink.bulk_records]
            bulk = [records[row] for row in part]
            answers = self._answers(number, sink, bulk, records.refusals(part, _chosen(sink)))
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

    def _asked(self, number: int, sink: Sink, bulk: Sequence[Record]) -> list[Answer]:
        try:
            if number not in self._writers:
                self._writers[number] = sink.open(self._task)
            return list(self._writers[number].write(bulk))
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


def _rows(kept: Sequence[bool], holds: Sequence[bool]) -> list[int]:
    """Return the numbers of those that are still there and for which a condition holds."""
    return [row for row, (k, h) in enumerate(zip(kept, holds, strict=True)) if k and h]


def _others(kept: Sequence[bool], holds: Sequence[bool]) -> list[bool]:
    return [k and not h for k, h in zip(kept, holds, strict=True)]


def _is_refused(answer: Answer) -> bool:
    return answer.kind is AnswerKind.REFUSED
