"""The commands ``locations …`` and ``copies …``, as data."""

from __future__ import annotations

from typing import Final

from airflow_coordination.cli.command import BY, NAMED, NEWEST, OUTPUT, PREFIX, SOURCE, YES, Command, option
from airflow_coordination.cli.copies import copies, locations

LOCATIONS_COMMANDS: Final = (
    Command("get", "Print where copies may lie, as JSON", locations.get, (PREFIX,)),
    Command(
        "set",
        "Set where copies may lie; the roots of new locations are marked",
        locations.set_,
        (
            PREFIX,
            option("file", help="JSON, a list of objects with name, root, tier and capacity; - for standard input"),
            option("--why", required=True, help="The reason, kept in their history"),
            BY,
            option("--dry-run", action="store_true", help="Say what would change and change nothing"),
            YES,
        ),
    ),
    Command(
        "history",
        "Who has set locations, when and why",
        locations.history,
        (
            PREFIX,
            NEWEST,
            OUTPUT,
        ),
    ),
    Command("status", "Which locations can be read from here now", locations.status, (PREFIX, OUTPUT)),
)
COPIES_COMMANDS: Final = (
    Command(
        "status",
        "Where the copies of a source lie, how full locations are, what waits and why",
        copies.status,
        (*NAMED, option("--locations", action="store_true", help="Print the locations instead of the chunks")),
    ),
    Command(
        "run",
        "Make the copies that were asked for, in this process and without Spark",
        copies.run,
        (
            SOURCE,
            PREFIX,
            option("--max-copies", type=int, help="At most so many (default: until none is claimable)"),
        ),
    ),
    Command(
        "collect",
        "Delete the files of copies that were dropped or made anew",
        copies.collect,
        (
            *NAMED,
            option(
                "--older-than",
                default="1d",
                metavar="AGE",
                help="Leave what was written or dropped more recently: longer than any reader reads (default: 1d)",
            ),
            option("--dry-run", action="store_true", help="Count what would go and change nothing"),
            YES,
        ),
    ),
)
