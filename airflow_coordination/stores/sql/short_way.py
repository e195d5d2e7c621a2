"""Where the short statement of an acquisition is tried first: in sources where it has not missed a moment ago."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

SECONDS: Final = 1.0
"""How long after a miss only the whole order is asked: what goes before the fresh ones mostly is not alone."""


@dataclass(slots=True)
class ShortWay:
    """What this process remembers of its misses.

    :param clock: monotonic seconds; it decides which statement is asked first, and never what is there.
    """

    clock: Callable[[], float] = time.monotonic
    _misses: dict[str, float] = field(default_factory=dict)

    def is_worth_it(self, source: str) -> bool:
        """Return whether the short statement is likely to find something in this source."""
        missed = self._misses.get(source)
        return missed is None or self.clock() - missed >= SECONDS

    def missed(self, source: str) -> None:
        """Note that it found nothing."""
        self._misses[source] = self.clock()
