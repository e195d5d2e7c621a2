"""The sink: opened by each Spark task, given records as Python values or JSON, answering for each.

A sink of your own needs three things: a class that can be pickled, its ``where``, and ``open``. What ``open`` returns
answers for each record of a bulk, in their order. ``airflow_coordination.testing.sinks`` has the conformance kit.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, Protocol, runtime_checkable

from airflow_coordination.values.input_errors import InvalidInputError, SettingsError, printable

Record = Mapping[str, Any]
"""A record: its columns by name, as Python values."""
MAX_REASON: Final = 300
"""Characters of a reason that are kept."""

OF_RECORDS: Final = frozenset({"columns", "key", "records"})
"""Fields of refusals that are about the records of one partition; all others are about the sink."""


class SinkNotReadyError(SettingsError):
    """A sink takes no record, whatever is in it: its table is missing, a library, a right. No partition is charged."""

    @classmethod
    def of(cls, error: InvalidInputError) -> InvalidInputError:
        """Return what a sink's check has refused: as it is where it is about the records."""
        if isinstance(error, cls) or error.field in OF_RECORDS:
            return error
        return cls(error.field, error.value, error.problem, error.remedy)


def check_chosen(columns: object) -> tuple[str, ...] | None:
    """Return the columns that a sink gets, as it was given them; ``None`` for all.

    :raises InvalidInputError: for what is no list of different names.
    """
    if columns is None:
        return None
    names = tuple(columns) if isinstance(columns, list | tuple) else ()
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        problem = "is no list of one or more different names of columns"
        raise InvalidInputError("columns", columns, problem, "Give columns=('flight', …), or None for all")
    return names


def check_fence_names(field: str, names: object) -> None:
    """Refuse what are not the names of two different columns.

    :raises InvalidInputError: naming ``field``.
    """
    good = isinstance(names, list | tuple) and len(names) == 2 and all(isinstance(each, str) and each for each in names)
    if not good or len(set(names)) < 2:  # type: ignore[call-overload]
        problem = "are not the names of two different columns"
        raise InvalidInputError(field, names, problem, "Give two: of the partition, and of the token")


def chosen(record: Record, columns: Sequence[str] | None) -> Record:
    """Return what a sink gets of a record."""
    return record if columns is None else {name: record[name] for name in columns}


class AnswerKind(StrEnum):
    """What became of one record in one sink."""

    DELIVERED = "delivered"
    REFUSED = "refused"
    """For good: this record never fits. It may become a dead letter."""
    FAILED = "failed"
    """Not now, or not by us: nobody's fault but the sink's. Never a dead letter; the batch is negative."""


def without_library(field: str, value: object, error: ModuleNotFoundError, distribution: str) -> SinkNotReadyError:
    """Return the refusal of a sink whose library is not installed in this process."""
    remedy = f"pip install '{distribution}' for the driver and each executor"
    return SinkNotReadyError(field, value, f"needs {error.name}, which is not installed", remedy)


class Guarantee(StrEnum):
    """The guarantee of a sink: what it makes of records delivered again, and of an owner that lost its lease."""

    AT_LEAST_ONCE = "at least once"
    IDEMPOTENT = "idempotent"
    """A record that comes again under its id takes its own place."""
    FENCED = "fenced"
    """Idempotent, and what a successor has written is never overwritten by an owner before it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A sink's answer for one record.

    :param kind: what became of it.
    :param reason: why, for everything but a delivery; at most 300 characters are kept. It must hold no secret.
    """

    kind: AnswerKind
    reason: str = ""


DELIVERED: Final = Answer(AnswerKind.DELIVERED)


def refused(reason: str) -> Answer:
    """Return the answer for a record that the sink will never take."""
    return Answer(AnswerKind.REFUSED, printable(reason, MAX_REASON))


def failed(reason: str) -> Answer:
    """Return the answer for a record that may be delivered another time."""
    return Answer(AnswerKind.FAILED, printable(reason, MAX_REASON))


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkTask:
    """A task of a sink: what it knows of the Spark task that opens it, and of the tenure that it works for.

    :param key: the column that identifies a record.
    :param source: the stored source identifier.
    :param partition: the partition's key.
    :param partition_id: the same partition as one text that no other partition of any store has.
    :param token: the fence's token: it grows with each owner of this partition.
    :param fence: the whole fence as text.
    :param delivery: the call to ``lease.deliver``, a random name.
    :param attempt: this attempt of this Spark task, a random name: retried and speculative ones differ.
    :param schema: the record's columns, a ``pyarrow.Schema``.
    """

    key: str
    source: str
    partition: str
    partition_id: str
    token: int
    fence: str
    delivery: str = ""
    attempt: str = ""
    schema: Any = None


