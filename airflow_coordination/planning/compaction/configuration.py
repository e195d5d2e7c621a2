"""How a dataset is compacted; what makes no sense is refused before anything is planned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from airflow_coordination.planning.buckets import Granularity
from airflow_coordination.planning.compaction.fingerprint import fingerprint
from airflow_coordination.planning.periods import Period
from airflow_coordination.values.input_errors import InvalidInputError

GRANULARITY: Final = "segmentGranularity"
"""The name of the granularity among what files were merged with, as Druid writes it."""
CODECS: Final = ("gzip", "lz4", "none", "snappy", "zstd")
_A_DAY: Final = Period(0, timedelta(days=1), "P1D")
_NO_LIMIT: Final = 100 * 10**12


class Oversize(StrEnum):
    """What becomes of a chunk with more bytes than one run may read."""

    SKIP = "skip"
    """It is left, and the reason says so (Druid)."""
    SPLIT = "split"
    """It is merged in parts, each below the limit."""


class Straddling(StrEnum):
    """Where something belongs that lies in two buckets of the granularity."""

    TOGETHER = "together"
    """To one chunk, which is the union of these buckets: each block is merged once."""
    EACH = "each"
    """To the chunk of each bucket (Druid, which cuts when it writes)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionConfig:
    """How one dataset is compacted.

    :param dataset: its name.
    :param granularity: the chunks that are merged; ``None``: what has the same interval.
    :param skip_offset_from_latest: what is left for ingest, counted back from the end of the newest data; a day.
    :param input_bytes: the most that one run reads (Druid: ``inputSegmentSizeBytes``); 100 TB.
    :param target_file_size: bytes of a merged file; what has larger ones is merged again, too.
    :param max_rows_per_file: the most rows of a merged file.
    :param sort_by: the columns that merged files are sorted by.
    :param compression: one of :data:`CODECS`.
    :param also: what else files must have been merged with, as JSON values.
    :param oversize: what becomes of a chunk above ``input_bytes``.
    :param straddling: where something belongs that lies in two buckets.
    :param enabled: whether it is compacted at all.
    :raises InvalidInputError: for a size that is not above zero, a file larger than what may be read for it, an offset
        that goes backwards, an unknown codec, a column that is named twice, or what is no JSON.
    """

    dataset: str
    granularity: Granularity | None = None
    skip_offset_from_latest: Period = _A_DAY
    input_bytes: int = _NO_LIMIT
    target_file_size: int | None = None
    max_rows_per_file: int | None = None
    sort_by: Sequence[str] = ()
    compression: str | None = None
    also: Mapping[str, Any] = field(default_factory=dict)
    oversize: Oversize = Oversize.SKIP
    straddling: Straddling = Straddling.TOGETHER
    enabled: bool = True

    def __post_init__(self) -> None:
        for name in ("input_bytes", "target_file_size", "max_rows_per_file"):
            self._check_size(name)
        if self.target_file_size is not None and self.target_file_size > self.input_bytes:
            problem = f"is more than input_bytes, {self.input_bytes}, so that no run could read enough for one file"
            self._refuse("target_file_size", problem, "Give a smaller file, or a higher limit")
        if self.skip_offset_from_latest.is_negative:
            self._refuse("skip_offset_from_latest", "goes backwards", "Give P0D for no offset, or a period such as P1D")
        if self.compression is not None and self.compression not in CODECS:
            self._refuse("compression", "is no codec that is written", f"Use one of {', '.join(CODECS)}")
        if isinstance(self.sort_by, str) or len(set(self.sort_by)) < len(self.sort_by):
            self._refuse("sort_by", "is no list of columns, each once", 'Give such as ["carrier", "origin"]')
        object.__setattr__(self, "sort_by", tuple(self.sort_by))
        object.__setattr__(self, "also", MappingProxyType(dict(self.also)))
        fingerprint(self.spec)

    @property
    def spec(self) -> Mapping[str, Any]:
        """What files are merged with: what this says, and nothing that it leaves open."""
        said = {
            GRANULARITY: None if self.granularity is None else str(self.granularity),
            "targetFileSize": self.target_file_size,
            "maxRowsPerFile": self.max_rows_per_file,
            "sortBy": list(self.sort_by) or None,
            "compression": self.compression,
            **self.also,
        }
        return {name: value for name, value in said.items() if value is not None}

    def _check_size(self, name: str) -> None:
        value = getattr(self, name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            self._refuse(name, "is no whole number above zero", "Give 1 or more")

    def _refuse(self, name: str, problem: str, remedy: str) -> None:
        value = getattr(self, name)
        shown = str(value) if isinstance(value, Period) else value
        raise InvalidInputError(f"compaction[{self.dataset}].{name}", shown, problem, remedy)


def by_dataset(configs: Iterable[CompactionConfig]) -> dict[str, CompactionConfig]:
    """Return configurations by the name of their dataset.

    :raises InvalidInputError: when two are for one dataset.
    """
    found: dict[str, CompactionConfig] = {}
    for config in configs:
        if found.setdefault(config.dataset, config) is not config:
            problem = "has two configurations, and which one counts nobody could tell"
            raise InvalidInputError("compaction.dataset", config.dataset, problem, "Leave one of them out")
    return found
