"""Deletes blocks that no reader can follow, uploads into them, and lists of notes or names that nobody needs.

What makes it safe beside running publishers is the order of reads. First the directories are listed, then
the partition is read, then its head records. A block can only become published through the staged blocks
of its partition, or through a write of the tenure that wrote it. So a block of a tenure that is over, that
is not staged when the partition is read, and that no head record read *after* that names (directly or as
a predecessor), can never be published any more.

Overlays, by which originals may go, are read after the listing and before the first partition: ``keeping`` says why.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain

from airflow_coordination.outputs.keeping import Keeping
from airflow_coordination.outputs.layout import (
    ATTEMPT,
    BLOCK,
    MARKER,
    PARTITION,
    Marker,
    Standing,
    attempts_root,
    partition_directory,
    place_of,
)
from airflow_coordination.outputs.lists.group_names import GroupNames
from airflow_coordination.outputs.lists.long_notes import orphaned
from airflow_coordination.outputs.published import source_identifier
from airflow_coordination.protocol.beside.parts import originals_may_go
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.side_writes import retracted
from airflow_coordination.systems.objects.s3 import Upload
from airflow_coordination.systems.objects.storage import (
    OutputError,
    StoredFile,
    abort_upload,
    delete,
    delete_file,
    delete_if_empty,
    join,
    list_directories,
    list_files,
    normal_root,
    parent,
    read_bytes,
    unfinished_uploads,
    write_bytes,
)
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import was_copied
from airflow_coordination.values.times import positive

log = logging.getLogger(__name__)
SAMPLE = 20
_Contents = list[StoredFile | Upload]
HeadId = tuple[str, str]
"""The name of a dataset as it is stored, and the key of the partition that has published it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """The result of a collection, or of its dry run.

    :param blocks: number of block directories.
    :param files: number of files in them.
    :param bytes: their size together.
    :param lists: how many files of long notes (``then=``) that no ending has taken.
    :param names: how many files of groups' names (``object_listing(…, output_root=…)``) that no partition has.
    :param uploads: how many unfinished multipart uploads into them (S3); nobody is told how much those take.
    :param sample: the first twenty of them.
    :param kept: number of block directories of this source that were left alone.
    :param unknown: directories that are not understood, never touched (the first twenty).
    :param foreign: attempt directories of this source that another store's tenures wrote, never touched (the first
        twenty). Two deployments share this output root.
    :param unmarked: attempt directories of this source from before markers named their store, of which this store
        cannot tell whether they are its own: it has forgotten their tenures, or it was a copy and remembers those of
        its original; never touched (the first twenty).
    :param errors: what a person should look at: a replaced overlay that stays, because nothing else has rows that
        readers need; overlays that cannot be read, so that no original goes.
    :param dry_run: whether nothing was deleted.
    """

    blocks: int = 0
    files: int = 0
    bytes: int = 0
    uploads: int = 0
    lists: int = 0
    names: int = 0
    sample: tuple[str, ...] = ()
    kept: int = 0
    unknown: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    unmarked: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    dry_run: bool = True


@dataclass(slots=True)
class _Attempt:
    """One attempt directory as listed."""

    address: str
    marker: StoredFile | None = None
    blocks: dict[str, _Contents] = field(default_factory=dict)
    newest: datetime | None = None

    def add(self, rest: list[str], found: StoredFile | Upload | None) -> None:
        """Add what is at ``rest`` in this attempt; ``None`` is a directory, which may be all there is of a block."""
        if rest == [MARKER] and isinstance(found, StoredFile):
            self.marker = found
        if rest[0].startswith(f"{BLOCK}=") and (found is None or len(rest) > 1):
            contents = self.blocks.setdefault(join(self.address, rest[0]), [])
            contents += [found] if found else []
        self.newest = max(filter(None, (self.newest, found.modified if found else None)), default=None)


