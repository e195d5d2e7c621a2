"""The immutable manifest: a block's files and what it adds to; and the chain of them, read side by side."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_coordination.outputs.copies.pieces import COPIED, Piece, pieces_from, pieces_to_fields
from airflow_coordination.outputs.formats import check_format
from airflow_coordination.outputs.layout import MANIFEST, is_below, is_manifest_of
from airflow_coordination.outputs.origins import COVERS, Merged, rows_of
from airflow_coordination.outputs.schemas import check_schema, without
from airflow_coordination.systems.objects.storage import (
    Content,
    OutputError,
    join,
    parent,
    read_many,
    scheme_of,
    write_bytes,
)
from airflow_coordination.values.blocks import Block, Mode
from airflow_coordination.values.documents import as_count, as_text, parse
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError, shown
from airflow_coordination.values.names import partition_label

FIRST_VERSION, WITH_SCHEMA, WITH_ZONE, OVERLAY, COPY = 1, 2, 3, 4, 5
"""2 has the schema that a publisher told, 3 a zone of times, 4 what it stands for, 5 what it has copied; 1 is written
where nothing more is needed, which all versions read."""
_ZONE = re.compile(r"[A-Za-z0-9_+:/-]{1,64}")
MAX_MANIFEST_BYTES, MAX_DEPTH = 256 * 1024 * 1024, 4
REPUBLISH = "Reset the partition to publish its output again, in a format and with options that readers know"
RESTORE = "Restore the file from a backup, or reset the partition to produce its output again"


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a block.

    :param path: relative to the block's directory.
    :param size: in bytes.
    :param rows: rows in it, if they were counted by file.
    :param schema: its Spark schema as JSON text, if the file itself told it.
    """

    path: str
    size: int
    rows: int | None = None
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """Address and digest of a manifest."""

    address: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The files of one finished block.

    :param source: the stored source identifier.
    :param key: the partition key.
    :param dataset: the dataset.
    :param fence: the tenure that wrote it.
    :param directory: the block's directory.
    :param files: its files.
    :param rows: rows in them together.
    :param format: Spark's name of their format.
    :param options: options for a reader of that format.
    :param follows: the manifest that this one adds to.
    :param schema: the whole schema, partition columns included, as Spark's JSON text, if the publisher told it.
    :param zone: the time zone of its writer, where partition columns are local times, or look like them.
    :param merged: what it stands for, if it is an overlay.
    :param copied: what it has copied, if it is that of a copy: it has no files of its own then.
    :param met: the origins of an overlay whose rows count for who reads; ``None`` for all. It is not stored.
    """

    source: str
    key: str
    dataset: str
    fence: str
    directory: str
    files: tuple[DataFile, ...] = ()
    rows: int = 0
    format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)
    follows: Reference | None = None
    schema: str | None = None
    zone: str | None = None
    merged: Merged | None = None
    copied: tuple[Piece, ...] = ()
    met: frozenset[int] | None = None

    @property
    def address(self) -> str:
        """The manifest's own address."""
        return join(self.directory, MANIFEST)

    @property
    def size(self) -> int:
        """How many bytes its files have, or those that it has copied."""
        return sum(file.size for file in self.files) + sum(piece.bytes for piece in self.copied)

    @property
    def directories(self) -> list[str]:
        """The directories of blocks that readers need of it: its own, and those of what it has copied."""
        return [self.directory, *(join(parent(self.directory), piece.directory) for piece in self.copied)]

    @property
    def rows_met(self) -> int:
        """How many of its rows count for who reads."""
        return rows_of(self.merged.covers, self.met) if self.merged else self.rows

    def schemas(self) -> list[str]:
        """Return the different schemas that are known of its files, none if they do not tell.

        They are those of its rows: the column of an overlay's origins is not in them.
        """
        known = dict.fromkeys(schema for schema in (self.schema, *(f.schema for f in self.files)) if schema)
        merged = self.merged
        return [without(schema, (merged.column,)) for schema in known] if merged else list(known)

    @property
    def _version(self) -> int:
        if self.copied:
            return COPY
        if self.merged:
            return OVERLAY
        return WITH_ZONE if self.zone else WITH_SCHEMA if self.schema else FIRST_VERSION

    def to_bytes(self) -> bytes:
        """Return the manifest as it is stored."""
        schemas = list(dict.fromkeys(file.schema for file in self.files))
        fields: dict[str, Any] = {
            "version": self._version,
            "source": self.source,
            "key": self.key,
            "dataset": self.dataset,
            "fence": self.fence,
            "format": self.format,
            "options": dict(self.options),
            "rows": self.rows,
            "follows": [self.follows.address, self.follows.digest] if self.follows else None,
            "schemas": schemas,
            "files": [[file.path, file.size, file.rows, schemas.index(file.schema)] for file in self.files],
        }
        fields |= {"schema": self.schema} if self.schema else {}
        fields |= {"zone": self.zone} if self.zone else {}
        fields |= self.merged.to_fields() if self.merged else {}
        fields |= pieces_to_fields(self.copied) if self.copied else {}
        content = json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()
        if len(content) > MAX_MANIFEST_BYTES:
            problem = f"would have a manifest of {len(content)} bytes, the limit is {MAX_MANIFEST_BYTES}"
            raise OutputError("write a manifest", self.directory, problem, "Write fewer files, or several blocks")
        return content

    @classmethod
    def from_bytes(cls, content: bytes, address: str) -> Manifest:
        """Return the manifest stored at ``address``.

        It says what another process's Spark does with which files, so each value is looked at before it is obeyed.

        :raises OutputError: when newer code wrote it, it is none, or it asks for what is not read here.
        """
        try:
            fields = parse(content, max_bytes=MAX_MANIFEST_BYTES, max_depth=MAX_DEPTH)
            if fields.pop("version") not in (FIRST_VERSION, WITH_SCHEMA, WITH_ZONE, OVERLAY, COPY):
                raise OutputError("read a manifest", address, "was written by newer code", "Update this package")
            manifest = _from_fields(fields, parent(address))
        except InvalidInputError as error:
            problem = f"asks for what is not read here: {error.field}={shown(error.value)} {error.problem}"
            raise OutputError("read a manifest", address, problem, REPUBLISH) from error
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise OutputError("read a manifest", address, f"is no manifest ({error})", RESTORE) from error
        if outside := [file.path for file in manifest.files if not is_below(file.path)]:
            problem = f"names a file outside its own directory: {shown(outside[0])}"
            raise OutputError("read a manifest", address, problem, RESTORE)
        return manifest

    def block(self, mode: Mode) -> Block:
        """Return the block that the lease's writes carry."""
        return Block(
            dataset=self.dataset,
            address=self.address,
            digest=digest_of(self.to_bytes()),
            rows=self.rows,
            bytes=self.size,
            follows=self.follows.digest if self.follows else None,
            mode=mode,
        )


