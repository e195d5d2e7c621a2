"""The dead letters of one set as records: as they were when a sink refused them, each once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from airflow_coordination.delivery.again.letters import Letters
from airflow_coordination.delivery.dead_letters import COLUMNS
from airflow_coordination.outputs.attempts import check_published, told_by_footers
from airflow_coordination.outputs.published import follow, overlays_of, starts_of
from airflow_coordination.planning.view.showing import dataset_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark.completed import rows_in
from airflow_coordination.spark.file_scans import scans_of
from airflow_coordination.values.input_errors import InvalidInputError

_SCHEMA: Final = ", ".join(f"`{name}` string" for name in COLUMNS)
_AT_ONCE: Final = 10_000
"""So many records are delivered by one task of Spark: a shuffle alone would make 200 of however few there are."""
_NO_COLUMN: Final = "__again_no_column"
"""A name that no column has: a record's own column of malformed text is read as any other."""
_REMEDY: Final = (
    "Mend the input and do the original anew, drop the record by a condition, leave this column out of the schema, or "
    "read the letter by code of your own: its record holds what was read"
)


@dataclass(frozen=True, slots=True)
class Group:
    """Records that were set aside under one fence, and that the same sinks have refused.

    :param fence: as text.
    :param sinks: their names.
    :param number: how many records.
    :param unreadable: how many of them have a column that could not be read.
    """

    fence: str
    sinks: tuple[str, ...]
    number: int
    unreadable: int = 0


class SetAside:
    """The records of one set.

    :param frame: one row for each of them, with its key, its fence, its ``sinks``, the ``record`` as JSON and what of
        it is ``unreadable``.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def groups(self) -> list[Group]:
        """Return what they are to be delivered in, in an order that stays."""
        from pyspark.sql import functions as fn

        counts = fn.count("*").alias("number"), fn.count("unreadable").alias("unreadable")
        rows = self._frame.groupBy("fence", "sinks").agg(*counts).collect()
        found = [Group(row["fence"], tuple(row["sinks"]), row["number"], row["unreadable"]) for row in rows]
        return sorted(found, key=lambda each: (each.fence, each.sinks))

    def records(self, group: Group, schema: Any, delivered: Callable[[Any], Any]) -> Any:
        """Return the records of a group with the columns of ``schema``. One that does not fit is an error of Spark's.

        :param schema: as ``spark.read.schema`` takes it.
        :param delivered: returns those of some records that are not dropped.
        :raises InvalidInputError: when one of its columns could not be read in one of the records that are not dropped.
        """
        from pyspark.sql import functions as fn

        sinks = fn.array(*map(fn.lit, group.sinks))
        rows = self._frame.where((fn.col("fence") == group.fence) & (fn.col("sinks") == sinks))
        options = {"mode": "FAILFAST", "columnNameOfCorruptRecord": _NO_COLUMN}

        def read(rows: Any) -> Any:
            return rows.select(fn.from_json("record", schema, options).alias("one")).select("one.*")

        records = read(rows)
        if group.unreadable:
            _check_readable(rows, records.columns, lambda wrong: delivered(read(wrong)))
        return records


def _check_readable(rows: Any, columns: Sequence[str], delivered: Callable[[Any], Any]) -> None:
    """Refuse columns that could not be read: what the record has in their place Spark would take for a text.

    :param rows: of letters.
    :param delivered: returns the records of some letters that are not dropped.
    :raises InvalidInputError: naming the first letter, its column and why it could not be read.
    """
    from pyspark.sql import functions as fn

    asked = fn.array(*map(fn.lit, columns))
    wrong = rows.where(fn.arrays_overlap(fn.json_object_keys("unreadable"), asked))
    first = wrong.orderBy("key", "record").select("key", "sinks", "unreadable").first()
    if first is None or delivered(wrong).isEmpty():
        return
    column, reason = next((name, why) for name, why in json.loads(first["unreadable"]).items() if name in columns)
    sinks = ", ".join(map(ascii, first["sinks"]))
    letter = f"the dead letter with the key {first['key']!a}, of sinks {sinks}"
    problem = f"could not be read in {letter}, so its record has no value there: {reason}"
    raise InvalidInputError("schema", column, problem, _REMEDY)


@contextmanager
def set_aside(spark: Any, store: PartitionStore, letters: Letters) -> Iterator[SetAside]:
    """Give the records of a set, kept by Spark meanwhile.

    :raises OutputError: when a file of them is missing or was changed.
    """
    head = letters.head
    manifests = follow(starts_of([head]), overlays_of(store, head.source, dataset_of(head)))
    check_published(manifests, rows=False)
    manifests = told_by_footers(manifests)
    letters_read = rows_in(spark, manifests, scans_of(manifests), _SCHEMA, lossy=True)
    frame = _each_once(letters_read).coalesce(1 + head.rows // _AT_ONCE).persist()
    try:
        yield SetAside(frame)
    finally:
        frame.unpersist()


def _each_once(letters: Any) -> Any:
    """Return one row for each record. What two sinks have refused are two letters; two records may be equal, too."""
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    same = ("fence", "key", "record", "unreadable")
    numbered = letters.withColumn("number", fn.row_number().over(Window.partitionBy(*same, "sink").orderBy("at")))
    return numbered.groupBy(*same, "number").agg(fn.array_sort(fn.collect_set("sink")).alias("sinks"))
