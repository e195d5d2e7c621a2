"""One call to ``lease.deliver``: blocks, then one pass over the records for everything else, then the sums."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final, Protocol

from airflow_coordination.delivery.acknowledgment_set import AcknowledgmentSet, SetStatus, seconds
from airflow_coordination.delivery.column_types import readable
from airflow_coordination.delivery.counting import (
    SUMS,
    check_absorbed,
    counted,
    hashes,
    same_keys,
    standing_for,
    unabsorbed,
)
from airflow_coordination.delivery.dead_letters import DataPrepperDeadLetters, DeadLetterFiles, LetterPlace
from airflow_coordination.delivery.keys import check_keys, for_one_task, wrong_keys
from airflow_coordination.delivery.observing import (
    RECORDS,
    Written,
    agreed,
    can_be_observed,
    counted_sums,
    observed,
    sums_in,
    tally_seen,
)
from airflow_coordination.delivery.routing import Routing
from airflow_coordination.delivery.tally import Tally, added_up
from airflow_coordination.delivery.task_pass import DEAD_LETTERS, TaskPass
from airflow_coordination.outputs.attempts import OpenBlock
from airflow_coordination.systems.sink import MAX_REASON, AcceptingSink, ForgettingSink, SinkNotReadyError, SinkTask
from airflow_coordination.systems.spark import archive
from airflow_coordination.systems.spark.jobs import JobTags
from airflow_coordination.systems.spark.session import context_of
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.scrubbing import without_secrets

log = logging.getLogger(__name__)

_CANCEL_AGAIN: Final = 0.5
"""Seconds between two cancellations of an expired delivery: one cancels only the jobs that run already."""
_RECORDS: Final = "records"


class _HeldBackError(Exception):
    """The one task of a pass has delivered nothing: it could not look at all keys, or they tell nothing apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgment:
    """What became of one delivery.

    :param positive: whether each record was delivered to all its sinks, dropped, unrouted or stored as a dead letter.
    :param accounting: the counts of this delivery; what is known of it when it expired.
    :param problems: why it is not positive, one sentence each.
    :param expired: whether it took longer than its ``acknowledgment_timeout``.
    """

    positive: bool
    accounting: Accounting
    problems: tuple[str, ...] = ()
    expired: bool = False


class BlockPlace(Protocol):
    """The lease as a delivery needs it."""

    def own_block(
        self, dataset: str, mode: Any, *, format: str, schema: Any, only: Callable[[], set[str]] | None = None
    ) -> AbstractContextManager[OpenBlock]:
        """Give a directory to write one block into; ``only`` says at the end which files belong to it."""

    def take_back(self, opened: Collection[OpenBlock]) -> None:
        """Let the ending not publish these blocks."""

    def check_held(self) -> None:
        """Raise if the lease is lost."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks finished since the last save."""