class SinkWriter(Protocol):
    """A sink that one Spark task has opened."""

    def write(self, records: Sequence[Record]) -> Sequence[Answer]:
        """Deliver a bulk, and return one answer for each record, in their order.

        Transient answers (429, 503, a cut connection) are repeated in here, for a limited time; then the answer is
        :func:`failed`. What is raised makes the Spark task fail, which Spark repeats.
        """

    def close(self) -> str | None:
        """Make sure that all that was answered with *delivered* is safe, and let go of the sink.

        :return: a note of at most 1,000 characters for :meth:`AcceptingSink.accept`, or ``None``.
        :raises Exception: when it is not safe: then none of this task's records count as delivered.
        """


@runtime_checkable
class ColumnWriter(Protocol):
    """A writer that takes a bulk as columns, too, without an object of Python for each value."""

    def write_columns(self, records: Any) -> bool:
        """Deliver a bulk whole, and say whether all of it is there.

        If not, ``write`` is given the same as records, and answers for each: also what may have arrived then takes its
        own place again. Nothing is raised and nothing repeated in here.

        :param records: a ``pyarrow.RecordBatch``.
        """


class Sink(Protocol):
    """A sink: where records go. It is pickled, and opened by each Spark task."""

    @property
    def where(self) -> str | None:
        """An SQL condition: the records that this sink is owed; ``None`` for all."""

    @property
    def bulk_records(self) -> int:
        """How many records one ``write`` gets at most."""

    @property
    def guarantee(self) -> Guarantee:
        """What it promises."""

    def open(self, task: SinkTask) -> SinkWriter:
        """Return a writer for one Spark task."""


@runtime_checkable
class CheckingSink(Protocol):
    """A sink that can say before any record is read that it cannot work."""

    def check(self, columns: Sequence[str], key: str) -> None:
        """Look, in the driver, whether records of these columns can be delivered.

        :raises SinkNotReadyError: when no record can be, with the remedy: the lease is given back, the task fails.
        :raises InvalidInputError: for what is about these records: the partition fails.
        """


@runtime_checkable
class ForgettingSink(Protocol):
    """A sink whose tasks leave something behind when their delivery raises."""

    def forget(self, delivery: str) -> None:
        """Delete it, in the driver. What this raises is logged.

        :param delivery: the call to ``lease.deliver``.
        """


@runtime_checkable
class AcceptingSink(Protocol):
    """A sink whose work counts only for the Spark tasks that Spark accepted: neither lost nor speculative ones."""

    def accept(self, delivery: str, notes: Sequence[str]) -> None:
        """Make what the accepted tasks have written visible, in the driver.

        :param delivery: the call to ``lease.deliver``.
        :param notes: what ``close`` returned in each accepted task.
        """


