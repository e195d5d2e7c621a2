"""The commands as data: Airflow's command line and our own are both built from this table."""

from __future__ import annotations

from typing import Final

from airflow_coordination.cli.branch_commands import BRANCHES_COMMANDS
from airflow_coordination.cli.command import ANY_SOURCE, BY, NEWEST, OUTPUT, PREFIX, SOURCE, YES, Command
from airflow_coordination.cli.command import ASKED_FOR as _ASKED_FOR
from airflow_coordination.cli.command import NAMED as _NAMED
from airflow_coordination.cli.command import option as _option
from airflow_coordination.cli.compaction_commands import COMPACTION_COMMANDS
from airflow_coordination.cli.copies.commands import COPIES_COMMANDS, LOCATIONS_COMMANDS
from airflow_coordination.cli.doctor import doctor
from airflow_coordination.cli.duties_commands import CONFIG_COMMANDS, DUTIES_COMMANDS, RULES_COMMANDS
from airflow_coordination.cli.quickstart.command import quickstart
from airflow_coordination.cli.subcommands import (
    acting,
    hiding,
    intervals,
    looking,
    moving,
    outputs,
    purging,
    roles,
    timeline,
    upkeep,
    watching,
)
from airflow_coordination.cli.subcommands.acting import finish_actions
from airflow_coordination.cli.subcommands.from_kcl import FAILOVER, import_kcl
from airflow_coordination.cli.subcommands.looking import (
    explain,
    print_accounting,
    print_advice,
    print_history,
    print_slowest,
)
from airflow_coordination.cli.subcommands.metrics import metrics
from airflow_coordination.cli.subcommands.one_source import print_audit, print_ended, print_errors, print_source
from airflow_coordination.cli.subcommands.overview import print_owners, print_shards, print_sources, print_workers
from airflow_coordination.monitoring.acting import OFFERED
from airflow_coordination.monitoring.deeds import Reach
from airflow_coordination.monitoring.states import STATES, WORDS
from airflow_coordination.protocol.writes import Action

KEY: Final = _option("key", metavar="KEY", help="The partition's key")
KEYS: Final = _option("key", metavar="KEY", nargs="*", help="Partition keys; or give a filter")
_IN: Final = (*WORDS, *STATES)
_APART: Final = "the words in capitals are those of the version before"
_FILTER: Final = (
    _option("--status", choices=_IN, help=f"All partitions in this state; {_APART}"),
    _option("--error-like", metavar="TEXT", help="All partitions with this in their last error"),
    _option("--error-alike", metavar="TEXT", help="All partitions of one line of `errors`, by its column alike"),
    _option("--key-prefix", metavar="TEXT", help="All partitions whose key begins so"),
    _option("--key-from", metavar="KEY", help="All partitions from this key on, in byte order"),
    _option("--key-to", metavar="KEY", help="All partitions up to this key, itself among them"),
    _option("--owner-like", metavar="TEXT", help="All partitions that an owner with this in its name holds"),
    _option("--payload-like", metavar="TEXT", help="All partitions with this in their payload, for example an object"),
    _option("--after", metavar="KEY", help="With a filter: start after this key"),
    _option("--limit", type=int, default=1000, help="With a filter: at most so many at once (default: 1000)"),
)
_PEOPLE: Final = (SOURCE, PREFIX, KEYS, *_FILTER, *_ASKED_FOR)
_OF_A_SOURCE: Final = (SOURCE, PREFIX, *_ASKED_FOR)
_PAUSE: Final = (
    *_OF_A_SOURCE,
    _option(
        "--for", dest="lasts", metavar="PERIOD", help="After so long (PT2M) it goes on by itself; else when resumed"
    ),
)
_PAGING: Final = (
    _option("--status", choices=_IN, help=f"Only partitions in this state; {_APART}"),
    _option("--error-like", metavar="TEXT", help="Only partitions with this in their last error"),
    _option("--error-alike", metavar="TEXT", help="Only partitions of one line of `errors`, by its column alike"),
    _option("--key-prefix", metavar="TEXT", help="Only partitions whose key begins so"),
    _option("--key-from", metavar="KEY", help="Only partitions from this key on, in byte order"),
    _option("--key-to", metavar="KEY", help="Only partitions up to this key, itself among them"),
    _option("--owner-like", metavar="TEXT", help="Only partitions that an owner with this in its name holds"),
    _option("--payload-like", metavar="TEXT", help="Only partitions with this in their payload, for example an object"),
    _option("--after", help="Start after this key"),
    _option("--limit", type=int, default=100, help="At most so many (default: 100)"),
)
_OWNERS: Final = (
    ANY_SOURCE,
    PREFIX,
    _option("--after", metavar="KEY", help="With a source: start after this key"),
    _option("--limit", type=int, default=100, help="At most so many (default: 100)"),
    OUTPUT,
)
_METRICS: Final = (
    ANY_SOURCE,
    PREFIX,
    _option("--label", action="append", metavar="NAME=VALUE", help="Add a label to every line; may be repeated"),
)
_IAM: Final = (
    _option("role", choices=roles.ROLES, help="Who the policy is for"),
    _option("--table", help="The table (default: the store's)"),
    _option("--region", help="Its region (default: the store's)"),
    _option("--account", help="Its account's 12 digits (default: the account of the store's role)"),
    _option("--ask-account", action="store_true", help="Ask AWS which account these credentials belong to"),
    _option("--output-root", help="Where partitions publish on S3, to have that in the policy, too"),
    _option("--source", help="Only the keys of this source"),
    PREFIX,
)

