"""Records that stand for others: an aggregation of a partition's records, delivered in their place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airflow_coordination.spark.routing import Routing
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.input_errors import InvalidInputError


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
