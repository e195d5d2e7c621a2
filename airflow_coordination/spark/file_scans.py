"""The published files that one scan of Spark reads together, and their columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final

from airflow_coordination.outputs.layout import ATTEMPT, ATTEMPTS, BLOCK, LAYOUT_COLUMNS, PARTITION, values_in
from airflow_coordination.outputs.manifests import DataFile, Manifest
from airflow_coordination.outputs.schemas import DatasetTypes, types, without
from airflow_coordination.outputs.zones import kind_of
from airflow_coordination.systems.objects.storage import OutputError, join, parent
from airflow_coordination.systems.spark.listing import load, spark_path
from airflow_coordination.values.names import partition_label

_WHOLE: Final = ("byte", "short", "integer", "long")
_MOST_RANGES: Final = 100
"""With more ranges of numbers than this a condition takes longer to plan than a join."""
_EMPTY: Final = '{"type":"struct","fields":[]}'
_PLACE: Final = f"/{ATTEMPTS}/({PARTITION}=[^/]+/{ATTEMPT}=[^/]+/{BLOCK}=[^/]+)/"
_METADATA: Final = "_metadata"
STRICT: Final = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
"""Options of a scan of published files: rows are missing with an error, whatever the session says."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """The common properties of the files of a scan.

    :param format: Spark's name of their format.
    :param options: options for Spark's reader, as JSON text.
    :param schema: of their rows without partition columns, ``None`` if Spark has to look.
    :param columns: their partition columns.
    :param zone: the time zone of local times in them, ``None`` for the session's own.
    :param root: the directory from which Spark looks for partition columns, if there are any.
    :param origin: the column of the origins, in files of an overlay; readers do not show it.
    :param met: the origins whose rows are read, ``None`` for all.
    """

    format: str
    options: str
    schema: str | None
    columns: tuple[str, ...]
    zone: str | None
    root: str | None
    origin: str | None = None
    met: tuple[int, ...] | None = None


@dataclass(slots=True)
class FileScan:
    """The files of one kind.

    :param first: the manifest of the first of them, to be named in errors.
    """

    kind: FileKind
    first: Manifest
    paths: list[str] = field(default_factory=list)


def root_of(manifest: Manifest) -> str:
    """Return the directory that the attempts of all partitions share."""
    return parent(parent(parent(manifest.directory)))


def scans_of(manifests: Iterable[Manifest], left_out: Set[str] = frozenset()) -> list[FileScan]:
    """Return the scans that read exactly the files of ``manifests``, but for those that are left out.

    :param left_out: addresses of files, as :func:`leavable` has allowed them.
    """
    scans: dict[FileKind, FileScan] = {}
    for manifest in manifests:
        for file in manifest.files:
            address = join(manifest.directory, file.path)
            if address not in left_out:
                kind = _kind(manifest, file)
                scans.setdefault(kind, FileScan(kind, manifest)).paths.append(address)
    return list(scans.values())


def leavable(manifests: Iterable[Manifest], excluded: set[str]) -> frozenset[str]:
    """Return which of some files may be left out: a file of each kind is read, or its columns would be missing.

    :param excluded: addresses of files without a row that is asked for.
    """
    if not excluded:
        return frozenset()
    return frozenset(excluded - {scan.paths[0] for scan in scans_of(manifests) if excluded.issuperset(scan.paths)})


def _kind(manifest: Manifest, file: DataFile) -> FileKind:
    columns = tuple(values_in(file.path))
    if manifest.merged:
        met = None if manifest.met is None else tuple(sorted(manifest.met))
        return FileKind(manifest.format, "{}", file.schema, (), None, None, manifest.merged.column, met)
    schema = file.schema or (without(manifest.schema, columns) if manifest.schema else None)
    options = json.dumps(dict(manifest.options), sort_keys=True)
    zone = manifest.zone if columns else None
    return FileKind(manifest.format, options, schema, columns, zone, root_of(manifest) if columns else None)


def check_types(manifests: Iterable[Manifest]) -> None:
    """Refuse blocks whose columns cannot be read together without changing values.

    :raises OutputError: naming column, types and two partitions.
    """
    seen, compared = DatasetTypes(), set()
    for manifest in manifests:
        for schema in manifest.schemas():
            if schema in compared:
                continue
            compared.add(schema)
            conflict = seen.conflict(schema, manifest.key, with_own=True)
            if conflict:
                what = f"read dataset {manifest.dataset!r} of {partition_label(manifest.source, manifest.key)}"
                remedy = "Publish one of the two again, or say allow_lossy=True: values may change then"
                raise OutputError(what, manifest.directory, f"does not fit: {conflict}", remedy)
            seen.add(schema, manifest.key)


def partition_types(manifests: Sequence[Manifest], own_zone: str | None = None) -> dict[str, Any]:
    """Return the type of each partition column: the one that all told, or the narrowest that keeps all values.

    Spark alone would look at each scan by itself, and make a number of the text ``01234``. So would a type that only
    some have told: it says nothing of what the others wrote.

    :param own_zone: the zone in which times are read whose writer's zone is not known.
    """
    texts: dict[str, set[tuple[str, str | None]]] = {}
    told: dict[str, list[Any]] = {}
    for manifest in manifests:
        known: dict[str, Any] = {}
        for schema in manifest.schemas():
            known |= types(schema)
        here, zone = [values_in(file.path) for file in manifest.files], manifest.zone or own_zone
        for name in dict.fromkeys(name for values in here for name in values):
            found = [each[name] for each in here if name in each]
            texts.setdefault(name, set()).update((text, zone) for text in found if text is not None)
            told.setdefault(name, []).append(known.get(name))
    kinds = {name: _agreed(told[name]) or kind_of(those) for name, those in texts.items()}
    for schema in dict.fromkeys(schema for each in manifests if each.merged for schema in each.schemas()):
        kinds |= {name: _holding(kinds[name], kind) for name, kind in types(schema).items() if name in kinds}
    return kinds


def _holding(kind: Any, merged: Any) -> Any:
    """Return a type for a column that is in directories as one type, and in files of an overlay as another."""
    if kind in _WHOLE and merged in _WHOLE:
        return max(kind, merged, key=_WHOLE.index)
    return kind if kind == merged else "string"


def _agreed(told: Sequence[Any]) -> Any:
    return told[0] if all(each == told[0] for each in told) else None


def read(spark: Any, scan: FileScan, partitioned_by: Mapping[str, Any]) -> Any:
    """Return the rows of a scan.

    :param partitioned_by: the types of partition columns.
    """
    if scan.kind.origin:
        return _cast(_of_origins(_read(spark, scan, {}), scan.kind), partitioned_by)
    return _whole(spark, scan, partitioned_by)


def _whole(spark: Any, scan: FileScan, partitioned_by: Mapping[str, Any], place: str | None = None) -> Any:
    frame = _read(spark, scan, partitioned_by, place)
    nothing = [name for name, kind in types(scan.kind.schema or _EMPTY).items() if kind == "void"]
    return _with_nulls(frame, nothing, scan.kind) if nothing else frame


def with_origins(
    spark: Any, scan: FileScan, partitioned_by: Mapping[str, Any], column: str, numbers: Mapping[Any, int]
) -> Any:
    """Return the rows of a scan, of an overlay's too, with the numbers that their origins get in a new overlay.

    :param column: the name of the numbers' column; no column of the files has a name that begins so.
    :param numbers: by the place of a block's directory (:func:`~.layout.place_of`), or by the number in the overlay.
        Rows of no such origin are left out.
    """
    from pyspark.sql import functions as fn

    old, new, was = f"{column}_old", f"{column}_new", scan.kind.origin
    if was is None:
        rows = _whole(spark, scan, partitioned_by, place=old)
    else:
        met = _of_numbers(_read(spark, scan, {}), was, sorted(numbers))
        rows = _cast(met.withColumnRenamed(was, old), partitioned_by)
    table = spark.createDataFrame(list(numbers.items()), f"{old} {'int' if was else 'string'}, {new} int")
    return rows.join(fn.broadcast(table), old).drop(old).withColumnRenamed(new, column)


def _of_origins(frame: Any, kind: FileKind) -> Any:
    """Return the rows of the origins that were met, without their numbers."""
    column = kind.origin or ""
    rows = frame if kind.met is None else _of_numbers(frame, column, kind.met)
    return rows.drop(column)


def _of_numbers(frame: Any, column: str, numbers: Sequence[int]) -> Any:
    """Return the rows with one of these numbers, in their order. Files are sorted by them, so ranges pass over most.

    A list of a hundred thousand numbers takes Spark a minute to plan: what is scattered is joined.
    """
    from pyspark.sql import functions as fn

    found = ranges(numbers)
    if len(found) > _MOST_RANGES:
        table = frame.sparkSession.createDataFrame([(number,) for number in numbers], f"{quoted(column)} int")
        return frame.join(fn.broadcast(table), column, "left_semi")
    inside = (fn.col(quoted(column)).between(first, last) for first, last in found)
    return frame.where(reduce(lambda one, other: one | other, inside, fn.lit(False)))


def ranges(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return ascending numbers as ranges, each with its first and its last."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _cast(rows: Any, partitioned_by: Mapping[str, Any]) -> Any:
    """Return the rows of an overlay with the types of partition columns.

    What was in directory names of the blocks that were merged is a column there. It gets the type that those have which
    are still in directories.
    """
    from pyspark.sql import functions as fn

    for name, wanted in partitioned_by.items():
        if name in rows.columns:
            rows = rows.withColumn(name, fn.col(quoted(name)).cast(wanted))
    return rows


def quoted(name: str) -> str:
    """Return a column's name as Spark's expressions take it whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _with_nulls(frame: Any, nothing: Sequence[str], kind: FileKind) -> Any:
    """Return a frame with columns of nothing but nulls, which no file tells a type of, in their places."""
    from pyspark.sql import functions as fn

    own = list(types(kind.schema or _EMPTY))
    names = [*own, *(name for name in frame.columns if name not in own)]
    columns = [fn.lit(None) if name in nothing else frame[quoted(name)] for name in names]
    return frame.select(*(column.alias(name) for column, name in zip(columns, names, strict=True)))


