"""``read_completed``: exactly the published rows as one DataFrame, planned in few scans."""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from airflow_coordination.outputs.attempts import check_published, told_by_footers
from airflow_coordination.outputs.copies.reading import tier_manifests
from airflow_coordination.outputs.heads.showing import read_view
from airflow_coordination.outputs.leaving_out.conditions import Condition, Where
from airflow_coordination.outputs.leaving_out.extremes import DAY, INSTANT, TEXT, WHOLE
from airflow_coordination.outputs.leaving_out.kept import chosen
from airflow_coordination.outputs.manifests import Manifest
from airflow_coordination.outputs.published import published_manifests, source_identifier
from airflow_coordination.outputs.schemas import flattened
from airflow_coordination.planning.view.showing import dataset_of, seen
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark.draining import StoreLike, opened
from airflow_coordination.spark.file_scans import (
    FileScan,
    check_types,
    leavable,
    partition_types,
    quoted,
    read,
    root_of,
    scans_of,
)
from airflow_coordination.systems.objects.storage import OutputError, join
from airflow_coordination.systems.spark import s3a
from airflow_coordination.systems.spark.error_text import error_text
from airflow_coordination.systems.spark.listing import capped_listing, escaped
from airflow_coordination.systems.spark.session import context_of
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import namesakes, partition_label, split_source

log = logging.getLogger(__name__)
_TYPES: Final = {
    WHOLE: ("tinyint", "smallint", "int", "bigint"),
    TEXT: ("string",),
    DAY: ("date",),
    INSTANT: ("timestamp",),
}
_LITERALS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    WHOLE: lambda fn, value: fn.lit(value).cast("bigint"),
    TEXT: lambda fn, value: fn.lit(value),
    DAY: lambda fn, value: fn.date_add(fn.lit("1970-01-01").cast("date"), value),
    INSTANT: lambda fn, value: fn.timestamp_micros(fn.lit(value)),
}
_FAMILIES = (
    frozenset({"byte", "short", "integer", "long", "float", "double", "decimal"}),
    frozenset({"date", "timestamp", "timestamp_ntz"}),
)
"""Types that Spark unites as one of them."""


def united(frames: Sequence[Any], *, lossy: bool, refused: Callable[[int, Exception], Exception]) -> Any:
    """Return the rows of all frames, columns by name; one that a frame lacks is null in its rows.

    :param lossy: make text of columns of which Spark has no common type, or none that can hold all values: text and
        numbers together are numbers to it, and then it fails at the first text that is none.
    :param refused: makes the error for the number of a frame that cannot be united with those before it.
    """
    from pyspark.errors import AnalysisException

    if lossy and len(frames) > 1:
        as_text = _without_common_type([frame.schema.json() for frame in frames])
        frames = [_with_text(frame, as_text) for frame in frames]
    rows = frames[0]
    for number, frame in enumerate(frames[1:], start=1):
        try:
            rows = rows.unionByName(frame, allowMissingColumns=True)
        except AnalysisException as error:
            raise refused(number, error) from error
    return rows


def _without_common_type(schemas: Sequence[str]) -> set[str]:
    """Return the columns, in lower case, that have types of several families, or have them inside."""
    kinds: dict[tuple[str, str], set[str]] = {}
    for schema in schemas:
        for field in json.loads(schema)["fields"]:
            for path, kind in flattened(json.dumps({"type": "struct", "fields": [field]})).items():
                kinds.setdefault((field["name"].lower(), path), set()).add(kind.partition("(")[0])
    return {
        column
        for (column, _), found in kinds.items()
        if len(found - {"void"}) > 1 and not any(found - {"void"} <= family for family in _FAMILIES)
    }


def _with_text(frame: Any, columns: set[str]) -> Any:
    for name in frame.columns:
        if name.lower() in columns:
            frame = frame.withColumn(name, frame[quoted(name)].cast("string"))
    return frame


HEADS_NAMED = 100
"""From how many head records the message about an unknown dataset takes its names."""


