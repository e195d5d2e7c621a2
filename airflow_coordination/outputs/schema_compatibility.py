"""The check that a block can be read together with the blocks of other partitions in its dataset.

A driver looks at some head records of a dataset once, and again before it refuses. Readers check everything; this finds
a mistake where it is made, before it spoils a dataset.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from airflow_coordination.outputs.heads.showing import read_view
from airflow_coordination.outputs.layout import LAYOUT_COLUMNS, hides_rows, misread, values_in
from airflow_coordination.outputs.manifests import Manifest, Reference, references, verified
from airflow_coordination.outputs.overlays import NONE
from airflow_coordination.outputs.published import overlays_of
from airflow_coordination.outputs.schemas import Conflict, DatasetTypes, names
from airflow_coordination.planning.view.showing import as_if_published, hiding, newest, of_dataset
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.systems.objects.storage import OutputError, read_many
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.names import branch_dataset, partition_label

log = logging.getLogger(__name__)

LOOKED_AT = 5
"""Head records of a dataset at which a driver looks, in the base and in each of some branches."""
NEWEST = 3
"""The newest branches, of those that show, at which it looks."""
REMEDY = (
    "Cast the column before writing, publish to another dataset, or say lease.publish(…, allow_lossy=True), which "
    "every reader must say then, too"
)


_World = tuple[str, str, int | None]
"""Source, dataset and branch: what a block of it is read together with."""


@dataclass(slots=True)
class SchemaCompatibility:
    """A driver's knowledge of the types in the datasets that it publishes to.

    :param store: the store of the head records.
    """

    store: PartitionStore
    _known: dict[_World, DatasetTypes] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)  # the tenures of a driver may publish at once

    def check(self, manifest: Manifest, before: Sequence[Manifest], branch: int | None = None) -> None:
        """Refuse a block whose columns have other types than elsewhere in its dataset.

        :param manifest: of the block.
        :param before: blocks of the same tenure.
        :param branch: that its partition runs in: it is compared with what will show beside it, once that one does.
        :raises OutputError: naming column, types and both partitions.
        """
        with self._lock:
            for schema in manifest.schemas():
                conflict = self._in_own(schema, manifest, before) or self._elsewhere(schema, manifest, branch)
                if conflict:
                    what = f"publish {manifest.dataset!r} of {partition_label(manifest.source, manifest.key)}"
                    raise OutputError(what, manifest.directory, f"does not fit: {conflict}", REMEDY)
                self._known[manifest.source, manifest.dataset, branch].add(schema, manifest.key)

    def _in_own(self, schema: str, manifest: Manifest, before: Sequence[Manifest]) -> Conflict | None:
        """Compare with what the block adds to: the tenure's own blocks, and the one that it follows."""
        types = DatasetTypes()
        own = [each for each in before if each.dataset == manifest.dataset]
        if manifest.follows and manifest.follows.address not in {each.address for each in own}:
            own += self._read(manifest.source, manifest.dataset, manifest.key, [manifest.follows])
        for each in [*own, manifest]:
            for other in each.schemas():
                types.add(other, each.key)
        return types.conflict(schema, manifest.key, with_own=True)

    def _elsewhere(self, schema: str, manifest: Manifest, branch: int | None) -> Conflict | None:
        name = (manifest.source, manifest.dataset, branch)
        if name not in self._known:
            self._known[name] = self._look(*name)
        conflict = self._known[name].conflict(schema, manifest.key)
        if conflict is None:
            return None
        # What was seen may have been replaced since.
        types = self._known[name] = self._look(*name, conflict.other_key, manifest.key)
        conflicts = list(types.conflicts(schema, manifest.key))
        for conflict in conflicts:
            if not types.had(conflict):
                return conflict
        for conflict in conflicts[:1]:
            log.warning(
                "Dataset %r has different types already, and readers need allow_lossy=True: %s", name[1], conflict
            )
        return None

    def _look(self, source: str, dataset: str, branch: int | None, *more: str) -> DatasetTypes:
        types = DatasetTypes()
        for manifest in self._some(source, dataset, branch, more):
            for schema in manifest.schemas():
                types.add(schema, manifest.key)
        return types

    def _some(self, source: str, dataset: str, branch: int | None, more: Sequence[str]) -> Iterator[Manifest]:
        try:
            view = read_view(self.store, source)
            view = view if branch is None else as_if_published(view, branch)
            heads = self._heads(source, dataset, view, more)
        except CoordinationError as error:
            log.warning("The types of dataset %r are not compared: %s", dataset, error)
            return
        for head in heads:
            if hiding(view, head) or self._is_replaced_next(source, head, view):
                continue
            yield from self._read(source, dataset, head.key, references(head.blocks)[-1:])

    def _heads(self, source: str, dataset: str, view: View, more: Sequence[str]) -> list[HeadRecord]:
        """Return some head records that readers see under a view, and those of some keys."""
        names = [dataset, *(branch_dataset(number, dataset) for number in view.shown[-NEWEST:])]
        some = [head for name in names for head in self.store.heads(source, name, limit=LOOKED_AT)]
        if not view.shown:
            return some + [head for key in dict.fromkeys(more) for head in self.store.heads(source, dataset, key)]
        found = []
        for key in dict.fromkeys([*(head.key for head in some), *more]):
            its = of_dataset(self.store.heads(source, None, key), dataset)
            if (head := newest(view, its)) is not None:
                found.append(head)
        return found

    def _is_replaced_next(self, source: str, head: HeadRecord, view: View) -> bool:
        """Return whether the partition has begun anew: its next publication takes the place of this one.

        One that runs in a branch that does not show leaves it in its place.
        """
        try:
            partition = self.store.get(source, head.key)
        except CoordinationError:  # then it is compared
            return False
        if partition is None or partition.deleted or partition.generation == head.generation:
            return False
        return partition.branch is None or partition.branch in view.shown

    def _read(self, source: str, dataset: str, key: str, wanted: Sequence[Reference]) -> list[Manifest]:
        """Return manifests; in the place of one that is gone the overlay that covers it.

        Overlays are read then only: as long as originals are there, publishing costs nothing more.
        """
        try:
            contents = read_many([reference.address for reference in wanted])
            overlays = NONE
            if any(isinstance(content, FileNotFoundError) for content in contents):
                overlays = overlays_of(self.store, source, dataset)
            places = [overlays.place(reference, key) for reference in wanted]
            return [
                place.overlay.manifest if place else verified(content, reference, source, key)
                for content, reference, place in zip(contents, wanted, places, strict=True)
            ]
        except CoordinationError as error:  # another partition's trouble is not this one's
            log.warning("Types are not compared with those of %s: %s", partition_label(source, key), error)
            return []


