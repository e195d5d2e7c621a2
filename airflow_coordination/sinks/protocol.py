"""What a sink is: opened by each Spark task, answering for each record.

A sink of your own needs three things: a class that can be pickled, its ``where``, and ``open``. What ``open`` returns
answers for each record of a bulk, in their order. ``airflow_coordination.testing.sinks`` has the conformance kit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    """What a sink makes of records that are delivered again, and of an owner that lost its lease."""

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
    """What a sink knows of the Spark task that opens it, and of the tenure that it works for.

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


class Sink(Protocol):
    """Where records go. It is pickled, and opened by each Spark task."""

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
