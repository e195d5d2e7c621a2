"""The records that a sink refused for good, as lines of JSON: what, by whom, why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from airflow_coordination.outputs.storage import join
from airflow_coordination.sinks.files import JsonWriter
from airflow_coordination.sinks.json_text import forgiving_json
from airflow_coordination.sinks.protocol import DELIVERED, Record, SinkTask

COLUMNS: Final = ("key", "sink", "reason", "record", "source", "partition", "fence", "at")
"""All of them text; ``record`` is the whole record as JSON."""


class LetterWriter(Protocol):
    """What one Spark task writes its dead letters with."""

    def write(self, sink: str, refusals: Sequence[tuple[Record, str]]) -> None:
        """Write records with the reasons for which ``sink`` refused them."""

    def close(self) -> list[str]:
        """Store what was written, and return the names of its files."""


class LetterPlace(Protocol):
    """Where a delivery's dead letters go. It is pickled."""

    def open(self, task: SinkTask) -> LetterWriter:
        """Return a writer for one Spark task."""


def key_text(record: Record, task: SinkTask) -> str | None:
    """Return a record's key as text; what is malformed often has none."""
    key = record[task.key]
    return None if key is None else str(key)


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
        values = (key, sink, reason, whole, task.source, task.partition, task.fence, now)
        return dict(zip(COLUMNS, values, strict=True))
