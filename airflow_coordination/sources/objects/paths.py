"""The addresses in a partition's payload. Standard library only, for a Spark driver."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_COPYING: Final = "._COPYING_"
_PATTERN: Final = re.compile(r"[*?\[\]{}\\]")


def hidden_from_spark(name: str) -> bool:
    """Return whether Spark's readers leave out a file of this name without a word, also where its path is given.

    They look at the last part of a path only: ``_x`` without a ``=`` in it, ``.x``, and ``x._COPYING_``.
    (Spark: ``HadoopFSUtils.shouldFilterOutPathName``, and ``isDataPath`` for ``_metadata``.)

    :param name: a name, an address or a path.
    """
    last = name.rpartition("/")[2]
    return (last.startswith("_") and "=" not in last) or last.startswith(".") or last.endswith(_COPYING)


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
