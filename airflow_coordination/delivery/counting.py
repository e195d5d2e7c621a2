"""Counts of what sinks are owed, made by Spark alone; and records that stand for others.

An ordinary aggregation, so each record counts once whatever tasks are retried or speculated. The records are read once
more for it, which takes less than keeping them (``persist``) or showing them to Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from airflow_coordination.delivery.column_types import quoted
from airflow_coordination.delivery.routing import Routing
from airflow_coordination.delivery.tally import Arrival, Tally
from airflow_coordination.delivery.task_pass import FLAG
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.input_errors import InvalidInputError

SUMS: Final = ("__deliver_key_low", "__deliver_key_high", "__deliver_all_low", "__deliver_all_high")
"""Sums over what was hashed of a sink's records. Equal numbers of other records have other sums."""
_BITS: Final = 0x7FFF_FFFF
"""31 bits of four billion records have a sum of 63."""
_COLUMNS: Final = 100
"""Columns in one expression: Spark's planner nests them, and its stack ends."""


def counted(routing: Routing, flagged: Any) -> Tally:
    """Return what each sink is owed. What it got, the footers of its files say.

    :param routing: what goes where.
    :param flagged: the records beside their conditions (``routing.flagged()``).
    """
    from pyspark.sql import functions as fn

    sinks, reasons = len(routing.sinks), len(routing.drop)
    columns = routing.records.columns
    groups = flagged.groupBy(fn.expr(route(routing)).alias("route")).agg(
        fn.count("*").alias("records"), *sums_over(hashes(routing)), *_every_column(columns)
    )
    rows = groups.collect()
    tally = tally_of(((row.route, row.records) for row in rows), sinks, reasons)
    for row in rows:
        for sink in owed_by(row.route, sinks, reasons):
            tally.add_sums(sink, [row[name] for name in SUMS])
    return tally


def hashes(routing: Routing) -> list[str]:
    """Return expressions of 31 bits each, in SQL: a record's key twice, then all that it holds twice.

    As text: each function of pyspark's that makes a column is several calls to the JVM.
    """
    fields = {field.name: _hashable(field) for field in routing.records.schema}
    two = (f"xxhash64({fields[routing.key]})", f"xxhash64({', '.join(fields.values())})")
    return [part for each in two for part in (f"({each} & {_BITS})", f"shiftrightunsigned({each}, 33)")]


def sums_over(parts: Sequence[str]) -> list[Any]:
    """Return the aggregates of such expressions, under their names."""
    from pyspark.sql import functions as fn

    return [fn.expr(f"sum({part}) as {name}") for part, name in zip(parts, SUMS, strict=True)]


def same_keys(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two sums say that the keys are the same."""
    return list(one[:2]) == list(other[:2])


def owed_by(route: int, sinks: int, reasons: int) -> list[int]:
    """Return the numbers of the sinks that records of a route are owed; the dead letters come behind all sinks."""
    if route < 0:
        return [sinks] if route < -reasons else []
    return [sink for sink in range(sinks) if route >> sink & 1]


def tally_of(routes: Iterable[tuple[int, int]], sinks: int, reasons: int) -> Tally:
    """Return the counts of records by their route.

    :param routes: pairs of a route and its number of records; a route is the sinks as bits, or -1 - n for the n-th
        reason to drop a record; behind the reasons comes the condition of the dead letters.
    """
    tally = Tally([0] * sinks, [0] * reasons)
    for route, records in routes:
        tally.read += records
        if route < -reasons:
            tally.arrivals[tally.aside] += records
        elif route < 0:
            tally.dropped[-1 - route] += records
        elif route == 0:
            tally.unrouted += records
        else:
            tally.arrivals[Arrival(delivered=route)] += records
            tally.owed = [owed + records * (route >> sink & 1) for sink, owed in enumerate(tally.owed)]
    return tally


def route(routing: Routing) -> str:
    """Return a record's route, in SQL; the first condition of those before the sinks that holds decides."""
    before = routing.before_sinks
    flags = [f"{FLAG}{number}" for number in range(before + len(routing.sinks))]
    bits = " + ".join(f"cast({flag} as int) * {1 << sink}" for sink, flag in enumerate(flags[before:]))
    kept_back = " ".join(f"when {flag} then {-1 - number}" for number, flag in enumerate(flags[:before]))
    return f"case {kept_back} else {bits} end" if kept_back else bits


def _hashable(field: Any) -> str:
    """Return what Spark makes a number of, in SQL; of maps and variants it does not."""
    found, kind = quoted(field.name), field.dataType.simpleString()
    return f"to_json(struct({found}))" if "map<" in kind or "variant" in kind else found


def _every_column(columns: Sequence[str]) -> Iterator[Any]:
    """Yield aggregates that need every column.

    Readers of text look only at the columns that are asked for: a line that is malformed when a block is written would
    be a good record when it is counted, or one that is left out there would be counted here.
    """
    from pyspark.sql import functions as fn

    for start in range(0, len(columns), _COLUMNS):
        yield fn.expr(f"count({', '.join(map(quoted, columns[start : start + _COLUMNS]))})")


def check_absorbed(absorbed: Any, routing: Routing) -> None:
    """Refuse what cannot stand for other records.

    :param absorbed: the input of the aggregation, a DataFrame.
    :raises InvalidInputError: naming the argument and the remedy.
    """
    if not hasattr(absorbed, "sparkSession") or not hasattr(absorbed, "count"):
        problem = f"is {type(absorbed).__name__}, not a DataFrame"
        raise InvalidInputError("absorbs", absorbed, problem, "Give the records that were aggregated")
    if routing.drop:
        problem = "would drop rows that stand for many records each, so that nobody knows how many"
        raise InvalidInputError("drop", sorted(routing.drop), problem, "Drop records before you aggregate them")
    if routing.dead_letters is not None:
        problem = "would keep a row that stands for many records, which nobody can deliver again"
        raise InvalidInputError("dead_letters", "given", problem, "Leave it out: a refused row fails the delivery")


def unabsorbed(counted: Accounting, absorbed: int) -> Iterator[str]:
    """Say which records would count as delivered although the rows that stand for them are nowhere.

    :param counted: the accounting of the rows.
    :param absorbed: how many records they stand for.
    """
    if counted.unrouted:
        yield f"{counted.unrouted} row(s) reach no sink, and nobody knows for how many absorbed records they stand"
    if absorbed and not counted.read:
        yield f"there is no row, and {absorbed} record(s) are to be absorbed"


def standing_for(counted: Accounting, absorbed: int, *, arrived: bool) -> Accounting:
    """Return the accounting of a delivery in terms of the records that its rows stand for.

    All of them arrive, or none: a row that did not arrive may stand for any of them. What each sink was owed and got
    are the rows.

    :param counted: the accounting of the rows.
    :param absorbed: how many records they stand for.
    :param arrived: whether every row has.
    """
    done, failed = (absorbed, 0) if arrived else (0, absorbed)
    return Accounting(read=absorbed, delivered_everywhere=done, failed=failed, sinks=counted.sinks)
