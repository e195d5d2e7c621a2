"""The commands ``compaction …``, as data."""

from __future__ import annotations

from typing import Final

from airflow_coordination.cli.command import BY, NAMED, PREFIX, SOURCE, VERSIONS, YES, Command, option
from airflow_coordination.cli.subcommands import compaction

_WHOSE: Final = (SOURCE, PREFIX, option("--dataset", required=True, help="The dataset"))
COMPACTION_COMMANDS: Final = (
    Command(
        "plan",
        "Show what is merged next and why, and make groups of it claimable",
        compaction.plan,
        (
            *NAMED,
            option(
                "--config",
                action="append",
                default=[],
                metavar="JSON",
                help="How a dataset is compacted; may be repeated (default: as documents say, or the last run)",
            ),
            option("--ratio", type=float, help="The part of the workers' places (default: as in the last run, or 0.1)"),
            option("--max-slots", type=int, help="At most so many groups claimable or held at once"),
            option("--capacity", type=int, help="How many leases all workers can hold (default: those alive say so)"),
            option("--dry-run", action="store_true", help="Show what would begin and change nothing"),
            YES,
        ),
    ),
    Command(
        "run",
        "Merge here what is claimable, with a Spark session of this process",
        compaction.run,
        (
            SOURCE,
            PREFIX,
            option("--output-root", required=True, metavar="ROOT", help="Where merged files are published"),
            option("--now", metavar="KEY", help="First make the groups claimable that have rows of this partition"),
            option("--max-groups", type=int, help="At most so many (default: until none is claimable)"),
            option("--master", default="local[*]", help="Of Spark (default: local[*])"),
            option("--by", help="With --now: who does it (default: the account you are logged in with)"),
        ),
    ),
    Command("get", "Print how a dataset is compacted, as JSON", compaction.get, _WHOSE),
    Command(
        "set",
        "Set how a dataset is compacted; in force from the next run of compactSegments",
        compaction.set_,
        (
            *_WHOSE,
            option("file", help="Druid's JSON, an object; - for standard input"),
            option("--why", required=True, help="The reason, kept in its history"),
            BY,
            option("--dry-run", action="store_true", help="Look whether it can be, and change nothing"),
            YES,
        ),
    ),
    Command(
        "history",
        "Who has set how a dataset is compacted, when and why",
        compaction.history,
        (
            *_WHOSE,
            *VERSIONS,
        ),
    ),
    Command("status", "How far each dataset is, what the next run takes, what has failed", compaction.status, NAMED),
    Command("explain", "Every chunk with the reason why it is merged, or is not", compaction.explain, NAMED),
    Command(
        "off",
        "Take back all that is merged of a dataset; readers read the originals again",
        compaction.off,
        (
            SOURCE,
            PREFIX,
            option("dataset", help="The dataset's name"),
            option("--why", required=True, help="The reason, kept in the audit"),
            BY,
            option("--dry-run", action="store_true", help="Look whether it can be done and change nothing"),
            YES,
        ),
    ),
)
