"""The supplier that makes partitions of the rows of an SQL table, by ranges of a key, pass by pass."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final, NamedTuple

from airflow_coordination.leases.supply import SourceView, Supplied, partitions_of
from airflow_coordination.protocol.partition import Checkpoint, PartitionIdentifier
from airflow_coordination.systems.left_out import LeftOut
from airflow_coordination.systems.schedule import Schedule, moment, written
from airflow_coordination.systems.sql.key_column import KINDS, KeyColumn, KeyKind
from airflow_coordination.systems.suppliers import fingerprint, planned_pass, remembered
from airflow_coordination.values.input_errors import InvalidInputError, ProgressStateError
from airflow_coordination.values.names import SEPARATOR, encode_part
from airflow_coordination.values.times import Clock, SystemClock

RANGES: Final = "SQL_RANGES"
"""The name in the global state of all that passes over a table remember."""
UNDER_WAY: Final = "walk"
"""The name, below it, of the pass that is under way."""
_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class RangePass:
    """A pass that is under way.

    :param kind: the key's kind.
    :param rows: rows per range.
    :param first: whether the pass begins before all keys, with the rows that have none.
    :param after: the last bound that is dealt with, as JSON.
    :param top: the last key of the pass, as JSON; ``None`` for no end.
    :param plan: payloads that are planned and perhaps not created.
    :param end: whether the plan reaches ``top``.
    """

    kind: str
    rows: int
    first: bool
    after: Any = None
    top: Any = None
    plan: tuple[Mapping[str, Any], ...] = ()
    end: bool = False

    def planned(self, where: Mapping[str, Any], bounds: Sequence[Any], end: bool) -> RangePass:
        """Return the pass one step on: its plan are the ranges that end at ``bounds``."""
        lowers = [self.after, *bounds[:-1]]
        plan = tuple(
            {**where, "type": self.kind, "lower": lower, "upper": upper, "nulls": self.first and number == 0}
            for number, (lower, upper) in enumerate(zip(lowers, bounds, strict=True))
        )
        return replace(self, plan=plan, after=bounds[-1], first=False, end=end)

    def document(self) -> dict[str, Any]:
        """Return the pass as the global state keeps it."""
        names = ("kind", "rows", "first", "after", "top", "end")
        return {name: getattr(self, name) for name in names} | {"plan": list(self.plan)}


def unfinished_pass(marks: Mapping[str, Any]) -> RangePass | None:
    """Return the pass that the state says is under way, ``None`` when there is none.

    :raises ProgressStateError: when what it says cannot be read.
    """
    found = marks.get(UNDER_WAY)
    if found is None:
        return None
    try:
        return RangePass(**{**found, "plan": tuple(found["plan"])})
    except (TypeError, KeyError) as error:
        raise ProgressStateError(
            f"global_state.{RANGES}", found, "is no pass over a table", "Repair it in the store"
        ) from error


def identifier(payload: Mapping[str, Any]) -> PartitionIdentifier:
    """Return the partition of a range: key ``table|column|lower|upper``, the bounds as JSON, long ones cut."""
    bounds = [_short(json.dumps(payload[name], ensure_ascii=False)) for name in ("lower", "upper")]
    return PartitionIdentifier(
        SEPARATOR.join(map(encode_part, [table_name(payload), payload["column"], *bounds])), payload=payload
    )


def table_name(payload: Mapping[str, Any]) -> str:
    """Return the name of a range's table, with its schema."""
    return ".".join(part for part in (payload.get("schema"), payload["table"]) if part)


def _short(text: str) -> str:
    """Return a bound's text, with a digest in the place of what is too long for a key."""
    if len(text) <= _SHOWN:
        return text
    return f"{text[: _SHOWN // 2]}…{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


RANGES_PER_PLAN: Final = 100

log = logging.getLogger(__name__)


class Grown(NamedTuple):
    """A range that has more rows than when it was made.

    :param key: the partition's key.
    :param rows: rows when it was made.
    :param now: rows now.
    """

    key: str
    rows: int
    now: int


