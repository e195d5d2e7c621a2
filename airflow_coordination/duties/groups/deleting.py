"""The duties that delete: ``killUnused``, off by default, and ``killStalePending``, which is the collector of files.

Both are margins on margins: nothing goes before a scheduler has led its group for ``millisToWaitBeforeDeleting``, and
each run looks only once in a period, because looking is dear.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from airflow_coordination.duties.configuring import config_in_force
from airflow_coordination.duties.groups.round import Ran, Round, in_each
from airflow_coordination.duties.retention.applying import datasets_of
from airflow_coordination.duties.retention.purge import Purged, purge, to_purge
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.collector import Collected, collect
from airflow_coordination.outputs.copies.collecting import collect_copies
from airflow_coordination.outputs.overlays import with_merged
from airflow_coordination.planning.periods import Period, parse_period
from airflow_coordination.planning.unused.deleting import Margins, is_due
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.times import from_micros, to_micros

A_DAY: Final = "P1D"
_WHY: Final = "hidden for longer than the buffer of its duty"


class KillUnused:
    """Purges what was hidden for long, in each source once in its period, and at once again while more is left.

    Source: Druid, ``KillUnusedSegments``.
    """

    name: ClassVar[str] = "killUnused"

    def run(self, round: Round) -> Ran:
        """Mark, then empty head records; their files go by ``killStalePending``.

        :raises SettingsError: when an argument is no period.
        """
        margins = round.cluster.margins
        if margins is None:
            return Ran(said="is off: druid.coordinator.kill.on is not true", counts=_purged_counts({}), idle=True)
        done = dict[str, Purged]()

        def purge_one(coordinator: SourceCoordinator) -> bool:
            found = _purge(coordinator, round, margins)
            if found is not None:
                done[coordinator.source] = found
            return found is None or found.emptied < margins.most

        return _in_turn(round, purge_one, lambda: _purged(done, dry_run=round.dry_run))


def _purge(coordinator: SourceCoordinator, round: Round, margins: Margins) -> Purged | None:
    """Purge one source; ``None`` where nothing is hidden and no branch has ended, so that nothing can be due."""
    view = coordinator.documents.view()
    if not view.hidden and all(each.begun for each in view.branches):
        return None
    datasets = [each for each in datasets_of(coordinator) if round.config.may_delete_of(coordinator.source, each)]
    if not datasets:
        return None
    chosen = replace(margins, datasets=datasets)
    if round.dry_run:
        found = to_purge(coordinator, chosen)
        return Purged(marked=len(found.marks), emptied=len(found.heads), skipped=found.skipped)
    return purge(coordinator, chosen, by=round.by, why=_WHY, allowed=lambda: _still_allowed(coordinator, datasets))


def _still_allowed(coordinator: SourceCoordinator, datasets: Collection[str]) -> Collection[str]:
    """Return of which datasets anything may go by the configuration of now, one read; of none while it is paused.

    A purge may last, or sleep, until others lead by another configuration, and what it deletes does not come back.
    """
    config = config_in_force(coordinator)
    return () if config is None else [each for each in datasets if config.may_delete_of(coordinator.source, each)]


def _purged(done: Mapping[str, Purged], *, dry_run: bool) -> Ran:
    counts = _purged_counts(done)
    emptied, marked = counts["kill/unused/count"], counts["kill/marked/count"]
    would = "would mark {} and empty {}" if dry_run else "marked {} hidden interval(s), emptied {} head record(s)"
    changed = emptied or marked or any(each.removed or each.forgotten for each in done.values())
    waits = sum(sum(each.skipped.values()) for each in done.values())
    warnings = (f"{waits} partition(s) were in the way of the purge and wait for the next one",) if waits else ()
    said = would.format(marked, emptied) if changed else "nothing is old enough"
    return Ran(said=said, counts=counts, warnings=warnings, idle=not changed)


def _purged_counts(done: Mapping[str, Purged]) -> dict[str, int]:
    return {
        "kill/unused/count": sum(each.emptied for each in done.values()),
        "kill/marked/count": sum(each.marked for each in done.values()),
        "kill/skipped/count": sum(sum(each.skipped.values()) for each in done.values()),
    }


class KillStalePending:
    """Deletes files that no reader can follow, in each source once in its period.

    Arguments: ``outputRoot``, where blocks are published, if it is not the store's; ``olderThan`` (``P1D``), the margin
    of the collector; ``period`` (``P1D``).

    Source: Druid, ``KillStalePendingSegments``; here it is the collector of outputs.
    """

    name: ClassVar[str] = "killStalePending"

    def run(self, round: Round) -> Ran:
        """Collect source by source.

        :raises SettingsError: when an argument is no period.
        :raises OutputError: when the storage cannot be used, or something may not be deleted.
        """
        root = round.arguments.get("outputRoot") or round.cluster.output_root
        margin, done = _fixed(round, "olderThan", A_DAY), dict[str, Collected]()

        def collect_one(coordinator: SourceCoordinator) -> bool:
            for name in with_merged(coordinator.source, coordinator.partition_prefix) if root is not None else ():
                done[name] = collect(
                    coordinator.store,
                    name,
                    root,
                    older_than=margin,
                    dry_run=round.dry_run,
                    partition_prefix=coordinator.partition_prefix,
                )
            copies, _ = collect_copies(coordinator, margin, dry_run=round.dry_run)
            done.update({f"{coordinator.source} in {location}": each for location, each in copies.items()})
            return True

        ran = _in_turn(round, collect_one, lambda: _collected(done))
        return ran if root is not None else _without_root(ran)


def _without_root(ran: Ran) -> Ran:
    """Return what is told where nobody has said where blocks are published: copies alone are looked at."""
    said = "no output root is known: nothing is collected but copies"
    remedy = "set output_root of the connection, [coordination] output_root, or the duty's outputRoot"
    return replace(ran, said=f"{said}; {ran.said}", warnings=(f"{said}; {remedy}", *ran.warnings))


def _collected(done: Mapping[str, Collected]) -> Ran:
    counts = _collected_counts(done)
    files, size = counts["kill/pending/files"], counts["kill/pending/bytes"]
    warnings = tuple(f"{source}: {error}" for source, each in done.items() for error in each.errors)
    said = f"{files} file(s), {size} bytes, that no reader can follow" if files else "nothing to delete"
    return Ran(said=said, counts=counts, warnings=warnings, idle=not files)


def _collected_counts(done: Mapping[str, Collected]) -> dict[str, int]:
    return {
        "kill/pending/files": sum(each.files for each in done.values()),
        "kill/pending/bytes": sum(each.bytes for each in done.values()),
    }


def _in_turn(round: Round, one: Callable[[SourceCoordinator], bool], told: Callable[[], Ran]) -> Ran:
    """Do ``one`` for each source whose period is over, and return what is told with the times of all of them.

    :param one: returns whether a source is done with for its period.
    """
    led = round.now - round.cluster.led_since
    if led < round.config.wait_before_deleting and not round.dry_run:
        until = round.cluster.led_since + round.config.wait_before_deleting
        said = f"deletes nothing before {until.isoformat(timespec='seconds')}: this group has just come to be led"
        return replace(told(), said=said, idle=True)
    period, before = _fixed(round, "period", A_DAY), _times(round.remembered)
    now: dict[str, datetime] = {}

    def if_due(coordinator: SourceCoordinator) -> None:
        last = before.get(coordinator.source)
        if last is not None and not round.dry_run and not is_due(last, period, round.now):
            now[coordinator.source] = last
        elif one(coordinator):
            now[coordinator.source] = round.now

    errors = in_each(round.sources, if_due)
    return replace(told(), left={source: to_micros(at) for source, at in now.items()}, errors=errors)


def _times(remembered: Any) -> dict[str, datetime]:
    found = remembered.items() if isinstance(remembered, Mapping) else ()
    return {source: from_micros(at) for source, at in found if isinstance(at, int)}


def _fixed(round: Round, name: str, default: str) -> timedelta:
    """Return an argument that is a length of time.

    :raises SettingsError: when it has months, which are not all equally long.
    """
    found: Period = parse_period(f"{round.by}.{name}", round.arguments.get(name, default), zero=True)
    if found.months:
        problem = "has months or years, which are not all equally long"
        raise SettingsError(f"{round.by}.{name}", str(found), problem, "Write days, such as P30D")
    return found.rest
