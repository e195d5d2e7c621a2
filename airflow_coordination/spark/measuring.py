"""Rows and columns of a block's files that only reading them tells."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from airflow_coordination.outputs.attempts import Measured
from airflow_coordination.outputs.formats import REMEDY, TextOptions
from airflow_coordination.outputs.layout import values_in
from airflow_coordination.outputs.schemas import without
from airflow_coordination.outputs.zones import times_in
from airflow_coordination.spark.file_scans import quoted
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.systems.spark.error_text import error_text
from airflow_coordination.systems.spark.listing import load

TYPED_FORMATS: Final = frozenset({"orc", "avro"})
"""Formats whose files hold types, other than Parquet, which is read without Spark."""
_PARQUET: Final = "Write Parquet, without times in the names of directories, or give the drain a Spark session"
_COLUMNS: Final = 100
"""Columns in one expression: Spark's planner nests them, and its stack ends."""


def measured(
    spark: Any, file_format: str, options: TextOptions, schema: str | None, directory: str, paths: Sequence[str]
) -> Measured:
    """Read a block's files with Spark, as their readers will; of Parquet only what the files themselves do not tell.

    :param options: of the block.
    :param schema: the one that was told: then every column is read, and a value that is not of it is an error.
    :param paths: of the files, in ``directory``.
    :raises OutputError: when the files do not give back rows of the schema that was told, or it takes a session to tell
        what they hold, and there is none.
    """
    if spark is None and (file_format != "parquet" or times_in(paths, schema)):
        problem = f"holds {file_format} that only Spark can describe"
        raise OutputError("publish without Spark", directory, problem, _PARQUET)
    zone = _zone(spark, options) if times_in(paths, schema) else None
    if file_format == "parquet":
        return Measured(None, zone=zone)
    return replace(_read(spark, file_format, options, schema, directory, paths), zone=zone)


def _zone(spark: Any, options: TextOptions) -> str:
    given = {name.lower(): value for name, value in options.writing.items()}
    return str(given.get("timezone") or spark.conf.get("spark.sql.session.timeZone"))


def _read(
    spark: Any, file_format: str, options: TextOptions, schema: str | None, directory: str, paths: Sequence[str]
) -> Measured:
    files = [f"{directory}/{path}" for path in paths]
    reader = spark.read.format(file_format).options(**options.reading)
    if not options.exact or schema is None:
        frame = load(reader, files)
        typed = frame.schema.json() if file_format in TYPED_FORMATS else None
        return Measured(int(frame.count()), tuple(frame.columns), typed)
    return _measured_exactly(reader, options, schema, directory, files)


def _measured_exactly(reader: Any, options: TextOptions, schema: str, directory: str, files: Sequence[str]) -> Measured:
    from pyspark.sql.types import StructType

    columns = tuple(dict.fromkeys(name for file in files for name in values_in(file.removeprefix(f"{directory}/"))))
    if "mode" not in {name.lower() for name in options.reading}:
        reader = reader.option("mode", "FAILFAST")
    frame = load(reader.schema(StructType.fromJson(json.loads(without(schema, columns)))), files)
    try:
        [found] = frame.agg(*_every_column(frame.columns)).collect()
    except Exception as error:
        if "MALFORMED" not in str(error):
            raise
        problem = f"does not give back rows of the schema that was told: {error_text(error).splitlines()[0][:300]}"
        raise OutputError("publish with schema=…", directory, problem, REMEDY) from error
    return Measured(int(found[0]), tuple(frame.columns))


def _every_column(columns: Sequence[str]) -> list[Any]:
    from pyspark.sql import functions as fn

    names = [quoted(name) for name in columns]
    parts = [", ".join(names[start : start + _COLUMNS]) for start in range(0, len(names), _COLUMNS)]
    return [fn.expr("count(*)"), *(fn.expr(f"count({part})") for part in parts)]
