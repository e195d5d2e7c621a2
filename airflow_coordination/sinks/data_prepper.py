"""Dead letters as Data Prepper's S3 dead-letter queue stores them, for the tools that read those.

Data Prepper (``S3DlqWriter``, ``KeyPathGenerator``, ``DlqObject``): each object is JSON, ``{"dlqObjects": […]}``, under
``PREFIX/dlq-v2-PIPELINE-PLUGIN-TIME-UUID.json``; each dead letter has ``pluginId``, ``pluginName``, ``pipelineName``,
``failedData`` and ``timestamp``.
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, Any, Final

from airflow_coordination.outputs.storage import join, normal_root, open_to_write
from airflow_coordination.sinks.dead_letters import key_text
from airflow_coordination.sinks.files import check_directory, forget, pending, show
from airflow_coordination.sinks.json_text import forgiving_json
from airflow_coordination.sinks.protocol import Guarantee, Record, SinkTask
from airflow_coordination.values.input_errors import InvalidInputError

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
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list) else value


def _plain(text: str) -> str:
    """Return a name as it may stand in a key."""
    return re.sub(r"[^\w.-]", "_", text, flags=re.ASCII)
