"""What is counted while a block is written: as observed metrics of its own write, so that nothing is read once more.

Spark adds up what each accepted task of a job's last stage has seen, once a task, whatever was retried, speculated or
lost with its executor. The block is written in that stage. A number that came out wrong all the same is not believed:
the footers of the block's files are the other hand, and where the two differ, Spark counts in a pass of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airflow_coordination.delivery.counting import SUMS, hashes, owed_by, route, sums_over, tally_of
from airflow_coordination.delivery.routing import Routing
from airflow_coordination.delivery.tally import Tally
from airflow_coordination.delivery.task_pass import FLAG

log = logging.getLogger(__name__)

MOST_BLOCKS: Final = 4
"""Blocks whose routes are counted one by one: each more doubles them."""
WITH_FOOTERS: Final = frozenset({"parquet"})
"""Formats of which a block's rows are known without Spark."""
RECORDS: Final = f"{FLAG}records"
"""What is counted beside the sums."""
_ROUTE: Final = f"{FLAG}route"


def can_be_observed(routing: Routing) -> bool:
    """Whether the writes say what became of every record: all sinks are blocks, and their files tell their rows."""
    blocks = routing.blocks.values()
    return not routing.external and len(blocks) <= MOST_BLOCKS and all(each.format in WITH_FOOTERS for each in blocks)


def observed(routing: Routing, flagged: Any, seen: Any) -> Any:
    """Return the records beside their conditions, watched: what passes is counted by its route, and summed up.

    :param routing: what goes where.
    :param flagged: the records beside their conditions (``routing.flagged()``).
    :param seen: pyspark's ``Observation``, which has the numbers once the records were written.
    """
    from pyspark.sql import functions as fn

    counts = [f"count(case when {_ROUTE} = {each} then 1 end) as `{each}`" for each in _routes(routing)]
    summed = [(routing.owed(sink), sink, name) for sink in _summed(routing) for name in SUMS]
    sums = [f"sum(case when {owed} then {name} end) as `{name} {sink}`" for owed, sink, name in summed]
    hashed = [f"{part} as {name}" for part, name in zip(hashes(routing), SUMS, strict=True)]
    watched = flagged.selectExpr("*", f"{route(routing)} as {_ROUTE}", *hashed)
    return watched.observe(seen, *map(fn.expr, [*counts, *sums]))


def tally_seen(routing: Routing, seen: Mapping[str, Any]) -> Tally | None:
    """Return what one write has seen; ``None`` where Spark has said nothing, as of a plan that it emptied.

    :param routing: what goes where.
    :param seen: the numbers by their names.
    """
    if any(str(each) not in seen for each in _routes(routing)):
        return None
    routes = [(each, seen[str(each)]) for each in _routes(routing) if seen[str(each)]]
    tally = tally_of(routes, len(routing.sinks), len(routing.drop))
    owed = {sink for each, _ in routes for sink in owed_by(each, len(routing.sinks), len(routing.drop))}
    for sink in sorted(owed):
        tally.add_sums(sink, [seen[f"{name} {sink}"] for name in SUMS])
    return tally


def agreed(routing: Routing, tallies: Mapping[str, Tally], rows: Mapping[str, int]) -> Tally | None:
    """Return what all writes have seen, ``None`` where one has seen something else, or its files hold something else.

    :param routing: what goes where.
    :param tallies: what was seen as each block was written.
    :param rows: of each block, by the footers of its files.
    """
    seen = [tallies.get(name) for name in routing.sinks]
    first = seen[0]
    if first is None or any(each != first for each in seen):
        log.info("The records are read once more to be counted: not all writes of this delivery have seen the same")
        return None
    got = [rows[name] for name in routing.sinks]
    if got != first.owed:
        told = "the records are read once more to be counted"
        log.warning("Blocks were owed %s records as they were written, their files hold %s: %s", first.owed, got, told)
        return None
    return first


def counted_sums(parts: Sequence[str]) -> list[Any]:
    """Return the aggregates of what one block is owed: how many records, and their sums.

    :param parts: what is summed up (``hashes``).
    """
    from pyspark.sql import functions as fn

    return [fn.expr(f"count(1) as {RECORDS}"), *sums_over(parts)]


@dataclass(frozen=True, slots=True)
class Written:
    """What was written as a block.

    :param path: its directory.
    :param format: of its files.
    :param options: of its writer and readers.
    :param schema: of its records.
    """

    path: str
    format: str
    options: Mapping[str, str]
    schema: Any


def sums_in(routing: Routing, written: Written) -> list[int]:
    """Return the sums of what a block's files hold, read once more: what was seen as they were written is not believed.

    A block with some of the columns has none that could be compared, so it is other records than were counted.
    """
    if list(written.schema.names) != list(routing.records.columns):
        return []
    reader = routing.records.sparkSession.read.format(written.format).schema(written.schema).options(**written.options)
    [row] = reader.load(written.path).agg(*sums_over(hashes(routing))).collect()
    return [row[name] or 0 for name in SUMS]


def _routes(routing: Routing) -> range:
    return range(-routing.before_sinks, 1 << len(routing.sinks))


def _summed(routing: Routing) -> range:
    """Return the numbers of the sinks, and behind them that of the dead letters by condition."""
    return range(len(routing.sinks) + (routing.aside is not None))
