"""Rows for a terminal or a program, with control and bidi characters escaped."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Final

import yaml

FORMATS: Final = ("table", "json", "yaml", "plain")
_UNPRINTABLE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
Row = Mapping[str, object]


def escape(text: str) -> str:
    """Return ``text`` with everything that could move the cursor or reverse the line written as an escape."""
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in _UNPRINTABLE else char for char in text
    )


def print_rows(rows: Sequence[Row], output: str) -> None:
    """Print ``rows``, which have the same columns, to standard output.

    :param output: one of :data:`FORMATS`; ``plain`` is tab-separated with a header.
    """
    plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
    if output == "json":
        print(json.dumps(plain, indent=2))
    elif output == "yaml":
        print(yaml.safe_dump(plain, sort_keys=False), end="")
    elif output == "plain":
        _print_tabbed(plain)
    else:
        _print_table(plain)


def say(message: str) -> None:
    """Print a sentence for a person to standard error, so that standard output stays data."""
    print(escape(message), file=sys.stderr)


def working(what: str) -> AbstractContextManager[object]:
    """Show on a terminal that something takes its time; nothing elsewhere."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"{what} …")


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return str(value) if isinstance(value, str) else value


_UNCUT: Final = 100_000
"""Columns of what is no terminal: whoever searches a pipe for a key finds it in one piece."""


def _text(value: object) -> str:
    if value is None:
        return ""
    return escape(value if isinstance(value, str) else json.dumps(value))


def _print_tabbed(rows: Sequence[Row]) -> None:
    for line in ([list(rows[0])] if rows else []) + [[_text(value) for value in row.values()] for row in rows]:
        print("\t".join(line))


def _print_table(rows: Sequence[Row]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    if not rows:
        say("Nothing found.")
        return
    table = Table(*(Column(name, overflow="fold") for name in rows[0]), box=box.ASCII_DOUBLE_HEAD)
    for row in rows:
        table.add_row(*(Text(_text(value)) for value in row.values()))
    Console(width=None if sys.stdout.isatty() else _UNCUT).print(table)
