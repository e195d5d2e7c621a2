"""docs/benchmarks.md, from the goals and what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.goals import ROWS, Aim, Readings, Row
from benchmarks.harness.systems import ROOT

PAGE = ROOT / "docs/benchmarks.md"
NOT_MEASURED = "not measured yet"
_HEAD = """\
# Benchmarks

What the package costs beside what people would use instead. `make bench` runs everything and writes this page; the
command of a row measures it again. [How it is measured](../benchmarks/README.md), and
[why some goals are not met](explanation/speed.md).

Timings of one machine say little; each ratio is between two systems in one run, by CPU of client and server together
unless it says otherwise. Behind it, in brackets, is where the middle eight tenths of the rounds are. Every server keeps
what it acknowledges: `fsync`, `synchronous_commit` and SQLite's `synchronous=FULL` are on for all.

"""


def write(readings: Readings, machine: Sequence[tuple[str, str]]) -> None:
    """Write the page."""
    PAGE.write_text("".join(text(readings, machine)))


def text(readings: Readings, machine: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the page in parts."""
    yield _HEAD
    yield "| | |\n|---|---|\n"
    yield from (f"| {name} | {value} |\n" for name, value in [*machine, ("command", "`make bench`")])
    yield "\n| row | what | goal | measured | met | ours | beside | command |\n|---|---|---|---|---|---|---|---|\n"
    for row in ROWS:
        yield from (_line(row, aim, readings) for aim in row.aims)


def _line(row: Row, aim: Aim, readings: Readings) -> str:
    start = f"| {row.number} | {row.subject}: {aim.what} | {aim.goal}"
    command = f"`{row.command}`" if row.command else ""
    reading = readings.get(aim.name)
    if reading is None:
        return f"{start} | {NOT_MEASURED} | | | | {command} |\n"
    met = "yes" if aim.is_met(reading.value) else "no"
    measured = f"{reading.shown} {aim.unit}".strip()
    return f"{start} | {measured} | {met} | {reading.ours} | {reading.theirs} | {command} |\n"
