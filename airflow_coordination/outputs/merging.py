"""What a group merges, and whether its new overlay may take the place of the present one (rule *walk*, promise S21).

A group is a partition of ``~merged/<source>``: one chunk of one dataset, or a part of it. Whoever holds its lease reads
overlays and then head records, merges the rows of :class:`Merge`, and ends with a manifest that stands for
:attr:`Merge.origins`. The digests are those of this very read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from airflow_coordination.outputs.manifests import Manifest
from airflow_coordination.outputs.origins import Origin
from airflow_coordination.outputs.overlays import Overlay, Overlays
from airflow_coordination.outputs.published import Start, Walk, starts_of, walks
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.values.names import partition_label

_SEPARATOR: Final = "|"
AGAIN: Final = "Let the group run again; nothing is changed for readers"


@dataclass(frozen=True, slots=True)
class Merge:
    """The rows that are merged, each with the number of its origin.

    :param origins: what the new overlay stands for: the blocks that head records name, by partition key.
    :param originals: manifests whose rows are read as they are, with the number of their origin.
    :param overlays: manifests that are merged already, with the new number of each of their origins that is met.
    """

    origins: tuple[Origin, ...]
    originals: tuple[tuple[Manifest, int], ...]
    overlays: tuple[tuple[Manifest, Mapping[int, int]], ...]

    @property
    def files(self) -> int:
        """How many files are read."""
        return sum(len(manifest.files) for manifest in self._read)

    @property
    def bytes(self) -> int:
        """How many bytes they have."""
        return sum(manifest.size for manifest in self._read)

    @property
    def _read(self) -> list[Manifest]:
        return [manifest for manifest, _ in (*self.originals, *self.overlays)]


def gathered(heads: Sequence[HeadRecord], overlays: Overlays) -> Merge:
    """Return what is merged of some partitions.

    :param heads: their head records in one dataset, read after the overlays.
    :param overlays: those of the dataset.
    :raises OutputError: when a manifest is missing or was changed.
    """
    blocks = [(head, block) for head in heads for block in head.blocks]
    origins: list[Origin] = []
    originals: list[tuple[Manifest, int]] = []
    merged: dict[str, tuple[Manifest, dict[int, int]]] = {}
    for number, ((head, block), walk) in enumerate(zip(blocks, walks(starts_of(heads), overlays), strict=True)):
        origins.append(_origin(head.key, block.digest, walk))
        originals += [(manifest, number) for manifest in reversed(walk.chain)]
        if walk.place:
            manifest = walk.place.overlay.manifest
            merged.setdefault(manifest.address, (manifest, {}))[1][walk.place.number] = number
    return Merge(tuple(origins), tuple(originals), tuple(merged.values()))


def _origin(key: str, digest: str, walk: Walk) -> Origin:
    behind = walk.place.origin if walk.place else Origin("", "")
    return Origin(
        digest,
        key,
        behind.rows + sum(manifest.rows for manifest in walk.chain),
        behind.files + sum(len(manifest.files) for manifest in walk.chain),
        behind.bytes + sum(manifest.size for manifest in walk.chain),
    )


def group_key(epoch: int, dataset: str, chunk_start: str, part: int) -> str:
    """Return a group's key. Keys of earlier epochs sort before those of later ones.

    :param epoch: from 1 on.
    :param chunk_start: the start of its chunk, as text.
    :param part: which part of the chunk, from 0 on.
    """
    return _SEPARATOR.join((f"e{epoch:06}", dataset, chunk_start, str(part)))


def epoch_of(group: str) -> int:
    """Return the epoch of a group, by its key; 0 for a key that is no group's."""
    first = group.partition(_SEPARATOR)[0]
    return int(first[1:]) if first.startswith("e") and first[1:].isdecimal() else 0


def dataset_of(group: str) -> str:
    """Return the dataset of a group, by its key."""
    return group.partition(_SEPARATOR)[2].rsplit(_SEPARATOR, 2)[0]


def of_later_epochs(overlays: Overlays, group: str) -> Overlays:
    """Return the overlays that a group may rely on: were it one of its own epoch, both could let go at once."""
    return Overlays(tuple(each for each in overlays.row if epoch_of(each.key) > epoch_of(group)))


def check_walk(
    group: str, new: Manifest, present: Overlay | None, overlays: Overlays, heads: Iterable[HeadRecord]
) -> None:
    """Refuse a new overlay without which readers would need something that only the present one has.

    Originals may be gone: what a present overlay stands for is nowhere else then. A block that was added to a covered
    one goes on needing it. So what counts is what readers meet on their walks, not what head records name.

    :param group: the group's key.
    :param new: the manifest that it would publish.
    :param present: what it has published; nobody else can change that.
    :param overlays: those of the dataset. Of them only published ones of later epochs may be relied on.
    :param heads: the present head records of all partitions that the present overlay has rows of, and of the chunk.
    :raises OutputError: naming a partition.
    """
    if present is None:
        return
    relied_on = of_later_epochs(overlays, group).row
    for start in _met_of(present, (*relied_on, Overlay(group, new)), heads):
        problem = f"would no longer stand for a block of {partition_label(start[0], start[1])}, which readers meet"
        raise OutputError(f"merge group {group!r}", new.directory, problem, AGAIN)


def _met_of(present: Overlay, instead: Iterable[Overlay], heads: Iterable[HeadRecord]) -> Iterator[Start]:
    """Yield where walks begin that need a present overlay, because none of those that shall do instead stops them."""
    starts = starts_of(heads)
    for start, walk in zip(starts, walks(starts, Overlays((present, *instead))), strict=True):
        if walk.place and walk.place.overlay is present:
            yield start


def given_up(group: str, present: Overlay, overlays: Overlays, heads: Sequence[HeadRecord]) -> bool:
    """Return whether later epochs have all that readers meet of a group's present overlay, so that it may be empty."""
    return not any(_met_of(present, of_later_epochs(overlays, group).row, heads))
