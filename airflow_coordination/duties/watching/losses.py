"""The duty ``watchLosses``: where many owners are lost at once, a source is held back until they had time to come back.

What hits more than half of the owners is mostly no matter of theirs: a zone, a network, the store's own failover.
Owners renew under a pause, so that those that come back go on; the others' work is begun anew when the hold is over.

Source: Druid's users (PR 12504: "a network blip made everything look lost"); nothing there does it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from airflow_coordination.duties.configuring import config_in_force
from airflow_coordination.duties.groups.round import Ran, Round, in_each
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import shown
from airflow_coordination.values.status import PartitionStatus

log = logging.getLogger(__name__)

LOSSES: Final = "watchLosses"
"""Who holds a source back, as its audit and its pause call it."""
LEAST: Final = 4
"""Of fewer leases half is a matter of one or two owners."""
MOST_PAGES: Final = 4
_PAGE: Final = 2_000
MOST_REMEMBERED: Final = 200
"""Of more lost leases nobody looks whether all are back: their hold lasts its time."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What was seen of one source, and done about it.

    :param source: its name.
    :param leases: how many count: those that are renewed in time, and those of ``lost``.
    :param lost: how many of them are late or expired, and were not when somebody paused or resumed the source last.
    :param done: ``"held back"``, ``"let go on"``, or empty where nothing was changed.
    :param said: in words, empty where there is nothing to say.
    :param waits_for: the leases that a hold waits for: the token of each by its key.
    """

    source: str
    leases: int = 0
    lost: int = 0
    done: str = ""
    said: str = ""
    waits_for: Mapping[str, int] = field(default_factory=dict)


def watch_losses(
    coordinator: SourceCoordinator,
    percent: float,
    hold: timedelta,
    least: int = LEAST,
    now: datetime | None = None,
    *,
    waits_for: Mapping[str, int] | None = None,
    dry_run: bool = False,
    limits: Callable[[], tuple[float, timedelta] | None] | None = None,
) -> Watched:
    """Hold a source back when too many of its leases are late or expired at once, and let it go on when all are back.

    Right before it is held back it is looked at again: they may have come back while who looks was stopped itself. What
    was reclaimed is no lease any more and does not count. What was lost before somebody, or an earlier hold, has
    paused or resumed the source counts once and not again. A pause of anybody else is left alone.

    It sends one request for the pause and one for each 2,000 leases, 8,000 at most; on DynamoDB one for each hundred.
    Before a source is held back the leases are read a second time.

    :param coordinator: of the source; its ``reassign_grace`` must be that of the owners, or only expired leases count.
    :param percent: of the leases; more than these must be lost.
    :param hold: for so long, by the store's clock.
    :param least: of fewer leases none is judged.
    :param now: by the store's clock; asked for where it is not given.
    :param waits_for: what an earlier look has returned.
    :param dry_run: change nothing.
    :param limits: tells the percent and the time that count right before a source is held back; ``None`` where that is
        not wanted any more. As given above if left out.
    """
    pause = coordinator.pausing.current_pause()
    own = pause.by == LOSSES and not pause.unending  # it sets none without an end: that is of somebody named so
    if pause.paused and not own:
        return Watched(coordinator.source)
    held, now = tuple(_held(coordinator)), now or coordinator.store.now()
    if pause.paused:
        return _holding(coordinator, pause, held, now, waits_for or {}, dry_run=dry_run)
    found = _judged(coordinator, pause, held, now, percent, least)
    if not found.done:
        return found
    if limits is not None:
        counts = limits()
        if counts is None:
            return replace(found, done="", said="", waits_for={})
        percent, hold = counts
    now = coordinator.store.now()
    found = _judged(coordinator, pause, tuple(_held(coordinator)), now, percent, least)
    return _hold_back(coordinator, pause, found, hold, dry_run=dry_run) if found.done else found


def _judged(
    coordinator: SourceCoordinator,
    pause: Pause,
    held: tuple[Partition, ...],
    now: datetime,
    percent: float,
    least: int,
) -> Watched:
    """Return what is to be done about a source that nobody holds back, as it was read."""
    grace = coordinator.settings.reassign_grace
    lost = [each for each in held if (since := _lost_since(each, grace, now)) and (not pause.at or since > pause.at)]
    leases = sum(_lost_since(each, grace, now) is None for each in held) + len(lost)
    if leases < least or len(lost) * 100 <= percent * leases:
        return Watched(coordinator.source, leases, len(lost))
    share = f"{len(lost)} of {leases} leases are late or expired, more than {percent:g} %"
    few = {each.key: each.token for each in lost} if len(lost) <= MOST_REMEMBERED else {}
    why = f"{share}: their owners have time to come back"
    return Watched(coordinator.source, leases, len(lost), "held back", why, few)


def _hold_back(
    coordinator: SourceCoordinator, seen: Pause, found: Watched, hold: timedelta, *, dry_run: bool
) -> Watched:
    if not dry_run:
        try:
            now = coordinator.pausing.pause(LOSSES, found.said, seen, lasts=hold)
        except PartitionUpdateError as error:
            return Watched(found.source, found.leases, found.lost, said=str(error))
        log.warning("Source %s was %s", shown(found.source), now)
    return found


def _holding(
    coordinator: SourceCoordinator,
    pause: Pause,
    held: tuple[Partition, ...],
    now: datetime,
    waits_for: Mapping[str, int],
    *,
    dry_run: bool,
) -> Watched:
    """Let the source go on if each of the leases that its hold waits for is renewed again, under the same tenure."""
    grace = coordinator.settings.reassign_grace
    renewed = {each.key: each.token for each in held if _lost_since(each, grace, now) is None}
    missing = {key: token for key, token in waits_for.items() if renewed.get(key) != token}
    if not waits_for or missing:
        return Watched(coordinator.source, len(held), len(missing), waits_for=waits_for)
    why = f"all {len(waits_for)} leases are renewed again"
    if not dry_run:
        try:
            coordinator.pausing.resume(LOSSES, why, pause)
        except PartitionUpdateError as error:
            return Watched(coordinator.source, len(held), said=str(error))
    return Watched(coordinator.source, len(held), 0, "let go on", why)


def _held(coordinator: SourceCoordinator) -> Iterator[Partition]:
    after: str | None = None
    for _ in range(MOST_PAGES):
        page = coordinator.partitions(PartitionStatus.ASSIGNED, after, _PAGE)
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1].key


def _lost_since(partition: Partition, grace: timedelta, now: datetime) -> datetime | None:
    """Return since when an owner should have renewed, ``None`` where it has."""
    until = partition.ownership_timeout
    return None if until is None or until > now + grace else until - grace


class WatchLosses:
    """Watches all sources for the loss of many owners at once (:func:`watch_losses`)."""

    name: ClassVar[str] = LOSSES

    def run(self, round: Round) -> Ran:
        """Look at each source; few requests for each, however many partitions it has."""
        before = round.remembered if isinstance(round.remembered, Mapping) else {}
        config = round.config
        found: list[Watched] = []

        def watch(coordinator: SourceCoordinator) -> None:
            watched = watch_losses(
                coordinator,
                config.mass_loss_percent,
                config.mass_loss_hold,
                now=round.now,
                waits_for=_tokens(before.get(coordinator.source)),
                dry_run=round.dry_run,
                limits=lambda: _limits(coordinator),
            )
            found.append(watched)

        errors = in_each(round.sources, watch)
        told = [f"{each.source} {each.done}: {each.said}" for each in found if each.done]
        held_back = sum(each.done == "held back" for each in found)
        lost, leases = sum(each.lost for each in found), sum(each.leases for each in found)
        return Ran(
            said="; ".join(told) or f"{lost} of {leases} lease(s) are late or expired",
            counts={"lease/lost/count": lost, "source/heldBack/count": held_back},
            warnings=tuple(f"{each.source}: {each.said}" for each in found if each.done == "held back"),
            left={each.source: dict(each.waits_for) for each in found if each.waits_for},
            idle=not told,
            errors=errors,
        )


def _limits(coordinator: SourceCoordinator) -> tuple[float, timedelta] | None:
    """Return when a source is held back, and for how long, by the configuration of now; ``None`` while it is paused."""
    config = config_in_force(coordinator)
    return None if config is None else (config.mass_loss_percent, config.mass_loss_hold)


def _tokens(said: Any) -> Mapping[str, int]:
    """Return what an earlier run has left of a source; nothing where it is something else."""
    return said if isinstance(said, Mapping) and all(isinstance(token, int) for token in said.values()) else {}
