"""The look at keys, before anything is delivered: which are null, or there twice.

Where all comes from one small file, the one task that delivers looks first. Where the plan says that little is read,
one job of one stage does it: it brings each key's hash, so that nothing is shuffled, and the records are kept by the
same job. Only where two hashes are equal, or one is that of null, and where much is read, Spark counts the records of
each key.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from airflow_coordination.delivery.column_types import quoted
from airflow_coordination.delivery.routing import Routing
from airflow_coordination.values.input_errors import InvalidInputError

MOST_KEYS: Final = 1_000_000
"""Records up to which keys are checked unless it is said."""
LITTLE: Final = 64 * 1024**2
"""Bytes that a plan reads, as Spark takes it, up to which hashes are brought: 8 bytes of each record."""
ONE_READ: Final = 1024**2
"""Bytes of one file up to which a single task looks at all keys before it delivers any record."""
_ROW_BY_ROW: Final = frozenset({"Filter", "Project"})
"""Steps of a plan that one task does no later than several: no shuffle that divides the work, and no Python."""
_OF_FILES: Final = "LogicalRelation"
"""What a plan calls the step that reads files."""
_HASHED: Final = ("string", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz")
"""Types of which equal keys have equal hashes. With a collation or as floats they may not."""
_IN_A_PARTITION: Final = (1 << 33) - 1
"""The bits of Spark's ``monotonically_increasing_id`` that number the rows of one partition."""
_OF_NULL: Final = 42
"""What ``xxhash64`` makes of null: its seed."""


def check_keys(routing: Routing, flagged: Any, wanted: bool | None) -> None:
    """Refuse keys that are null or there twice, among the records that some external sink is owed.

    :param routing: what goes where.
    :param flagged: the records beside their conditions (``routing.flagged()``).
    :param wanted: whether to look; ``None`` up to :data:`MOST_KEYS` records.
    :raises InvalidInputError: with an example.
    """
    if wanted is False or not routing.external:
        return
    is_little = _tells_by_hash(routing) and _bytes_of(_optimized(flagged)) <= LITTLE
    hashes = _hashes(routing, flagged) if is_little else None
    if hashes is not None and len(hashes) <= MOST_KEYS:
        if not _are_apart(hashes):
            _check(routing, flagged)
    elif wanted or (hashes is None and flagged.count() <= MOST_KEYS):
        _check(routing, flagged)


def for_one_task(routing: Routing, wanted: bool | None) -> Any | None:
    """Return the records beside their conditions where everything is in one small file, for the one task that looks.

    Blocks are written before by jobs of their own, so beside these keys are looked at by :func:`check_keys`. Where that
    is known beforehand Spark is asked nothing.

    :param wanted: as for :func:`check_keys`.
    """
    if wanted is False or routing.blocks or not routing.external or not _tells_by_hash(routing):
        return None
    flagged = routing.flagged()
    read = _optimized(flagged)
    while read.nodeName() in _ROW_BY_ROW:
        read = read.children().head()
    small = read.nodeName() == _OF_FILES and _bytes_of(read) <= ONE_READ and len(flagged._jdf.inputFiles()) == 1
    return flagged.coalesce(1) if small else None


def wrong_keys(routing: Routing, flagged: Any, names: Iterable[str], wrong: str) -> list[Any]:
    """Return a key that is null or there twice, with its number, among the records that some sinks are owed.

    :param wrong: the condition, in SQL.
    """
    from pyspark.sql import functions as fn

    key = fn.col(quoted(routing.key)).alias("key")
    keys = flagged.where(_owed(routing, names)).groupBy(key).agg(fn.count("*").alias("records"))
    return list(keys.where(wrong).orderBy("key").limit(1).collect())


def _check(routing: Routing, flagged: Any) -> None:
    wrong = wrong_keys(routing, flagged, routing.external, "key is null or records > 1")
    if not wrong:
        return
    [(key, count)] = wrong
    problem = f"is null in {count} record(s)" if key is None else f"is {key!r} in {count} records"
    remedy = "Give a column that identifies a record, remove doubles before, or say check_keys=False"
    raise InvalidInputError("key", routing.key, f"{problem}, so that sinks cannot tell them apart", remedy)


def _owed(routing: Routing, names: Iterable[str]) -> str:
    return " or ".join(routing.owed(list(routing.sinks).index(name)) for name in names) or "false"


def _tells_by_hash(routing: Routing) -> bool:
    """Whether equal keys have equal hashes, and Spark says what it is about to do. Spark Connect does not."""
    records = routing.records
    return records.schema[routing.key].dataType.simpleString() in _HASHED and hasattr(records, "_jdf")


def _optimized(flagged: Any) -> Any:
    return flagged._jdf.queryExecution().optimizedPlan()


def _bytes_of(plan: Any) -> int:
    """Return how many bytes Spark takes it that a step of its plan gives."""
    return int(plan.stats().sizeInBytes())


def _hashes(routing: Routing, flagged: Any) -> Any:
    """Return the hash of each key, null for a record that no external sink is owed: an array of Arrow.

    Of a partition that has too many by itself, no more than show it.
    """
    hashed = f"if({_owed(routing, routing.external)}, xxhash64({quoted(routing.key)}), null) as hash"
    few = flagged.where(f"(monotonically_increasing_id() & {_IN_A_PARTITION}) <= {MOST_KEYS}")
    return few.selectExpr(hashed).toArrow().column("hash")


def _are_apart(hashes: Any) -> bool:
    import pyarrow.compute as pc

    found = hashes.drop_null()
    return pc.count_distinct(found).as_py() == len(found) and not pc.any(pc.equal(found, _OF_NULL)).as_py()
