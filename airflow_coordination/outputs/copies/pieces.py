"""What the manifest of a copy holds: the manifests that were copied, as they are stored, and where their files lie.

Blocks of several partitions, formats and schemas lie in one copy, each with its files in a directory of its own, beside
that of the copy's manifest. So readers read them there as they would at the place they were published to; and that a
block was copied is told by the digest of its manifest, which is the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from airflow_coordination.outputs.layout import BLOCK
from airflow_coordination.values.documents import as_count, as_text

COPIED: Final = "copied"
"""The field by which the manifest of a copy is known."""
_DIRECTORY: Final = re.compile(rf"{BLOCK}=[A-Za-z0-9_.-]+")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Piece:
    """One block that was copied.

    :param directory: the name of its directory, beside that of the copy's manifest.
    :param text: its manifest as it is stored where it was published.
    :param digests: SHA-256 of each of its files, in the order of that manifest.
    :param bytes: how many its files have.
    """

    directory: str
    text: str
    digests: tuple[str, ...] = ()
    bytes: int = 0

    @property
    def digest(self) -> str:
        """SHA-256 of its manifest, by which readers know it."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy has.

    :param pieces: the blocks.
    :param rows: how many rows of them readers see.
    """

    pieces: tuple[Piece, ...]
    rows: int

    @property
    def files(self) -> int:
        """How many files they have together."""
        return sum(len(piece.digests) for piece in self.pieces)

    @property
    def bytes(self) -> int:
        """How many bytes these have."""
        return sum(piece.bytes for piece in self.pieces)


def pieces_to_fields(pieces: Sequence[Piece]) -> dict[str, Any]:
    """Return what is stored of them in the manifest of a copy."""
    return {COPIED: [[each.directory, each.text, list(each.digests), each.bytes] for each in pieces]}


def pieces_from(fields: dict[str, Any]) -> tuple[Piece, ...]:
    """Take them out of the fields of a copy's manifest.

    :raises TypeError: when something of them is not of its type.
    :raises ValueError: when one lies elsewhere than beside the manifest.
    """
    return tuple(_piece(*each) for each in fields.pop(COPIED))


def _piece(directory: object, text: object, digests: object, size: object) -> Piece:
    if not _DIRECTORY.fullmatch(as_text(directory)):
        raise ValueError(f"{directory!a} is no directory of a block")
    if not isinstance(digests, list) or not all(_DIGEST.fullmatch(as_text(each)) for each in digests):
        raise TypeError("digests are not some of SHA-256")
    return Piece(as_text(directory), as_text(text), tuple(digests), as_count(size))
