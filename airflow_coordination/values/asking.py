"""The configuration of a DAG run that was triggered for one partition: its tasks try that first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_ASKED: Final = "coordination"
"""In the configuration of a DAG run: which partition it was triggered for."""


def asking_for(source_id: str, key: str) -> dict[str, Any]:
    """Return the configuration of a run that is triggered for one partition: its tasks try that first.

    :param source_id: the stored identifier of the source.
    """
    return {_ASKED: {"source": source_id, "hint": key}}


def asked_for(conf: object, source_id: str) -> str | None:
    """Return the partition that a run was triggered for, ``None`` if for none, or for one of another source.

    :param conf: the run's configuration; people write it, too, so that it may be anything.
    """
    asked = conf.get(_ASKED) if isinstance(conf, Mapping) else None
    if not isinstance(asked, Mapping) or asked.get("source") != source_id or not isinstance(asked.get("hint"), str):
        return None
    return str(asked["hint"])
