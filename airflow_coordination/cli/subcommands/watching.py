"""Watching a source: a bar on a terminal, a line for each look elsewhere."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import escape
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.explaining.wording import holder, span
from airflow_coordination.monitoring.owners import Holding, Owners, owners
from airflow_coordination.monitoring.progress import Pace, Progress
from airflow_coordination.monitoring.throughput import lately
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.values.errors import StoreUnavailableError
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import identifier_of
from airflow_coordination.values.times import Clock, SystemClock

if TYPE_CHECKING:
    from rich.console import RenderableType

OWNERS: Final = 8
"""The most owners shown below the bar."""


@dataclass(slots=True)
class Watcher:
    """Looks again and again, and computes the rate.

    :param coordinator: of the source.
    :param clock: monotonic; the rate is measured by it.
    """

    coordinator: SourceCoordinator
    clock: Clock = field(default_factory=SystemClock)
    _pace: Pace = field(default_factory=Pace)

    def look(self) -> Progress:
        """Return what is to be seen now; at the first look with the rate of the store's history, if it has one."""
        seen = self._pace.progress(self.coordinator.looking.outlook(), self.clock.monotonic())
        if seen.rate is None and (known := lately(self.coordinator, self.coordinator.store.now())) is not None:
            return replace(seen, rate=known.rate())
        return seen

    def looks(self, interval: float, most: int | None) -> Iterator[Progress | StoreUnavailableError]:
        """Yield a look every ``interval`` seconds until nothing is left to do; an outage is seen, and waited for."""
        done = 0
        while True:
            try:
                seen: Progress | StoreUnavailableError = self.look()
            except StoreUnavailableError as error:
                seen = error
            yield seen
            done += 1
            if done == most or (isinstance(seen, Progress) and not seen.left):
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
            _draw(looks, args.source, lambda: _held(watcher.coordinator), typed(watcher.coordinator, "owners"))
        else:
            for look in looks:
                print(look, flush=True)


def _held(coordinator: SourceCoordinator) -> Owners:
    """Return who holds the first few partitions."""
    identifier = identifier_of(coordinator)
    return owners(coordinator.store, identifier, OWNERS)


def _draw(
    looks: Iterator[Progress | StoreUnavailableError], source: str, held: Callable[[], Owners], more: str
) -> None:
    """Draw a bar, the words, which a narrow terminal wraps, and the owners; in an outage bar and owners stay."""
    from rich.console import Console, Group
    from rich.live import Live
    from rich.padding import Padding
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    bar = ProgressBar(total=1, completed=0)
    whose: RenderableType = ""
    with Live(console=Console(), auto_refresh=False) as live:
        for look in looks:
            if isinstance(look, Progress):
                bar.update(look.outlook.completed, look.total or 1)
                with suppress(StoreUnavailableError):  # the next look says it
                    whose = _table(held(), more)
            live.update(Group(Padding(bar, 0), Text(escape(f"{source}: {look}")), whose), refresh=True)


def _table(page: Owners, more: str) -> RenderableType:
    """Return a line for each of the first few who hold something, and the command that names those left out."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    for held in page.held:
        table.add_row(*(Text(escape(text)) for text in (held.key, holder(held.owner), _left(held))))
    if page.after is not None:
        table.add_row(Text("…"), Text(f"and others: {more}"))
    return table


def _left(held: Holding) -> str:
    if held.left is None:
        return "a lease without an end"
    return "its lease is over" if held.expired else f"{span(held.left)} left"
