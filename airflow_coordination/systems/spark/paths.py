"""Addresses of files as Spark takes them: it looks for patterns in every path that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from airflow_coordination.systems.objects.storage import is_local

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
