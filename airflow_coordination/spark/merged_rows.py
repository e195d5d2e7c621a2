"""The rows that a group merges, each with the number of its origin: read as readers read them, written, compared."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from airflow_coordination.outputs.attempts import check_published, told_by_footers
from airflow_coordination.outputs.layout import is_data, place_of, values_in
from airflow_coordination.outputs.manifests import Manifest
from airflow_coordination.outputs.merging import AGAIN, Merge
from airflow_coordination.outputs.origins import COLUMN
from airflow_coordination.outputs.schemas import types
from airflow_coordination.planning.compaction.configuration import CompactionConfig
from airflow_coordination.spark.completed import prepare, united
from airflow_coordination.spark.file_scans import check_types, partition_types, quoted, scans_of, with_origins
from airflow_coordination.systems.objects.storage import OutputError, join, list_files
from airflow_coordination.systems.spark.listing import load
from airflow_coordination.values.names import partition_label

TYPED: Final = frozenset({"parquet", "orc", "avro"})
"""Formats whose files tell the types of their columns."""
_REPUBLISH: Final = "Publish with lease.publish(…, schema=df.schema), or leave this chunk as it is"

Sums = Mapping[int, tuple[int, object]]
"""Of each origin by its number: how many rows, and the sum of their hashes."""


def check_mergeable(manifests: Iterable[Manifest]) -> None:
    """Refuse what cannot be merged without guessing a type, or without losing a value.

    :raises OutputError: with *incompatible schemas* and the partition.
    """
    row = list(manifests)
    names: dict[str, str] = {}
    for manifest in row:
        if manifest.schema is None and not manifest.merged and (guessed := _guessed(manifest)):
            raise _incompatible(manifest, f"has {guessed}, of which nobody has told the types")
        if local := _local_times(manifest):
            raise _incompatible(
                manifest, f"has times in the partition column {local!r}, and nobody knows of which zone"
            )
        for name in (name for schema in manifest.schemas() for name in types(schema)):
            if names.setdefault(name.lower(), name) != name:
                raise _incompatible(manifest, f"has {name!r} beside {names[name.lower()]!r}, which differ by case only")
    try:
        check_types(row)
    except OutputError as error:
        raise OutputError(error.what, error.address, f"incompatible schemas: {error.problem}", error.remedy) from error


def _guessed(manifest: Manifest) -> str:
    if manifest.format not in TYPED:
        return f"files of format {manifest.format}"
    columns = sorted({name for file in manifest.files for name in values_in(file.path)})
    return f"the partition column {columns[0]!r}" if columns else ""


def _local_times(manifest: Manifest) -> str:
    """Return a partition column of times whose zone older code has not noted, empty for none."""
    if manifest.zone is not None or manifest.schema is None:
        return ""
    inside = {name for file in manifest.files for name in values_in(file.path)}
    return next((name for name, kind in types(manifest.schema).items() if kind == "timestamp" and name in inside), "")


def _incompatible(manifest: Manifest, problem: str) -> OutputError:
    what = f"merge the output of {partition_label(manifest.source, manifest.key)}"
    return OutputError(what, manifest.directory, f"incompatible schemas: {problem}", _REPUBLISH)


def merged_rows(spark: Any, merge: Merge) -> tuple[Any | None, str]:
    """Return the rows of a merge with the numbers of their origins, and the name of the column of these.

    There is no frame where nothing but blocks without files is merged.

    :raises OutputError: when something is missing, was changed, or does not fit.
    """
    originals = [manifest for manifest, _ in merge.originals]
    overlays = [manifest for manifest, _ in merge.overlays]
    check_mergeable([*originals, *overlays])
    check_published([*originals, *overlays])
    prepare(spark, [*originals, *overlays])
    originals = told_by_footers(originals)
    column = origin_column([*originals, *overlays])
    numbers = {place_of(manifest.directory): number for manifest, number in merge.originals}
    kinds = partition_types([*originals, *overlays], spark.conf.get("spark.sql.session.timeZone"))
    frames = [with_origins(spark, scan, kinds, column, numbers) for scan in scans_of(originals)]
    for manifest, renumbered in merge.overlays:
        frames += [with_origins(spark, scan, kinds, column, renumbered) for scan in scans_of([manifest])]
    if not frames:
        return None, column
    rows = united(frames, lossy=False, refused=lambda number, error: _not_united(originals, overlays, error))
    if nothing := [field.name for field in rows.schema.fields if field.dataType.typeName() == "void"]:
        raise _incompatible(originals[0], f"nothing but nulls in column {nothing[0]!r}, so that it has no type")
    return rows, column


def _not_united(originals: Sequence[Manifest], overlays: Sequence[Manifest], error: Exception) -> OutputError:
    first = (*originals, *overlays)[0]
    return _incompatible(first, str(error).splitlines()[0][:300])


def origin_column(manifests: Iterable[Manifest]) -> str:
    """Return a name for the column of origins with which no column of the files begins."""
    taken = {name.lower() for each in manifests for schema in each.schemas() for name in types(schema)}
    names = (COLUMN, *(f"{COLUMN}{number}_" for number in range(len(taken) + 1)))
    return next(name for name in names if not any(each.startswith(name) for each in taken))


def write(rows: Any, directory: str, column: str, size: int, config: CompactionConfig) -> None:
    """Write the files of an overlay: sorted by origin, so that readers of some of them pass over the others' rows.

    :param size: bytes of what is merged, by which the number of files is estimated.
    """
    order = [quoted(name) for name in config.sort_by] or [quoted(column)]
    files = max(1, math.ceil(size / config.target_file_size)) if config.target_file_size else 1
    ranged = rows.repartition(1) if files == 1 else rows.repartitionByRange(files, *order)
    writer = ranged.sortWithinPartitions(*order).write
    if config.max_rows_per_file:
        writer = writer.option("maxRecordsPerFile", config.max_rows_per_file)
    if config.compression:
        writer = writer.option("compression", config.compression)
    writer.parquet(directory)


def sums(rows: Any, column: str) -> dict[int, tuple[int, object]]:
    """Return how many rows each origin has, and the sum of their hashes, in which a null is not nothing."""
    from pyspark.sql import functions as fn

    kinds = {field.name: field.dataType for field in rows.schema.fields if field.name != column}
    names = sorted(kinds)
    nulls = fn.concat(fn.lit(""), *(fn.when(fn.col(quoted(name)).isNull(), "1").otherwise("0") for name in names))
    values = [_hashable(fn.col(quoted(name)), kinds[name]) for name in names]
    total = fn.sum(fn.xxhash64(nulls, *values).cast("decimal(38,0)"))
    found = rows.groupBy(fn.col(quoted(column))).agg(fn.count("*"), total).collect()
    return {row[0]: (row[1], row[2]) for row in found}


def _hashable(column: Any, kind: Any) -> Any:
    """Return what is hashed of a column: Spark does not hash maps, and passes over nulls inside of structs."""
    from pyspark.sql import functions as fn

    if kind.typeName() == "variant":
        return fn.to_json(column)
    if isinstance(json.loads(kind.json()), str):
        return column
    return fn.to_json(fn.struct(column), {"ignoreNullFields": "false"})


def check_counted(found: Sums, merge: Merge, directory: str) -> None:
    """Refuse to merge other rows than were published.

    :param found: of what was read.
    :raises OutputError: with *checksum differs* and the partition.
    """
    for number, origin in enumerate(merge.origins):
        rows = found.get(number, (0, None))[0]
        if rows != origin.rows:
            problem = f"checksum differs: {rows} row(s) were read, and {origin.rows} were published"
            raise _differs(f"partition {origin.key!r}", directory, problem)


def check_same(before: Sums, after: Sums, merge: Merge, directory: str) -> None:
    """Refuse merged files that do not have exactly the rows of each origin.

    :param before: of what was read.
    :param after: of what was written, read back.
    :raises OutputError: with *checksum differs* and the partition.
    """
    for number, origin in enumerate(merge.origins):
        was, now = before.get(number, (0, None)), after.get(number, (0, None))
        if was != now:
            problem = f"checksum differs: {was[0]} row(s) were read and {now[0]} are written, or their values differ"
            raise _differs(f"partition {origin.key!r}", directory, problem)
    if strange := sorted(after.keys() - set(range(len(merge.origins)))):
        problem = f"checksum differs: rows of an origin {strange[0]} that was not read"
        raise _differs("a group", directory, problem)


def _differs(of: str, directory: str, problem: str) -> OutputError:
    return OutputError(f"merge the output of {of}", directory, problem, AGAIN)


def written(spark: Any, directory: str) -> Any:
    """Return the rows of the files in a directory, whatever characters are in its name."""
    paths = [join(directory, file.path) for file in list_files(directory) if is_data(file.path)]
    return load(spark.read.format("parquet"), paths)
