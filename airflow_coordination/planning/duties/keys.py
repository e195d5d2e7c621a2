"""The properties that are known, the built-in groups, and what of Druid's own properties means nothing here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

PREFIX: Final = "druid.coordinator."


@dataclass(frozen=True, slots=True)
class Known:
    """A property.

    :param default: what it is where nobody has said anything, as text; empty for nothing.
    :param means: one sentence for the page of the properties.
    """

    default: str
    means: str


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A group that is there without any property.

    :param period_key: the property with its period; empty where there is none.
    :param period: what it is where that is not set, or cannot be.
    :param duties: in their order.
    :param note: a line for the log where its period is not set.
    """

    period_key: str
    period: str
    duties: tuple[str, ...]
    note: str = ""


_PLACES: Final = "PT5M"
BUILT_IN: Final[Mapping[str, BuiltIn]] = MappingProxyType(
    {
        "HistoricalManagementDuties": BuiltIn(
            "period",
            _PLACES,
            ("runRules", "unloadUnused", "balanceSegments", "collectStats"),
            f"HistoricalManagementDuties run every {_PLACES}, where Druid runs them every PT60S: set {PREFIX}period",
        ),
        "watching": BuiltIn("", "PT30S", ("watchLosses",)),
        "counting": BuiltIn("", "PT5M", ("countEnded",)),
        "IndexingServiceDuties": BuiltIn(
            "period.indexingPeriod", "PT30M", ("killUnused", "killStalePending", "compactSegments")
        ),
        "MetadataStoreManagementDuties": BuiltIn(
            "period.metadataStoreManagementPeriod", "PT1H", ("killAudit", "killRules", "killCompactionConfig")
        ),
    }
)
"""Groups by their names; ``compactSegments`` comes last, because it is slow (Druid)."""
DUTIES: Final = tuple(duty for group in BUILT_IN.values() for duty in group.duties)
"""The names of all built-in duties."""
SWITCHES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "killUnused": "kill.on",
        "killStalePending": "kill.pendingSegments.on",
        "killAudit": "kill.audit.on",
        "killRules": "kill.rule.on",
        "killCompactionConfig": "kill.compaction.on",
    }
)
"""The property that switches a duty off or on."""


def _kill(what: str, stem: str) -> dict[str, Known]:
    return {
        f"kill.{stem}.on": Known("true", f"Whether old {what} are deleted at all"),
        f"kill.{stem}.period": Known("P1D", f"From one look for old {what} to the next"),
        f"kill.{stem}.durationToRetain": Known(
            "P90D", f"So long {what} are kept after they counted; what counts now always"
        ),
    }


KNOWN: Final[Mapping[str, Known]] = MappingProxyType(
    {
        "period": Known(_PLACES, "From one run of HistoricalManagementDuties to the next (Druid: PT60S)"),
        "startDelay": Known("PT300S", "Before the first run of a group that nobody has run"),
        "period.indexingPeriod": Known("PT30M", "From one run of IndexingServiceDuties to the next"),
        "period.metadataStoreManagementPeriod": Known(
            "PT1H", "From one run of MetadataStoreManagementDuties to the next"
        ),
        "kill.on": Known("false", "Whether anything that was hidden is ever deleted"),
        "kill.period": Known("P1D", "From one look for what may be deleted to the next"),
        "kill.durationToRetain": Known("P90D", "So long ago the interval of what is deleted must have ended"),
        "kill.ignoreDurationToRetain": Known("false", "Whether that is of no matter"),
        "kill.bufferPeriod": Known("P30D", "And so long ago it must have been hidden"),
        "kill.maxSegments": Known("100", "At most so many head records of a dataset in one run"),
        "kill.pendingSegments.on": Known("true", "Whether files that no reader can follow are deleted"),
        **_kill("versions of the configuration and of locations", "audit"),
        **_kill("versions of rules", "rule"),
        **_kill("versions of compaction configurations", "compaction"),
        "dutyGroups": Known("", "A JSON list with the names of groups of your own"),
    }
)
"""All properties that have a meaning, without their common beginning."""

_OVERLORD: Final = "every scheduler is one, and none needs to be told"
_QUEUES: Final = "copies are leases that workers take, and there is no queue at a location"
_CACHE: Final = "what is there is read from the store at each run, and nothing is cached"
_BALANCER: Final = "there is one balancer, by utilisation"
MEANINGLESS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "asOverlord": _OVERLORD,
        "loadqueuepeon": _QUEUES,
        "curator": _QUEUES,
        "load": _QUEUES,
        "balancer": _BALANCER,
        "segment": _CACHE,
        "segmentMetadata": _CACHE,
        "segmentMetadataCache": _CACHE,
        "compaction": "documents of each source say how it is compacted, and the dynamic configuration how much",
        "merge": "small files are merged by compactSegments",
        "conversion": "files are never converted",
        "kill.supervisor": "sources have suppliers, which leave nothing to be deleted",
        "kill.datasource": "what a supplier remembers of a source stays with it",
        "kill.segmentSchema": "the schema of files lies in the files",
        "period.segmentSchema": "the schema of files lies in the files",
    }
)
"""Beginnings of Druid's properties that do nothing here, with the reason."""


def meaningless(key: str) -> str | None:
    """Return why a property does nothing here; ``None`` when it is none of those."""
    for beginning, reason in MEANINGLESS.items():
        if key == beginning or key.startswith(f"{beginning}."):
            return reason
    return None


_BUILT_IN: Final = frozenset(name.casefold() for name in BUILT_IN)


def reserved(name: str) -> bool:
    """Tell whether a group cannot have a name: it is a built-in one, or its period would be another property."""
    return name.casefold() in _BUILT_IN or f"{name}.period" in KNOWN
