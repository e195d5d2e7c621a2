"""Local times of partition columns, which stand in directory names without their zone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from enum import Enum
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from airflow_coordination.outputs.layout import values_in
from airflow_coordination.outputs.manifests import Manifest
from airflow_coordination.outputs.schemas import inferred, types
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.values.names import partition_label

TIMESTAMP: Final = "timestamp"
_FIXED: Final = re.compile(r"(Etc/)?(Z|UT|UTC|UCT|GMT|Zulu|Universal|Greenwich)?0?([+-].*)?")
_SHORT: Final = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "America/Panama",
    "HST": "Pacific/Honolulu",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "America/Phoenix",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""Java's names that Spark takes before all others (``ZoneId.SHORT_IDS``)."""


class Standing(Enum):
    """How often a local time is there in its zone."""

    ONCE = "once"
    TWICE = "twice: the clocks were put back"
    NEVER = "never: the clocks were put forward"


def standing(text: str, zone: str | None) -> Standing:
    """Return how often a local time is there; once where the zone is not known to this host."""
    known = _known(zone) if zone else None
    if known is None:
        return Standing.ONCE
    try:
        local = datetime.fromisoformat(text)
    except ValueError:
        return Standing.ONCE
    first, second = (local.replace(tzinfo=known, fold=fold) for fold in (0, 1))
    if first.utcoffset() == second.utcoffset():
        return Standing.ONCE
    there = first.astimezone(UTC).astimezone(known).replace(tzinfo=None) == local
    return Standing.TWICE if there else Standing.NEVER


def kind_of(texts: Iterable[tuple[str, str | None]]) -> str:
    """Return the narrowest type that gives back exactly these texts, each with the zone of its writer."""
    found = set(texts)
    kind = inferred(text for text, _ in found)
    if kind == TIMESTAMP and any(standing(*each) is not Standing.ONCE for each in found):
        return "string"
    return kind


def times_in(paths: Iterable[str], schema: str | None) -> dict[str, set[str]]:
    """Return the texts of partition columns that are times, or may be.

    :param schema: the one that was told, which knows.
    """
    texts: dict[str, set[str]] = {}
    for path in paths:
        for name, text in values_in(path).items():
            texts.setdefault(name, set()).update([] if text is None else [text])
    told = types(schema) if schema else {}
    return {name: found for name, found in texts.items() if told.get(name, inferred(found)) == TIMESTAMP}


def check_times(manifest: Manifest) -> None:
    """Refuse a partition column of times in which two instants have one text: nobody could tell them apart.

    :raises OutputError: naming column and time, or the zone of which this host knows nothing.
    """
    what = f"publish {manifest.dataset!r} of {partition_label(manifest.source, manifest.key)}"
    times = times_in((file.path for file in manifest.files), manifest.schema)
    if manifest.zone and not is_known(manifest.zone) and any(times.values()):
        problem = f"has times in the partition column {min(times)!r}, and this host does not know {manifest.zone!r}"
        remedy = "Install tzdata here, or write in a session of UTC (spark.sql.session.timeZone)"
        raise OutputError(what, manifest.directory, problem, remedy)
    for name, text in _twice(times, manifest.zone):
        problem = f"has the partition column {name!r} with {text!r}, which is there twice in {manifest.zone}"
        remedy = (
            "Partition by a date and an hour in UTC, or write in a session of UTC (spark.sql.session.timeZone); "
            "if it is text, say so: schema=df.schema"
        )
        raise OutputError(what, manifest.directory, problem, remedy)


def _twice(times: Mapping[str, set[str]], zone: str | None) -> Iterator[tuple[str, str]]:
    for name, texts in times.items():
        for text in sorted(texts):
            if standing(text, zone) is Standing.TWICE:
                yield name, text


def is_known(zone: str) -> bool:
    """Return whether this host knows when the clocks of a zone are changed."""
    return bool(_FIXED.fullmatch(zone)) or _known(zone) is not None


@lru_cache(maxsize=64)
def _known(zone: str) -> tzinfo | None:
    """Return a zone whose clocks are changed, ``None`` for all others."""
    if _FIXED.fullmatch(zone):
        return None
    try:
        return ZoneInfo(_SHORT.get(zone, zone))
    except (ValueError, OSError, LookupError):  # Java knows more names than this host's data
        return None