def read_completed(
    spark: Any,
    *,
    store: StoreLike,
    source: str,
    dataset: str,
    partition_prefix: str | None = None,
    schema: Any = None,
    allow_lossy: bool = False,
    verify: Literal["sizes", "rows"] = "sizes",
    branch: int | None = None,
    tier: str | None = None,
    where: Where | None = None,
) -> Any:
    """Return a DataFrame of exactly the published rows of one dataset.

    Partition columns of ``partitionBy`` are there, schemas are merged by column name (columns that a block
    lacks are null). A partition column has the type that its publisher told (``schema=df.schema``), otherwise the
    narrowest that gives back exactly what was written: ``01234`` stays text. Files that no head record leads to are
    never read (promise S12).

    Before anything is read, each block's directory is listed once, and the sizes of its files are compared with those
    that were published. What is deleted or changed later, while the DataFrame is read, is an error of Spark's: the
    session's ``spark.sql.files.ignoreMissingFiles`` and ``ignoreCorruptFiles`` do not hold for these scans.

    :param spark: the session, classic or Connect.
    :param store: a URL, a ``source_coordination`` mapping, or a store.
    :param source: the source's name.
    :param dataset: the dataset.
    :param partition_prefix: the source's prefix; the store's own by default.
    :param schema: the schema to return when nothing is published yet; its columns are there in any case.
    :param allow_lossy: read columns of different types all the same, as Spark unites them: values may change. Columns
        that are not all numbers, or all times, become text.
    :param verify: ``"rows"`` also reads the footer of each Parquet file, and compares its rows and columns: one request
        or two for each file. Other formats have no footer that says so.
    :param branch: what readers would see if this branch, which has begun, were published now.
    :param tier: read copies in this tier, and nothing of the place that was published to: exactly the same rows.
    :param where: only rows whose columns have values in these ranges, both ends among them: ``{"id": (7, None), "day":
        (date(2026, 1, 1), date(2026, 1, 31))}``. Whole numbers, texts, dates and datetimes with a zone; null is in no
        range. Files whose least and greatest values, as the index of the dataset keeps them (``outputs index``), surely
        do not match are neither opened nor looked for; :func:`explain_completed` says how many.
    :raises InvalidInputError: for another ``verify``, a branch that is not there, a tier that no location is of, or a
        ``where`` that is no such ranges, or of columns that are not there or of another type.
    :raises OutputError: when columns have types that cannot be read together without changing values (``bigint`` and
        ``double``), naming two partitions; when nothing is published and no ``schema`` is given, or when published
        files are missing or changed, naming partition and file; when something was not copied into ``tier``, naming
        what, and the tiers that have it.
    """
    if verify not in ("sizes", "rows"):
        raise InvalidInputError("verify", verify, "is nothing that can be compared", "Give 'sizes' or 'rows'")
    condition, left = Condition.of(where), frozenset[str]()
    with opened(store) as opened_store:
        if tier is None:
            manifests = published_manifests(opened_store, source, dataset, partition_prefix, branch=branch)
            left = _left_out(opened_store, source, dataset, partition_prefix, manifests, condition)[0]
        else:
            manifests = tier_manifests(opened_store, source, dataset, tier, partition_prefix, branch=branch)
        check_published(_with_files(manifests, left), rows=verify == "rows")
        manifests = told_by_footers(manifests)
        scans = scans_of(manifests, left)
        if not scans and schema is None:
            raise _nothing(opened_store, source, dataset, partition_prefix, bool(manifests))
    rows = rows_in(spark, manifests, scans, schema, lossy=allow_lossy)
    return rows if condition is None else matching(rows, condition)


def _left_out(
    store: PartitionStore,
    source: str,
    dataset: str,
    prefix: str | None,
    manifests: Sequence[Manifest],
    condition: Condition | None,
) -> tuple[frozenset[str], int]:
    """Return the addresses of the files that are left out, and of how many others nothing is known."""
    if condition is None:
        return frozenset(), 0
    found = chosen(source_identifier(store, source, prefix), dataset, manifests, condition)
    left = leavable(manifests, found.excluded)
    log.info("Dataset %s: where= leaves out %d of %d files.", dataset, len(left), _files(manifests))
    return left, found.unknown


def _files(manifests: Iterable[Manifest]) -> int:
    return sum(len(manifest.files) for manifest in manifests)


def _with_files(manifests: Sequence[Manifest], left_out: Set[str]) -> Sequence[Manifest]:
    """Return the manifests of which a file is read."""
    if not left_out:
        return manifests
    return [m for m in manifests if any(join(m.directory, file.path) not in left_out for file in m.files)]


