"""How a dataset is compacted; what makes no sense is refused before anything is planned."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeVar

from airflow_coordination.planning.buckets import Granularity
from airflow_coordination.planning.buckets import granularity as granularity_of
from airflow_coordination.planning.compaction.fingerprint import fingerprint
from airflow_coordination.planning.keys import check_pattern
from airflow_coordination.planning.periods import Period, parse_period
from airflow_coordination.planning.sizes import parse_size
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import check_users_name

_T = TypeVar("_T")
_E = TypeVar("_E", bound=StrEnum)

GRANULARITY: Final = "segmentGranularity"
"""The name of the granularity among what files were merged with, as Druid writes it."""
CODECS: Final = ("gzip", "lz4", "none", "snappy", "zstd")
_A_DAY: Final = Period(0, timedelta(days=1), "P1D")
_NO_LIMIT: Final = 100 * 10**12
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_COLUMNS: Final = 'Give such as ["carrier", "origin"]'


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


@dataclass(frozen=True, slots=True, init=False)
class CompactionConfig:
    """How one dataset is compacted. Texts are read as they are given: ``granularity="MONTH"``, ``"256MiB"``, ``"P1D"``.

    :param dataset: its name.
    :param granularity: the chunks that are merged, by a name of Druid's or a period; ``None``: what has the same
        interval.
    :param skip_offset_from_latest: what is left for ingest, counted back from the end of the newest data; a day.
    :param input_bytes: the most that one run reads (Druid: ``inputSegmentSizeBytes``); 100 TB.
    :param target_file_size: bytes of a merged file; what has larger ones is merged again, too.
    :param max_rows_per_file: the most rows of a merged file.
    :param sort_by: the columns that merged files are sorted by.
    :param compression: one of :data:`CODECS`.
    :param also: what else files must have been merged with, as JSON values.
    :param oversize: what becomes of a chunk above ``input_bytes``: ``skip`` or ``split``.
    :param straddling: where something belongs that lies in two buckets.
    :param interval_from_key: how a partition's key tells its interval, such as ``%Y-%m-%d``; for what was published
        without one.
    :param dead_rows_percent: a merged chunk in which more rows than this are read by nobody any more is merged again.
    :param enabled: whether it is compacted at all.
    :raises InvalidInputError: for a size that is not above zero, a file larger than what may be read for it, an offset
        that goes backwards, an unknown codec, a column that is named twice, or what is no JSON.
    """

    dataset: str
    granularity: Granularity | None
    skip_offset_from_latest: Period
    input_bytes: int
    target_file_size: int | None
    max_rows_per_file: int | None
    sort_by: tuple[str, ...]
    compression: str | None
    also: Mapping[str, Any]
    oversize: Oversize
    straddling: Straddling
    interval_from_key: str | None
    dead_rows_percent: int
    enabled: bool

    def __init__(
        self,
        dataset: str,
        *,
        granularity: Granularity | str | None = None,
        skip_offset_from_latest: Period | str = _A_DAY,
        input_bytes: int | str = _NO_LIMIT,
        target_file_size: int | str | None = None,
        max_rows_per_file: int | None = None,
        sort_by: Sequence[str] = (),
        compression: str | None = None,
        also: Mapping[str, Any] = _NOTHING,
        oversize: Oversize | str = Oversize.SKIP,
        straddling: Straddling | str = Straddling.TOGETHER,
        interval_from_key: str | None = None,
        dead_rows_percent: int = 20,
        enabled: bool = True,
    ) -> None:
        at = partial("compaction[{}].{}".format, dataset)
        if isinstance(sort_by, str) or not _each_once(sort_by):
            raise InvalidInputError(at("sort_by"), sort_by, "is no list of columns, each once", _COLUMNS)
        said = {
            "dataset": check_users_name(dataset, "compaction.dataset", MAX_DATASET_BYTES),
            "granularity": _read(granularity_of, at("granularity"), granularity),
            "skip_offset_from_latest": _read(parse_period, at("skip_offset_from_latest"), skip_offset_from_latest),
            "input_bytes": parse_size(at("input_bytes"), input_bytes),
            "target_file_size": None
            if target_file_size is None
            else parse_size(at("target_file_size"), target_file_size),
            "max_rows_per_file": None
            if max_rows_per_file is None
            else _count(at("max_rows_per_file"), max_rows_per_file),
            "sort_by": tuple(sort_by),
            "compression": compression,
            "also": MappingProxyType(dict(also)),
            "oversize": _among(Oversize, at("oversize"), oversize),
            "straddling": _among(Straddling, at("straddling"), straddling),
            "interval_from_key": interval_from_key and check_pattern(at("interval_from_key"), interval_from_key),
            "dead_rows_percent": dead_rows_percent,
            "enabled": enabled,
        }
        for name, value in said.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if self.target_file_size is not None and self.target_file_size > self.input_bytes:
            problem = f"is more than input_bytes, {self.input_bytes}, so that no run could read enough for one file"
            self._refuse("target_file_size", problem, "Give a smaller file, or a higher limit")
        if self.skip_offset_from_latest.is_negative:
            self._refuse("skip_offset_from_latest", "goes backwards", "Give P0D for no offset, or a period such as P1D")
        if self.compression is not None and self.compression not in CODECS:
            self._refuse("compression", "is no codec that is written", f"Use one of {', '.join(CODECS)}")
        percent: object = self.dead_rows_percent
        if not isinstance(percent, int) or isinstance(percent, bool) or not 0 <= percent <= 100:
            self._refuse("dead_rows_percent", "is no whole number from 0 to 100", "Give such as 20; 100 is never")
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

    @property
    def chunking(self) -> str:
        """What decides which blocks are merged together, as text: where it changes, an epoch begins."""
        limit = self.input_bytes if self.oversize is Oversize.SPLIT else None
        return fingerprint({GRANULARITY: self._size, "limit": limit, "straddling": str(self.straddling)})

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON values, under Druid's names where it has them; :meth:`from_json` reads it."""
        said = {
            "dataset": self.dataset,
            GRANULARITY: self._size,
            "skipOffsetFromLatest": str(self.skip_offset_from_latest),
            "inputSegmentSizeBytes": self.input_bytes,
            "targetFileSize": self.target_file_size,
            "maxRowsPerFile": self.max_rows_per_file,
            "sortBy": list(self.sort_by),
            "compression": self.compression,
            "also": dict(self.also),
            "oversize": str(self.oversize),
            "straddling": str(self.straddling),
            "intervalFromKey": self.interval_from_key,
            "deadRowsPercent": self.dead_rows_percent,
            "enabled": self.enabled,
        }
        return {name: said[name] for name in _NAMES if said[name] not in (None, _DEFAULTS.get(name))}

    @classmethod
    def from_json(cls, said: object, field: str = "config") -> CompactionConfig:
        """Return the configuration that :meth:`to_json` has written.

        :param field: how the error names it.
        :raises InvalidInputError: for what is none, and for a name that this code does not know.
        """
        if not isinstance(said, Mapping) or not isinstance(said.get("dataset"), str):
            raise InvalidInputError(field, said, "is no configuration of a dataset", "Give an object with its dataset")
        for name in said:
            if name not in _NAMES:
                near = difflib.get_close_matches(str(name), _NAMES, n=1)
                remedy = f"Did you mean {near[0]}?" if near else f"Known are {', '.join(_NAMES)}"
                raise InvalidInputError(f"{field}.{name}", said[name], "is unknown", remedy)
        arguments = {_NAMES[name]: value for name, value in said.items()}
        return cls(arguments.pop("dataset"), **arguments)

    @property
    def _size(self) -> str | None:
        return None if self.granularity is None else str(self.granularity)

    def _refuse(self, name: str, problem: str, remedy: str) -> None:
        value = getattr(self, name)
        shown = str(value) if isinstance(value, Period) else value
        raise InvalidInputError(f"compaction[{self.dataset}].{name}", shown, problem, remedy)