def record_json(record: Any) -> str:
    """Return a record as one line of JSON: times as ISO text, decimals as text, bytes in base 64.

    :raises ValueError: for what JSON has no place for: NaN and infinities.
    """
    return json.dumps(record, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def forgiving_json(record: Any) -> str:
    """Return a record as one line of JSON whatever is in it, for people who look for what was wrong with it."""
    return json.dumps(record, default=_plain_or_text)


def _plain(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise ValueError(f"{type(value).__name__} has no form in JSON")


def _plain_or_text(value: Any) -> Any:
    if isinstance(value, Unreadable):
        return value.shown()
    try:
        return _plain(value)
    except ValueError:
        return ascii(value)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """In the place of a value such as a time beyond the year 9999, or text that is no UTF-8.

    :param reason: why it cannot be had.
    :param raw: what was read: of text its bytes in base 64, of a time or a date its number, in its own units since
        1970; of an array, a map (as pairs) or a struct its parts, with such a value in the place of each that cannot be
        had.
    """

    reason: str
    raw: Any = None

    def shown(self) -> dict[str, Any]:
        """Return it as a letter's record has it, which must not be mistaken for a value: see :func:`unreadable_in`."""
        return {"unreadable": self.reason, "raw": self.raw}


def unreadable_in(record: Record) -> dict[str, str]:
    """Return the columns of a record that could not be read, each with the reason."""
    return {name: each.reason for name, each in record.items() if isinstance(each, Unreadable)}


class Records:
    """The rows of a batch as Python values, made when the first is wanted: a batch for blocks only needs none.

    :param batch: of Arrow.
    :param variants: the columns that hold JSON text in the place of a value.
    """

    def __init__(self, batch: Any, variants: Container[str] = ()) -> None:
        self._batch, self._variants = batch, variants
        self._made: list[Record] | None = None
        self._odd = False

    def __getitem__(self, row: int) -> Record:
        """Return one record."""
        if self._made is None:
            names = self._batch.schema.names
            columns = [self._values(self._batch.column(place), name) for place, name in enumerate(names)]
            self._made = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        return self._made[row]

    def columns(self, rows: Any) -> Any:
        """Return some records as they came: as columns.

        :param rows: their numbers, an ``pyarrow.Array`` in their order.
        """
        if not len(rows):
            return self._batch.slice(0, 0)
        first, last = rows[0].as_py(), rows[-1].as_py()
        return self._batch.slice(first, len(rows)) if last - first + 1 == len(rows) else self._batch.take(rows)

    def refusals(self, rows: Sequence[int], columns: Iterable[str] | None) -> dict[int, str]:
        """Return why records cannot be given to a sink, by their place among ``rows``.

        :param columns: those that the sink gets; ``None`` for all.
        """
        if not rows or self[rows[0]] is None or not self._odd:
            return {}
        names = list(columns or self._batch.schema.names)
        found = ((place, _why_not(self[row], names)) for place, row in enumerate(rows))
        return {place: reason for place, reason in found if reason}

    def _values(self, column: Any, name: str) -> list[Any]:
        try:
            values: list[Any] = column.to_pylist()
        except Exception:  # one of them is to blame: OverflowError, UnicodeDecodeError, KeyError, ArrowInvalid
            values = self._looked_at([_value(each) for each in column])
        if name in self._variants:
            return [json.loads(each) if isinstance(each, str) else each for each in values]
        if _has_maps(column.type):
            return self._looked_at([_with_objects_if_it_can(each, column.type) for each in values])
        return values

    def _looked_at(self, values: list[Any]) -> list[Any]:
        """Return values as they are, and note whether one of them cannot be had: otherwise nobody needs to look."""
        self._odd = self._odd or any(isinstance(each, Unreadable) for each in values)
        return values


def _with_objects_if_it_can(value: Any, kind: Any) -> Any:
    try:
        return with_objects(value, kind)
    except ValueError as error:  # NaN, say
        return Unreadable(f"a key of a map has no form in JSON: {error}"[:200], value)


def with_objects(value: Any, kind: Any) -> Any:
    """Return a value whose maps, which Arrow gives as pairs, are objects under their keys as text.

    :raises ValueError: for a key that JSON has no place for.
    """
    import pyarrow.types as of

    if value is None or isinstance(value, Unreadable) or not of.is_nested(kind):
        return value
    if of.is_map(kind):
        return {_text(key): with_objects(each, kind.item_type) for key, each in value}
    if of.is_struct(kind):
        return {each.name: with_objects(value[each.name], each.type) for each in kind}
    return [with_objects(each, kind.value_type) for each in value]


def _has_maps(kind: Any) -> bool:
    import pyarrow.types as of

    if of.is_map(kind):
        return True
    if of.is_struct(kind):
        return any(_has_maps(each.type) for each in kind)
    return bool(of.is_nested(kind)) and _has_maps(kind.value_type)


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except Exception as error:
        return Unreadable(f"{type(error).__name__}: {error}"[:200], _raw(scalar))


def _raw(scalar: Any) -> Any:
    """Return what there is of a value that Python has not, as :class:`Unreadable` keeps it."""
    import pyarrow.types as of

    kind = scalar.type
    if of.is_map(kind):  # its pairs as structs: iterated itself, it converts keys and values, and raises once more
        return [[_value(pair[0]), _value(pair[1])] for pair in scalar.values]
    if of.is_struct(kind):
        return {each.name: _value(scalar[place]) for place, each in enumerate(kind)}
    if of.is_nested(kind):
        return [_value(each) for each in scalar.values]
    if hasattr(scalar, "as_buffer"):
        return base64.b64encode(scalar.as_buffer()).decode()
    number = getattr(scalar, "value", None)
    return str(number) if isinstance(number, int) else None


def _text(key: Any) -> str:
    return key if isinstance(key, str) else record_json(key).strip('"')


def _why_not(record: Record, names: Iterable[str]) -> str | None:
    odd = ((name, record[name]) for name in names)
    return next((f"column {name!r}: {each.reason}" for name, each in odd if isinstance(each, Unreadable)), None)