_GRANTS: Final = (
    _option("role", choices=roles.ROLES_IN_POSTGRESQL, help="Whose rights"),
    _option("--to", help="The role in PostgreSQL (default: coordination_owner, _worker or _reader)"),
    _option("--database", help="The database (default: the store's)"),
    _option("--schema", help="The schema of its tables (default: the store's, otherwise public)"),
)

_PURGE: Final = (
    SOURCE,
    PREFIX,
    _option("--completed-before", required=True, help="2026-01-31, a time with its zone, or an age: 90d"),
    _option("--why", required=True, help="The reason, kept in the history of each partition"),
    BY,
    _option("--dry-run", action="store_true", help="Count what would go and change nothing"),
    YES,
)
_CLEANUP: Final = (
    SOURCE,
    PREFIX,
    _option("--clean-after", default="1d", metavar="AGE", help="How long each stays at least: 36h, 2d (default: 1d)"),
    _option("--gone", action="append", default=[], metavar="KEY", help="Its source knows it no more; may be repeated"),
    _option("--why", help="The reason, kept in the audit of each partition (default: what has made it go)"),
    BY,
    _option("--dry-run", action="store_true", help="Say what would go and change nothing"),
    YES,
)
_FINISH: Final = (
    SOURCE,
    PREFIX,
    _option("key", metavar="KEY", nargs="?", help="Only after this partition"),
    _option("--forget", action="store_true", help="Take the notes away without doing what they say"),
    _option("--why", help="With --forget: the reason, kept in the audit"),
    _option("--by", help="With --forget: who does it (default: the account you are logged in with)"),
    _option("--dry-run", action="store_true", help="Print what is left and change nothing"),
    _option("--options-from", help="An environment variable with options of Kafka's client, as a JSON object"),
    YES,
    OUTPUT,
)
_IMPORT_KCL: Final = (
    SOURCE,
    PREFIX,
    _option("table", help="The KCL's lease table: the name of its application"),
    _option("--stream", action="append", help="The stream, where the table does not name it; or one of several"),
    _option("--region", help="Of the table and of the streams (default: the environment's)"),
    _option(
        "--begin-at", metavar="TIME", help="Where a shard begins that has no checkpoint yet, if at no TRIM_HORIZON"
    ),
    _option(
        "--still-for",
        type=float,
        default=FAILOVER,
        metavar="SECONDS",
        help="So long no lease may move: the KCL's failoverTimeMillis (default: 10)",
    ),
    BY,
    _option("--dry-run", action="store_true", help="Say what would be taken over, and change nothing"),
    YES,
)
_COLLECT: Final = (
    SOURCE,
    PREFIX,
    _option("--output-root", metavar="ROOT", required=True, help="The directory of all blocks of the source"),
    _option(
        "--older-than",
        default="1d",
        metavar="AGE",
        help="Leave what was written, replaced or merged more recently: longer than any reader reads (default: 1d)",
    ),
    _option("--keep-originals", action="store_true", help="Leave also what was merged, where outputs are enabled"),
    _option("--dry-run", action="store_true", help="Count what would go and change nothing"),
    YES,
    OUTPUT,
)
_SET_INTERVAL: Final = (
    SOURCE,
    PREFIX,
    _option("--dataset", required=True, help="The dataset"),
    _option("--from-key", metavar="PATTERN", help="How keys tell it, such as %%Y-%%m: of all that have none"),
    _option("--interval", metavar="TEXT", help="Such as 2013-01/P1M, of the one --key"),
    _option("--key", help="The partition key"),
    _option("--replace", action="store_true", help="Also of those that have one"),
    _option("--why", required=True, help="The reason, kept in the audit"),
    BY,
    _option("--dry-run", action="store_true", help="Show what would be set and change nothing"),
    YES,
    OUTPUT,
)
_DATASET: Final = _option("--dataset", required=True, help="The dataset")
_HIDE: Final = (
    SOURCE,
    PREFIX,
    _DATASET,
    _option("interval", help="Such as 2013-01/P1M: what lies in it"),
    _option("--why", help="With --yes: the reason, kept in the history"),
    BY,
    _option("-y", "--yes", action="store_true", help="Do it; without, it is only shown"),
    OUTPUT,
)
_PURGE_OUTPUTS: Final = (
    SOURCE,
    PREFIX,
    _option("--dataset", required=True, action="append", help="A dataset of which anything may go; may be repeated"),
    _option("--output-root", metavar="ROOT", required=True, help="The directory of all blocks of the source"),
    _option("--buffer", default="P30D", metavar="PERIOD", help="Hidden, final or rolled back so long (default: P30D)"),
    _option("--retain", default="P90D", metavar="PERIOD", help="And intervals ended so long ago (default: P90D)"),
    _option("--most", type=int, default=100, help="At most so many head records, the oldest first (default: 100)"),
    _option("--i-know", action="store_true", help="Allow a buffer of no time, within which nothing can be taken back"),
    _option("--why", help="With --yes: the reason, kept in the history and the audit"),
    BY,
    _option("--dry-run", action="store_true", help="Show which files would go; so it does without --yes, too"),
    _option("-y", "--yes", action="store_true", help="Do it; without, it is only shown"),
    OUTPUT,
)
_ENABLE: Final = (
    _option(
        "what",
        choices=("outputs", "branches"),
        help="outputs: what was merged may go. branches: there may be branches and hidden intervals, too",
    ),
    _option("--dry-run", action="store_true", help="Say what is in the way, and change nothing"),
    YES,
)
_WATCH: Final = (
    SOURCE,
    PREFIX,
    _option("--interval", type=float, default=2.0, help="Seconds between two looks (default: 2)"),
    _option("--looks", type=int, help="Leave after so many looks (default: when nothing is left to do)"),
)
_NEW_ID: Final = (YES,)