def collect(
    store: PartitionStore,
    source: str,
    output_root: object,
    *,
    older_than: timedelta = timedelta(days=1),
    dry_run: bool = True,
    partition_prefix: str | None = None,
    unmarked_are_own: bool = False,
    keep_originals: bool | None = None,
) -> Collected:
    """Delete the blocks of tenures that are over and that nothing refers to, or say what would be deleted.

    A partition whose output changed within ``older_than`` is left alone, because readers may still be
    reading what was replaced. Directories of other stores are left alone and named.

    :param store: the store that holds the source.
    :param source: the source's name.
    :param output_root: the directory of all its blocks.
    :param older_than: leave attempts alone in which something was written more recently.
    :param dry_run: only count. The counts are exact for this moment.
    :param partition_prefix: the source's prefix; the store's own by default.
    :param unmarked_are_own: take ``unmarked`` directories for this store's. Say so only if no other store ever wrote
        this source below this root: what another one published there would be deleted.
    :param keep_originals: leave also the blocks that overlays cover which were published longer ago than
        ``older_than``, because code that knows no overlays reads them; by default until the store keeps such code out
        (``store enable outputs``). Say ``False`` before that only if there is no such code.
    :raises InvalidInputError: for an ``older_than`` that is negative or none, and for a store that is not open.
    :raises OutputError: when the storage cannot be used, or something may not be deleted; what may be, is.
    """
    if positive("older_than", older_than, zero=True) is None:
        remedy = "Give a timedelta; zero takes every attempt that is over"
        raise InvalidInputError("older_than", None, "is no duration", remedy)
    if isinstance(store, str):
        raise InvalidInputError("store", store, "is an address, not a store", "Give open_store(…) of it")
    place = normal_root(output_root)
    root = attempts_root(place)
    identifier, keeping = source_identifier(store, source, partition_prefix), Keeping(store, source, partition_prefix)
    collection = _Collection(store, identifier, root, older_than, keeping, unmarked_are_own=unmarked_are_own)
    listed = _listed(root)
    if keep_originals is False or (keep_originals is None and originals_may_go(store)):
        keeping.trust_overlays(older_than)
    for directory, attempts in listed.items():
        collection.look_at(directory, attempts)
    collection.leave_needed()
    collection.look_at_lists(place)
    return collection.carry_out(dry_run)


def foreseen(
    store: PartitionStore, source: str, output_root: object, emptied: Collection[HeadId], prefix: str | None = None
) -> list[StoredFile]:
    """Return exactly the files that :func:`collect` would delete because some head records name nothing any more.

    They are its losers with these emptied and no margin left, without those that are losers anyhow; by their paths
    below ``_attempts``. The other parameters are those of :func:`collect`.

    :param emptied: the head records that are taken as emptied.
    :raises OutputError: when the storage cannot be used.
    """
    root = attempts_root(normal_root(output_root))
    identifier, keeping = source_identifier(store, source, prefix), Keeping(store, source, prefix)
    listed = _listed(root)
    if originals_may_go(store):
        keeping.trust_overlays(timedelta(0))
    found: list[set[StoredFile]] = []
    for gone in ((), emptied):
        judged = _Collection(store, identifier, root, timedelta(0), keeping, unmarked_are_own=False, emptied=gone)
        for directory in {partition_directory(identifier, key) for _, key in emptied} & listed.keys():
            judged.look_at(directory, listed[directory])
        found.append(judged.files)
    return sorted(found[1] - found[0], key=lambda file: file.path)


def _listed(root: str) -> dict[str, list[_Attempt]]:
    """Return the attempts below ``root`` by partition directory; what is not of our layout is left out."""
    attempts: dict[tuple[str, str], _Attempt] = {}
    everything: list[StoredFile | Upload] = [*list_files(root), *unfinished_uploads(root)]
    found: list[tuple[str, StoredFile | Upload | None]] = [(each.path, each) for each in everything]
    for path, each in (*found, *((directory, None) for directory in list_directories(root))):
        partition, _, rest = path.partition("/")
        attempt, _, inside = rest.partition("/")
        if partition.startswith(f"{PARTITION}=") and attempt.startswith(f"{ATTEMPT}=") and inside:
            address = join(root, partition, attempt)
            attempts.setdefault((partition, attempt), _Attempt(address)).add(inside.split("/"), each)
    grouped: dict[str, list[_Attempt]] = {}
    for (partition, _), listed in attempts.items():
        grouped.setdefault(partition, []).append(listed)
    return grouped


