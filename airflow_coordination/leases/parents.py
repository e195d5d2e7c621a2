"""The parents that a partition may name: keys of the same source, each once, and how a store keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import check_key

MAX_PARENTS: Final = 16
"""So many parents a partition may have: a shard of Kinesis has at most two, and DynamoDB takes 100 items in a step."""


def check_parents(key: str, parents: object) -> tuple[str, ...]:
    """Return the parents of a partition, if they can be some.

    :param key: of the partition itself.
    :raises InvalidInputError: naming what is no list of other keys, each once, or too many.
    """
    if isinstance(parents, str | bytes | Mapping) or not isinstance(parents, Iterable):
        raise InvalidInputError("parents", parents, f"is {type(parents).__name__}, not a list of keys", "Give a list")
    named = tuple(check_key(parent, "parents") for parent in parents)
    if len(named) > MAX_PARENTS:
        remedy = "Put a partition without work between them that stands for several"
        raise InvalidInputError("parents", list(named), f"are {len(named)}, the limit is {MAX_PARENTS}", remedy)
    for place, parent in enumerate(named):
        if parent == key:
            raise InvalidInputError("parents", parent, "is the partition itself", "Leave it out")
        if parent in named[:place]:
            raise InvalidInputError("parents", parent, "is named twice", "Name each parent once")
    return named


def dump_keys(keys: Iterable[str]) -> str | None:
    """Return keys as a store keeps them: a JSON list, nothing for none."""
    listed = list(keys)
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":")) if listed else None


def load_keys(text: str | None) -> tuple[str, ...]:
    """Return the keys in what :func:`dump_keys` wrote."""
    return tuple(json.loads(text)) if text else ()
