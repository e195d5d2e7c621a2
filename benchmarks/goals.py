"""The goals of the project's speed: each row, what of it is measured, and by which benchmark.

docs/benchmarks.md is written from this table, so that no row can be forgotten there.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Aim:
    """One figure with a limit.

    :param name: what readings call it; its row's number comes first.
    :param what: what is measured, in words.
    :param limit: the greatest value, or with ``at_least`` the smallest; ``None`` where the goal gives no number.
    :param unit: of the value; ``×`` for ratios of one run.
    :param at_least: whether more is better.
    """

    name: str
    what: str
    limit: float | None
    unit: str = "×"
    at_least: bool = False

    def is_met(self, value: float) -> bool:
        """Return whether a measured value is within the limit."""
        if self.limit is None:
            return True
        return value >= self.limit if self.at_least else value <= self.limit

    @property
    def goal(self) -> str:
        """The limit in words."""
        if self.limit is None:
            return "bounded"
        return f"{'≥' if self.at_least else '≤'} {self.limit:,g} {self.unit}".strip()


@dataclass(frozen=True)
class Row:
    """A row of the table of goals.

    :param number: its name.
    :param subject: what it is about.
    :param benchmark: which one measures it; ``None`` = none does yet.
    :param aims: its figures.
    """

    number: str
    subject: str
    benchmark: str | None
    aims: tuple[Aim, ...]

    @property
    def command(self) -> str:
        """What measures this row again."""
        return f"make bench NAME={self.benchmark}" if self.benchmark else ""


def _steps(row: str, unit: str, *limits: tuple[str, str, float]) -> tuple[Aim, ...]:
    return tuple(Aim(f"{row} {name}", what, limit, unit) for name, what, limit in limits)


def _beside(peer: str, name: str) -> tuple[Aim, ...]:
    return tuple(
        Aim(f"P18 {peer} {step} {kind}", f"{what} beside {name}: {'CPU' if kind == 'cpu' else 'wall time'}", None)
        for step, what in (("compact", "compacting"), ("read", "reading what is compacted"))
        for kind in ("wall", "cpu")
    )


ROWS = (
    Row(
        "W1",
        "Spark: 2,000 files of 50 rows, listed and worked in groups",
        "felt",
        (Aim("W1", "beside one plain Spark job that reads all: wall time", 1.5),),
    ),
    Row(
        "W2",
        "Spark: files of 50 rows, each a partition of its own",
        "felt",
        (
            Aim("W2 loop", "beside a plain Spark loop: wall time", 1.1),
            Aim("W2 pyarrow", "with a function of pyarrow, a partition", 3, "ms"),
        ),
    ),
    Row(
        "W3",
        "Spark: 200 leases in one Spark job, each with its own output, ending and answer",
        "felt",
        (Aim("W3", "beside Spark's partitionBy of the same rows: wall time", 2.0),),
    ),
    Row(
        "W4",
        "Spark: a block delivered with counts beside write.parquet",
        "felt",
        (
            Aim("W4 large", "2,000,000 lines of CSV: wall time", 1.3),
            Aim("W4 small", "1,000 lines: wall time", 1.6),
        ),
    ),
    Row(
        "W5",
        "Spark: lines of CSV delivered to PostgreSQL beside a staging table and one upsert by hand",
        "felt",
        (
            Aim("W5 large", "100,000 lines: wall time", 1.5),
            Aim("W5 small", "1,000 lines: wall time", 2.0),
        ),
    ),
    Row(
        "W6",
        "Spark: 2,000 published partitions of one file each, beside Delta with its log cached",
        "felt",
        (
            Aim("W6 count", "counted: wall time", 1.5),
            Aim("W6 row", "one row by its id: wall time", 1.5),
            Aim("W6 scan", "all of all rows: wall time", 0.8),
        ),
    ),
    Row(
        "W7",
        "Spark: partitions that do nothing",
        "felt",
        (
            Aim("W7 one", "one drain beside the coordinator alone: wall time", 1.5),
            Aim("W7 many", "four at a time beside one: as fast", 1.8, at_least=True),
        ),
    ),
    Row(
        "W8",
        "a driver is killed: another one on that machine has its partition",
        "felt",
        (Aim("W8", "without Airflow, by default", 10, "s"),),
    ),
    Row(
        "W9",
        "`airflow coordination quickstart --run` in an empty folder",
        "felt",
        (Aim("W9", "until a partition is seen completed", 45, "s"),),
    ),
    Row(
        "P1",
        "PostgreSQL: acquire and complete",
        "postgresql",
        (
            Aim("P1 steady raw", "steady: CPU beside raw SQL", 1.3),
            Aim("P1 steady procrastinate", "steady: CPU of procrastinate beside ours", 2.7, at_least=True),
            Aim("P1 steady pgqueuer", "steady: CPU of pgqueuer beside ours", 2.3, at_least=True),
            Aim("P1 rotated raw", "rotated: CPU beside raw SQL", 1.6),
        ),
    ),
    Row(
        "P1a",
        "PostgreSQL: a new process",
        "new-process",
        (Aim("P1a", "import, open, acquire by hint, complete: CPU beside bare psycopg with the same statements", 1.5),),
    ),
    Row(
        "P2",
        "PostgreSQL: complete and acquire the next in one step, 16 processes",
        "fused",
        (
            Aim("P2 cpu", "CPU of procrastinate beside ours", 4.5, at_least=True),
            Aim("P2 rate", "our cycles a second beside procrastinate's", 5.0, at_least=True),
        ),
    ),
    Row(
        "P4",
        "PostgreSQL: acquisition at any depth",
        "depth",
        (
            Aim("P4 depth", "CPU at most rows beside 1,000 rows", 1.2),
            Aim("P4 held", "CPU under a held snapshot beside none", 1.2),
            Aim("P4 held new", "the same, first acquisition of a new process", 1.2),
        ),
    ),
    Row(
        "P6",
        "SQLite at synchronous=FULL",
        "sqlite",
        (
            Aim("P6 raw", "CPU beside raw SQL at FULL", 2.0),
            Aim("P6 wait", "16 processes: longest wait", 300, "ms"),
            Aim("P6 served", "16 processes: most served beside least served", 3.0),
        ),
    ),
    Row(
        "P8",
        "DynamoDB: requests and failed conditions a partition",
        "dynamodb",
        _steps(
            "P8",
            "",
            ("requests", "256 workers with hints: requests", 2.3),
            ("failed", "256 workers with hints: failed conditions", 0.15),
            ("jobs", "256 workers with hints, jobs of 1 s: requests", 2.6),
            ("no hints", "64 workers without hints: requests", 4.0),
        ),
    ),
    Row(
        "P9",
        "DynamoDB: write units",
        "dynamodb",
        _steps(
            "P9",
            "",
            ("partition", "created, acquired and completed", 7.0),
            ("renewal", "a renewal", 1.0),
            ("fifth", "a tenure's fourth renewal, from the fifth ending on", 1.0),
        ),
    ),
    Row(
        "P10",
        "Spark: 64 partitions in one application",
        "overhead",
        (
            Aim("P10 submits", "wall time of a submit each beside one application", 40, at_least=True),
            Aim("P10 overhead", "own overhead a partition", 1.5, "ms"),
            Aim("P10 connect", "Spark Connect: wall time of a submit each beside it", 5, at_least=True),
        ),
    ),
    Row(
        "P11",
        "Spark: a decorated script",
        "overhead",
        (Aim("P11", "wall time over a plain spark-submit of the same work", 3, "%"),),
    ),
    Row(
        "P12",
        "1,000,000 partitions on PostgreSQL: whatever a person or a sensor asks",
        "views",
        (Aim("P12", "most rows of the table read by one question", 2_000, "rows"),),
    ),
    Row(
        "P13",
        "Spark: read_completed",
        "completed",
        (
            Aim("P13", "10,000 files: wall time beside a list by hand at discovery parallelism 8", 1.2),
            Aim("P13 memory", "50,000 files: memory of the driver while they are planned", None, "MiB"),
        ),
    ),
    Row(
        "P14",
        "cost a partition from 10,000 to 1,000,000, every store, every operation",
        "growth",
        (
            Aim("P14 postgresql", "PostgreSQL, the operation that grows most: CPU at most rows beside fewest", 1.2),
            Aim("P14 sqlite", "SQLite, the operation that grows most", 1.2),
            Aim("P14 memory", "in memory, the operation that grows most", 1.2),
            Aim("P14 dynamodb", "DynamoDB, the operation that grows most: requests and units", 1.2),
        ),
    ),
    Row(
        "P15",
        "PostgreSQL: what remembering each tenure costs",
        "history",
        (
            Aim("P15 queued", "acquire + complete: CPU with the history beside without it", 1.15),
            Aim("P15 fused", "complete and acquire the next: the same", 1.15),
        ),
    ),
    Row(
        "P16",
        "Airflow's UI: what the board costs a process of a task",
        "plugin",
        (Aim("P16", "CPU of loading the plugin", 50, "ms"),),
    ),
    Row(
        "P17",
        "Spark: what acknowledgments cost a job",
        "delivery",
        (Aim("P17", "blocks only: wall time beside the same job that counts nothing", 1.15),),
    ),
    Row(
        "P18",
        "Spark: a month of 186 partitions, 213 files, compacted",
        "compaction",
        (
            Aim("P18 failed", "writes and compactions that failed, each beside the other", 0, ""),
            Aim("P18 faster", "reading: wall time before beside after", 4, at_least=True),
            *_beside("delta", "Delta's OPTIMIZE"),
            *_beside("iceberg", "Iceberg's rewrite_data_files"),
        ),
    ),
    Row(
        "P19",
        "PostgreSQL: 100,000 partitions that have published",
        "planning",
        (
            Aim("P19 pages", "their head records in pages: CPU", 1, "s"),
            Aim("P19 bare", "the same beside a bare cursor: CPU", None),
            Aim("P19 plan", "a plan that reads everything, once all are compacted by a hundred: CPU", 2, "s"),
        ),
    ),
    Row(
        "P20",
        "this package beside itself before its house was rebuilt (commit `147c332`)",
        "before",
        (
            Aim("P20 acquire", "PostgreSQL, acquire and complete (P1): CPU", 1.1),
            Aim("P20 fused", "PostgreSQL, complete and acquire the next in one step, 16 processes (P2): CPU", 1.1),
            Aim("P20 drained", "Spark, 64 partitions drained, each publishes a file (P10): wall time", 1.1),
            Aim("P20 submit", "Spark, a decorated script submitted for a partition (P11): wall time", 1.1),
            Aim("P20 read", "Spark, 10,000 files read and counted (P13): wall time", 1.1),
        ),
    ),
)
AIMS = {aim.name: aim for row in ROWS for aim in row.aims}


@dataclass(frozen=True)
class Reading:
    """A measured value of an aim.

    :param value: in the unit of the aim.
    :param shown: the value with its spread.
    :param ours: what ours took, in words.
    :param theirs: what the other side took, in words; empty when there is none.
    """

    value: float
    shown: str
    ours: str
    theirs: str = ""


Readings = dict[str, Reading]
"""By the name of the aim."""