def matching(rows: Any, condition: Condition) -> Any:
    """Return the rows that match a condition, whose values have to be of the columns' types.

    :raises InvalidInputError: for a column that is not there, or of another type.
    """
    from pyspark.sql import functions as fn

    for each in condition.row:
        column, field = fn.col(quoted(each.column)), f"where[{each.column!r}]"
        found = next((one for one in rows.schema.fields if one.name == each.column), None)
        if found is None:
            raise InvalidInputError(field, each.column, "is no column of the dataset", f"It has {rows.columns}")
        kind = found.dataType.simpleString()
        if kind not in _TYPES[each.kind] or any(name.startswith("__") for name in found.metadata):
            problem = f"is of type {kind}, and what is asked for is not"
            raise InvalidInputError(
                field, each.column, problem, "Give values of its type, or use the DataFrame's own where"
            )
        for value, compared in ((each.least, column.__ge__), (each.greatest, column.__le__)):
            if value is not None:
                rows = rows.where(compared(_LITERALS[each.kind](fn, value)))
    return rows


@dataclass(frozen=True, slots=True)
class FilesRead:
    """What a reader with ``where=`` opens.

    :param files: how many files are published.
    :param read: how many of them are read.
    :param left_out: how many are not, because their least and greatest values cannot match.
    :param unknown: how many there are of which nothing is known about any column that is asked for: run
        ``outputs index``, if there are many.
    """

    files: int
    read: int
    left_out: int
    unknown: int


def explain_completed(
    *,
    store: StoreLike,
    source: str,
    dataset: str,
    where: Where,
    partition_prefix: str | None = None,
    branch: int | None = None,
) -> FilesRead:
    """Return how many files :func:`read_completed` reads with this ``where``, and how many it leaves out.

    No data file is opened, and no Spark is needed.

    :param store: as for :func:`read_completed`; so are the others.
    :raises InvalidInputError: for a branch that is not there, or a ``where`` that is no ranges.
    :raises OutputError: when a manifest is missing or was changed.
    """
    condition = Condition.of(where)
    with opened(store) as opened_store:
        manifests = published_manifests(opened_store, source, dataset, partition_prefix, branch=branch)
        left, unknown = _left_out(opened_store, source, dataset, partition_prefix, manifests, condition)
    files = _files(manifests)
    return FilesRead(files, files - len(left), len(left), unknown)


def rows_in(spark: Any, manifests: Sequence[Manifest], scans: Sequence[FileScan], schema: Any, *, lossy: bool) -> Any:
    """Return the rows of the files of manifests, which were compared with what was published.

    :param scans: that read these files.
    :param schema: whose columns are there in any case; ``None`` where there is a scan.
    :param lossy: as ``allow_lossy`` of :func:`read_completed`.
    :raises OutputError: as there.
    """
    if not lossy:
        check_types(manifests)
    prepare(spark, manifests)
    partitioned_by = partition_types(manifests, spark.conf.get("spark.sql.session.timeZone"))
    frames = [] if schema is None else [spark.createDataFrame([], schema)]
    with capped_listing(spark):
        frames += [_read(spark, scan, partitioned_by, manifests) for scan in scans]
    return united(frames, lossy=lossy, refused=partial(_not_united, [None, *scans][-len(frames) :]))


def count_completed(
    *,
    store: StoreLike,
    source: str,
    dataset: str,
    partition_prefix: str | None = None,
    branch: int | None = None,
) -> int:
    """Return how many rows :func:`read_completed` returns, as they were counted when they were published.

    No data file is opened, and no Spark is needed: head records and manifests are read, and the manifests' digests
    compared. So nobody is told of a data file that was deleted since.

    :param store: as for :func:`read_completed`; so are the others.
    :return: 0 also for a dataset of which nothing is published.
    :raises InvalidInputError: for a branch that is not there.
    :raises OutputError: when a manifest is missing or was changed, and for files of text that were published without
        being counted, naming the partition.
    """
    with opened(store) as opened_store:
        manifests = published_manifests(opened_store, source, dataset, partition_prefix, branch=branch)
    for manifest in manifests:
        if manifest.format != "parquet" and not manifest.rows and any(file.size for file in manifest.files):
            what = f"count the rows of dataset {dataset!r} of {partition_label(manifest.source, manifest.key)}"
            problem = f"has {manifest.format} files whose rows were not counted when they were published, or none"
            raise OutputError(what, manifest.directory, problem, "Count what Spark reads: read_completed(…).count()")
    return sum(manifest.rows_met for manifest in manifests)


