"""What a merged manifest stands for: blocks of other partitions, by digest, and how its files were merged.

Source: ``docs/explanation/outputs.md``, *Overlays*. Nothing in the store knows of it: the manifest is the only place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_coordination.values.documents import as_count, as_text
from airflow_coordination.values.in_bulk import made_of

COLUMN: Final = "_origin"
"""What the origin column is called where no file has a column of that name."""
_TYPES: Final = (str, str, int, int, int)
"""Of what is stored of an origin."""
COVERS: Final = "covers"
"""The field by which the manifest of an overlay is known."""
_FIELDS: Final = (COVERS, "origin", "merged_with", "chunk", "part")


@dataclass(frozen=True, slots=True)
class Origin:
    """A block that a merged manifest stands for, with all that the block follows. Its number is its place in the list.

    :param digest: SHA-256 of the block's manifest.
    :param key: of the block's partition.
    :param rows: how many rows of the merged files are its own.
    :param files: how many files readers would read without the merged ones.
    :param bytes: and how many bytes.
    """

    digest: str
    key: str
    rows: int = 0
    files: int = 0
    bytes: int = 0

    @property
    def place(self) -> tuple[str, str]:
        """What tells the block from all others: the partition's key and the digest."""
        return self.key, self.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What makes a manifest an overlay.

    :param covers: the origins in the order of their numbers; none once later epochs cover everything.
    :param column: the column of the files that holds the number of a row's origin. Readers never show it.
    :param merged_with: the configuration that the files were merged with (``CompactionConfig.spec``).
    :param chunk: the interval of the chunk, as text.
    :param part: which part of the chunk.
    """

    covers: tuple[Origin, ...]
    column: str = COLUMN
    merged_with: Mapping[str, Any] = field(default_factory=dict)
    chunk: str = ""
    part: int = 0

    def to_fields(self) -> dict[str, Any]:
        """Return what is stored of it in the manifest."""
        covers = [[each.digest, each.key, each.rows, each.files, each.bytes] for each in self.covers]
        values = (covers, self.column, dict(self.merged_with), self.chunk, self.part)
        return dict(zip(_FIELDS, values, strict=True))

    @classmethod
    def taken_from(cls, fields: dict[str, Any]) -> Merged:
        """Take what is stored out of the fields of an overlay's manifest.

        :raises TypeError: when something of it is not of its type.
        :raises KeyError: when something of it is missing.
        """
        covers, column, merged_with, chunk, part = (fields.pop(name) for name in _FIELDS)
        if not isinstance(merged_with, dict):
            raise TypeError("merged_with is no object")
        return cls(
            covers=_origins(covers),
            column=as_text(column),
            merged_with=merged_with,
            chunk=as_text(chunk),
            part=as_count(part),
        )


def _origins(covers: Sequence[Sequence[Any]]) -> tuple[Origin, ...]:
    """Return origins of what is stored, column by column as long as nothing is odd about any: a plan has many."""
    if isinstance(covers, list) and {*map(type, covers)} == {list} and {*map(len, covers)} == {len(_TYPES)}:
        columns = list(zip(*covers, strict=True))
        are_common = all({*map(type, column)} == {kind} for column, kind in zip(columns, _TYPES, strict=True))
        if are_common and min(map(min, columns[2:])) >= 0:
            return tuple(made_of(Origin, columns))
    return tuple(_origin(*each) for each in covers)


def _origin(digest: object, key: object, *numbers: object) -> Origin:
    rows, files, size = map(as_count, numbers)
    return Origin(as_text(digest), as_text(key), rows, files, size)


def rows_of(covers: Sequence[Origin], numbers: frozenset[int] | None) -> int:
    """Return how many rows some origins have; ``None`` stands for all of them."""
    return sum(each.rows for number, each in enumerate(covers) if numbers is None or number in numbers)
