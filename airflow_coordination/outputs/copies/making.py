"""Making a copy: what readers would read of a chunk now, byte for byte, verified by sizes and digests.

Which blocks these are is decided by whoever holds the copy's lease, by what it reads then: overlays first, then the
heads that show, as readers do it. A file is read back where it was written, so what is published was there once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import IO, Final

from airflow_coordination.outputs.copies.chunks import heads_of, heads_that_show
from airflow_coordination.outputs.copies.pieces import Copied, Piece
from airflow_coordination.outputs.heads.showing import steadily
from airflow_coordination.outputs.manifests import DataFile, Manifest
from airflow_coordination.outputs.membership import locks
from airflow_coordination.outputs.overlays import Overlays
from airflow_coordination.outputs.published import Start, manifests_in, overlays_of, starts_of, walks
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.systems.objects.storage import (
    PARALLEL_REQUESTS,
    OutputError,
    join,
    open_to_read,
    open_to_write,
    read_bytes,
    side_by_side,
    wrapped,
)
from airflow_coordination.values.names import partition_label

_PART: Final = 8 * 1024 * 1024
AGAIN: Final = "Let the copy be made again; nothing is changed for readers"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be copied of a chunk.

    :param manifests: what readers read of it now, as :func:`~.published.published_manifests` returns it.
    :param starts: where their walks begin.
    :param locked: whether a branch is at work there, so that all of it is about to be replaced.
    """

    manifests: tuple[Manifest, ...]
    starts: tuple[Start, ...]
    locked: bool = False

    @property
    def rows(self) -> int:
        """How many rows readers see of it."""
        return sum(manifest.rows_met for manifest in self.manifests)


def is_locked(view: View, chunk: Interval) -> bool:
    """Return whether a branch has begun in a chunk."""
    return any(interval.overlaps(chunk) for interval in locks(view))


def wanted_of(store: PartitionStore, identifier: str, dataset: str, chunk: Interval) -> Wanted:
    """Return what readers would read of a chunk now.

    :param identifier: the stored one of the source.
    :param dataset: as users name it.
    :raises OutputError: when a manifest is missing or was changed.
    """

    def read(view: View) -> tuple[Overlays, list[Start], bool]:
        overlays = overlays_of(store, identifier, dataset)
        heads = heads_of(chunk, heads_that_show(store, identifier, dataset, view, chunk), overlays)
        return overlays, starts_of(heads), is_locked(view, chunk)

    overlays, starts, locked = steadily(store, identifier, read)
    return Wanted(tuple(manifests_in(walks(starts, overlays))), tuple(starts), locked)


def made(wanted: Wanted, directories: Iterator[str], alive: Callable[[], None]) -> Copied:
    """Copy all files that are wanted, and return what the copy has.

    :param directories: new ones, one for each block.
    :param alive: called again and again while files are copied, from several threads.
    :raises OutputError: when a file cannot be read or written, or is not what was published.
    """
    pieces = [_piece(manifest, next(directories), alive) for manifest in wanted.manifests]
    return Copied(tuple(pieces), wanted.rows)


def _piece(manifest: Manifest, directory: str, alive: Callable[[], None]) -> Piece:
    what = f"copy the output of {partition_label(manifest.source, manifest.key)}"
    content = _content(what, manifest)

    def copy_one(file: DataFile) -> str:
        return copied_file(
            what, join(manifest.directory, file.path), join(directory, file.path), file.size, alive=alive
        )

    digests: list[str] = []
    for first in range(0, len(manifest.files), PARALLEL_REQUESTS):  # few at a time: who lost the lease stops soon
        digests += side_by_side(copy_one, manifest.files[first : first + PARALLEL_REQUESTS])
    return Piece(directory.rpartition("/")[2], content.decode(), tuple(digests), manifest.size)


def _content(what: str, manifest: Manifest) -> bytes:
    """Return a manifest as it is stored: the one that was verified when it was walked to."""
    try:
        content = read_bytes(manifest.address)
    except FileNotFoundError as error:
        raise OutputError(what, manifest.address, "is missing", AGAIN) from error
    if Manifest.from_bytes(content, manifest.address) != replace(manifest, met=None):
        raise OutputError(what, manifest.address, "was changed while it was copied", AGAIN)
    return content


def copied_file(what: str, source: str, target: str, size: int, *, alive: Callable[[], None] = lambda: None) -> str:
    """Copy a file, read it back, and return its SHA-256.

    :param what: for errors.
    :param size: the bytes that were published.
    :param alive: called again and again while it is copied.
    :raises OutputError: when it cannot be read or written, has another size, or is not the same where it was written.
    """
    try:
        with (
            wrapped(what, source, may_be_missing=True),
            open_to_read(source) as given,
            wrapped(what, target),
            open_to_write(target) as taken,
        ):
            digest, count = _through(_parts(given, what, source), taken, alive)
    except FileNotFoundError as error:
        raise OutputError(what, source, "is missing", AGAIN) from error
    if count != size:
        raise OutputError(what, source, f"has {count} bytes, and {size} were published", AGAIN)
    with wrapped(what, target), open_to_read(target) as back:
        again, _ = _through(_parts(back, what, target), None, alive)
    if again != digest:
        raise OutputError(what, target, "is not what was written there (its digest differs)", AGAIN)
    return digest


def _parts(given: IO[bytes], what: str, address: str) -> Iterator[bytes]:
    """Yield what a file has, part by part; what reading raises names that file, and not the one that is written."""
    with wrapped(what, address):
        while part := given.read(_PART):
            yield part


def _through(parts: Iterable[bytes], taken: IO[bytes] | None, alive: Callable[[], None]) -> tuple[str, int]:
    digest, count = hashlib.sha256(), 0
    for part in parts:
        alive()
        digest.update(part)
        count += len(part)
        if taken is not None:
            _write(taken, part)
    return digest.hexdigest(), count


def _write(taken: IO[bytes], part: bytes) -> None:
    rest = memoryview(part)
    while rest:
        rest = rest[taken.write(rest) :]
