"""The duties by their names, Druid's and those of other packages, and the groups that properties make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final

from airflow_coordination.duties.copies.group import BalanceSegments, UnloadUnused
from airflow_coordination.duties.groups.compacting import CompactSegments
from airflow_coordination.duties.groups.counting import CollectStats, CountEnded
from airflow_coordination.duties.groups.deleting import KillStalePending, KillUnused
from airflow_coordination.duties.groups.hiding import RunRules
from airflow_coordination.duties.groups.metadata import KillAudit, KillCompactionConfig, KillRules
from airflow_coordination.duties.groups.round import GroupDuty
from airflow_coordination.duties.groups.running import Group
from airflow_coordination.duties.properties import read_duties
from airflow_coordination.duties.watching.losses import WatchLosses
from airflow_coordination.planning.duties.groups import Duties, DutyGroup
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.settings import check_known

ENTRY_POINTS: Final = "airflow_coordination.duties"
"""The group in which packages say their duties: a name, and what makes a duty without arguments."""
BUILT_IN: Final[Mapping[str, Callable[[], GroupDuty]]] = {
    duty.name: duty
    for duty in (
        RunRules,
        UnloadUnused,
        BalanceSegments,
        CollectStats,
        CountEnded,
        KillUnused,
        KillStalePending,
        CompactSegments,
        KillAudit,
        KillRules,
        KillCompactionConfig,
        WatchLosses,
    )
}


def known() -> frozenset[str]:
    """Return the names of all duties there are here."""
    return frozenset(BUILT_IN) | {point.name for point in entry_points(group=ENTRY_POINTS)}


def configured(said: Mapping[str, object] | Path | str, own: Iterable[GroupDuty] = ()) -> Duties:
    """Return the groups that properties make of the duties there are here.

    :param said: Druid's properties as a mapping, or the path of a file; empty for none.
    :param own: duties that are given as they are.
    :raises SettingsError: naming the property, its value, and what to write instead.
    """
    return read_duties(said, known() | {duty.name for duty in own})


def named(duties: Duties, name: str) -> DutyGroup:
    """Return a group.

    :raises SettingsError: when there is none of that name, naming the nearest.
    """
    found = {group.name: group for group in duties.groups}
    check_known([name], found, "group")
    return found[name]


def resolved(group: DutyGroup, own: Iterable[GroupDuty] = ()) -> Group:
    """Return a group with its duties made.

    :param own: duties that are given as they are; they are found first.
    :raises SettingsError: when there is no such duty, or what a package says is none.
    """
    given = {duty.name: duty for duty in own}
    duties = [given[name] if name in given else _made(name, group.name) for name in group.duties]
    return Group(name=group.name, period=group.period, duties=duties, arguments=group.arguments)


def _made(name: str, group: str) -> GroupDuty:
    if name in BUILT_IN:
        return BUILT_IN[name]()
    points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if name not in points:
        problem = f"of group {group} is no duty"
        raise SettingsError("duty", name, problem, f"Known are: {', '.join(sorted(known()))}")
    return _loaded(points[name])


def _loaded(point: EntryPoint) -> GroupDuty:
    """Return the duty of another package.

    :raises SettingsError: when it cannot be made, or says another name, or has nothing to run.
    """
    where = f"duty {point.name} ({point.value})"
    try:
        made = point.load()()
    except Exception as error:
        raise SettingsError(where, point.name, f"cannot be made: {error}", "Mend the package that brings it") from error
    if getattr(made, "name", None) != point.name or not callable(getattr(made, "run", None)):
        problem = "is no duty of that name"
        raise SettingsError(where, made, problem, "Give it the same `name`, and a method `run(round)`")
    found: GroupDuty = made
    return found
