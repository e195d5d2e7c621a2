"""The one table of what is sent: the tests compare with it, and the page of DynamoDB's budgets is made from it.

Who changes what is sent runs ``make accept``, and looks at what has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

FILE = Path(__file__).parent / "counts.tsv"
COLUMNS = (
    "SQLite",
    "PostgreSQL",
    "PostgreSQL, KiB",
    "DynamoDB",
    "DynamoDB, KiB",
    "read",
    "written",
    "written, theirs",
)
"""Statements; begun KiB, sent + answered; requests; units, on the table this package makes and on Data Prepper's."""

Cells = dict[str, str]
Rows = dict[str, Cells]
"""What each operation is counted to send, by its name, on some engines or on all."""


def read() -> Rows:
    """Return the table as it is committed."""
    return parsed(FILE.read_text()) if FILE.exists() else {}


def parsed(text: str) -> Rows:
    """Return a table from its text."""
    [_, *names], *lines = [line.split("\t") for line in text.splitlines()]
    return {name: {column: cell for column, cell in zip(names, cells, strict=True) if cell} for name, *cells in lines}


def text(rows: Rows) -> str:
    """Return the text of a table."""
    lines = [("operation", *COLUMNS), *((name, *(row.get(each, "") for each in COLUMNS)) for name, row in rows.items())]
    return "".join("\t".join(line) + "\n" for line in lines)


def merged(parts: Iterable[Rows]) -> Rows:
    """Return what several engines were sent as one table; what is nothing on one of them is left empty."""
    whole: Rows = {}
    for name, cells in chain.from_iterable(part.items() for part in parts):
        whole.setdefault(name, {}).update(cells)
    return whole


def differences(counted: Rows, table: Rows) -> Iterator[str]:
    """Yield a line for each cell of what was counted that the table has otherwise, and for each missing operation."""
    columns = list(dict.fromkeys(chain.from_iterable(counted.values())))
    for name in counted.keys() | table.keys():
        for column in columns:
            now, before = (rows.get(name, {}).get(column, "nothing") for rows in (counted, table))
            if now != before:
                yield f"{name}: {column}: {before} → {now}"
