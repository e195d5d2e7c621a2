"""The commands ``duties …``, as data."""

from __future__ import annotations

from typing import Final

from airflow_coordination.cli.command import ASKED_FOR, OUTPUT, PREFIX, Command, option
from airflow_coordination.cli.subcommands.duties import running

DUTIES_COMMANDS: Final = (
    Command(
        "run",
        "Run groups of duties until this process is stopped, each when it is due; or once",
        running.run,
        (
            option("--group", action="append", help="Only this group; may be repeated (default: all there are)"),
            option("--source", action="append", help="Serve only this source; may be repeated (default: all)"),
            PREFIX,
            option(
                "--properties", metavar="FILE", help="Druid's runtime.properties (default: [coordination] in Airflow)"
            ),
            option("--output-root", help="Where blocks are published, for killStalePending"),
            option("--once", action="store_true", help="Each group once, if it is due, and then end"),
            option("--now", action="store_true", help="Each group once, due or not, and then end"),
            option("--why", help="With --now: the reason, kept in the audit"),
            option("--by", help="With --now: who does it (default: the account you are logged in with)"),
            option("--dry-run", action="store_true", help="Say what each duty would do, and change nothing"),
            OUTPUT,
        ),
    ),
    Command(
        "status", "What became of the last run of each duty, and when the next one is", running.status, (PREFIX, OUTPUT)
    ),
    Command(
        "forget",
        "Take a group away that no properties name any more, with what is remembered of it",
        running.forget,
        (option("name", help="The group's name"), PREFIX, *ASKED_FOR),
    ),
)
