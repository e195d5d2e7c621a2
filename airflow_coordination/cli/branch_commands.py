"""The commands ``branches …``, as data."""

from __future__ import annotations

from typing import Final

from airflow_coordination.cli.command import ASKED_FOR, NAMED, OUTPUT, PREFIX, SOURCE, Command, option
from airflow_coordination.cli.subcommands import branch_diff, branches

_WHICH: Final = (
    option("key", metavar="KEY", nargs="*", help="Partition keys; or name them otherwise"),
    option("--key-prefix", metavar="TEXT", help="All partitions whose key begins so"),
    option("--interval", metavar="TEXT", help="All partitions of which rows show in it, such as 2013-01/P1M"),
    option("--dataset", help="With --interval: judged by this dataset alone"),
    option("--all", action="store_true", help="All partitions"),
)
_NUMBER: Final = option("number", metavar="NUMBER", type=int, help="The branch's number")
_OF_A_BRANCH: Final = (SOURCE, PREFIX, _NUMBER, *ASKED_FOR)
BRANCHES_COMMANDS: Final = (
    Command(
        "begin",
        "Let partitions run again aside; what they publish shows when the branch is published",
        branches.begin,
        (
            SOURCE,
            PREFIX,
            *_WHICH,
            option("--empty", action="store_true", help="None yet: for partitions that are created in the branch"),
            option("--branch", type=int, metavar="N", help="Go on with a branch whose beginning was interrupted"),
            option("--then", action="store_true", help="Do what follows their endings (then=) before it is published"),
            option("--even-if-it-reopens", action="store_true", help="Also shards, and others that read on for ever"),
            option("--even-if-it-never-ran", action="store_true", help="Also those that have completed nowhere yet"),
            *ASKED_FOR,
        ),
    ),
    Command("status", "How far each branch of a source is, and what it waits for", branches.status, NAMED),
    Command(
        "diff",
        "What a branch changes for readers, by partition, and whose rows are others",
        branch_diff.diff,
        (
            SOURCE,
            PREFIX,
            _NUMBER,
            option("--dataset", help="Of this dataset alone"),
            option("--no-contents", action="store_true", help="Compare no rows: neither files nor Spark are needed"),
            option("--master", default="local[*]", help="Of the Spark that compares rows (default: local[*])"),
            OUTPUT,
        ),
    ),
    Command(
        "publish",
        "Let readers see a branch, all of it at once",
        branches.publish,
        (
            *_OF_A_BRANCH,
            option("--empty-missing", action="store_true", help="Drop the old rows of datasets not published to"),
        ),
    ),
    Command("roll-back", "Let nobody see a branch any more, for ever", branches.roll_back, _OF_A_BRANCH),
    Command("finalize", "Let a branch show for good; what it hides may be purged", branches.finalize, _OF_A_BRANCH),
    Command(
        "retire",
        "Let partitions have nothing in a branch, because others in it stand for their rows",
        branches.retire,
        (SOURCE, PREFIX, _NUMBER, *_WHICH, *ASKED_FOR),
    ),
)