@dataclass(slots=True)
class Delivery:
    """One call.

    :param lease: where its blocks go.
    :param task: the tenure's facts for sinks.
    :param routing: what goes where.
    :param timeout: how long it may take.
    :param check_keys: look for null and double keys first; ``None`` decides by the number of records.
    :param absorbs: the records that these stand for, ``None`` when they are the records themselves.
    """

    lease: BlockPlace
    task: SinkTask
    routing: Routing
    timeout: timedelta
    check_keys: bool | None = None
    absorbs: Any = None
    _opened: list[OpenBlock] = field(default_factory=list)
    _told: list[bool] = field(default_factory=list)
    _rows: dict[str, int] = field(default_factory=dict)
    _sums: dict[str, list[int]] = field(default_factory=dict)
    _files: dict[str, Written] = field(default_factory=dict)
    _seen: dict[str, Tally] = field(default_factory=dict)
    _others: list[str] = field(default_factory=list)
    _dead_letters_stored: int | None = None
    _absorbed: int = 0

    def run(self) -> Acknowledgment:
        """Deliver, and say what became of it. When it raises, its blocks are no part of the tenure any more."""
        try:
            return self._run()
        except BaseException:
            if self._opened:
                self.lease.take_back(self._opened)
            self._forget()
            raise

    def _forget(self) -> None:
        """Delete what tasks have left where no collector looks."""
        begun = (*self.routing.external.values(), self.routing.dead_letters) if self.task.delivery else ()
        for sink in begun:
            if isinstance(sink, ForgettingSink):
                try:
                    sink.forget(self.task.delivery)
                except Exception as error:
                    log.warning("Pending files of a delivery that failed are left: %s", without_secrets(str(error)))

    def _run(self) -> Acknowledgment:
        spark = self._session()
        self.routing.check()
        if self.absorbs is not None:
            check_absorbed(self.absorbs, self.routing)
        self.task = replace(self.task, delivery=secrets.token_hex(4))
        seconds("acknowledgment_timeout", self.timeout)
        acks = AcknowledgmentSet(self._told.append, self.timeout)
        tally = Tally([0] * len(self.routing.sinks), [0] * len(self.routing.drop))
        try:
            with _limited(JobTags(spark), self.timeout, self.task.delivery):
                tally = self._delivered()
        except Exception as error:
            if acks.look() is not SetStatus.EXPIRED:
                raise
            log.warning("The delivery took too long and was cancelled: %s", without_secrets(str(error))[:500])
            self._forget()
        return self._acknowledged(acks, tally)

    def _session(self) -> Any:
        """Return the records' session, whose executors have this package."""
        records = self.routing.records
        if not hasattr(records, "sparkSession") or not hasattr(records, "columns"):
            problem = f"is {type(records).__name__}, not a DataFrame"
            raise InvalidInputError("records", records, problem, "Give spark.createDataFrame(…), or what was read")
        if getattr(records, "isStreaming", False):
            problem = "is a stream, which has no end to account for"
            raise InvalidInputError("records", "a stream", problem, "Read a batch: spark.read, or lease's own ranges")
        if self.check_keys not in (None, True, False):
            raise InvalidInputError("check_keys", self.check_keys, "is neither yes nor no", "Give True, False or None")
        spark = records.sparkSession
        if context_of(spark) is None:  # the operator brings the archive to classic ones
            archive.bring(spark)
        return spark

    def _rows_in(self, block: OpenBlock) -> int:
        """Return how many rows a block has that was finished just now, other threads' blocks or not."""
        return next(each.rows for each in reversed(self.lease.blocks) if block.holds(each))

    def _delivered(self) -> Tally:
        if self.absorbs is not None:
            self._absorbed = int(self.absorbs.count())
        if (tally := self._in_one_task()) is not None:
            return tally
        with _kept(self.routing.flagged(), self._is_kept()) as flagged:
            check_keys(self.routing, flagged, self.check_keys)
            for name in self.routing.blocks:
                self._publish(flagged, name)
            tally = self._pass_with_dead_letters(flagged)
            self._others += self._differing(flagged, tally)
            return tally

    def _in_one_task(self) -> Tally | None:
        """Deliver what is in one small file in one task, which looks at the keys first; ``None`` if nothing was."""
        flagged = for_one_task(self.routing, self.check_keys)
        if flagged is None:
            return None
        try:
            return self._pass_with_dead_letters(flagged, self.routing.records.columns.index(self.routing.key))
        except _HeldBackError:
            return None

    def _differing(self, flagged: Any, tally: Tally) -> Iterator[str]:
        """Name the blocks that hold other records than those that were counted for them.

        A moment or a sum of floats may be another each time it is computed; the records are the same as long as their
        keys are, if these tell records apart.
        """
        for number, name in enumerate(self.routing.sinks):
            if name not in self._rows or self._rows[name] != tally.owed[number]:
                continue  # no block, or its number says it already
            owed, got = tally.sums.get(number, [0] * len(SUMS)), self._sums_of(name)
            if owed == got or (same_keys(owed, got) and not wrong_keys(self.routing, flagged, [name], "records > 1")):
                continue
            yield f"sink {name!r} got other records than it was owed, although as many"

    def _is_kept(self) -> bool:
        """Whether Spark keeps the records: where sinks are written to that nobody could take anything back from."""
        return bool(self.routing.external) and (bool(self.routing.blocks) or self.check_keys is not False)

    def _publish(self, flagged: Any, name: str) -> None:
        """Write one block. It counts nothing until the lease's ending, so blocks come before all other sinks."""
        from pyspark.sql import Observation

        sink, seen, alone = self.routing.blocks[name], Observation(), can_be_observed(self.routing)
        owed = self.routing.of_sink(observed(self.routing, flagged, seen) if alone else flagged, name)
        if not alone:
            owed = owed.observe(seen, *counted_sums(hashes(self.routing)))
        written = self.routing.of_block(owed, name)
        with self.lease.own_block(sink.dataset, sink.mode, format=sink.format, schema=written.schema) as block:
            self._opened.append(block)
            written.write.format(sink.format).options(**block.options).save(block.path)
        self._files[name] = Written(block.path, sink.format, block.options, written.schema)
        self._rows[name] = self._rows_in(block)
        self._note(name, seen.get, alone=alone)

    def _note(self, name: str, numbers: Mapping[str, int | None], *, alone: bool) -> None:
        """Keep what was seen as a block was written, as far as its files hold as many records.

        :param alone: whether the writes alone say what became of every record.
        """
        seen, number = tally_seen(self.routing, numbers) if alone else None, list(self.routing.sinks).index(name)
        if seen is not None:
            self._seen[name] = seen
        passed = numbers.get(RECORDS) if seen is None else seen.owed[number]
        if passed == self._rows[name]:
            found = [numbers.get(each) or 0 for each in SUMS]
            self._sums[name] = found if seen is None else seen.sums.get(number, found)

    def _sums_of(self, name: str) -> list[int]:
        """Return the sums of a block's records: those seen, or those of its files where others were seen."""
        if name not in self._sums:
            self._sums[name] = sums_in(self.routing, self._files[name])
        return self._sums[name]

    def _pass_with_dead_letters(self, flagged: Any, key: int | None = None) -> Tally:
        place = self.routing.dead_letters
        if place is None:
            return self._pass(flagged, None, key)
        if isinstance(place, DataPrepperDeadLetters):
            tally = self._pass(flagged, place, key)
            if tally.dead_letter_files or DEAD_LETTERS not in tally.errors:
                place.accept(self.task.delivery, tally.dead_letter_files)
            return tally
        accepted: set[str] = set()
        with self.lease.own_block(
            place.dataset, place.mode, format="json", schema=None, only=lambda: accepted
        ) as block:
            self._opened.append(block)
            tally = self._pass(flagged, DeadLetterFiles(block.path), key)
            accepted.update(tally.dead_letter_files)
        self._dead_letters_stored = self._rows_in(block)
        return tally

    def _pass(self, flagged: Any, dead_letters: LetterPlace | None, key: int | None) -> Tally:
        if not self.routing.external:
            return self._counted(flagged, dead_letters)
        tally = self._on_executors(flagged, dead_letters, key)
        self.lease.check_held()
        for number, sink in enumerate(self.routing.sinks.values()):
            if isinstance(sink, AcceptingSink):
                sink.accept(self.task.delivery, tally.notes.get(number, []))
        return tally

    def _counted(self, flagged: Any, dead_letters: LetterPlace | None) -> Tally:
        """Let Spark alone count what blocks are owed; only dead letters by condition are shown to Python, if any."""
        tally = agreed(self.routing, self._seen, self._rows) if can_be_observed(self.routing) else None
        if tally is None:
            tally = counted(self.routing, flagged)
        if tally.arrivals[tally.aside]:
            written = self._on_executors(self.routing.set_aside(flagged), dead_letters)
            as_many, aside = written.read == tally.arrivals[tally.aside], len(self.routing.sinks)
            if as_many and written.sums.get(aside) != tally.sums.get(aside):
                self._others.append("the dead letters are other records than were counted for them, although as many")
            tally.wrote_letters(written)
        return tally

    def _on_executors(self, flagged: Any, dead_letters: LetterPlace | None, key: int | None = None) -> Tally:
        """Deliver in one pass in which nothing is shuffled, and return what its accepted tasks have counted.

        :param key: the number of the key's column, if the one task of this pass looks at the keys first.
        :raises _HeldBackError: when that task has delivered nothing.
        """
        routing = self.routing
        one_pass = TaskPass(
            task=self.task,
            columns=len(routing.records.columns),
            reasons=len(routing.drop),
            names=tuple(routing.sinks),
            sinks=tuple(routing.external.get(name) for name in routing.sinks),
            dead_letters=dead_letters,
            aside=None if routing.aside is None else f"dead_letters.where: {routing.aside}"[:MAX_REASON],
            sums=len(SUMS) if routing.blocks else 0,
            variants=routing.variants,
            key=key,
        )
        if routing.blocks:
            parts = zip(hashes(routing), SUMS, strict=True)
            flagged = flagged.selectExpr("*", *(f"{part} as {name}" for part, name in parts))
        rows = (readable(flagged) if routing.variants else flagged).mapInArrow(one_pass, "summary string").collect()
        tally = added_up((Tally.from_json(row.summary) for row in rows), len(routing.sinks), len(routing.drop))
        if tally.held_back:
            raise _HeldBackError
        for number, library in tally.missing.items():
            name = "dead_letters" if number == DEAD_LETTERS else list(routing.sinks)[number]
            problem = f"needs the module {library}, which Spark's executors do not have"
            raise SinkNotReadyError("sinks", name, problem, "Install it for the Python of each executor")
        tally.judge()
        return tally

    def _acknowledged(self, acks: AcknowledgmentSet, tally: Tally) -> Acknowledgment:
        """Let the acknowledgment set decide; it knows the time."""
        accounting = self._accounting(tally)
        problems = [*self._problems(tally, accounting), *self._imbalances(tally, accounting)]
        if self.absorbs is not None:
            arrived = not problems and acks.look() is not SetStatus.EXPIRED
            accounting = standing_for(accounting, self._absorbed, arrived=arrived)
        if accounting.read:
            acks.add(_RECORDS, accounting.read)
        if accounting.done:
            acks.release(_RECORDS, positive=not problems, count=accounting.done)
        if accounting.failed:
            acks.release(_RECORDS, positive=False, count=accounting.failed)
        acks.complete()
        expired = acks.look() is SetStatus.EXPIRED
        if expired:
            problems.append(f"it took longer than acknowledgment_timeout, {self.timeout.total_seconds():g} seconds")
        positive = self._told == [True] and not problems
        return Acknowledgment(
            positive=positive, accounting=accounting, problems=tuple(map(without_secrets, problems)), expired=expired
        )

    def _accounting(self, tally: Tally) -> Accounting:
        """Return the counts; what a block got is told by the footers of its files."""
        found = tally.accounting(list(self.routing.sinks), list(self.routing.drop))
        blocks = {name: replace(found.sinks[name], delivered=rows) for name, rows in self._rows.items()}
        return replace(found, sinks={**found.sinks, **blocks})

    def _problems(self, tally: Tally, accounting: Accounting) -> Iterator[str]:
        for number, name in enumerate(self.routing.sinks):
            failed = accounting.sinks[name].failed
            if failed:
                yield f"sink {name!r} failed for {failed} record(s), first: {tally.errors.get(number, 'unknown')}"
        if self.absorbs is not None:
            yield from unabsorbed(accounting, self._absorbed)
        if DEAD_LETTERS in tally.errors:
            yield f"dead letters could not be written: {tally.errors[DEAD_LETTERS]}"

    def _imbalances(self, tally: Tally, accounting: Accounting) -> Iterator[str]:
        for line in self._others:
            yield f"{line}; is the input the same each time it is read? If not, persist() it before"
        for line in accounting.imbalances():
            yield f"the counts do not balance: {line}; is the input the same each time it is read?"
        dead = sum(counts.dead_lettered for counts in accounting.sinks.values()) + tally.arrivals[tally.aside]
        if self._dead_letters_stored is not None and self._dead_letters_stored != dead:
            yield f"the counts do not balance: {self._dead_letters_stored} dead letter(s) stored, {dead} counted"


@contextmanager
def _kept(frame: Any, several: bool) -> Iterator[Any]:
    """Give the frame, kept by Spark if it is read several times: on its disks where memory is short."""
    if not several:
        yield frame
        return
    kept = frame.persist()
    try:
        yield kept
    finally:
        kept.unpersist()


@contextmanager
def _limited(tags: JobTags, timeout: timedelta, delivery: str) -> Iterator[None]:
    """Cancel the jobs that this thread starts in here when time is up."""
    tag = f"deliver-{delivery}"
    over = threading.Event()

    def cancel() -> None:
        wait = timeout.total_seconds()
        while not over.wait(wait):
            tags.cancel(tag)
            wait = _CANCEL_AGAIN

    thread = threading.Thread(target=cancel, name=tag, daemon=True)
    tags.add(tag)
    thread.start()
    try:
        yield
    finally:
        over.set()
        tags.remove(tag)