def _from_fields(fields: dict[str, Any], directory: str) -> Manifest:
    schemas = _schemas(fields.pop("schemas"))
    follows = fields.pop("follows")
    manifest = Manifest(
        directory=directory,
        files=tuple(_file(schemas, *file) for file in fields.pop("files")),
        follows=Reference(*map(as_text, follows)) if follows else None,
        schema=_schemas([fields.pop("schema", None)])[0],
        zone=_zone(fields.pop("zone", None)),
        merged=Merged.taken_from(fields) if COVERS in fields else None,
        copied=pieces_from(fields) if COPIED in fields else (),
        met=None,
        rows=as_count(fields.pop("rows")),
        source=as_text(fields.pop("source")),
        key=as_text(fields.pop("key")),
        dataset=as_text(fields.pop("dataset")),
        fence=as_text(fields.pop("fence")),
        **fields,
    )
    check_format(manifest.format, manifest.options)
    return manifest


def _file(schemas: Sequence[str | None], path: object, size: object, rows: object, number: object) -> DataFile:
    return DataFile(as_text(path), as_count(size), None if rows is None else as_count(rows), schemas[as_count(number)])


def _zone(value: object) -> str | None:
    if value is not None and not _ZONE.fullmatch(as_text(value)):
        raise ValueError(f"{shown(value)} is no time zone")
    return None if value is None else as_text(value)


