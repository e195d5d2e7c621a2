"""What a command is, for Airflow's command line and our own, and the options that many have."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import FORMATS


@dataclass(frozen=True)
class Option:
    """One argument, as argparse takes it."""

    flags: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Command:
    """One command.

    :param run: does it, and returns the exit code where it is not 0; raises a ``CoordinationError`` when it cannot.
    :param has_store: whether it works on a store that people name.
    """

    name: str
    help: str
    run: Callable[[CommandContext, Namespace], int | None]
    options: tuple[Option, ...] = ()
    has_store: bool = True


def option(*flags: str, **settings: Any) -> Option:
    """Return one argument, as argparse takes it."""
    return Option(flags, settings)


STORE: Final = option("--store", help="The store's URL, for example sqlite:////var/lib/c.db")
OUTPUT: Final = option("-o", "--output", choices=FORMATS, default="table", help="Output format (default: table)")
PREFIX: Final = option("--partition-prefix", help="The deployment's partition prefix, if it has one")
SOURCE: Final = option("source", metavar="SOURCE", help="The source's name")
ANY_SOURCE: Final = option("source", metavar="SOURCE", nargs="?", help="Only this source")
"""Of what is about all sources, or about one."""
BY: Final = option("--by", help="Who does it (default: the account you are logged in with)")
YES: Final = option("-y", "--yes", action="store_true", help="Do not ask")
NEWEST: Final = option("--limit", type=int, default=100, help="So many of the newest versions (default: 100)")
VERSIONS: Final = (NEWEST, option("--interval", help="Only those set in it, such as 2026-11/P1M"), OUTPUT)
"""Of who looks which versions of a document there are."""
ASKED_FOR: Final = (
    option("--why", required=True, help="The reason, kept in the audit"),
    BY,
    option("--dry-run", action="store_true", help="Show what would happen and change nothing"),
    YES,
    OUTPUT,
)
"""Of what a person changes."""
NAMED: Final = (SOURCE, PREFIX, OUTPUT)
"""Of what is only looked at."""
