"""The rows of a branch compared with those in their place, partition by partition, so that one wrong row is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_coordination.duties.branches import look as looking
from airflow_coordination.duties.branches.look import BranchLook, DatasetContents, KeyContents, KeyLook
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.attempts import check_published, told_by_footers
from airflow_coordination.outputs.layout import place_of
from airflow_coordination.outputs.manifests import REPUBLISH, Manifest
from airflow_coordination.outputs.overlays import Overlays
from airflow_coordination.outputs.published import overlays_of, starts_of, walks
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.spark.completed import prepare, united
from airflow_coordination.spark.file_scans import partition_types, quoted, scans_of, with_origins
from airflow_coordination.spark.merged_rows import Sums, origin_column, sums
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.systems.spark.error_text import error_text
from airflow_coordination.systems.spark.listing import capped_listing
from airflow_coordination.systems.spark.session import session_here

_NOTHING: Final = (0, None)


def look_at(coordinator: SourceCoordinator, number: int, dataset: str | None = None) -> BranchLook:
    """Return what a branch changes for readers; its rows can be compared (:meth:`.BranchLook.contents`).

    :param coordinator: of the source.
    :param number: the branch's.
    :param dataset: only this dataset.
    :raises InvalidInputError: when there is no such branch, or it was rolled back.
    """
    return looking.look_at(coordinator, number, dataset, compare=compared)


def compared(store: PartitionStore, look: BranchLook, spark: Any) -> tuple[DatasetContents, ...]:
    """Compare the rows of each partition that a branch changes, by their number and a sum of their hashes.

    So their order is of no matter, and files neither. Columns that only one side has are named, and not compared;
    where types differ, values are compared as Spark unites them.

    :param store: the store of the head records.
    :param look: what shows on both sides.
    :param spark: the session, classic or Connect.
    :raises OutputError: when something published is missing or was changed.
    """
    changed = {name: [each for each in look.changed if each.dataset == name] for name in look.datasets}
    return tuple(
        _of_dataset(spark, name, keys, overlays_of(store, look.source, name)) for name, keys in changed.items() if keys
    )


def compared_here(store: PartitionStore, look: BranchLook, *, master: str = "local[*]") -> tuple[DatasetContents, ...]:
    """Compare rows as :func:`compared` does, with a Spark session of this process.

    :param master: of Spark.
    :raises SettingsError: where there is no pyspark.
    """
    with session_here(master, f"branch {look.branch.number}", "add --no-contents") as spark:
        return compared(store, look, spark)


@dataclass(slots=True)
class _Side:
    """What one side has of some partitions.

    :param originals: manifests whose rows are read as they are, with the number of their partition.
    :param overlays: merged manifests by address, with the number of the partition of each origin that is met.
    :param published: how many rows of each number there must be.
    """

    originals: list[tuple[Manifest, int]] = field(default_factory=list)
    overlays: dict[str, tuple[Manifest, dict[int, int]]] = field(default_factory=dict)
    published: Counter[int] = field(default_factory=Counter)

    @property
    def manifests(self) -> list[Manifest]:
        """All that is read."""
        return [*(manifest for manifest, _ in self.originals), *(manifest for manifest, _ in self.overlays.values())]


def _side(heads: Iterable[tuple[int, HeadRecord]], overlays: Overlays) -> _Side:
    """Return what readers meet from some head records, each with the number of its partition."""
    side = _Side()
    starts = [(number, start) for number, head in heads for start in starts_of([head])]
    for (number, _), walk in zip(starts, walks([start for _, start in starts], overlays), strict=True):
        side.originals += [(manifest, number) for manifest in reversed(walk.chain)]
        side.published[number] += sum(manifest.rows for manifest in walk.chain)
        if walk.place:
            side.published[number] += walk.place.origin.rows
            manifest = walk.place.overlay.manifest
            side.overlays.setdefault(manifest.address, (manifest, {}))[1][walk.place.number] = number
    return side


def _of_dataset(spark: Any, dataset: str, keys: Sequence[KeyLook], overlays: Overlays) -> DatasetContents:
    before = _side(((2 * n, each.before) for n, each in enumerate(keys) if each.before), overlays)
    after = _side(((2 * n + 1, each.after) for n, each in enumerate(keys) if each.after), overlays)
    rows = _Rows(spark, dataset, before, after)
    found = rows.sums()
    _check_counted(found, before.published + after.published, keys)
    pairs = [(found.get(2 * n, _NOTHING), found.get(2 * n + 1, _NOTHING)) for n in range(len(keys))]
    contents = tuple(
        KeyContents(key=each.key, dataset=dataset, rows_before=was[0], rows_after=now[0], same=was == now)
        for each, (was, now) in zip(keys, pairs, strict=True)
    )
    return DatasetContents(dataset=dataset, keys=contents, **rows.differences)


def _check_counted(found: Sums, published: Mapping[int, int], keys: Sequence[KeyLook]) -> None:
    """Refuse to compare fewer rows than were published: two sides that both lack them would be the same."""
    for number, rows in published.items():
        read = found.get(number, _NOTHING)[0]
        if read < rows:
            key = keys[number // 2]
            problem = f"checksum differs: {read} row(s) were read, and {rows} were published"
            raise OutputError(f"compare partition {key.key!r}", f"dataset {key.dataset!r}", problem, REPUBLISH)


class _Rows:
    """The rows of both sides with the number of their partition, even ones before and odd ones after."""

    def __init__(self, spark: Any, dataset: str, before: _Side, after: _Side) -> None:
        every = [*before.manifests, *after.manifests]
        check_published(every)
        prepare(spark, every)
        self._spark, self._dataset = spark, dataset
        self._column = origin_column(every)
        self._types = partition_types(every, spark.conf.get("spark.sql.session.timeZone"))
        with capped_listing(spark):
            self._before, self._after = self._read(before), self._read(after)

    def _read(self, side: _Side) -> Any | None:
        """Return the rows of one side; ``None`` where it has no files."""
        frames = list(self._frames(side))
        return self._united(frames) if frames else None

    def _united(self, frames: Sequence[Any]) -> Any:
        """Return rows of the same columns together, whatever types they have."""

        def refused(_: int, error: Exception) -> OutputError:
            problem = f"has rows that cannot be compared: {error_text(error).splitlines()[0][:300]}"
            return OutputError("compare a branch", f"dataset {self._dataset!r}", problem, REPUBLISH)

        return united(frames, lossy=True, refused=refused)

    def _frames(self, side: _Side) -> Iterator[Any]:
        numbers = {place_of(manifest.directory): number for manifest, number in side.originals}
        originals = told_by_footers([manifest for manifest, _ in side.originals])
        for scan in scans_of(originals):
            yield with_origins(self._spark, scan, self._types, self._column, numbers)
        for manifest, its in side.overlays.values():
            for scan in scans_of([manifest]):
                yield with_origins(self._spark, scan, self._types, self._column, its)

    def sums(self) -> Sums:
        """Return how many rows each number has, and the sum of their hashes over the columns that both sides have."""
        frames = [frame for frame in (self._before, self._after) if frame is not None]
        if not frames:
            return {}
        if len(frames) > 1:
            left_out = {name.lower() for name in (*self.differences["only_before"], *self.differences["only_after"])}
            frames = [
                frame.select(*(quoted(name) for name in frame.columns if name.lower() not in left_out))
                for frame in frames
            ]
        return sums(_with_types(self._united(frames)), self._column)

    @property
    def differences(self) -> Mapping[str, Any]:
        """What of their columns differs, as :class:`DatasetContents` says it."""
        if self._before is None or self._after is None:
            return {"only_before": (), "only_after": (), "retyped": {}}
        before, after = _kinds(self._before), _kinds(self._after)
        both = before.keys() & after.keys()
        return {
            "only_before": tuple(sorted(before[low][0] for low in before.keys() - both)),
            "only_after": tuple(sorted(after[low][0] for low in after.keys() - both)),
            "retyped": {
                after[low][0]: (before[low][1], after[low][1])
                for low in sorted(both)
                if before[low][1] != after[low][1]
            },
        }


def _kinds(frame: Any) -> dict[str, tuple[str, str]]:
    """Return name and type of each column by its name in lower case."""
    return {each.name.lower(): (each.name, each.dataType.simpleString()) for each in frame.schema.fields}


def _with_types(rows: Any) -> Any:
    """Return rows in which a column of nothing but nulls has a type, without which it cannot be hashed."""
    for each in rows.schema.fields:
        if each.dataType.typeName() == "void":
            rows = rows.withColumn(each.name, rows[quoted(each.name)].cast("string"))
    return rows
