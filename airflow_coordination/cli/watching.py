"""Watching a source: a bar on a terminal, a line for each look elsewhere."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import escape
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.clock import Clock, SystemClock
from airflow_coordination.leases.errors import SettingsError, StoreUnavailableError
from airflow_coordination.leases.results import Outlook

WINDOW: Final = timedelta(minutes=5)
"""The rate is that of the newest looks, as far as they go back."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one look has seen.

    :param outlook: how many partitions are in each state.
    :param per_minute: how many were completed a minute since the oldest look of the window; ``None`` at the first.
    """

    outlook: Outlook
    per_minute: float | None

    @property
    def left(self) -> int:
        """How many partitions are still to be worked on without a person's help."""
        return self.outlook.claimable + self.outlook.assigned + self.outlook.waiting

    @property
    def total(self) -> int:
        """How many partitions there are."""
        return self.left + self.outlook.parked + self.outlook.completed

    @property
    def remaining(self) -> timedelta | None:
        """How long the rest takes at this rate, ``None`` where nothing moves."""
        if not self.left:
            return timedelta(0)
        return timedelta(minutes=self.left / self.per_minute) if self.per_minute and self.per_minute > 0 else None

    def __str__(self) -> str:
        seen = self.outlook
        states = (
            f"{seen.completed} of {self.total} completed, {seen.assigned} assigned, {seen.claimable} claimable, "
            f"{seen.waiting} waiting, {seen.parked} parked"
        )
        return f"{states}; {self._ahead()}"

    def _ahead(self) -> str:
        if not self.left:
            return f"only a person can move the {self.outlook.parked} parked" if self.outlook.parked else "done"
        if self.per_minute is None:
            return "the rate is known at the next look"
        if self.remaining is None:
            return "nothing was completed since this began"
        return f"{self.per_minute:.1f} a minute, about {timedelta(seconds=round(self.remaining.total_seconds()))} left"


@dataclass(slots=True)
class Watcher:
    """Looks again and again, and computes the rate.

    :param coordinator: of the source.
    :param clock: monotonic; the rate is measured by it.
    """

    coordinator: SourceCoordinator
    clock: Clock = field(default_factory=SystemClock)
    _past: deque[tuple[float, int]] = field(default_factory=deque)

    def look(self) -> Look:
        """Return what is to be seen now."""
        outlook, at = self.coordinator.outlook(), self.clock.monotonic()
        while self._past and at - self._past[0][0] > WINDOW.total_seconds():
            self._past.popleft()
        self._past.append((at, outlook.completed))
        since, before = self._past[0]
        return Look(outlook, (outlook.completed - before) * 60 / (at - since) if at > since else None)

    def looks(self, interval: float, most: int | None) -> Iterator[Look | StoreUnavailableError]:
        """Yield a look every ``interval`` seconds until nothing is left to do; an outage is seen, and waited for."""
        done = 0
        while True:
            try:
                seen: Look | StoreUnavailableError = self.look()
            except StoreUnavailableError as error:
                seen = error
            yield seen
            done += 1
            if done == most or (isinstance(seen, Look) and not seen.left):
                return
            self.clock.sleep(interval)


def watch(context: CommandContext, args: Namespace) -> None:
    """Show how a source moves, until nothing is left to do, or a person has seen enough.

    :raises SettingsError: when the interval or the number of looks is none.
    """
    if not args.interval > 0:
        raise SettingsError("--interval", args.interval, "is no time to wait", "Give seconds above 0")
    if args.looks is not None and args.looks < 1:
        raise SettingsError("--looks", args.looks, "is no number of looks", "Give 1 or more, or leave it out")
    watcher = Watcher(context.coordinator(args.source, args.partition_prefix))
    looks = watcher.looks(args.interval, args.looks)
    with suppress(KeyboardInterrupt):
        if sys.stdout.isatty():
            _draw(looks, args.source)
        else:
            for look in looks:
                print(look, flush=True)


def _draw(looks: Iterator[Look | StoreUnavailableError], source: str) -> None:
    """Draw a bar, and below it the words, which a narrow terminal wraps; during an outage the bar stays as it was."""
    from rich.console import Group
    from rich.live import Live
    from rich.padding import Padding
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    bar = ProgressBar(total=1, completed=0)
    with Live(auto_refresh=False) as live:
        for look in looks:
            if isinstance(look, Look):
                bar.update(look.outlook.completed, look.total or 1)
            live.update(Group(Padding(bar, 0), Text(escape(f"{source}: {look}"))), refresh=True)
