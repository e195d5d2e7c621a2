"""Whose a row is by the file that it was read from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from airflow_coordination.values.input_errors import InvalidInputError

_PATH: Final = "__lease_path"
_SPELT: Final = ((r"^file:/+", "/"), (r"^s3[an]?://", "s3://"))
"""One place is spelt in several ways: by the payload, and by Spark."""


def beside_keys(rows: Any, column: str, files: Sequence[tuple[str, str]]) -> Any:
    """Return rows with a column more: the key of the partition whose file each was read from, null for another file.

    :param rows: a DataFrame, just read.
    :param column: its name.
    :param files: addresses and keys.
    :raises InvalidInputError: when the rows have such a column.
    """
    from pyspark.sql import functions as fn

    if column.lower() in map(str.lower, rows.columns):
        raise InvalidInputError("column", column, "is a column of these rows already", "Give another name")
    known = [(_spelt(path), key) for path, key in files]
    table = rows.sparkSession.createDataFrame(known, f"{_PATH} string, `{column.replace('`', '``')}` string")
    # Spark writes the path as in a URL, in which a plus stands for itself.
    path = fn.expr("url_decode(replace(_metadata.file_path, '+', '%2B'))")
    for pattern, spelling in _SPELT:
        path = fn.regexp_replace(path, pattern, spelling)
    return rows.withColumn(_PATH, path).join(fn.broadcast(table), _PATH, "left").drop(_PATH)


def _spelt(path: str) -> str:
    for pattern, spelling in _SPELT:
        path = re.sub(pattern, spelling, path)
    return path
