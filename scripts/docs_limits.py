"""Which constants of the code the page of timers and limits shows, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta


def plain(value: object) -> str:
    """Return a number as people read it."""
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g} seconds"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def unit(name: str) -> Callable[[object], str]:
    """Return a writer of numbers in this unit."""
    return lambda value: f"{plain(value)} {name}"


SECONDS = unit("seconds")


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
    Constant("Renewals in one ownership timeout", "leases.settings", "RENEWALS_PER_LEASE"),
    Constant("Between two sweeps of a sensor", "leases.settings", "SWEEP_INTERVAL"),
    Constant("Until a watcher first reminds of work that nobody takes", "triggers.claimable", "REMIND_AFTER"),
    Constant("Longest such time (each is twice the one before)", "leases.waiting.wake_up", "LONGEST_REMINDER"),
    Constant("First pause before a call to the store is repeated", "leases.settle", "FIRST_PAUSE", unit("seconds")),
    Constant(
        "Longest such pause (each is twice the one before, jittered)", "leases.settle", "LONGEST_PAUSE", unit("seconds")
    ),
    Constant("Probability that an acquire starts at the class “new”", "leases.settings", "NEW_FIRST_PROBABILITY"),
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
    Constant("DynamoDB: margin on the service's own time", "stores.dynamodb.service_clock", "MARGIN"),
    Constant("DynamoDB: wait for a connection", "stores.dynamodb.client", "CONNECT_SECONDS", SECONDS),
    Constant("DynamoDB: wait for an answer", "stores.dynamodb.client", "READ_SECONDS", SECONDS),
    Constant(
        "DynamoDB: how long a deleted partition's token and endings are kept",
        "stores.dynamodb.changes",
        "TOMBSTONE_LIFE",
    ),
    Constant("DynamoDB: how long exact counts serve", "stores.dynamodb.counting", "EXACT_FOR"),
    Constant("PostgreSQL: how long the mark of used-up new partitions serves", "stores.sql.marks", "SECONDS", SECONDS),
    Constant(
        "PostgreSQL: how long the floors of a queue serve at most, where looks are slow",
        "stores.sql.used_up",
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
    Constant("Spark Connect: wait for a new session's server", "spark.connect", "CONNECT_WITHIN", SECONDS),
    Constant("Spark Connect: wait for small answers later", "spark.connect", "ANSWER_WITHIN", SECONDS),
    Constant("Task: a driver's time between SIGTERM and SIGKILL", "submission.spark_submit", "GRACE", SECONDS),
    Constant("Airflow: wait before a try after the store was unavailable", "hooks.retries", "SOON"),
)

LIMITS = (
    Constant("A partition key", "leases.names", "MAX_KEY_BYTES", unit("bytes of UTF-8")),
    Constant("A source with its prefix, as stored", "leases.names", "MAX_SOURCE_BYTES", unit("bytes of UTF-8")),
    Constant("A dataset's name", "leases.blocks", "MAX_DATASET_BYTES", unit("bytes of UTF-8")),
    Constant("A payload, as JSON", "leases.documents", "MAX_PAYLOAD_BYTES", kib),
    Constant("Progress and global state, as JSON", "leases.documents", "MAX_PROGRESS_BYTES", kib),
    Constant("Depth of a JSON document", "leases.documents", "MAX_DEPTH", unit("levels")),
    Constant("The block list of one partition", "leases.blocks", "MAX_BLOCKS_BYTES", kib),
    Constant(
        "A partition's last error, cut after", "leases.ending_requests", "MAX_ERROR_CHARACTERS", unit("characters")
    ),
    Constant("The reason of a person's action, cut after", "leases.people", "MAX_WHY_CHARACTERS", unit("characters")),
    Constant("Leases of one Spark application at a time", "leases.concurrency", "MOST_CONCURRENT_LEASES"),
    Constant("Endings that a partition remembers", "leases.fence", "RING_SIZE"),
    Constant("Partitions created in one step", "leases.settings", "CREATE_PAGE"),
    Constant("DynamoDB: an item", "stores.dynamodb.limits", "MAX_ITEM_BYTES", kib),
    Constant("DynamoDB: items in one transaction", "stores.dynamodb.limits", "MAX_TRANSACTION"),
    Constant("DynamoDB: partitions created in one step", "stores.dynamodb.store", "CREATE_PAGE"),
    Constant("DynamoDB: requests of one step under way at a time", "stores.dynamodb.parallel", "PARALLEL"),
    Constant(
        "DynamoDB: progress or blocks above this get an item of their own",
        "stores.dynamodb.large_values",
        "INLINE_BYTES",
        unit("bytes of UTF-8"),
    ),
    Constant("PostgreSQL: connections of one process (`pool_size`)", "stores.sql.postgres", "POOL_SIZE"),
)
