"""What sinks are owed, counted by Spark alone: for deliveries in which no executor has a sink to write to.

An ordinary aggregation, so each record counts once whatever tasks are retried or speculated. The records are read once
more for it, which takes less than keeping them (``persist``) or showing them to Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from airflow_coordination.sinks.tally import Arrival, Tally
from airflow_coordination.sinks.task_pass import FLAG
from airflow_coordination.spark.routing import Routing, quoted

_COLUMNS: Final = 100
"""Columns in one expression: Spark's planner nests them, and its stack ends."""


def counted(routing: Routing, flagged: Any) -> Tally:
    """Return what each sink is owed. What it got, the footers of its files say.

    :param routing: what goes where.
    :param flagged: the records beside their conditions (``routing.flagged()``).
    """
    from pyspark.sql import functions as fn

    route = _route(routing.before_sinks, len(routing.sinks)).alias("route")
    groups = flagged.groupBy(route).agg(fn.count("*").alias("records"), *_every_column(routing.records.columns))
    return tally_of(((row.route, row.records) for row in groups.collect()), len(routing.sinks), len(routing.drop))


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


def _route(before: int, sinks: int) -> Any:
    """Return the column of a record's route; the first condition of those before the sinks that holds decides."""
    from pyspark.sql import functions as fn

    flags = [fn.col(f"{FLAG}{number}") for number in range(before + sinks)]
    bits = sum((flag.cast("int") * (1 << sink) for sink, flag in enumerate(flags[before:])), fn.lit(0))
    kept_back = [fn.when(flag, -1 - number) for number, flag in enumerate(flags[:before])]
    return fn.coalesce(*kept_back, bits)


def _every_column(columns: Sequence[str]) -> Iterator[Any]:
    """Yield aggregates that need every column.

    Readers of text look only at the columns that are asked for: a line that is malformed when a block is written would
    be a good record when it is counted, or one that is left out there would be counted here.
    """
    from pyspark.sql import functions as fn

    for start in range(0, len(columns), _COLUMNS):
        yield fn.expr(f"count({', '.join(map(quoted, columns[start : start + _COLUMNS]))})")