def _read(spark: Any, scan: FileScan, partitioned_by: Mapping[str, Any], place: str | None = None) -> Any:
    """Return what Spark reads of a scan.

    :param place: the name of a column more, with the place of each row's block.
    """
    kind = scan.kind
    reader = _reader(spark, kind, _typed(kind.schema) if kind.schema else None)
    if not kind.root:
        return _with_place(load(reader, scan.paths), place)
    schema = kind.schema or load(reader, scan.paths).schema.json()
    frame = load(_reader(spark, kind, _with_columns(_typed(schema), kind.columns, partitioned_by)), scan.paths)
    return _with_place(frame, place).drop(*LAYOUT_COLUMNS)


def _with_place(frame: Any, name: str | None) -> Any:
    """Return a frame with the three directories that name a block, which Spark writes as in a URL."""
    from pyspark.sql import functions as fn

    if name is None:
        return frame
    hidden = fn.col(_METADATA)
    if _METADATA in {column.lower() for column in frame.columns}:  # rows may keep where they are from under that name
        hidden = frame.metadataColumn(_METADATA)
    path = fn.regexp_replace(hidden.getField("file_path"), "%3D", "=")
    return frame.withColumn(name, fn.regexp_extract(path, _PLACE, 1))


def _typed(schema: str) -> str:
    """Return a schema without columns of nothing but nulls: Spark does not read them."""
    return without(schema, tuple(name for name, kind in types(schema).items() if kind == "void"))


def _reader(spark: Any, kind: FileKind, schema: str | None = None) -> Any:
    reader = spark.read.format(kind.format).options(**json.loads(kind.options), **STRICT)
    if kind.zone:
        reader = reader.option("timeZone", kind.zone)
    if schema or kind.schema:
        from pyspark.sql.types import StructType

        reader = reader.schema(StructType.fromJson(json.loads(schema or kind.schema or "")))
    elif kind.format in ("parquet", "orc"):
        reader = reader.option("mergeSchema", "true")
    return reader.option("basePath", spark_path(kind.root)) if kind.root else reader


def _with_columns(schema: str, columns: tuple[str, ...], partitioned_by: Mapping[str, Any]) -> str:
    """Return a schema with partition columns of given types, and those of the directories as text."""
    fields = json.loads(without(schema, (*columns, *LAYOUT_COLUMNS)))["fields"]
    kinds = {**{name: partitioned_by[name] for name in columns}, **dict.fromkeys(LAYOUT_COLUMNS, "string")}
    fields += [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in kinds.items()]
    return json.dumps({"type": "struct", "fields": fields})
