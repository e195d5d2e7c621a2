"""The immutable manifest: which files a block consists of, and which block it adds to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_coordination.leases.blocks import Block, Mode
from airflow_coordination.outputs.errors import OutputError, partition_label
from airflow_coordination.outputs.layout import MANIFEST
from airflow_coordination.outputs.storage import join, parent

VERSION = 1


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
    """What one finished block consists of.

    :param source: the stored source identifier.
    :param key: the partition key.
    :param dataset: the dataset.
    :param fence: the tenure that wrote it.
    :param directory: the block's directory.
    :param files: its files.
    :param rows: rows in them together.
    :param format: Spark's name of their format.
    :param options: what a reader of that format must be told.
    :param follows: the manifest that this one adds to.
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

    @property
    def address(self) -> str:
        """Where the manifest itself is."""
        return join(self.directory, MANIFEST)

    def to_bytes(self) -> bytes:
        """Return the manifest as it is stored."""
        schemas = list(dict.fromkeys(file.schema for file in self.files))
        fields: dict[str, Any] = {
            "version": VERSION,
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
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, content: bytes, address: str) -> Manifest:
        """Return the manifest stored at ``address``.

        :raises OutputError: when newer code wrote it.
        """
        fields = json.loads(content)
        if fields.pop("version") != VERSION:
            raise OutputError("read a manifest", address, "was written by newer code", "Update this package")
        schemas = fields.pop("schemas")
        files = tuple(DataFile(path, size, rows, schemas[i]) for path, size, rows, i in fields.pop("files"))
        follows = fields.pop("follows")
        return cls(directory=parent(address), files=files, follows=Reference(*follows) if follows else None, **fields)

    def block(self, mode: Mode) -> Block:
        """Return the block that the lease's writes carry."""
        return Block(
            dataset=self.dataset,
            address=self.address,
            digest=digest_of(self.to_bytes()),
            rows=self.rows,
            bytes=sum(file.size for file in self.files),
            follows=self.follows.digest if self.follows else None,
            mode=mode,
        )


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of a manifest."""
    return hashlib.sha256(content).hexdigest()


def verified(content: bytes | FileNotFoundError, expected: Reference, source: str, key: str) -> Manifest:
    """Return the manifest that ``expected`` names.

    :raises OutputError: when it is missing or not the published one, naming partition, file and remedy.
    """
    what = f"read the output of {partition_label(source, key)}"
    remedy = "Restore the file from a backup, or reset the partition to produce its output again"
    if isinstance(content, FileNotFoundError):
        raise OutputError(what, expected.address, "is missing", remedy) from content
    if digest_of(content) != expected.digest:
        raise OutputError(what, expected.address, "was changed after it was published (its digest differs)", remedy)
    return Manifest.from_bytes(content, expected.address)


def references(blocks: Iterable[Block]) -> list[Reference]:
    """Return where the manifests of ``blocks`` are."""
    return [Reference(block.address, block.digest) for block in blocks]
