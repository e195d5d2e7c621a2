"""The commands ``locations …``, as data."""

from __future__ import annotations

from typing import Final

from airflow_coordination.cli.command import OUTPUT, PREFIX, Command, option
from airflow_coordination.cli.copies import locations

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
            option("--by", help="Who does it (default: the account you are logged in with)"),
            option("--dry-run", action="store_true", help="Say what would change and change nothing"),
            option("-y", "--yes", action="store_true", help="Do not ask"),
        ),
    ),
    Command(
        "history",
        "Who has set locations, when and why",
        locations.history,
        (
            PREFIX,
            option("--limit", type=int, default=100, help="So many of the newest versions (default: 100)"),
            OUTPUT,
        ),
    ),
    Command("status", "Which locations can be read from here now", locations.status, (PREFIX, OUTPUT)),
)