def _schemas(texts: Sequence[object]) -> list[str | None]:
    given = [None if text is None else as_text(text) for text in texts]
    for text in given:
        if text is not None:
            check_schema(text)
    return given


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of a manifest."""
    return hashlib.sha256(content).hexdigest()


def verified(content: Content, expected: Reference, source: str, key: str) -> Manifest:
    """Return the manifest that ``expected`` names.

    :raises OutputError: when it is missing, unreadable or not the published one, naming partition, file and remedy.
    """
    if isinstance(content, OutputError):
        raise content
    what = f"read the output of {partition_label(source, key)}"
    remedy = RESTORE
    if isinstance(content, FileNotFoundError):
        raise OutputError(what, expected.address, "is missing", remedy) from content
    if digest_of(content) != expected.digest:
        raise OutputError(what, expected.address, "was changed after it was published (its digest differs)", remedy)
    manifest = Manifest.from_bytes(content, expected.address)
    if manifest.follows and not may_follow(expected.address, manifest.follows.address, source, key):
        problem = f"follows something that is no manifest of this partition: {shown(manifest.follows.address)}"
        raise OutputError(what, expected.address, problem, remedy)
    return manifest


def may_follow(address: str, followed: str, source: str, key: str) -> bool:
    """Return whether a chain may go on there: the same partition on the same kind of storage; its root may move.

    :param address: of the manifest that names the other one; any address in its directory will do.
    """
    return scheme_of(address) == scheme_of(followed) and is_manifest_of(followed, source, key)


def references(blocks: Iterable[Block]) -> list[Reference]:
    """Return the references to the manifests of ``blocks``."""
    return [Reference(block.address, block.digest) for block in blocks]


log = logging.getLogger(__name__)

TRAIL = "_trail.json"
EVERY_BLOCKS, EVERY_TENURES = 16, 8
"""A trail is written with every so many blocks of a tenure, and with the first block of every so many tenures."""
MAX_LINKS, MAX_BYTES = 4_096, 8 * 1024 * 1024


def is_due(number: int, token: int) -> bool:
    """Return whether a trail is written beside a block that follows another one.

    :param number: of the block among those of its tenure and dataset, from one on.
    :param token: the tenure's token.
    """
    return number % EVERY_BLOCKS == 0 or (number == 1 and token % EVERY_TENURES == 0)


def trail_address(manifest_address: str) -> str:
    """Return the address of the trail beside a manifest, if there is one."""
    return join(parent(manifest_address), TRAIL)


def links_in(content: Content, source: str, key: str) -> list[Reference]:
    """Return the references in a trail, nearest first; none if it is missing, unreadable or another partition's."""
    if isinstance(content, OutputError):  # most are not there at all, which is denied to one who may not list
        log.info("A trail of partition %r cannot be read, and is not needed: %s", key, content)
    if not isinstance(content, bytes):
        return []
    try:
        pairs = parse(content, max_bytes=MAX_BYTES, max_depth=2)
        links = [Reference(str(address), str(digest)) for address, digest in pairs]
    except (TypeError, ValueError) as error:
        log.warning("A trail of partition %r is not understood, and not needed: %s", key, error)
        return []
    return [link for link in links if is_manifest_of(link.address, source, key)]


def write_trail(manifest: Manifest, own: Mapping[str, Manifest]) -> None:
    """Write the trail beside a manifest that follows another one. Without it, all is well, only slower.

    :param own: the manifests of this attempt by address, which need not be read.
    """
    try:
        links = _behind(manifest, own)
        if not links:
            return
        content = json.dumps([[link.address, link.digest] for link in links], separators=(",", ":"))
        write_bytes(trail_address(manifest.address), content.encode())
    except CoordinationError as error:
        log.warning("No trail is written beside %s: %s", manifest.address, error)


def _behind(manifest: Manifest, own: Mapping[str, Manifest]) -> Sequence[Reference]:
    """Return the references behind a manifest, nearest first: walked to the nearest trail, and then taken from that.

    Where one is gone they end: an overlay stands for it and for all behind it, and readers go no further.
    """
    links: list[Reference] = []
    link = manifest.follows
    while link is not None and len(links) < MAX_LINKS:
        known = [link.address] if link.address not in own else []
        trail, *content = read_many([trail_address(link.address), *known])
        if content and isinstance(content[0], FileNotFoundError):
            break
        links.append(link)
        found = links_in(trail, manifest.source, manifest.key)
        if found:
            return [*links, *found][:MAX_LINKS]
        before = verified(content[0], link, manifest.source, manifest.key) if content else own[link.address]
        link = before.follows
    return links
