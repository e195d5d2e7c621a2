"""The commands ``duties …``, ``config …`` and ``rules …``, as data: what happens by itself, and by what it goes."""

from __future__ import annotations

from typing import Final

from airflow_coordination.cli.command import (
    ASKED_FOR,
    BY,
    NAMED,
    OUTPUT,
    PREFIX,
    SOURCE,
    VERSIONS,
    YES,
    Command,
    option,
)
from airflow_coordination.cli.subcommands import rules
from airflow_coordination.cli.subcommands.duties import config, running

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
_WHOSE: Final = (
    option("source", metavar="SOURCE", nargs="?", help="Its name; without it and --dataset, the default rules of all"),
    PREFIX,
    option("--dataset", help="The dataset"),
)
RULES_COMMANDS: Final = (
    Command("get", "Print the rules of a dataset, or the default ones, as Druid's JSON", rules.get, _WHOSE),
    Command(
        "set",
        "Set rules, after looking what is odd about them; they hide nothing before they are applied",
        rules.set_,
        (
            *_WHOSE,
            option("file", help="Druid's JSON, a list; - for standard input"),
            option("--why", required=True, help="The reason, kept in their history"),
            BY,
            option("--dry-run", action="store_true", help="Say what is odd and change nothing"),
            YES,
        ),
    ),
    Command(
        "history",
        "Who has set rules, when and why",
        rules.history,
        (
            *_WHOSE,
            *VERSIONS,
        ),
    ),
    Command(
        "lint",
        "What is odd about rules: those that never apply, what never goes",
        rules.lint,
        (*_WHOSE, option("file", nargs="?", help="Of these instead; - for standard input"), OUTPUT),
    ),
    Command(
        "explain",
        "Which rule decides about a partition or an interval, why, and when that changes",
        rules.explain,
        (
            *NAMED,
            option("--dataset", required=True, help="The dataset"),
            option("what", metavar="KEY_OR_INTERVAL", help="A partition key, or such as 2013-01/P1M"),
        ),
    ),
    Command(
        "apply",
        "Show what rules would hide and what would come back, and do it with --yes",
        rules.apply,
        (
            SOURCE,
            PREFIX,
            option("--dataset", action="append", help="Only this one; may be repeated (default: all there are)"),
            option("--why", help="With --yes: the reason, kept in the history"),
            BY,
            option("-y", "--yes", action="store_true", help="Do it; without, it is only shown"),
            OUTPUT,
        ),
    ),
)
