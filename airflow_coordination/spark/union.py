"""One DataFrame of several scans, also where their columns have types that Spark does not unite by itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from airflow_coordination.outputs.schemas import flattened

_FAMILIES = (
    frozenset({"byte", "short", "integer", "long", "float", "double", "decimal"}),
    frozenset({"date", "timestamp", "timestamp_ntz"}),
)
"""Types that Spark unites as one of them."""


def united(frames: Sequence[Any], *, lossy: bool, refused: Callable[[int, Exception], Exception]) -> Any:
    """Return the rows of all frames, columns by name; one that a frame lacks is null in its rows.

    :param lossy: make text of columns of which Spark has no common type, or none that can hold all values: text and
        numbers together are numbers to it, and then it fails at the first text that is none.
    :param refused: makes the error for the number of a frame that cannot be united with those before it.
    """
    from pyspark.errors import AnalysisException

    if lossy and len(frames) > 1:
        as_text = _without_common_type([frame.schema.json() for frame in frames])
        frames = [_with_text(frame, as_text) for frame in frames]
    rows = frames[0]
    for number, frame in enumerate(frames[1:], start=1):
        try:
            rows = rows.unionByName(frame, allowMissingColumns=True)
        except AnalysisException as error:
            raise refused(number, error) from error
    return rows


def _without_common_type(schemas: Sequence[str]) -> set[str]:
    """Return the columns, in lower case, that have types of several families, or have them inside."""
    kinds: dict[tuple[str, str], set[str]] = {}
    for schema in schemas:
        for field in json.loads(schema)["fields"]:
            for path, kind in flattened(json.dumps({"type": "struct", "fields": [field]})).items():
                kinds.setdefault((field["name"].lower(), path), set()).add(kind.partition("(")[0])
    return {
        column
        for (column, _), found in kinds.items()
        if len(found - {"void"}) > 1 and not any(found - {"void"} <= family for family in _FAMILIES)
    }


def _with_text(frame: Any, columns: set[str]) -> Any:
    for name in frame.columns:
        if name.lower() in columns:
            frame = frame.withColumn(name, frame["`" + name.replace("`", "``") + "`"].cast("string"))
    return frame
