"""Which constants of the code the page of timers and limits shows, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

_UNITS = (("day", 86_400), ("hour", 3_600))


def plain(value: object) -> str:
    """Return a number as people read it."""
    if isinstance(value, timedelta):
        length = value.total_seconds()
        [(name, size), *_] = [each for each in _UNITS if length % each[1] == 0 and length >= each[1]] or [("second", 1)]
        return f"{plain(length / size)} {name}{'s' * (length != size)}"
    number = float(str(value))
    return f"{int(number):,}" if number.is_integer() else f"{number:g}"


def unit(name: str) -> Callable[[object], str]:
    """Return a writer of numbers in this unit."""
    return lambda value: f"{plain(value)} {name}"


def seconds(value: object) -> str:
    """Return a number of seconds as people read it."""
    return plain(timedelta(seconds=float(str(value))))


SECONDS = seconds


def kib(value: object) -> str:
    """Return a size in bytes as KiB."""
    return f"{int(str(value)) // 1024} KiB"


@dataclass(frozen=True, slots=True)
class Constant:
    """One row.

    :param meaning: what it is, for people.
    :param module: where it is, below the package.
    :param name: its name there.
    :param shown: how its value is written.
    """

    meaning: str
    module: str
    name: str
    shown: Callable[[object], str] = plain


TIMERS = (
    Constant("Renewals in one ownership timeout", "values.settings", "RENEWALS_PER_LEASE"),
    Constant("Between two sweeps of a sensor", "values.settings", "SWEEP_INTERVAL"),
    Constant("Until a watcher first reminds of work that nobody takes", "triggers.claimable", "REMIND_AFTER"),
    Constant("Longest such time (each is twice the one before)", "monitoring.waiting.idleness", "LONGEST_REMINDER"),
    Constant("First pause before a call to the store is repeated", "leases.confirm", "FIRST_PAUSE", SECONDS),
    Constant("Longest such pause (each is twice the one before, jittered)", "leases.confirm", "LONGEST_PAUSE", SECONDS),
    Constant("Probability that an acquire starts at the class “new”", "values.settings", "NEW_FIRST_PROBABILITY"),
    Constant(
        "SQLite: wait for the turn to write, in the queue beside the file", "stores.sql.sqlite", "TURN_SECONDS", SECONDS
    ),
    Constant("SQLite: wait for a lock of the database", "stores.sql.sqlite", "BUSY_SECONDS", SECONDS),
    Constant("PostgreSQL: `connect_timeout`", "stores.sql.postgres", "CONNECT_SECONDS", SECONDS),
    Constant(
        "PostgreSQL: `statement_timeout`, set on the server for our connections",
        "stores.sql.postgres",
        "STATEMENT_SECONDS",
        SECONDS,
    ),
    Constant("PostgreSQL: wait for the answer beyond that", "stores.sql.postgres", "GRACE_SECONDS", SECONDS),
    Constant("DynamoDB: margin on the service's own time", "stores.dynamodb.requests", "MARGIN"),
    Constant("DynamoDB: wait for a connection", "stores.dynamodb.client", "CONNECT_SECONDS", SECONDS),
    Constant("DynamoDB: wait for an answer", "stores.dynamodb.client", "READ_SECONDS", SECONDS),
    Constant(
        "DynamoDB: how long a deleted partition's token and endings are kept, unless it has published in a branch",
        "stores.dynamodb.changes",
        "TOMBSTONE_LIFE",
    ),
    Constant("DynamoDB: how long exact counts serve", "stores.dynamodb.counting", "EXACT_FOR"),
    Constant("PostgreSQL: how long the mark of used-up new partitions serves", "stores.sql.queue", "SECONDS", SECONDS),
    Constant(
        "PostgreSQL: how long the floors of a queue serve at most, where looks are slow",
        "stores.sql.queue",
        "SELDOM",
        SECONDS,
    ),
    Constant(
        "Driver: a function's time to come back after its Spark jobs are cancelled",
        "spark.interruption",
        "GRACE",
        SECONDS,
    ),
    Constant(
        "Driver: its time after it was interrupted, before the process ends", "spark.interruption", "STUCK", SECONDS
    ),
    Constant("Spark Connect: wait for a new session's server", "systems.spark.connect", "CONNECT_WITHIN", SECONDS),
    Constant("Spark Connect: wait for small answers later", "systems.spark.connect", "ANSWER_WITHIN", SECONDS),
    Constant("Task: a driver's time between SIGTERM and SIGKILL", "submission.spark_submit", "GRACE", SECONDS),
    Constant(
        "Task: time of a driver in the cluster to give its leases back, when its task is ended",
        "submission.cluster_mode",
        "TIME_TO_GIVE_BACK",
        SECONDS,
    ),
    Constant(
        "Task: longest time between two looks at a driver in the cluster that has not begun",
        "submission.cluster_watch",
        "FIRST_LOOKS",
        SECONDS,
    ),
    Constant(
        "Task: between two looks at a driver that an earlier try has left", "submission.cluster_mode", "PAUSE", SECONDS
    ),
    Constant(
        "Task: longest wait for the end of such a driver", "submission.cluster_mode", "LONGEST_WAIT_FOR_END", SECONDS
    ),
    Constant("Task: shortest time between two labels in the grid", "submission.task_instance", "LABEL_EVERY", SECONDS),
    Constant("Driver: behind its first thousand, those that pass are told every", "spark.reports", "EVERY", SECONDS),
    Constant("Airflow: wait before a try after the store was unavailable", "hooks.retries", "SOON"),
    Constant("Airflow: wait before a try after a task that could not begin", "hooks.retries", "MENDING"),
    Constant("Fair shares: between two looks of a worker at the others", "values.settings", "BALANCE_INTERVAL"),
    Constant("Drain: between two looks at work that lost races", "spark.draining", "LOOK_PAUSE", SECONDS),
    Constant(
        "Driver: between two looks for processes of its machine that are gone", "leases.tries", "LOOK_EVERY", SECONDS
    ),
    Constant("Drain: wait while another process runs the supplier", "spark.draining", "RIVAL_PAUSE", SECONDS),
    Constant("Longest rest of a pause that drains and tasks wait for", "monitoring.waiting.patience", "PATIENCE"),
    Constant("Between two looks whether it was lifted", "monitoring.waiting.patience", "LOOK_AGAIN", SECONDS),
    Constant("Driver: until Spark's jobs are cancelled once more", "spark.interruption", "CANCEL_AGAIN", SECONDS),
    Constant(
        "Driver: wait for the end of a JVM that refuses a call, as an evicted one",
        "spark.interruption",
        "JVM_ENDS",
        SECONDS,
    ),
    Constant(
        "Task: until the next one removes what a killed one has written for its driver",
        "leases.handover",
        "LONGEST_DELIVERY",
        SECONDS,
    ),
    Constant("Sinks: wait for an answer of HTTP", "systems.http.sink", "ANSWER_WITHIN"),
    Constant("Sinks: how long a call is repeated before a delivery fails", "systems.patience", "RETRY_FOR"),
    Constant("Sinks: files of a delivery that came to no end are kept for", "systems.objects.sink", "LEFT_FOR"),
    Constant("Sinks: PostgreSQL's `connect_timeout`", "systems.sql.postgres_sink", "CONNECT_WITHIN", SECONDS),
    Constant("Sinks: PostgreSQL's `statement_timeout`", "systems.sql.postgres_sink", "STATEMENT_WITHIN", SECONDS),
    Constant("Listings: `lateness` of objects", "systems.objects.supplier", "LATENESS"),
    Constant("Listings: `lateness` of groups of objects", "systems.objects.supplier", "LATENESS_OF_GROUPS"),
    Constant(
        "Listings: at most so often, what is passed over for its age is looked for",
        "systems.objects.scan",
        "LOOK_EVERY",
    ),
    Constant("SQL ranges: `lateness`", "systems.sql.ranges", "LATENESS"),
    Constant("How long what has finished stays at least (`clean_after`)", "protocol.hierarchy", "CLEAN_AFTER"),
    Constant("From one plan of compaction to the next (`period`)", "duties.compaction.planner", "PERIOD"),
    Constant("Duties: before the first run of a group (`startDelay`)", "duties.groups.running", "START_DELAY"),
    Constant("What ended: a row of sums is about", "protocol.beside.ended_sums", "SLOT"),
    Constant("What ended: so long after an ending it is counted", "protocol.beside.ended_sums", "LATE"),
    Constant("What ended: sums stay", "protocol.beside.ended_sums", "KEPT"),
    Constant("What ended: from one look for old sums to the next", "duties.groups.counting", "SELDOM"),
    Constant("Documents: an old version stays at least", "leases.viewing.documents", "LEAST_KEPT"),
    Constant("A group whose chunk a branch has: until it looks again", "spark.upkeep", "LOCKED_FOR"),
    Constant("A group that is held: between two renewals", "spark.upkeep", "ATTENTIVE", SECONDS),
    Constant("After so long a plan looks at everything, whatever is new", "duties.compaction.remembered", "A_DAY"),
    Constant("History: `history_retention`", "stores.config", "DEFAULT"),
    Constant("Longest duration that a setting takes", "values.times", "LONGEST"),
    Constant("DynamoDB: how long exact counts of a large source serve", "stores.dynamodb.counting", "EXACT_FOR_LARGE"),
    Constant(
        "DynamoDB: how often all processes together bring what they have counted",
        "stores.dynamodb.counting",
        "FLUSH_SECONDS",
        SECONDS,
    ),
    Constant(
        "DynamoDB: how long a process believes that a source is not paused",
        "stores.dynamodb.steps",
        "ASKED_AGAIN",
        SECONDS,
    ),
    Constant(
        "DynamoDB: how long endings that a partition remembers are kept", "stores.dynamodb.partitions", "KEPT_FOR"
    ),
    Constant("DynamoDB: shortest `ttl`", "stores.dynamodb.options", "SHORTEST_TTL"),
    Constant("DynamoDB: how long one request of a takeover is repeated", "stores.dynamodb.setup.takeover", "PATIENCE"),
    Constant("SQL: between two looks of a process at the history of a source", "stores.sql.store", "SELDOM", SECONDS),
)
INNER = {
    ("delivery.manager", "DEFAULT_TIMEOUT"),  # the setting acknowledgment_timeout
    ("leases.explaining.facts", "LONG"),
    ("protocol.partition", "SAME_MOMENT"),
    ("monitoring.waiting.observation", "LATELY"),
    ("stores.dynamodb.acquiring", "CROWDED"),
    ("stores.dynamodb.steps", "COUNTED_AFTER"),
    ("stores.dynamodb.partitions", "SHORTEST_LEASE"),
    ("stores.dynamodb.options", "MICROSECOND"),
    ("stores.dynamodb.options", "SECOND"),
    ("stores.sql.statements.step", "MICROSECOND"),
    ("stores.sql.queue", "SHORT_WAY_SECONDS"),
    ("stores.sql.queue", "SLOW"),
    ("stores.sql.queue", "SOON"),
}
"""Times that the page leaves out: units, and bounds of one function that nobody outside of it notices."""

LIMITS = (
    Constant("A partition key", "values.names", "MAX_KEY_BYTES", unit("bytes of UTF-8")),
    Constant("A source with its prefix, as stored", "values.names", "MAX_SOURCE_BYTES", unit("bytes of UTF-8")),
    Constant("A dataset's name", "values.blocks", "MAX_DATASET_BYTES", unit("bytes of UTF-8")),
    Constant("A payload, as JSON", "values.documents", "MAX_PAYLOAD_BYTES", kib),
    Constant("Progress and global state, as JSON", "values.documents", "MAX_PROGRESS_BYTES", kib),
    Constant("Depth of a JSON document", "values.documents", "MAX_DEPTH", unit("levels")),
    Constant("The block list of one partition", "values.blocks", "MAX_BLOCKS_BYTES", kib),
    Constant("A partition's last error, cut after", "leases.outcomes", "MAX_ERROR_CHARACTERS", unit("characters")),
    Constant("The reason of a person's action, cut after", "leases.people", "MAX_WHY_CHARACTERS", unit("characters")),
    Constant("Leases of one Spark application at a time", "values.settings", "MOST_CONCURRENT_LEASES"),
    Constant("Endings that a partition remembers", "values.fence", "RING_SIZE"),
    Constant("Parents of one partition", "protocol.partition", "MAX_PARENTS"),
    Constant("What follows an ending (`then=`), as a note in the store", "protocol.follow_up", "MAX_BYTES", kib),
    Constant("Objects that one ending deletes", "systems.objects.deletion", "MAX_OBJECTS"),
    Constant("Names of a group of objects in a file", "systems.objects.names_file", "MAX_NAMES"),
    Constant("Sinks in the accounting of one partition", "values.accounting", "MAX_SINKS"),
    Constant("The name of a sink", "values.accounting", "MAX_NAME_BYTES", unit("bytes of UTF-8")),
    Constant("A block's address", "values.blocks", "MAX_ADDRESS_BYTES", kib),
    Constant("A hint", "values.hints", "LONGEST_HINT", unit("bytes of UTF-8")),
    Constant("Partitions created in one step", "values.settings", "CREATE_PAGE"),
    Constant("DynamoDB: an item", "stores.dynamodb.keys", "MAX_ITEM_BYTES", kib),
    Constant("DynamoDB: items in one transaction", "stores.dynamodb.keys", "MAX_TRANSACTION"),
    Constant("DynamoDB: partitions created in one step", "stores.dynamodb.store", "CREATE_PAGE"),
    Constant("DynamoDB: requests of one step under way at a time", "stores.dynamodb.requests", "PARALLEL"),
    Constant(
        "DynamoDB: progress or blocks above this get an item of their own",
        "stores.dynamodb.partitions",
        "INLINE_BYTES",
        unit("bytes of UTF-8"),
    ),
    Constant("PostgreSQL: connections of one process (`pool_size`)", "stores.sql.postgres", "POOL_SIZE"),
)
