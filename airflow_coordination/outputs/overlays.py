"""Overlays: published manifests that stand for blocks of a dataset's partitions, found by the blocks' digests.

An overlay of dataset ``clean`` of source ``flights`` is what a partition of ``~merged/flights`` has published to
``clean``. Readers take a block's rows from it where it covers the block; head records do not change. So ingest and
compaction cannot conflict: each publishes by endings of partitions of its own (promise S21).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from airflow_coordination.outputs.manifests import Manifest, Reference
from airflow_coordination.outputs.origins import Origin
from airflow_coordination.values.in_bulk import made_of
from airflow_coordination.values.input_errors import InvalidInputError, InvalidKeyError
from airflow_coordination.values.names import MAX_SOURCE_BYTES, MERGED, UPKEEP, compose_merged, compose_source

_LONGEST: Final = "GLOBAL_STATE"
"""The kind with the longest identifiers of what a coordinator works with."""


def with_merged(source: str, partition_prefix: str | None) -> list[str]:
    """Return a source, and that of what was merged of it, where there can be one."""
    mergeable = not is_upkeep(source) and compose_merged(source, partition_prefix) is not None
    return [source, *([merged_source(source)] if mergeable else [])]


def merged_source(source: str) -> str:
    """Return the name of the source whose partitions publish the overlays of another one."""
    return f"{MERGED}{source}"


def check_mergeable(source: str, partition_prefix: str | None) -> None:
    """Refuse a source whose name is too long for one beside it, so that nothing of it can be merged.

    :raises InvalidKeyError: by how many bytes.
    """
    identifier = compose_source(source, partition_prefix, _LONGEST)
    if compose_merged(source, partition_prefix, _LONGEST) is None:
        over = len(identifier.encode()) + len(MERGED) - MAX_SOURCE_BYTES
        problem = f"is {over} byte(s) too long for a source beside it, {MERGED}<source>, in which groups are merged"
        remedy = "Leave it as it is, or move it to a shorter name or partition_prefix to have it merged"
        raise InvalidKeyError("source", source, problem, remedy)


def source_of(merged: str) -> str:
    """Return the name of the source whose overlays another one publishes; the inverse of :func:`merged_source`.

    :raises InvalidInputError: when it publishes none.
    """
    if not merged.startswith(MERGED):
        problem = "is no source of groups that merge what another one has published"
        raise InvalidInputError("source", merged, problem, f"Name {MERGED}<source>, as `compaction plan` does")
    return merged.removeprefix(MERGED)


def is_upkeep(source: str) -> bool:
    """Return whether a source's name is one of those that users do not give."""
    return source.startswith(UPKEEP)


@dataclass(frozen=True, slots=True)
class Overlay:
    """A published overlay.

    :param key: of the group that has published it.
    :param manifest: what it has published.
    :param published_at: when, by the store's clock.
    """

    key: str
    manifest: Manifest
    published_at: datetime | None = None

    @property
    def covers(self) -> Sequence[Origin]:
        """What it stands for."""
        return self.manifest.merged.covers if self.manifest.merged else ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows of a block are, too.

    :param overlay: which one has them.
    :param number: of its origin.
    """

    overlay: Overlay
    number: int

    @property
    def origin(self) -> Origin:
        """What the overlay knows of the block."""
        return self.overlay.covers[self.number]


@dataclass(frozen=True, slots=True)
class Overlays:
    """The overlays of one dataset as they were read: before head records, those of earlier epochs first.

    :param row: in that order. Where two cover one block, the last one has it.
    """

    row: tuple[Overlay, ...] = ()
    _places: Mapping[str, Place] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        places: dict[str, Place] = {}
        for overlay in self.row:
            number = len(overlay.covers)
            made = made_of(Place, ([overlay] * number, range(number)))
            places.update(zip([origin.digest for origin in overlay.covers], made, strict=True))
        object.__setattr__(self, "_places", places)

    def place(self, reference: Reference, key: str) -> Place | None:
        """Return where the rows of a block are, and of all that it follows; ``None`` when it is covered by none.

        :param reference: the block's manifest.
        :param key: of the partition that has published it.
        """
        found = self._places.get(reference.digest)
        return found if found and found.origin.key == key else None

    def of(self, group: str) -> Overlay | None:
        """Return what a group has published."""
        return next((each for each in self.row if each.key == group), None)


NONE: Final = Overlays()


def met(places: Iterable[Place]) -> list[Manifest]:
    """Return the manifests of overlays with those of their origins that were met, each manifest once."""
    numbers: dict[str, set[int]] = {}
    found: dict[str, Overlay] = {}
    for place in places:
        address = place.overlay.manifest.address
        found[address] = place.overlay
        numbers.setdefault(address, set()).add(place.number)
    return [_restricted(found[address], frozenset(those)) for address, those in numbers.items()]


def _restricted(overlay: Overlay, numbers: frozenset[int]) -> Manifest:
    whole = len(numbers) == len(overlay.covers)
    return replace(overlay.manifest, met=None if whole else numbers)