def check_names(manifest: Manifest, listed: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse columns whose names readers need for themselves, or that Spark hides or reads otherwise.

    :param manifest: of the block.
    :param listed: all paths in its directory, hidden ones too.
    :param columns: those of its rows, as far as they are known.
    :raises OutputError: naming the column.
    """
    inside = {name for file in manifest.files for name in values_in(file.path)}
    known = {*columns, *inside, *(name for schema in manifest.schemas() for name in names(schema))}
    what = f"publish {manifest.dataset!r} of {partition_label(manifest.source, manifest.key)}"
    for name in sorted(known):
        if name.lower() in LAYOUT_COLUMNS:
            problem = f"has a column {name!r}, a name that directories of blocks have"
            raise OutputError(what, manifest.directory, problem, "Rename the column; it would vanish for readers")
    for path in listed:
        if hides_rows(path):
            problem = f"has rows in {path!r}, which Spark takes for hidden"
            raise OutputError(what, manifest.directory, problem, "Rename the column or change the value")
    for file in manifest.files:
        if otherwise := misread(file.path):
            why, remedy = otherwise
            raise OutputError(what, manifest.directory, f"has rows in {file.path!r}, {why}", remedy)


def check_told(manifest: Manifest) -> None:
    """Refuse a block whose files are not of the schema that its publisher told.

    :raises OutputError: naming the column.
    """
    if manifest.schema is None:
        return
    told, what = DatasetTypes(), f"publish {manifest.dataset!r} of {partition_label(manifest.source, manifest.key)}"
    told.add(manifest.schema, "schema=…")
    written = {name for file in manifest.files for name in values_in(file.path)}
    for schema in (schema for schema in manifest.schemas() if schema != manifest.schema):
        written |= set(names(schema))
        if conflict := told.conflict(schema, manifest.key):
            raise OutputError(
                what, manifest.directory, f"does not fit: {conflict}", "Give the schema of what is written"
            )
    if unknown := sorted(written - set(names(manifest.schema))):
        problem = f"has columns that the given schema does not name: {', '.join(map(repr, unknown))}"
        raise OutputError(what, manifest.directory, problem, "Give the schema of what is written, df.schema")
