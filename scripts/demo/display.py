"""What the demo shows in the terminal: what happens, in words, above a table that moves; plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from airflow_coordination import Partition, PartitionStatus

STYLES = {
    PartitionStatus.UNASSIGNED: "dim",
    PartitionStatus.ASSIGNED: "cyan",
    PartitionStatus.CLOSED: "yellow",
    PartitionStatus.COMPLETED: "green",
}


class Display:
    """Says what happens.

    :param console: where to.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._progress = Progress(
            TextColumn("   Months completed"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
        )
        self._bar = self._progress.add_task("", total=None)
        self._live: Live | None = None

    @contextmanager
    def moving(self) -> Iterator[None]:
        """Show the table meanwhile, where there is a terminal."""
        if not self.console.is_terminal:
            yield
            return
        self._progress.reset(self._bar)
        with Live(console=self.console, refresh_per_second=4, transient=True) as self._live:
            yield

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Say what is going on, and that it goes on, until it is over."""
        self.say(text)
        if not self.console.is_terminal:
            yield
            return
        with self.console.status("", spinner_style="dim"):
            yield

    def step(self, title: str) -> None:
        """Begin a step."""
        self.console.print(f"\n[bold]{title}[/]", soft_wrap=True, highlight=False)

    def say(self, text: str) -> None:
        """Say what happened just now."""
        self.console.print(
            f"   [dim]{datetime.now().astimezone():%H:%M:%S}[/]  {text}", soft_wrap=True, highlight=False
        )

    def show(self, partitions: Sequence[Partition]) -> None:
        """Show how the partitions stand, in the moving table."""
        if self._live is None:
            return
        completed = sum(partition.status is PartitionStatus.COMPLETED for partition in partitions)
        self._progress.update(self._bar, total=len(partitions) or None, completed=completed)
        self._live.update(Group("", table(partitions), self._progress))


def table(partitions: Sequence[Partition]) -> Table:
    """Return the partitions as a table."""
    grid = Table(box=None, padding=(0, 2), pad_edge=False)
    for name in ("   Month", "State", "Tenure", "Saved up to", "Worked on by"):
        grid.add_column(name, header_style="dim")
    for partition in partitions:
        saved = f"day {partition.progress_state['day']}" if partition.progress_state else ""
        state = f"[{STYLES[partition.status]}]{partition.status}[/]"
        grid.add_row(f"   {partition.key}", state, str(partition.token or ""), saved, worker(partition.owner))
    return grid


def worker(owner: str | None) -> str:
    """Return the task instance in an owner's text, as Airflow's pages name it."""
    parts = (owner or "").split("/")
    return f"{parts[3]}\\[{parts[4]}], try {parts[5]}" if len(parts) == 6 else ""
