"""What a benchmark is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.goals import AIMS, Readings


@dataclass(frozen=True)
class Run:
    """One run of benchmarks.

    :param console: where tables and progress go.
    :param quick: count only, with small numbers, and time nothing.
    :param scale: 1 for figures that are published; less for a trial of the instrument.
    """

    console: Console
    quick: bool = False
    scale: float = 1.0

    def nothing_to_count(self) -> Readings:
        """Say that a short run has nothing to do here."""
        self.console.print("Nothing is counted here.")
        return {}

    def scaled(self, number: int, least: int = 1) -> int:
        """Return a number as this run wants it."""
        return max(least, round(number * self.scale))

    @contextmanager
    def progress(self, title: str, total: int) -> Iterator[Callable[[], None]]:
        """Show how far a part is, on a terminal; give what says that one more is done."""
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self.console, transient=True) as shown:
            task = shown.add_task(title, total=total)
            yield lambda: shown.advance(task)

    def table(self, title: str, *columns: str) -> Table:
        """Return a table whose first column is text and whose others are numbers."""
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
        table.add_column(columns[0], no_wrap=True)
        for name in columns[1:]:
            table.add_column(name, justify="right", no_wrap=True)
        return table

    def show(self, readings: Readings) -> None:
        """Print what was measured beside the goals."""
        table = self.table("Beside the goals", "aim", "goal", "measured", "ours", "theirs")
        table.columns[0].no_wrap = False
        for name, reading in readings.items():
            aim = AIMS[name]
            met = "green" if aim.is_met(reading.value) else "red"
            table.add_row(
                f"{name.partition(' ')[0]}: {aim.what}",
                aim.goal,
                f"[{met}]{reading.shown} {aim.unit}",
                reading.ours,
                reading.theirs,
            )
        self.console.print(table)


Benchmark = Callable[[Run], Readings]