class _Collection:
    """Decides partition by partition, then deletes."""

    def __init__(
        self,
        store: PartitionStore,
        source: str,
        root: str,
        older_than: timedelta,
        keeping: Keeping,
        *,
        unmarked_are_own: bool,
        emptied: Collection[HeadId] = (),
    ) -> None:
        self._store, self._source, self._root, self._older_than = store, source, root, older_than
        self._keeping, self._emptied = keeping, emptied
        self._unmarked_are_own = unmarked_are_own
        self._apart: dict[Standing, list[str]] = {Standing.FOREIGN: [], Standing.NOBODYS: []}
        self._to_mark: list[tuple[_Attempt, Marker]] = []
        self._losers: list[tuple[str, _Contents]] = []
        self._attempts: list[_Attempt] = []
        self._lists: list[tuple[str, StoredFile]] = []
        self._names: GroupNames | None = None
        self._unknown: list[str] = []
        self._kept = 0

    def look_at(self, directory: str, attempts: list[_Attempt]) -> None:
        """Sort a partition's blocks into losers and the rest. The reads happen in the order that makes it safe."""
        marked = [(attempt, marker) for attempt in attempts if (marker := self._marker(attempt, directory))]
        of_source = [(attempt, marker) for attempt, marker in marked if marker.source == self._source]
        if not of_source:
            return
        key = of_source[0][1].key
        partition = self._store.get(self._source, key)
        read = every_head(self._store, self._source, key=key)
        heads = [retracted(head) if (head.dataset, head.key) in self._emptied else head for head in read]
        followed = self._keeping.followed(partition, heads)
        for attempt, fence in self._own(of_source, partition):
            over = partition is not None and fence.token <= partition.token and not partition.held_under(fence)
            if over and followed is not None and self._old(attempt, heads):
                self._take(attempt, followed)
            else:
                self._kept += len(attempt.blocks)

    @property
    def files(self) -> set[StoredFile]:
        """The files that go, markers among them."""
        found = {each for _, contents in self._losers for each in contents if isinstance(each, StoredFile)}
        return found | {attempt.marker for attempt in self._attempts if attempt.marker}

    def leave_needed(self) -> None:
        """Leave what nobody follows, and nothing else has the rows of."""
        needed = self._keeping.needed(address for address, _ in self._losers)
        self._losers = [(address, contents) for address, contents in self._losers if address not in needed]
        self._kept += len(needed)
        attempts = {parent(address) for address in needed}
        self._attempts = [attempt for attempt in self._attempts if attempt.address not in attempts]

    def look_at_lists(self, output_root: str) -> None:
        """Add the files of long notes that no ending has taken, and those of groups' names that no partition has."""
        self._names = GroupNames(self._store, self._source, output_root, self._older_than)
        found = orphaned(
            self._store, self._source, output_root, self._older_than, unmarked_are_own=self._unmarked_are_own
        )
        self._lists += found.orphans
        for standing, addresses in found.apart.items():
            self._apart[standing] += addresses

    def _own(
        self, of_source: list[tuple[_Attempt, Marker]], partition: Partition | None
    ) -> Iterator[tuple[_Attempt, Fence]]:
        """Yield the attempts of this store's tenures with their fences, and note the others."""
        store_id = self._store.store_id
        for attempt, marker in of_source:
            standing = marker.standing(store_id, partition, unmarked_are_own=self._unmarked_are_own)
            if standing is not Standing.OWN:
                self._apart[standing].append(attempt.address)
                continue
            if marker.store_id is None:
                self._to_mark.append((attempt, marker.of(store_id)))
            yield attempt, marker.fence

    def carry_out(self, dry_run: bool) -> Collected:
        """Delete, unless it is a dry run, and return the counts.

        Uploads go first, so that none is finished behind the delete; markers last, so that an interrupted
        collection finds them again.
        """
        uploads = [found for _, contents in self._losers for found in contents if isinstance(found, Upload)]
        self._tell_unmarked()
        if not dry_run:
            self._delete(uploads)
        files = [found for _, contents in self._losers for found in contents if isinstance(found, StoredFile)]
        return Collected(
            blocks=len(self._losers),
            files=len(files),
            bytes=sum(file.size for file in files),
            uploads=len(uploads),
            lists=len(self._lists),
            names=len(self._names.orphans) if self._names else 0,
            sample=tuple(address for address, _ in self._losers[:SAMPLE]),
            kept=self._kept,
            unknown=tuple(self._unknown[:SAMPLE]),
            foreign=tuple(self._apart[Standing.FOREIGN][:SAMPLE]),
            unmarked=tuple(self._apart[Standing.NOBODYS][:SAMPLE]),
            errors=tuple(self._keeping.errors),
            dry_run=dry_run,
        )

    def _delete(self, uploads: Iterable[Upload]) -> None:
        """Delete what may be deleted, and only then say what may not: it must not keep the rest for ever.

        :raises OutputError: about the first that was denied.
        """
        denied: dict[str, OutputError] = {}
        for attempt, marker in self._to_mark:
            with _noted(denied, attempt.address):
                write_bytes(join(attempt.address, MARKER), marker.to_bytes())
        for upload in uploads:
            with _noted(denied, join(self._root, upload.path)):
                abort_upload(self._root, upload)
        for address, _ in self._losers:
            with _noted(denied, parent(address)):
                delete(address)
        names = self._names.while_at_rest() if self._names else ()
        for address in chain((address for address, _ in self._lists), names):
            with _noted(denied, parent(address)):
                delete_file(address)
                delete_if_empty(parent(address))
        for attempt in self._attempts:
            if attempt.address not in denied:
                with _noted(denied, attempt.address):
                    delete(join(attempt.address, MARKER))
                    delete_if_empty(attempt.address)
        for error in denied.values():
            more = f", and so are {len(denied) - 1} more; the rest is deleted" if len(denied) > 1 else ""
            raise OutputError(error.what, error.address, f"{error.problem}{more}", error.remedy)

    def _tell_unmarked(self) -> None:
        unmarked = self._apart[Standing.NOBODYS]
        if not unmarked:
            return
        why, remedy = "this store has forgotten their tenures", "say unmarked_are_own=True if no other store wrote here"
        if was_copied(self._store.store_id):
            why = "this store was a copy, and cannot tell its own from the original's"
            remedy = f"run collect on the original, which marks those it remembers; or {remedy}"
        log.warning("%d directory(ies) below %s name no store and stay: %s; %s", len(unmarked), self._root, why, remedy)

    def _marker(self, attempt: _Attempt, directory: str) -> Marker | None:
        try:
            marker = Marker.from_bytes(read_bytes(join(attempt.address, MARKER)) if attempt.marker else b"{}")
            named = partition_directory(marker.source, marker.key)
            if named == directory and f"{ATTEMPT}={marker.fence}-" in attempt.address:
                return marker
        except (FileNotFoundError, KeyError, TypeError, ValueError):
            pass  # somebody else's, half written or being deleted
        self._unknown.append(attempt.address)
        return None

    def _old(self, attempt: _Attempt, heads: Iterable[HeadRecord]) -> bool:
        newest = attempt.newest or datetime.now(UTC)
        published = [head.published_at for head in heads if head.published_at]
        limit = self._older_than
        return newest <= datetime.now(UTC) - limit and all(at <= self._store.now() - limit for at in published)

    def _take(self, attempt: _Attempt, followed: set[str]) -> None:
        losers = {
            address: contents for address, contents in attempt.blocks.items() if place_of(address) not in followed
        }
        self._losers += losers.items()
        self._kept += len(attempt.blocks) - len(losers)
        if len(losers) == len(attempt.blocks):
            self._attempts.append(attempt)


@contextmanager
def _noted(denied: dict[str, OutputError], address: str) -> Iterator[None]:
    """Note what is denied by the address that it is in, and let the rest go on; anything else is an outage."""
    try:
        yield
    except OutputError as error:
        if not isinstance(error.__cause__, PermissionError):
            raise
        denied.setdefault(address, error)
