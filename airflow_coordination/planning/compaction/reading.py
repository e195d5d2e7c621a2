"""How a dataset is compacted, from the JSON that Druid's users write: its automatic compaction configuration."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from airflow_coordination.planning.compaction.configuration import GRANULARITY, CompactionConfig
from airflow_coordination.values.input_errors import InvalidInputError

_SPEC: Final = "granularitySpec"
_AS_THEY_ARE: Final = "rows are merged as they are"
MEANINGLESS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "taskPriority": "ingest never waits for compaction, and the newest chunk is merged first",
        "maxRowsPerSegment": "maxRowsPerFile says it",
        "tuningConfig": "targetFileSize, maxRowsPerFile, sortBy and compression say it",
        "taskContext": "a group is a lease, and its task has a context of its own",
        "dimensionsSpec": _AS_THEY_ARE,
        "metricsSpec": _AS_THEY_ARE,
        "transformSpec": _AS_THEY_ARE,
        "projections": _AS_THEY_ARE,
        "ioConfig": "what was merged stands beside the originals, and nothing is dropped",
        "engine": "workers with Spark do it",
    }
)
"""Names of Druid's that mean nothing here, with the reason."""


def read_compaction(field: str, said: object, dataset: str) -> Mapping[str, Any]:
    """Return what somebody says of how a dataset is compacted, as :meth:`~.CompactionConfig.from_json` reads it.

    Beside that, it takes Druid's ``dataSource``, its ``granularitySpec``, and nulls, which say nothing.

    :param field: how errors name it.
    :param dataset: which it has to be for; it need not say so.
    :raises InvalidInputError: naming the field, the value and what to write instead.
    """
    if not isinstance(said, Mapping):
        remedy = 'Write such as {"segmentGranularity": "MONTH", "skipOffsetFromLatest": "P1D"}'
        raise InvalidInputError(field, said, "is no configuration of a dataset", remedy)
    found = {name: value for name, value in said.items() if value is not None}
    for name in ("dataset", "dataSource"):
        if (other := found.pop(name, dataset)) != dataset:
            problem = f"is another dataset than {dataset!r}, which it is to be for"
            raise InvalidInputError(f"{field}.{name}", other, problem, "Leave it out, or name that dataset")
    for name, reason in MEANINGLESS.items():
        if name in found:
            raise InvalidInputError(f"{field}.{name}", found[name], f"means nothing here: {reason}", "Leave it out")
    if _SPEC in found:
        found |= _granularity(f"{field}.{_SPEC}", found.pop(_SPEC), found)
    found = {"dataset": dataset, **found}
    CompactionConfig.from_json(found, field)
    return found


def _granularity(field: str, spec: object, beside: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(spec, Mapping):
        raise InvalidInputError(field, spec, "is no object", f'Write {{"{GRANULARITY}": "MONTH"}}')
    found = {name: value for name, value in spec.items() if value is not None}
    for name in found.keys() - {GRANULARITY}:
        raise InvalidInputError(f"{field}.{name}", found[name], f"means nothing here: {_AS_THEY_ARE}", "Leave it out")
    if found and GRANULARITY in beside:
        problem = f"says the granularity, and so does {GRANULARITY}"
        raise InvalidInputError(field, dict(found), problem, "Leave one of them out")
    return found
