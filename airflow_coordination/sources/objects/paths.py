"""The addresses in a partition's payload. Standard library only, for a Spark driver."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_PATTERN: Final = re.compile(r"[*?\[\]{}\\]")


def object_paths(payload: Mapping[str, Any]) -> list[str]:
    """Return the addresses of a partition's objects.

    :param payload: the payload of a partition that :func:`object_listing` made, of one object or of a group.
    """
    if "path" in payload:
        return [payload["path"]]
    return [payload["base"] + name for name in payload["names"]]


def spark_paths(payload: Mapping[str, Any]) -> list[str]:
    r"""Return the same for Spark's readers, which take ``* ? [ ] { }`` in a path for a pattern.

    ``spark.read.text("a[1]")`` reads the file ``a1``, without a word; ``a\[1\]`` reads what is meant.

    :param payload: see :func:`object_paths`.
    """
    return [_PATTERN.sub(r"\\\g<0>", path) for path in object_paths(payload)]
