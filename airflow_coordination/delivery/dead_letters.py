"""Records that a sink refused for good: as lines of JSON, and as Data Prepper's dead-letter queue stores them."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, Any, Final, Protocol

from airflow_coordination.systems.objects.sink import JsonWriter, check_directory, forget, pending, show
from airflow_coordination.systems.objects.storage import join, normal_root, open_to_write
from airflow_coordination.systems.sink import (
    DELIVERED,
    Guarantee,
    Record,
    SinkTask,
    Unreadable,
    forgiving_json,
    unreadable_in,
)
from airflow_coordination.values.input_errors import InvalidInputError

COLUMNS: Final = ("key", "sink", "reason", "record", "source", "partition", "fence", "at", "unreadable")
"""All of them text; ``record`` is the whole record as JSON.

``unreadable`` is null, or JSON of the columns that could not be read, each with the reason. What was read of them is an
object in their places in ``record``. It is told beside the record because a value there may look like anything.
"""


class LetterWriter(Protocol):
    """The writer of one Spark task's dead letters."""

    def write(self, sink: str, refusals: Sequence[tuple[Record, str]]) -> None:
        """Write records with the reasons for which ``sink`` refused them."""

    def close(self) -> list[str]:
        """Store what was written, and return the names of its files."""


class LetterPlace(Protocol):
    """The place of a delivery's dead letters. It is pickled."""

    def open(self, task: SinkTask) -> LetterWriter:
        """Return a writer for one Spark task."""


def key_text(record: Record, task: SinkTask) -> str | None:
    """Return a record's key as text; what is malformed often has none, and one that cannot be read is none."""
    key = record[task.key]
    return None if key is None or isinstance(key, Unreadable) else str(key)


@dataclass(frozen=True, slots=True)
class DeadLetterFiles:
    """Where a delivery's dead letters go.

    :param directory: of one block. Only files of accepted tasks get into its manifest.
    """

    directory: str

    def open(self, task: SinkTask) -> DeadLetterWriter:
        """Return a writer of one file."""
        name = f"part-{task.attempt}.json"
        return DeadLetterWriter(JsonWriter(join(self.directory, name), name), task)


class DeadLetterWriter:
    """Writes what one Spark task could not deliver.

    :param file: a file of its own.
    :param task: the Spark task.
    """

    def __init__(self, file: JsonWriter, task: SinkTask) -> None:
        self._file, self._task = file, task

    def write(self, sink: str, refusals: Sequence[tuple[Record, str]]) -> None:
        """Write records with the reasons for which ``sink`` refused them."""
        answers = self._file.write([self._line(sink, record, reason) for record, reason in refusals])
        wrong = next((each for each in answers if each is not DELIVERED), None)
        if wrong is not None:
            raise ValueError(wrong.reason)

    def close(self) -> list[str]:
        """Store the file, and return its name, if there is one."""
        name = self._file.close()
        return [name] if name else []

    def _line(self, sink: str, record: Record, reason: str) -> dict[str, str | None]:
        task = self._task
        key, whole, now = key_text(record, task), forgiving_json(record), datetime.now(UTC).isoformat()
        odd = unreadable_in(record)
        unreadable = forgiving_json(odd) if odd else None
        values = (key, sink, reason, whole, task.source, task.partition, task.fence, now, unreadable)
        return dict(zip(COLUMNS, values, strict=True))


_VERSION: Final = "2"
"""The major version of Data Prepper whose form this is."""
_PATTERN: Final = re.compile(r"%\{(.*?)\}")
_SYMBOLS: Final = {"yyyy": "%Y", "uuuu": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "DDD": "%j", "HH": "%H"}
"""Of Java's ``DateTimeFormatter``, what is an hour or more, and Python's word for it."""
_SYMBOL: Final = re.compile(r"([A-Za-z])\1*|[-_. ]+|.")


