"""The commands ``rules …``, as data."""

from __future__ import annotations

from typing import Final

from airflow_coordination.cli.command import BY, NAMED, OUTPUT, PREFIX, SOURCE, VERSIONS, YES, Command, option
from airflow_coordination.cli.subcommands import rules

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