_NAMES: Final = {
    "dataset": "dataset",
    GRANULARITY: "granularity",
    "skipOffsetFromLatest": "skip_offset_from_latest",
    "inputSegmentSizeBytes": "input_bytes",
    "targetFileSize": "target_file_size",
    "maxRowsPerFile": "max_rows_per_file",
    "sortBy": "sort_by",
    "compression": "compression",
    "also": "also",
    "oversize": "oversize",
    "straddling": "straddling",
    "intervalFromKey": "interval_from_key",
    "deadRowsPercent": "dead_rows_percent",
    "enabled": "enabled",
}
"""What each argument is called in JSON."""
_DEFAULTS: Final = {
    "skipOffsetFromLatest": "P1D",
    "inputSegmentSizeBytes": _NO_LIMIT,
    "sortBy": [],
    "also": {},
    "oversize": "skip",
    "straddling": "together",
    "deadRowsPercent": 20,
    "enabled": True,
}
"""What is not written, because it is so without it."""


def _each_once(columns: Sequence[str]) -> bool:
    return all(isinstance(each, str) for each in columns) and len(set(columns)) == len(columns)


def _read(read: Callable[[str, object], _T], name: str, value: _T | str | None) -> _T | None:
    return read(name, value) if isinstance(value, str) else value


def _among(kind: type[_E], name: str, value: str) -> _E:
    try:
        return kind(value)
    except ValueError:
        raise InvalidInputError(name, value, "is unknown", f"Use one of {', '.join(kind)}") from None


def _count(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidInputError(name, value, "is no whole number above zero", "Give 1 or more")
    return value


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
