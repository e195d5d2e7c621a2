"""The commands ``config …``, as data."""

from __future__ import annotations

from typing import Final

from airflow_coordination.cli.command import BY, OUTPUT, PREFIX, VERSIONS, YES, Command, option
from airflow_coordination.cli.subcommands.duties import config

CONFIG_COMMANDS: Final = (
    Command("get", "Print the configuration of the duties, every key, as JSON", config.get, (PREFIX,)),
    Command(
        "set",
        "Change keys of the configuration; in force from the next run of each group",
        config.set_,
        (
            PREFIX,
            option("changes", nargs="*", metavar="KEY=VALUE", help="A key with its value; null for the default"),
            option("--file", help="A JSON object of keys instead; - for standard input"),
            option("--seen", type=int, metavar="VERSION", help="Refuse where others have set them since this one"),
            option("--replace", action="store_true", help="All other keys are the default, also if it is corrupt"),
            option("--why", required=True, help="The reason, kept in its history"),
            BY,
            option("--dry-run", action="store_true", help="Say what would change and change nothing"),
            YES,
            OUTPUT,
        ),
    ),
    Command(
        "history",
        "Who has changed the configuration, when, how and why",
        config.history,
        (
            PREFIX,
            *VERSIONS,
        ),
    ),
    Command(
        "diff",
        "What two versions of the configuration say differently",
        config.diff,
        (
            PREFIX,
            option("older", type=int, metavar="OLDER", help="A version; 0 for the defaults"),
            option("newer", type=int, nargs="?", metavar="NEWER", help="Another one (default: the newest)"),
            OUTPUT,
        ),
    ),
)