@dataclass(frozen=True, slots=True)
class SqlRanges:
    """The supplier that :func:`~airflow_coordination.sources.sql_ranges` makes.

    The global state holds the pass that is under way, and where the last one ended.
    """

    key: KeyColumn
    rows: int | None
    partitions: int | None
    append_only: bool
    lateness: timedelta
    utc: bool = False
    counted: bool = False
    clock: Clock = field(default_factory=SystemClock)

    def __call__(self, state: Mapping[str, Any]) -> Iterator[Supplied]:
        """Yield the partitions of the pass that is under way or due, with checkpoints between them.

        :raises SourceError: when the database does not answer as it should.
        :raises InvalidInputError: when the table or column is not what the options say.
        :raises ProgressStateError: when the state cannot be read.
        """
        marks, left = self._marks(state), LeftOut(self.key.name, "keys")
        found = unfinished_pass(marks)
        if found is None:
            marks, found = self._begun(marks, left)
        if found is not None:
            yield from self._pass(state, marks, found, left)
        elif marks != state.get(RANGES):
            yield Checkpoint({**state, RANGES: marks})
        left.finish("All other rows are in partitions. Mend these keys")

    def _pass(
        self, state: Mapping[str, Any], marks: Mapping[str, Any], found: RangePass, left: LeftOut
    ) -> Iterator[Supplied]:

        def saved(step: RangePass) -> Checkpoint:
            return Checkpoint({**state, RANGES: {**marks, UNDER_WAY: step.document()}})

        yield from planned_pass(found, self._steps(found, left), identifier, saved)
        done = {name: value for name, value in marks.items() if name != UNDER_WAY} | {"done": found.top}
        yield Checkpoint({**state, **self._schedule.after_scan(state, self.clock.now()), RANGES: done})

    @property
    def _schedule(self) -> Schedule:
        return Schedule(timedelta(0) if self.append_only else None)

    def _steps(self, step: RangePass, left: LeftOut) -> Iterator[RangePass]:
        while not step.end:
            bounds, end = self.key.bounds(KINDS[step.kind], step.after, step.top, step.rows, RANGES_PER_PLAN, left)
            step = step.planned(self._where(), bounds, end)
            yield self._with_counts(step) if self.counted else step

    def _with_counts(self, step: RangePass) -> RangePass:
        counts = self.key.rows(step.plan)
        return replace(step, plan=tuple({**each, "rows": n} for each, n in zip(step.plan, counts, strict=True)))

    def grown(self, view: SourceView) -> list[Grown]:
        """Count the rows of this table's ranges again, and return those that have more than when they were made.

        What a range has gained since its partition completed, nobody has read: a row that came late by its key. Reset
        such partitions, or read the rows in another way. Each range costs a query.

        :param view: the source, a coordinator; only partitions made with ``counted=True`` are counted.
        :raises SourceError: when the database does not answer.
        """
        prefix = f"{encode_part(table_name(self._where()))}{SEPARATOR}{encode_part(self.key.column)}{SEPARATOR}"
        found = [each for each in partitions_of(view, prefix) if isinstance(each.payload.get("rows"), int)]
        counts = self.key.rows([each.payload for each in found])
        pairs = zip(found, counts, strict=True)
        return [Grown(each.key, each.payload["rows"], now) for each, now in pairs if now > each.payload["rows"]]

    def _where(self) -> dict[str, Any]:
        schema = {"schema": self.key.schema} if self.key.schema else {}
        return {**schema, "table": self.key.table, "column": self.key.column}

    def _marks(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return the state's record of this table.

        :raises InvalidInputError: when it remembers another one: rows would be in two partitions, or in none.
        """
        found = remembered(state, RANGES)
        digest = fingerprint([self.key.schema, self.key.table, self.key.column, self.append_only])
        if found.get("of", digest) != digest:
            problem = "is not the table, the column or the mode that this source was divided by"
            raise InvalidInputError("table", self.key.name, problem, "Restore it, or give the source a new name")
        return {**found, "of": digest}

    def _begun(self, marks: dict[str, Any], left: LeftOut) -> tuple[dict[str, Any], RangePass | None]:
        """Return the new record, and the pass that is due, ``None`` when none is."""
        if not self.append_only and "done" in marks:
            log.info("%s is divided already; its last partition has no upper bound.", self.key.name)
            return marks, None
        kind = self.key.kind()
        if marks.setdefault("type", kind.name) != kind.name:
            problem = f"was of kind {marks['type']} and is of kind {kind.name} now"
            raise InvalidInputError("column", self.key.name, problem, "Give the source a new name")
        top = None
        if self.append_only:
            self._check_zone(kind)
            marks, top = self._settled(marks, kind, left)
            if top is None:
                return marks, None
        done = marks.get("done")
        return marks, RangePass(kind.name, self._rows(kind, done, top), done is None, done, top)

    def _check_zone(self, kind: KeyKind) -> None:
        """Refuse local times: where a clock is put back, an hour's keys come again below the last bound.

        :raises InvalidInputError: when the column holds times without a zone, and nobody has said that they are of UTC.
        """
        if kind.name == "timestamp" and not self.utc:
            problem = (
                "holds times without a zone. Local ones come twice where a clock is put back, and are not seen then"
            )
            remedy = (
                "Give utc=True if they are written in UTC; otherwise use a column of times with a zone, or a sequence"
            )
            raise InvalidInputError("column", self.key.name, problem, remedy)

    def _rows(self, kind: KeyKind, after: Any, top: Any) -> int:
        if self.rows is not None:
            return self.rows
        return max(1, -(-self.key.count(kind, after, top) // (self.partitions or 1)))

    def _is_ahead(self, kind: KeyKind, bound: Any) -> bool:
        """Tell whether a bound is a time that is not yet: older code has taken such."""
        present = kind.present(self.clock.now())
        return bound is not None and present is not None and bool(kind.read(bound) > present)

    def _settled(self, marks: dict[str, Any], kind: KeyKind, left: LeftOut) -> tuple[dict[str, Any], Any]:
        """Return the new record, and the greatest key above which alone rows may still be uncommitted."""
        others = {name: value for name, value in marks.items() if name != "seen"}
        seen, top = marks.get("seen"), None
        if self._is_ahead(kind, marks.get("done")):
            log.warning("%s: its last bound %s is not yet: no row is seen before then.", self.key.name, marks["done"])
        if seen and self._is_ahead(kind, seen["top"]):
            seen = None
        if self.lateness and seen:
            seen_at = moment(seen, "at")
            if seen_at is None or self.clock.now() - seen_at < self.lateness:
                log.info("%s: new rows wait until they are seen for %s; see lateness.", self.key.name, self.lateness)
                return marks, None
            top = seen["top"]
        latest = self.key.top(kind, marks.get("done") if top is None else top, self.clock.now(), left)
        if latest is None:
            log.info("%s: there are no newer rows.", self.key.name)
            return others, top
        if not self.lateness:
            return others, latest
        log.info("%s: rows up to %r become partitions in %s.", self.key.name, latest, self.lateness)
        return {**others, "seen": {"at": written(self.clock.now()), "top": latest}}, top
