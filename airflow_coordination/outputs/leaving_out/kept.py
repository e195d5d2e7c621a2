"""The least and greatest values of a dataset's files, kept beside the index of its manifests, and what they leave out.

::

    <output root>/_index/<hash>-<source>/<dataset>/<number>-<digest>.values.gz

Each line is JSON: the digest of a manifest, and of each of its Parquet files the extremes of its columns. A line counts
for the manifest of that digest only, which head records name; a file whose name does not bear the digest of what is in
it is not taken. Unlike the manifests in an index these values are believed: readers leave files out by them. A file of
which nothing is said here is read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_coordination.outputs.index import Met, keep, roots_read, texts_in
from airflow_coordination.outputs.layout import index_directory, output_root_of, values_in
from airflow_coordination.outputs.leaving_out.conditions import Condition
from airflow_coordination.outputs.leaving_out.extremes import Extremes, read_extremes
from airflow_coordination.outputs.manifests import DataFile, Manifest, digest_of
from airflow_coordination.systems.objects.storage import OutputError, join, side_by_side

log = logging.getLogger(__name__)
SUFFIX: Final = ".values.gz"
ByFile = Mapping[str, Mapping[str, Extremes]]
"""The extremes of columns by the path of a file in its block."""


def kept_values(source: str, dataset: str, roots: Iterable[str]) -> dict[str, ByFile]:
    """Return what is known of a dataset's files, by the digest of their manifest; without any, nothing.

    :param source: the stored identifier of the source.
    :param roots: those to look below.
    """
    found: dict[str, ByFile] = {}
    for root in roots:
        for lines in texts_in(index_directory(root, source, dataset), SUFFIX, proven=True).values():
            found.update(parsed for line in lines if (parsed := _parsed(line)) is not None)
    return found


def write_values(source: str, dataset: str, met: Sequence[Met], roots: Iterable[str], *, whole: bool) -> None:
    """Read the footers of files that nothing is known of yet, and keep what they say.

    :param source: the stored identifier of the source.
    :param met: what readers meet.
    :param roots: those below which readers look.
    :param whole: whether readers meet nothing else, so that the rest may go.
    :raises OutputError: when it cannot be read or written.
    """
    for root in roots:
        needed = {reference.digest: each for reference, each in met if output_root_of(reference.address) == root}
        _write(index_directory(root, source, dataset), needed, whole=whole)


@dataclass(slots=True)
class Chosen:
    """What is known of files before they are read.

    :param excluded: addresses of those that surely have no such row.
    :param unknown: how many files there are of which nothing is known about any column that is asked for.
    """

    excluded: set[str] = field(default_factory=set)
    unknown: int = 0


def chosen(identifier: str, dataset: str, manifests: Sequence[Manifest], condition: Condition) -> Chosen:
    """Look at what the index has of files; without one, and of what it lacks, nothing is known.

    Files of overlays, which have rows of many origins, and of other formats than Parquet are always read.

    :param identifier: the stored identifier of the source.
    :param manifests: as they were published.
    """
    roots = roots_read(manifest.address for manifest in manifests if not manifest.merged)
    known, found = kept_values(identifier, dataset, roots), Chosen()
    for manifest in manifests:
        plain = known and manifest.format == "parquet" and not manifest.merged
        values = known.get(digest_of(manifest.to_bytes()), {}) if plain else {}
        for file in manifest.files:
            extremes = values.get(file.path, {})
            found.unknown += not any(each.column in extremes for each in condition.row)
            told = file.schema or manifest.schema
            if told and condition.excludes(extremes):
                found.excluded.add(join(manifest.directory, file.path))
    return found


def _write(directory: str, needed: Mapping[str, Manifest], *, whole: bool) -> None:
    kept = texts_in(directory, SUFFIX, proven=True, strict=True)
    there = {digest: line for lines in kept.values() for line in lines if (digest := _digest_in(line)) is not None}
    typed = [(digest, each) for digest, each in needed.items() if each.format == "parquet" and not each.merged]
    missing = [(digest, each) for digest, each in typed if digest not in there]
    new = dict(zip((digest for digest, _ in missing), _lines(missing), strict=True))
    useful = {digest: line for digest, line in there.items() if digest in needed} if whole else there
    keep(directory, kept.keys(), there, useful, new, SUFFIX)


def _lines(manifests: Sequence[tuple[str, Manifest]]) -> list[bytes]:
    """Return a line for each manifest, also for one whose files say nothing: they are not asked again."""
    files = [(each, file) for _, each in manifests for file in each.files]
    said = dict(zip(((each.address, file.path) for each, file in files), side_by_side(_said, files), strict=True))
    return [_line(digest, each, said) for digest, each in manifests]


def _line(digest: str, manifest: Manifest, said: Mapping[tuple[str, str], Mapping[str, Extremes]]) -> bytes:
    found = {file.path: said.get((manifest.address, file.path)) or {} for file in manifest.files}
    files = {path: {name: each.said() for name, each in row.items()} for path, row in found.items() if row}
    return json.dumps({"manifest": digest, "files": files}, separators=(",", ":")).encode()


def _said(published: tuple[Manifest, DataFile]) -> Mapping[str, Extremes]:
    """Return the extremes of a file; its directories' values count for columns of their names, not what is in it."""
    manifest, file = published
    try:
        found = read_extremes(join(manifest.directory, file.path), file.size)
    except (FileNotFoundError, OutputError) as error:
        log.info("The footer of %s of %s cannot be read, and is not needed: %s", file.path, manifest.directory, error)
        return {}
    outside = {name.lower() for name in values_in(file.path)}
    return {name: each for name, each in found.items() if name.lower() not in outside}


def _digest_in(line: bytes) -> str | None:
    parsed = _parsed(line)
    return None if parsed is None else parsed[0]


def _parsed(line: bytes) -> tuple[str, ByFile] | None:
    """Return what a line says, ``None`` for one that is not understood."""
    try:
        said: Any = json.loads(line)
        digest, files = said["manifest"], said["files"]
        found = {path: _row(columns) for path, columns in files.items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return (digest, found) if isinstance(digest, str) else None


def _row(columns: Mapping[str, object]) -> dict[str, Extremes]:
    found = {name: Extremes.parsed(said) for name, said in columns.items()}
    return {name: each for name, each in found.items() if each is not None}
