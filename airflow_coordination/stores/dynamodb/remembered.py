"""A bounded memory of one process."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

_REMEMBERED: Final = 10_000


class Remembered:
    """A bounded memory: source and name to value, the oldest forgotten first."""

    def __init__(self, limit: int = _REMEMBERED) -> None:
        self._limit = limit
        self._values: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def put(self, source: str, name: str, value: Any) -> None:
        """Remember ``value``."""
        self._values[source, name] = value
        while len(self._values) > self._limit:
            self._values.popitem(last=False)

    def get(self, source: str, name: str) -> Any:
        """Return what is remembered, ``None`` when nothing is."""
        return self._values.get((source, name))
