"""The files of long notes (``then=``) that no ending has taken."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from airflow_coordination.outputs.layout import Marker, Standing, partition_directory
from airflow_coordination.protocol.beside.parts import FollowUps, parts_of
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.systems.objects.storage import StoredFile, join, list_files
from airflow_coordination.values.fence import Fence

LISTS: Final = "_follow_ups"
"""The directory of long notes below an output root."""
_PAGE: Final = 1_000
_SUFFIX: Final = ".json"


@dataclass(slots=True)
class LongNotes:
    """The files of long notes of one source, and which of them may go.

    :param orphans: their addresses, and the files.
    :param apart: addresses of those whose tenures another store gave, or of which this one has forgotten.
    """

    orphans: list[tuple[str, StoredFile]] = field(default_factory=list)
    apart: Mapping[Standing, list[str]] = field(default_factory=lambda: {Standing.FOREIGN: [], Standing.NOBODYS: []})


def orphaned(
    store: PartitionStore, source: str, output_root: str, older_than: timedelta, *, unmarked_are_own: bool
) -> LongNotes:
    """Return the files of long notes that nothing will ever do.

    The files are listed first, then each partition is read, then its notes. An ending writes its note in its own
    commit; so of a tenure that is over, a note that is not there now never comes.

    :param source: the stored source identifier.
    :param older_than: files that were written more recently stay.
    :param unmarked_are_own: a person says that no other store wrote here.
    :raises OutputError: when the storage cannot be listed.
    """
    found, notes = LongNotes(), parts_of(store).follow_ups
    if notes is None:  # a store from elsewhere cannot say which notes are open
        return found
    root = join(output_root, LISTS)
    directories = _old_enough(list_files(root), datetime.now(UTC) - older_than)
    for partition, files in _with_partitions(store, source, directories):
        over = {file.path: fence for file in files if (fence := _over(file, partition)) is not None}
        named = _named(notes, partition) if over else set()
        for file in files:
            if file.path in over and named is not None and file.path not in named:
                marker = Marker(source=source, key=partition.key, fence=over[file.path], store_id=None)
                standing = marker.standing(store.store_id, partition, unmarked_are_own=unmarked_are_own)
                address = join(root, file.path)
                if standing is Standing.OWN:
                    found.orphans.append((address, file))
                else:
                    found.apart[standing].append(address)
    return found


def _old_enough(files: Sequence[StoredFile], limit: datetime) -> dict[str, list[StoredFile]]:
    """Return old files by their directory, as far as they have the form of a long note's."""
    directories: dict[str, list[StoredFile]] = {}
    for file in files:
        directory, _, name = file.path.rpartition("/")
        if name.endswith(_SUFFIX) and "/" not in directory and file.modified and file.modified <= limit:
            directories.setdefault(directory, []).append(file)
    return directories


def _with_partitions(
    store: PartitionStore, source: str, directories: Mapping[str, list[StoredFile]]
) -> Iterator[tuple[Partition, list[StoredFile]]]:
    """Yield the partitions of this source that have such files: their directories are hashes, which lead nowhere."""
    left, after = dict(directories), None
    while left:
        page = store.page(source, None, after, _PAGE)
        for listed in page:
            files = left.pop(partition_directory(source, listed.key), None)
            partition = store.get(source, listed.key) if files else None
            if files and partition is not None:
                yield partition, files
        if len(page) < _PAGE:
            return
        after = page[-1].key


def _over(file: StoredFile, partition: Partition) -> Fence | None:
    """Return the fence of a file's tenure if that is over."""
    try:
        fence = Fence.parse(file.path.rpartition("/")[2].removesuffix(_SUFFIX))
    except ValueError:
        return None
    return fence if fence.token <= partition.token and not partition.held_under(fence) else None


def _named(notes: FollowUps, partition: Partition) -> set[str] | None:
    """Return the files that a partition's notes name, by directory and name; ``None`` if one is not understood."""
    named: set[str] = set()
    last: FollowUp | None = None
    while page := notes.follow_ups(partition.source, partition.key, last, _PAGE):
        for note in page:
            try:
                found = json.loads(note.text)
                named |= {"/".join(str(found["file"]).split("/")[-2:])} if isinstance(found, dict) else set()
            except (KeyError, ValueError):
                return None
        last = page[-1]
    return named