@dataclass(frozen=True, slots=True)
class DataPrepperDeadLetters:
    """Stores records that a sink refuses for good as Data Prepper's dead-letter queue in S3 does.

    *At least once*: tasks that are repeated or speculated leave nothing; a batch that is delivered again by the next
    owner has further files. They are stored before the delivery is acknowledged, not with the lease's ending: for
    readers that must see each record once, use :class:`~airflow_coordination.spark.DeadLetters`.

    ``failedData`` has the names of Data Prepper's OpenSearch sink where there is something to say: ``indexId`` (the
    record's key), ``message``, ``document``; besides ``source``, ``partition`` and ``fence``.

    :param directory: ``s3a://bucket`` or another URL, or a local path that all executors share.
    :param key_path_prefix: a path below it. ``%{yyyy}``, ``%{MM}``, ``%{dd}``, ``%{HH}`` and the like stand for the
        time in UTC at which the files are stored.
    :param pipeline: the ``pipelineName``; ``None`` for the source's identifier.
    :param where: an SQL condition: these records are dead letters without a sink being asked, as in
        :class:`~airflow_coordination.spark.DeadLetters`; their ``pluginId`` is ``dead_letters``.
    :raises InvalidInputError: naming the argument that cannot be used.
    """

    directory: str
    key_path_prefix: str = ""
    pipeline: str | None = None
    where: str | None = None
    guarantee: Guarantee = field(default=Guarantee.AT_LEAST_ONCE, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "directory", normal_root(self.directory))
        if self.pipeline is not None and not self.pipeline:
            raise InvalidInputError("pipeline", self.pipeline, "is empty", "Give a name, or None for the source's")
        if ".." in self.key_path_prefix.split("/"):
            problem = "leads out of the directory"
            raise InvalidInputError("key_path_prefix", self.key_path_prefix, problem, "Give a path below it")
        _at(self.key_path_prefix, datetime.now(UTC))

    def check(self, columns: Sequence[str], key: str) -> None:
        """Look whether this process can move files into the directory.

        :raises SinkNotReadyError: naming the directory and this host.
        """
        check_directory(self.directory)

    def open(self, task: SinkTask) -> DataPrepperWriter:
        """Return a writer of one file for each sink."""
        return DataPrepperWriter(pending(self.directory, task.delivery), task, self.pipeline or task.source)

    def forget(self, delivery: str) -> None:
        """Delete what the tasks of a delivery have written that came to no end."""
        forget(self.directory, delivery)

    def accept(self, delivery: str, names: Sequence[str]) -> None:
        """Move the files of the accepted tasks to where readers look, and delete the others.

        :raises OutputError: when one of them cannot be moved.
        """
        below = [part for part in _at(self.key_path_prefix, datetime.now(UTC)).split("/") if part]
        show(self.directory, delivery, names, below)


class DataPrepperWriter:
    """Writes what one Spark task could not deliver: one JSON document for each sink.

    :param directory: where to.
    :param task: the Spark task.
    :param pipeline: the ``pipelineName``.
    """

    def __init__(self, directory: str, task: SinkTask, pipeline: str) -> None:
        self._directory, self._task, self._pipeline = directory, task, pipeline
        self._files: dict[str, tuple[str, IO[bytes]]] = {}

    def write(self, sink: str, refusals: Sequence[tuple[Record, str]]) -> None:
        """Write records with the reasons for which ``sink`` refused them."""
        objects = [self._object(sink, record, reason) for record, reason in refusals]
        if sink not in self._files:
            name = self._name(sink)
            self._files[sink] = name, open_to_write(join(self._directory, name))
            self._files[sink][1].write(b'{"dlqObjects":[')
        else:
            self._files[sink][1].write(b",")
        self._files[sink][1].write(",".join(objects).encode())

    def close(self) -> list[str]:
        """Store the files, and return their names."""
        for _, file in self._files.values():
            file.write(b"]}")
            file.close()
        return [name for name, _ in self._files.values()]

    def _name(self, sink: str) -> str:
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        return f"dlq-v{_VERSION}-{_plain(self._pipeline)}-{_plain(sink)}-{now}-{uuid.uuid4()}.json"

    def _object(self, sink: str, record: Record, reason: str) -> str:
        task = self._task
        failed = {"indexId": key_text(record, task), "message": reason, "document": _finite(record)}
        fence = {"source": task.source, "partition": task.partition, "fence": task.fence}
        return forgiving_json(
            {
                "pluginId": sink,
                "pluginName": sink,
                "pipelineName": self._pipeline,
                "failedData": failed | fence,
                "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            }
        )


def _at(prefix: str, now: datetime) -> str:
    """Return a prefix with the time in the place of its patterns.

    :raises InvalidInputError: for a pattern that Data Prepper refuses, or that is not known here.
    """

    def replaced(found: re.Match[str]) -> str:
        return "".join(_word(each.group(), prefix, now) for each in _SYMBOL.finditer(found.group(1)))

    return _PATTERN.sub(replaced, prefix)


def _word(symbol: str, prefix: str, now: datetime) -> str:
    if symbol in _SYMBOLS:
        return now.strftime(_SYMBOLS[symbol])
    if symbol.strip("-_. "):
        problem = f"has {symbol!r} in a pattern of time"
        raise InvalidInputError("key_path_prefix", prefix, problem, f"Use {', '.join(_SYMBOLS)}, as %{{yyyy}}/%{{MM}}")
    return symbol


def _finite(value: Any) -> Any:
    """Return a value without what JSON has no number for: such floats become text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Unreadable):
        return _finite(value.shown())
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


def _plain(text: str) -> str:
    """Return a name as it may stand in a key."""
    return re.sub(r"[^\w.-]", "_", text, flags=re.ASCII)