def _read(spark: Any, scan: FileScan, partitioned_by: Mapping[str, Any], manifests: Iterable[Manifest]) -> Any:
    from pyspark.errors import AnalysisException

    try:
        return read(spark, scan, partitioned_by)
    except AnalysisException as error:
        raise _missing(error, manifests) or error from error


def _not_united(scans: Sequence[FileScan | None], number: int, error: Exception) -> OutputError:
    """Return the error for a scan that Spark cannot unite with those before it, ``None`` being the given schema."""
    one, other = scans[0], scans[number]
    assert other is not None  # the given schema comes first
    what = f"read dataset {other.first.dataset!r} of {partition_label(other.first.source, other.first.key)}"
    beside = "schema=…" if one is None else f"partition {one.first.key!r}"
    problem = f"does not fit the columns of {beside}: {error_text(error).splitlines()[0][:300]}"
    return OutputError(what, other.first.directory, problem, "Publish one of the two again, with the other's columns")


def prepare(spark: Any, manifests: Iterable[Manifest]) -> None:
    """Let a session read where manifests lie, whatever store of objects that is."""
    context = context_of(spark)
    if context is not None:
        for root in {root_of(manifest) for manifest in manifests}:
            s3a.prepare(context, root)


def _missing(error: Exception, manifests: Iterable[Manifest]) -> OutputError | None:
    """Return the error for a missing data file, ``None`` if Spark complains about something else."""
    text = str(error)
    if "PATH_NOT_FOUND" not in text:
        return None
    for manifest in manifests:
        if any(f"{directory}/" in text for directory in (manifest.directory, escaped(manifest.directory))):
            what = f"read the output of {partition_label(manifest.source, manifest.key)}"
            remedy = "Restore the file from a backup, or reset the partition to produce its output again"
            return OutputError(what, text.split(": ", 1)[-1].split(". ", 1)[0], "is missing", remedy)
    return None


def _nothing(
    store: PartitionStore, source: str, dataset: str, partition_prefix: str | None, published: bool
) -> OutputError:
    what = f"read dataset {dataset!r} of source {source!r}"
    remedy = "Give schema=… to get an empty DataFrame"
    if published:
        return OutputError(what, store.description, "knows only blocks without files, so no schema", remedy)
    identifier = source_identifier(store, source, partition_prefix)
    heads = store.heads(identifier, limit=HEADS_NAMED)
    view = read_view(store, identifier)
    shown = [head for head in heads if seen(view, [head])]
    known = sorted({dataset_of(head) for head in shown if head.blocks})
    if dataset not in known and any(dataset_of(head) == dataset and head.blocks for head in heads):
        problem = "has output of it that does not show: it is hidden, or of a branch that is not published"
        return OutputError(what, store.description, problem, f"See `outputs timeline` and `branches status`. {remedy}")
    names = ", ".join(map(repr, known)) or "none"
    names += ", and perhaps more" if len(heads) == HEADS_NAMED else ""
    problem = f"has no published output of it (published datasets: {names})"
    elsewhere = "" if known else _under_another_prefix(store, identifier)
    meant = elsewhere or _meant(store, source, dataset, known)
    return OutputError(what, store.description, problem, f"{meant}Complete a partition first. {remedy}")


def _under_another_prefix(store: PartitionStore, identifier: str) -> str:
    """Return a sentence that names the source under another prefix, empty when it is registered, or under none."""
    registered = [name for name, _ in store.sources()]
    others = namesakes(identifier, registered)
    return f"It knows {others[0]!a}, not {identifier!a}: is the partition_prefix right? " if others else ""


def _meant(store: PartitionStore, source: str, dataset: str, published: list[str]) -> str:
    """Return a question about the nearest name that the store knows, empty when none is near."""
    sources = () if published else {split_source(name)[1] for name, _ in store.sources()} - {source}
    wrong, known = (dataset, set(published)) if published else (source, sources)
    near = difflib.get_close_matches(wrong, known, n=1, cutoff=0.5)
    return f"Did you mean the {'dataset' if published else 'source'} {near[0]!r}? " if near else ""
