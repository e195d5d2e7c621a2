"""Files of JSON lines or Parquet in a directory, seen only if Spark accepted the task that wrote them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import IO, Any, Final

from airflow_coordination.systems.objects.storage import (
    check_writable,
    delete,
    delete_if_empty,
    join,
    list_files,
    move,
    normal_root,
    open_to_write,
)
from airflow_coordination.systems.patience import check_sink
from airflow_coordination.systems.sink import (
    DELIVERED,
    Answer,
    Guarantee,
    Record,
    SinkNotReadyError,
    SinkTask,
    SinkWriter,
    check_chosen,
    chosen,
    record_json,
    refused,
)
from airflow_coordination.values.errors import DeploymentError
from airflow_coordination.values.input_errors import InvalidInputError

PENDING: Final = "_pending"
"""The directory in it that readers take for hidden: they skip what begins with an underscore."""
LEFT_FOR: Final = timedelta(days=7)
"""After how long pending files belong to nobody any more."""
_DELIVERY: Final = re.compile(r"[0-9a-f]{8}")
_ENDINGS: Final = {"json": "jsonl", "parquet": "parquet"}


@dataclass(frozen=True, slots=True)
class FileSink:
    """Writes records into files of a directory, for readers that know nothing of this package.

    Each Spark task writes one file below ``_pending``. When all tasks have ended, the files of those that Spark
    accepted are moved into the directory; the others are deleted. The name of a file tells the fence. A batch that is
    delivered again, after a driver died, has further files: *at least once*. Where readers are to see each record once,
    use :class:`~airflow_coordination.spark.Publish`.

    :param directory: a local path that all executors share, or a URL such as ``s3a://…``.
    :param where: an SQL condition; ``None`` for all records.
    :param columns: the columns that are written; ``None`` for all. Conditions see the others all the same.
    :param format: ``"json"`` (lines) or ``"parquet"``.
    :param bulk_records: how many records are written at once.
    :raises InvalidInputError: naming the argument that cannot be used.
    """

    directory: str
    where: str | None = None
    format: str = "json"
    bulk_records: int = 5_000
    columns: tuple[str, ...] | None = None
    guarantee: Guarantee = field(default=Guarantee.AT_LEAST_ONCE, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "directory", normal_root(self.directory))
        if self.format not in tuple(_ENDINGS):
            raise InvalidInputError("format", self.format, "is no format of this sink", "Give 'json' or 'parquet'")
        check_sink(timedelta(seconds=1), self.bulk_records)
        object.__setattr__(self, "columns", check_chosen(self.columns))

    def check(self, columns: Sequence[str], key: str) -> None:
        """Look whether this process can move files into the directory.

        :raises SinkNotReadyError: naming the directory and this host.
        """
        check_directory(self.directory)

    def open(self, task: SinkTask) -> SinkWriter:
        """Return a writer of one file."""
        name = f"part-{task.fence}-{task.delivery}-{task.attempt}.{_ENDINGS[self.format]}"
        address = join(pending(self.directory, task.delivery), name)
        if self.format == "json":
            return JsonWriter(address, name, self.columns)
        return ParquetFileWriter(address, name, task.schema, self.columns)

    def forget(self, delivery: str) -> None:
        """Delete what the tasks of a delivery have written that came to no end."""
        forget(self.directory, delivery)

    def accept(self, delivery: str, notes: Sequence[str]) -> None:
        """Move the files of the accepted tasks to where readers look, and delete the others.

        :raises OutputError: when one of them cannot be moved.
        """
        show(self.directory, delivery, notes)


def check_directory(directory: str) -> None:
    """Refuse a local directory that this process cannot write to. Object stores are asked by the first write.

    :raises SinkNotReadyError: naming the directory and this host.
    """
    try:
        check_writable(directory, "the path")
    except DeploymentError as error:
        raise SinkNotReadyError("directory", directory, f"cannot be used: {error.problem}", error.remedy) from error


def pending(directory: str, delivery: str) -> str:
    """Return where the tasks of a delivery write below a directory."""
    return join(directory, PENDING, delivery)


def forget(directory: str, delivery: str) -> None:
    """Delete what the tasks of a delivery have written below a directory and is not shown.

    And what deliveries have left whose driver died: whoever comes next to the same directory deletes it after a week. A
    delivery that is at work for so long fails when it wants to show its files, and loses none.
    """
    delete(pending(directory, delivery))
    oldest = datetime.now(UTC) - LEFT_FOR
    newest: dict[str, datetime] = {}
    for file in list_files(join(directory, PENDING)):
        name = file.path.split("/")[0]
        newest[name] = max(newest.get(name, oldest), file.modified or datetime.now(UTC))
    for name, modified in newest.items():
        if _DELIVERY.fullmatch(name) and modified <= oldest:
            delete(pending(directory, name))
    delete_if_empty(join(directory, PENDING))


def show(directory: str, delivery: str, names: Sequence[str], below: Sequence[str] = ()) -> None:
    """Move the files of a delivery's accepted tasks to where readers look, and delete those of the others.

    :param below: the directories that lead there.
    :raises OutputError: when one of them cannot be moved.
    """
    written = pending(directory, delivery)
    for name in names:
        move(join(written, name), join(directory, *below, name))
    forget(directory, delivery)  # what is left is of lost and speculative tasks


class JsonWriter:
    """Writes JSON lines into one file, which is there only if there is a record for it.

    :param address: of the file.
    :param name: the note about it.
    :param columns: what is written of a record; ``None`` for all.
    """

    def __init__(self, address: str, name: str, columns: Sequence[str] | None = None) -> None:
        self._address, self._name, self._columns = address, name, columns
        self._file: IO[bytes] | None = None

    def write(self, records: Sequence[Record]) -> Sequence[Answer]:
        """Write what has a form in JSON."""
        answers: list[Answer] = []
        lines: list[bytes] = []
        for record in records:
            try:
                lines.append(f"{record_json(chosen(record, self._columns))}\n".encode())
                answers.append(DELIVERED)
            except ValueError as error:
                answers.append(refused(f"no JSON: {error}"))
        if lines:
            self._file = self._file or open_to_write(self._address)
            self._file.write(b"".join(lines))
        return answers

    def close(self) -> str | None:
        """Store the file."""
        if self._file is None:
            return None
        self._file.close()
        return self._name


class ParquetFileWriter:
    """Writes one Parquet file, which is there only if there is a record for it.

    :param address: of the file.
    :param name: the note about it.
    :param schema: of the records; the keys of maps are text in the file, as they are in records.
    :param columns: what is written of a record; ``None`` for all.
    """

    def __init__(self, address: str, name: str, schema: Any, columns: Sequence[str] | None = None) -> None:
        import pyarrow as pa

        self._address, self._name = address, name
        written = schema if columns is None else [schema.field(each) for each in columns]
        self._schema = pa.schema([_with_text_keys(each) for each in written])
        self._file: IO[bytes] | None = None
        self._parquet: Any = None

    def write(self, records: Sequence[Record]) -> Sequence[Answer]:
        """Write a bulk; values that have no place in a column are refused with their record."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            columns = [[_pairs(record[each.name], each.type) for record in records] for each in self._schema]
            table = pa.Table.from_arrays(
                [pa.array(values, each.type) for values, each in zip(columns, self._schema, strict=True)],
                schema=self._schema,
            )
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            if len(records) == 1:
                return [refused(f"no Parquet: {error}")]
            half = len(records) // 2
            return [*self.write(records[:half]), *self.write(records[half:])]
        if self._parquet is None:
            self._file = open_to_write(self._address)
            self._parquet = pq.ParquetWriter(self._file, self._schema)
        self._parquet.write_table(table)
        return [DELIVERED] * len(records)

    def close(self) -> str | None:
        """Store the file."""
        if self._parquet is None or self._file is None:
            return None
        self._parquet.close()
        self._file.close()
        return self._name


def _with_text_keys(column: Any) -> Any:
    """Return a field of a schema as a record's value fits it: with text for the keys of its maps."""
    import pyarrow as pa
    import pyarrow.types as of

    kind = column.type
    if of.is_map(kind):
        return column.with_type(pa.map_(pa.string(), _with_text_keys(kind.item_field)))
    if of.is_struct(kind):
        return column.with_type(pa.struct([_with_text_keys(each) for each in kind]))
    if of.is_list(kind):
        return column.with_type(pa.list_(_with_text_keys(kind.value_field)))
    return column


def _pairs(value: Any, kind: Any) -> Any:
    """Return a value with its maps, which are objects here, as Arrow takes them."""
    import pyarrow.types as of

    if of.is_string(kind) and value is not None and not isinstance(value, str):
        return record_json(value)  # what was a variant
    if value is None or not of.is_nested(kind):
        return value
    if of.is_map(kind):
        return [(key, _pairs(each, kind.item_type)) for key, each in value.items()]
    if of.is_struct(kind):
        return {each.name: _pairs(value[each.name], each.type) for each in kind}
    return [_pairs(each, kind.value_type) for each in value]
