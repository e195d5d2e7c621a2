"""An index of a dataset: the manifests that readers meet, together in few files, so that a plan opens no thousands.

::

    <output root>/_index/<hash>-<source>/<dataset>/<number>-<digest>.jsonl.gz

It is a cache and nothing else. Each line is a manifest as it was published, and counts by its SHA-256, which head
records, and the manifests that follow it, name. What the index lacks, or has otherwise, is read where it was published;
so an index may be old, cut off, or deleted at any time. Only readers take it: who looks whether everything is there, as
the collector and ``doctor``, goes to the manifests themselves.
"""

from __future__ import annotations

import gzip
import logging
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from airflow_coordination.outputs.layout import index_directory, output_root_of
from airflow_coordination.outputs.manifests import Manifest, Reference, digest_of
from airflow_coordination.systems.objects.storage import (
    OutputError,
    delete_file,
    join,
    list_files,
    read_bytes,
    read_many,
    write_bytes,
)

log = logging.getLogger(__name__)

LEAST: Final = 100
"""With fewer manifests below a root, reading them is as fast as looking for an index."""
TOGETHER: Final = 10_000
"""Manifests of one file."""
MOST_FILES: Final = 8
"""More of them than it takes, and they are written anew, as few."""
_SUFFIX: Final = ".jsonl.gz"
_DIGITS: Final = 16
"""Of the digest of what is in a file, in its name."""
_MOST_BYTES: Final = 1024**3
"""Of one file when it is unpacked."""
Met = tuple[Reference, Manifest]
"""A manifest that readers meet, and how it is named."""
Kept = dict[str, dict[str, bytes]]
"""The files of an index by their names, each with the manifests in it by their digests."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """What an index has after it was written.

    :param directory: where it is.
    :param manifests: how many are in it, those that are not needed any more among them.
    :param added: how many of them are new.
    :param files: how many files it is made of.
    """

    directory: str
    manifests: int
    added: int
    files: int


def roots_read(addresses: Iterable[str]) -> list[str]:
    """Return the output roots below which readers look for an index.

    :param addresses: of the manifests that are to be read.
    """
    roots = Counter(map(output_root_of, addresses))
    return [root for root, number in roots.items() if root and number >= LEAST]


def indexed(source: str, dataset: str, roots: Iterable[str]) -> dict[str, bytes]:
    """Return what indexes have of a dataset, by digest; without any, or where none can be read, nothing.

    :param source: the stored identifier of the source.
    :param roots: those to look below.
    """
    return contents_of(_kept(index_directory(root, source, dataset)) for root in roots)


def contents_of(kept: Iterable[Kept]) -> dict[str, bytes]:
    """Return what some indexes have together, by digest."""
    return {digest: content for files in kept for row in files.values() for digest, content in row.items()}


def read_indexes(source: str, dataset: str, roots: Iterable[str]) -> dict[str, Kept]:
    """Return the indexes of a dataset by output root, to be brought up to date.

    :param source: the stored identifier of the source.
    :param roots: those below which readers look for one.
    :raises OutputError: when one cannot be read.
    """
    return {root: _kept(index_directory(root, source, dataset), strict=True) for root in roots}


def write_indexes(
    source: str, dataset: str, met: Iterable[Met], kept: Mapping[str, Kept], *, whole: bool
) -> list[Indexed]:
    """Bring indexes up to date.

    Mostly a file is added with what is new. Where half of an index is needed no more, or it has become many files, it
    is written anew. Two who do this at once write files of the same contents, or of other names.

    :param source: the stored identifier of the source.
    :param met: what readers meet.
    :param kept: the indexes, as :func:`read_indexes` found them.
    :param whole: whether readers meet nothing else, so that the rest may go.
    :raises OutputError: when one cannot be written.
    """
    by_root: dict[str, dict[str, Met]] = {root: {} for root in kept}
    for reference, manifest in met:
        if (needed := by_root.get(output_root_of(reference.address))) is not None:
            needed[reference.digest] = reference, manifest
    return [
        _written(index_directory(root, source, dataset), kept[root], needed, whole=whole)
        for root, needed in by_root.items()
    ]


def _written(directory: str, kept: Kept, needed: Mapping[str, Met], *, whole: bool) -> Indexed:
    there = contents_of([kept])
    new = {digest: content for digest, content in _contents(needed, there) if content is not None}
    useful = {digest: content for digest, content in there.items() if digest in needed} if whole else there
    names, lines = keep(directory, kept.keys(), there, useful, new, _SUFFIX)
    return Indexed(directory, lines, len(new), len(names))


def keep(
    directory: str,
    files: Set[str],
    there: Mapping[str, bytes],
    useful: Mapping[str, bytes],
    new: Mapping[str, bytes],
    suffix: str,
) -> tuple[Set[str], int]:
    """Add a file with new lines; where half of the others are useful no more, or in many files, write all anew.

    :param files: the names of those that are there.
    :param there: the lines in them, each under what it is about.
    :param useful: those of them that are needed.
    :param new: lines that are not there yet.
    :param suffix: of the files' names.
    :return: the names of the files, and how many lines are in them.
    :raises OutputError: when one cannot be written or deleted.
    """
    many = len(files) + bool(new) > MOST_FILES + (len(there) + len(new)) // TOGETHER
    if not many and 2 * len(useful) >= len(there):
        return files | put(directory, new.values(), suffix), len(there) + len(new)
    names = put(directory, [*useful.values(), *new.values()], suffix)
    for name in files - names:
        delete_file(join(directory, name))
    return names, len(useful) + len(new)


def _contents(needed: Mapping[str, Met], there: Mapping[str, bytes]) -> Iterator[tuple[str, bytes | None]]:
    """Yield what is not there as it is stored: made again, or read where older code has written it otherwise."""
    for digest, (reference, manifest) in needed.items():
        if digest in there:
            continue
        content = manifest.to_bytes()
        if digest_of(content) != digest:
            content = read_bytes(reference.address)
        yield digest, content if digest_of(content) == digest and b"\n" not in content else None


def put(directory: str, contents: Iterable[bytes], suffix: str) -> set[str]:
    """Write some lines, a file for so many, and return the files' names.

    :param suffix: of their names.
    :raises OutputError: when one cannot be written.
    """
    row, names = sorted(contents), set()
    for first in range(0, len(row), TOGETHER):
        lines = row[first : first + TOGETHER]
        packed = gzip.compress(b"".join(line + b"\n" for line in lines), compresslevel=6, mtime=0)
        name = f"{len(lines)}-{digest_of(packed)[:_DIGITS]}{suffix}"
        write_bytes(join(directory, name), packed)
        names.add(name)
    return names


def _kept(directory: str, *, strict: bool = False) -> Kept:
    """Return what the files of an index hold: of each, by its name, the manifests by their digests.

    :param strict: raise what the storage says; else what cannot be read is left out.
    """
    texts = texts_in(directory, _SUFFIX, strict=strict)
    return {name: {digest_of(line): line for line in lines} for name, lines in texts.items()}


def texts_in(directory: str, suffix: str, *, strict: bool = False, proven: bool = False) -> dict[str, Sequence[bytes]]:
    """Return the lines of the files of an index whose names end so.

    :param strict: raise what the storage says; else what cannot be read is left out.
    :param proven: take no lines of a file whose name does not bear the digest of what is in it.
    :raises OutputError: as it says.
    """
    try:
        names = [file.path for file in list_files(directory) if file.path.endswith(suffix)]
        contents = read_many([join(directory, name) for name in names])
    except OutputError as error:
        if strict:
            raise
        log.info("The index %s cannot be read, and is not needed: %s", directory, error)
        return {}
    found = {}
    for name, content in zip(names, contents, strict=True):
        if strict and isinstance(content, OutputError):
            raise content
        found[name] = _lines(name, content) if not proven or _is_proven(name, content, suffix) else ()
    return found


def _is_proven(name: str, content: object, suffix: str) -> bool:
    return isinstance(content, bytes) and name.endswith(f"-{digest_of(content)[:_DIGITS]}{suffix}")


def _lines(name: str, content: object) -> Sequence[bytes]:
    """Return the lines of a file; none of one that is gone, cut off, or larger than any that we write."""
    if not isinstance(content, bytes):  # somebody has just written the index anew
        return ()
    try:
        unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)
        text = unpacking.decompress(content, _MOST_BYTES)
    except zlib.error as error:
        log.warning("%s of an index is not understood, and not needed: %s", name, error)
        return ()
    return text.split(b"\n")[:-1]  # a line that was cut off is none