_DOCTOR: Final = (
    _option("source", metavar="SOURCE", nargs="?", help="Look at all that it has published (default: at some of each)"),
    _option("--role", choices=("owner", *roles.ROLES), default="worker", help="Whose permissions (default: worker)"),
    _option("--output-root", metavar="ROOT", help="Where output goes, if it is to be tried, too"),
    OUTPUT,
)
_QUICKSTART: Final = (
    _option("--dags-folder", metavar="FOLDER", help="Where DAG files are (default: Airflow's; ./dags with --run)"),
    _option("--run", action="store_true", help="Run it in an Airflow of its own, in the current directory"),
    _option("--clean", action="store_true", help="Remove what it has written, and nothing else"),
    _option("--no-spark", action="store_true", help="Let plain Python do the work, also where Spark is there"),
)


_RESET: Final = (
    _option("--run", action="store_true", help="Of one partition: trigger its DAG then, whose tasks try it first"),
    _option("--dag", metavar="DAG_ID", help="With --run: which one, where several make the source's partitions"),
    _option("--branch", type=int, metavar="N", help="Into this branch, which has begun (default: out of any)"),
    _option("--out-of-branch", action="store_true", help="Although others stand for its rows since it was retired"),
)


def _action(action: Action) -> Command:
    options = (*_PEOPLE, *_RESET) if action is Action.RESET else _PEOPLE
    return Command(action.value, OFFERED[action], lambda context, args: acting.act(context, action, args), options)


