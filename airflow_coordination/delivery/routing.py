"""The routing of a delivery, checked: its conditions as columns, and where records go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airflow_coordination.delivery.column_types import check_key_type, check_types, is_variant, quoted
from airflow_coordination.delivery.dead_letters import DataPrepperDeadLetters
from airflow_coordination.delivery.task_pass import BY_CONDITION, FLAG
from airflow_coordination.outputs.adding import check_arguments
from airflow_coordination.systems.http.sink import HttpSink
from airflow_coordination.systems.objects.sink import FileSink
from airflow_coordination.systems.opensearch.sink import OpenSearchSink
from airflow_coordination.systems.sink import CheckingSink, Sink, SinkNotReadyError, check_chosen
from airflow_coordination.systems.sql.postgres_sink import PostgresSink
from airflow_coordination.values.accounting import MAX_REASONS, MAX_SINKS, check_name
from airflow_coordination.values.blocks import MAX_DATASET_BYTES, Mode
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import check_users_name

__all__ = ["DeadLetters", "Publish"]


@dataclass(frozen=True, slots=True)
class Publish:
    """A sink of ``lease.deliver``: a block, which the lease's ending publishes (see ``lease.publish``).

    Exactly once for readers of the dataset, whatever happens to drivers and executors.

    :param dataset: the dataset's name.
    :param where: an SQL condition; ``None`` for all records.
    :param mode: ``"replace"`` or ``"append"``, as in ``lease.publish``.
    :param format: parquet, orc, json, csv or avro.
    :param columns: the columns that are published; ``None`` for all. Conditions see the others all the same.
    :raises InvalidInputError: for ``columns`` that are no list of names.
    """

    dataset: str
    where: str | None = None
    mode: Mode = "replace"
    format: str = "parquet"
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Look at the dataset's name and the columns."""
        check_users_name(self.dataset, "dataset", MAX_DATASET_BYTES)
        object.__setattr__(self, "columns", check_chosen(self.columns))


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Dead letters in the output: what a sink refuses for good goes into a dataset, published with the lease's ending.

    Its columns are text: key, sink, reason, record (as JSON), source, partition, fence, at, and unreadable (as JSON:
    the columns of the record that could not be read, each with the reason; null without any). A record that two sinks
    refuse is there twice.

    :param dataset: the dataset's name.
    :param mode: ``"replace"`` or ``"append"``, as in ``lease.publish``.
    :param where: an SQL condition for what is known to be malformed: after ``drop``, these records go here and to no
        sink; where it is null, it does not hold. Their column ``sink`` is ``dead_letters``, their ``reason`` the
        condition.
    """

    dataset: str
    mode: Mode = "replace"
    where: str | None = None


_CHOOSING: Final = (Publish, FileSink, HttpSink, OpenSearchSink, PostgresSink)
"""Sinks that may be given some of the columns."""


@dataclass(frozen=True, slots=True)
class Routing:
    """The routes of one delivery.

    :param records: the input, a DataFrame.
    :param key: the column that identifies a record.
    :param sinks: by name.
    :param drop: conditions by reason; they come before everything else.
    :param dead_letters: where refused records go, and those for which its own condition holds; it comes before all
        sinks.
    """

    records: Any
    key: str
    sinks: Mapping[str, Publish | Sink]
    drop: Mapping[str, str]
    dead_letters: DeadLetters | DataPrepperDeadLetters | None

    def check(self) -> None:
        """Look at everything that can be seen before a record is read.

        :raises InvalidInputError: naming the argument, the value and the remedy.
        """
        self._check_names()
        self._check_sinks()
        self._check_columns()
        self._check_chosen()
        check_key_type(self.records.schema[self.key])
        check_types(self.records.schema, self.external)
        self._check_datasets()
        self._check_directories()
        self._check_dead_letters()
        for block in self.blocks.values():
            check_arguments(block.mode, block.format)
        for field, condition in self._conditions().items():
            self._check_condition(field, condition)
        for place in (*self.external.values(), self.dead_letters):
            if isinstance(place, CheckingSink):
                self._check_sink(place)

    @property
    def blocks(self) -> dict[str, Publish]:
        """The sinks that are blocks."""
        return {name: sink for name, sink in self.sinks.items() if isinstance(sink, Publish)}

    @property
    def external(self) -> dict[str, Sink]:
        """The other sinks."""
        return {name: sink for name, sink in self.sinks.items() if not isinstance(sink, Publish)}

    @property
    def variants(self) -> frozenset[str]:
        """The columns that hold variants."""
        return frozenset(field.name for field in self.records.schema if is_variant(field.dataType))

    @property
    def aside(self) -> str | None:
        """The condition of records that are dead letters without a sink being asked."""
        return None if self.dead_letters is None else self.dead_letters.where

    @property
    def before_sinks(self) -> int:
        """How many conditions decide before those of the sinks do."""
        return len(self.drop) + (self.aside is not None)

    def flagged(self) -> Any:
        """Return the records with a boolean column for each reason, for the dead letters' condition, for each sink."""
        conditions = [holds(each) for each in self._conditions().values()]
        flags = [condition.alias(f"{FLAG}{number}") for number, condition in enumerate(conditions)]
        return self.records.select("*", *flags)  # each column by its name would be five calls to the JVM

    def of_sink(self, flagged: Any, name: str) -> Any:
        """Return the records that one sink is owed, with all their columns."""
        added = [each for each in flagged.columns if each.startswith(FLAG)]
        return flagged.where(self.owed(list(self.sinks).index(name))).drop(*added)

    def owed(self, number: int) -> str:
        """Return the condition of the records that a sink is owed, in SQL; behind all sinks come the dead letters.

        :param number: of the sink.
        """
        if number == len(self.sinks):
            return _unless(len(self.drop), len(self.drop))
        return _unless(self.before_sinks + number, self.before_sinks)

    def of_block(self, owed: Any, name: str) -> Any:
        """Return what a block has of the records that it is owed: all their columns, or those that it names."""
        chosen = self.blocks[name].columns
        return owed if chosen is None else owed.select(*map(quoted, chosen))

    def set_aside(self, flagged: Any) -> Any:
        """Return the records that are dead letters by condition, with the columns of all conditions."""
        return flagged.where(self.owed(len(self.sinks)))

    def _conditions(self) -> dict[str, str | None]:
        before: dict[str, str | None] = {f"drop[{reason!r}]": each for reason, each in self.drop.items()}
        if self.aside is not None:
            before["dead_letters.where"] = self.aside
        return before | {f"sinks[{name!r}].where": sink.where for name, sink in self.sinks.items()}

    def _check_sinks(self) -> None:
        for name, sink in self.external.items():
            if isinstance(sink, type) or not callable(getattr(sink, "open", None)):
                remedy = "Give Publish(…), FileSink(…), OpenSearchSink(…), PostgresSink(…), or a sink of your own"
                raise InvalidInputError(f"sinks[{name!r}]", sink, "is no sink", remedy)

    def _check_sink(self, sink: CheckingSink) -> None:
        try:
            sink.check(self.records.columns, self.key)
        except InvalidInputError as error:
            raise SinkNotReadyError.of(error) from error.__cause__
        if isinstance(sink, PostgresSink):
            sink.check_key_type(self.key, self.records.schema[self.key].dataType.simpleString())

    def _check_names(self) -> None:
        for field, named, most in (("sinks", self.sinks, MAX_SINKS), ("drop", self.drop, MAX_REASONS)):
            if not isinstance(named, Mapping):
                raise InvalidInputError(field, named, "is no mapping", "Give {name: …}")
            if len(named) > most:
                raise InvalidInputError(field, list(named), f"are more than {most}", "Deliver in two calls")
            for name in named:
                check_name(field, name)
        if not self.sinks:
            raise InvalidInputError("sinks", {}, "are none, so nothing would be delivered", "Give at least one")

    def _check_columns(self) -> None:
        columns = list(self.records.columns)
        if doubles := _doubled(columns):
            problem = "is the name of two columns"
            raise InvalidInputError("records", doubles[0], problem, "Rename one of them before delivering")
        if taken := [name for name in columns if name.lower().startswith(FLAG)]:
            raise InvalidInputError("records", taken[0], "is a name that deliver needs itself", "Rename the column")
        if self.key not in columns:
            raise InvalidInputError("key", self.key, "is no column of the records", f"Give one of {', '.join(columns)}")

    def _check_chosen(self) -> None:
        for name, sink in self.sinks.items():
            chosen = sink.columns if isinstance(sink, _CHOOSING) else None
            if strange := [each for each in chosen or () if each not in self.records.columns]:
                remedy = f"Give some of {', '.join(self.records.columns)}"
                raise InvalidInputError(f"sinks[{name!r}].columns", strange[0], "is no column of the records", remedy)

    def _check_datasets(self) -> None:
        datasets = [each.dataset for each in self.blocks.values()]
        datasets += [self.dead_letters.dataset] if isinstance(self.dead_letters, DeadLetters) else []
        if doubles := _doubled(datasets):
            problem = "is the dataset of two sinks, so that a record could be in it twice"
            raise InvalidInputError("sinks", doubles[0], problem, "Give each its own, or one condition with 'or'")

    def _check_directories(self) -> None:
        """Refuse what would write to the same pending files, and delete the other's when its own are shown."""
        places = [*self.external.values(), self.dead_letters]
        used = [each.directory for each in places if isinstance(each, FileSink | DataPrepperDeadLetters)]
        if doubles := _doubled(used):
            problem = "is the directory of two places, which would take each other's files away"
            raise InvalidInputError("sinks", doubles[0], problem, "Give each its own, such as one below it")

    def _check_dead_letters(self) -> None:
        given: object = self.dead_letters
        if given is not None and not isinstance(given, DeadLetters | DataPrepperDeadLetters):
            remedy = "Give DeadLetters(…) or DataPrepperDeadLetters(…)"
            raise InvalidInputError("dead_letters", given, "is no place for dead letters", remedy)
        if self.aside is not None and BY_CONDITION in self.sinks:
            problem = "is what dead letters by dead_letters.where name as their sink"
            raise InvalidInputError("sinks", BY_CONDITION, problem, "Give the sink another name")

    def _check_condition(self, field: str, condition: object) -> None:
        from pyspark.errors import PySparkException
        from pyspark.sql import functions as fn

        if condition is None and field.startswith("sinks"):
            return
        remedy = "Give an SQL expression over the records' columns that is true or false"
        if not isinstance(condition, str):
            raise InvalidInputError(field, condition, f"is {type(condition).__name__}, not text", remedy)
        try:
            found = self.records.select(fn.expr(condition)).schema[0].dataType.simpleString()
            if found in ("boolean", "void"):
                _ = self.records.where(fn.expr(condition)).schema  # of one record: no aggregate, window or generator
        except PySparkException as error:
            first = next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)
            raise InvalidInputError(field, condition, f"cannot be evaluated: {first}", remedy) from error
        if found not in ("boolean", "void"):
            raise InvalidInputError(field, condition, f"is {found}, not boolean", remedy)


def _unless(number: int, before: int) -> str:
    """Return what is true where one condition holds, and none of the first ones, in SQL.

    :param before: how many of the first.
    """
    return f"({' and '.join([f'{FLAG}{number}', *(f'not {FLAG}{earlier}' for earlier in range(before))])})"


def _doubled(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})


def holds(condition: str | None) -> Any:
    """Return a column that is true where a condition holds; a condition that is null does not."""
    from pyspark.sql import functions as fn

    if condition is None:
        return fn.lit(True)
    return fn.coalesce(fn.expr(condition).cast("boolean"), fn.lit(False))
