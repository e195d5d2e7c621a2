"""Documents that somebody has spoilt somewhere."""

from __future__ import annotations

import random
from typing import Any


def change_one(value: Any, chance: random.Random, others: list[Any]) -> None:
    """Leave out one value at some depth of a document, or put one of ``others`` in its place."""
    while True:
        key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        inner = value[key]
        if isinstance(inner, dict | list) and inner and chance.random() < 0.85:
            value = inner
        elif chance.random() < 0.3:
            del value[key]
            return
        else:
            value[key] = chance.choice(others)
            return
