"""How Spark takes addresses of files: each literally, and many of them listed in few tasks.

By itself it looks for patterns in every path that it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from typing import Any, Final

from airflow_coordination.systems.objects.storage import is_local
from airflow_coordination.systems.spark import connect
from airflow_coordination.systems.spark.session import context_of

PARALLELISM: Final = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
LEAST_TASKS: Final = 8


@contextmanager
def capped_listing(spark: Any) -> Iterator[None]:
    """Let Spark list many paths in few tasks, unless the session says in how many.

    Above 32 paths Spark lists them by a job with a task for each, up to 10,000 (its ``parallelPartitionDiscovery``):
    with small files that takes longer than reading them. 10,000 paths are planned in 2.3 s with eight tasks, in 42 s
    without.

    :param spark: the session, classic or Connect; ``None`` for none.
    """
    capped = spark is not None and _cap(spark)
    try:
        yield
    finally:
        if capped:
            with suppress(Exception):  # the session was stopped, or its JVM is gone: there is nothing to put back
                _put_back(spark)


def _put_back(spark: Any) -> None:
    if context_of(spark) is not None:
        spark.conf.unset(PARALLELISM)
        return
    # A server that no longer answers keeps nobody from stopping.
    connect.within(connect.ANSWER_WITHIN, lambda: spark.conf.unset(PARALLELISM))


def _cap(spark: Any) -> bool:
    """Return whether the listing was capped just now."""
    try:
        if spark.conf.get(PARALLELISM, None) is not None:
            return False
        context = context_of(spark)
        spark.conf.set(PARALLELISM, str(max(LEAST_TASKS, context.defaultParallelism if context is not None else 0)))
    except Exception:  # whoever works with this session says what is wrong with it
        return False
    return True


_NOT_IN_PATHS = "\0"
_PATTERN = frozenset("{}[]*?\\")
"""Characters that make a path a pattern for Spark (SparkHadoopUtil.isGlobPath)."""


def spark_path(address: str) -> str:
    """Return an address as Spark takes it literally (``basePath``), never on the default file system."""
    return f"file://{address}" if is_local(address) else address


def load(reader: Any, addresses: Sequence[str]) -> Any:
    """Return the DataFrame of exactly these files.

    Spark can be told that paths are no patterns. It saves a look at each file, but answers a path that looks like a
    pattern with the whole list then (DataSource.checkAndGlobPathIfNecessary), so that rows are multiplied. Such paths
    are patterns that match one file: each of their characters escaped. Hadoop's patterns cannot have a colon; so
    where there is one too, each file is a scan of its own, where "the whole list" is the file.

    :param reader: with format, options and schema.
    :param addresses: of files.
    """
    if not any(_PATTERN.intersection(address) for address in addresses):
        return _literally(reader, addresses)
    if not any(":" in spark_path(address).partition("://")[2] for address in addresses):
        return _read(reader, [escaped(address) for address in addresses])
    frames = [_literally(reader, [address]) for address in addresses]
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)


def _literally(reader: Any, addresses: Sequence[str]) -> Any:
    return _read(reader.option("__globPaths__", "false"), [spark_path(address) for address in addresses])


def _read(reader: Any, paths: Sequence[str]) -> Any:
    """Return the DataFrame of these paths, which go to the JVM as one text: each by itself would be a round trip."""
    if len(paths) == 1 or not hasattr(reader, "_jreader"):  # Spark Connect sends them together
        return reader.load(list(paths))
    split = reader._spark._sc._jvm.org.apache.commons.lang3.StringUtils.split
    return reader._df(reader._jreader.load(split(_NOT_IN_PATHS.join(paths), _NOT_IN_PATHS)))


def escaped(address: str) -> str:
    """Return the pattern that matches one address."""
    return "".join(f"\\{each}" if each in _PATTERN else each for each in spark_path(address))