_LOOK: Final = (
    Command(
        "status",
        "How many partitions are in each state, by source",
        looking.status,
        (ANY_SOURCE, PREFIX, OUTPUT),
    ),
    Command("list", "List partitions by key", looking.list_partitions, (SOURCE, PREFIX, *_PAGING, OUTPUT)),
    Command("show", "Everything that is known of one partition", looking.show, (SOURCE, PREFIX, KEY, OUTPUT)),
    Command("owners", "Who holds what: since when, and how long the lease lasts", print_owners, _OWNERS),
    Command("workers", "Who shares a source, how many leases each holds and should hold", print_workers, _NAMED),
    Command("shards", "How far each shard of a stream is read, and what it waits for", print_shards, _NAMED),
    Command("sources", "All sources of the store, in numbers, and whose they are", print_sources, (PREFIX, OUTPUT)),
    Command("source", "One source at a glance: states, who has paused it and why, owners", print_source, _NAMED),
    Command(
        "ended",
        "How much ended in each five minutes of the last day: completed, failed, lost",
        print_ended,
        (*_NAMED, _option("--since", metavar="AGE", help="Only what ended since then: 3h")),
    ),
    Command(
        "errors",
        "What parked partitions failed of, equal errors together",
        print_errors,
        (*_NAMED, _option("--limit", type=int, default=100, help="At most so many errors (default: 100)")),
    ),
    Command(
        "audit",
        "Who did what to a source and its partitions, or to all sources, and why",
        print_audit,
        (
            ANY_SOURCE,
            PREFIX,
            OUTPUT,
            _option("--since", metavar="WHEN", help="Only what was done since: 12h, 2d, 2026-01-31T18:00:00+01:00"),
            _option("--by", help="Only what this person did"),
            _option("--action", help="Only this action: reset, pause, …"),
            _option(
                "--reach", choices=[str(each) for each in Reach], help="Only to the source, one partition, or many"
            ),
            _option("--has", metavar="TEXT", help="Only with this in its reason, or in a partition's key"),
            _option(
                "--settings", action="store_true", help="What was set instead: rules, settings, and what they were"
            ),
        ),
    ),
    Command("watch", "Watch a source: states, rate, and when it will be done; Ctrl-C leaves", watching.watch, _WATCH),
    Command("metrics", "One look at the sources, as Prometheus reads it", metrics, _METRICS),
    Command(
        "history",
        "What happened to one partition: who held it, how that ended, and what people did",
        print_history,
        (
            SOURCE,
            PREFIX,
            KEY,
            _option("--limit", type=int, default=100, help="So many of the newest tenures (default: 100)"),
            OUTPUT,
        ),
    ),
    Command(
        "accounting",
        "What became of the records delivered: of a source, or of one partition",
        print_accounting,
        (
            SOURCE,
            PREFIX,
            _option("key", metavar="KEY", nargs="?", help="Only this partition"),
            _option("--dataset", help="Of what this dataset holds: the counts as they were when it was published"),
            OUTPUT,
        ),
    ),
    Command("explain", "Why one partition is not moving, and what to do", explain, (SOURCE, PREFIX, KEY, OUTPUT)),
    Command("advice", "Stragglers, unequal owners, what to set, and why", print_advice, (SOURCE, PREFIX, OUTPUT)),
    Command(
        "slowest",
        "Which partitions took longest in the last day, those that are held among them",
        print_slowest,
        (SOURCE, PREFIX, _option("--limit", type=int, default=10, help="So many (default: 10)"), OUTPUT),
    ),
)
_ACT: Final = (
    *map(_action, OFFERED),
    Command("pause", "Hold new leases of a source back; owners finish, sweeps go on", acting.pause, _PAUSE),
    Command("resume", "Let a paused source go on", acting.resume, _OF_A_SOURCE),
    Command(
        "finish-actions",
        "Do what drivers have left to be done at the source after their endings (then=)",
        finish_actions,
        _FINISH,
    ),
)
_SOURCES: Final = (
    Command(
        "export",
        "Write a paused source into a file of JSON lines, for another store",
        moving.export_source,
        (
            SOURCE,
            PREFIX,
            _option("file", help="The file to write; it must not be there yet"),
            _option("--merged", metavar="FILE2", help="Another file, for what was merged of the source"),
        ),
    ),
    Command(
        "import",
        "Let an exported source go on in this store; repeated, it goes on where it was interrupted",
        moving.import_source,
        (
            _option("file", help="The file that export wrote"),
            BY,
            _option("--dry-run", action="store_true", help="Check the file and change nothing"),
            YES,
        ),
    ),
    Command(
        "import-kcl",
        "Let a source go on where an application of the Kinesis Client Library has stopped",
        import_kcl,
        _IMPORT_KCL,
    ),
    Command("purge", "Forget what was completed long ago; its output stays", upkeep.purge, _PURGE),
    Command("cleanup", "Remove finished parents whose children have begun", acting.clean_up, _CLEANUP),
)
_SET_UP: Final = (
    Command("doctor", "Look whether installation, store, clock and permissions are well; 1 if not", doctor, _DOCTOR),
    Command(
        "quickstart",
        "Write an example DAG with its data and its store, and say what to do with it",
        quickstart,
        _QUICKSTART,
        has_store=False,
    ),
    Command("iam", "Print what a role of AWS IAM needs for a DynamoDB table, as a policy", roles.print_policy, _IAM),
    Command("grants", "Print what a role needs in PostgreSQL, as SQL for psql", roles.print_grants, _GRANTS),
)
FIRST: Final = "Look after leased partitions: COMMAND SOURCE [KEY], and options in any place."
SECTIONS: Final = {"Look": _LOOK, "Act": _ACT, "Sources": _SOURCES, "Store and set-up": _SET_UP}
"""Commands of one word, as help puts them together."""
COMMANDS: Final = tuple(command for those in SECTIONS.values() for command in those)
STORE_COMMANDS: Final = (
    Command("migrate", "Create the store's tables, or migrate them to this version", acting.migrate),
    Command(
        "new-id",
        "Give a copy of a store an id of its own, so that nobody takes it for the original",
        upkeep.new_id,
        _NEW_ID,
    ),
    Command("enable", "Keep older code out: so that originals may go, or for branches", outputs.enable, _ENABLE),
)
OUTPUTS_COMMANDS: Final = (
    Command(
        "collect",
        "Delete the files that no reader can follow, of a source and of what was merged of it",
        outputs.collect_outputs,
        _COLLECT,
    ),
    Command(
        "index",
        "Put the manifests of a dataset together in few files, so that readers plan faster",
        outputs.index,
        (*_NAMED, _DATASET),
    ),
    Command(
        "set-interval",
        "Say of which time rows are that were published before anybody said it",
        intervals.set_interval,
        _SET_INTERVAL,
    ),
    Command(
        "timeline",
        "Which stretches of a dataset are there, missing, hidden, or only in a branch",
        timeline.timeline,
        (*_NAMED, _DATASET, _option("--interval", help="Only of this one, such as 2013-01/P1M")),
    ),
    Command("hide", "Show what would vanish from readers' sight, and hide it with --yes", hiding.hide, _HIDE),
    Command("restore", "Show what would come back, and restore it with --yes", hiding.restore, _HIDE),
    Command(
        "purge",
        "Show which files go because they were hidden long ago, and let them go with --yes",
        purging.purge_outputs,
        _PURGE_OUTPUTS,
    ),
    Command(
        "history",
        "Who has changed what readers see of a source, when and why",
        timeline.history,
        (*_NAMED, NEWEST),
    ),
)
GROUPS: Final = {
    "store": ("The store's schema", STORE_COMMANDS),
    "compaction": ("Small files merged beside ingest", COMPACTION_COMMANDS),
    "branches": ("Partitions that run again aside, and show together", BRANCHES_COMMANDS),
    "outputs": ("What was published", OUTPUTS_COMMANDS),
    "rules": ("What is kept of each dataset, and what readers see no more", RULES_COMMANDS),
    "locations": ("Where copies of what is published may lie", LOCATIONS_COMMANDS),
    "copies": ("Copies of what is published, in tiers of locations", COPIES_COMMANDS),
    "duties": ("What happens by itself", DUTIES_COMMANDS),
    "config": ("What may be changed while duties run", CONFIG_COMMANDS),
}
"""Commands with a word before their name."""
