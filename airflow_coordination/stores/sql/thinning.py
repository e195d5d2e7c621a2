"""Removing what is too old of the history: by the sweep, a little at a time, and not by every sweep."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql.database import Ask
from airflow_coordination.stores.sql.statements import records
from airflow_coordination.values.input_errors import CoordinationError

_log = logging.getLogger(__name__)

SELDOM: Final = 600.0
"""Seconds between two looks of a process at one source."""
PORTION: Final = 5_000
"""Rows that one sweep removes at most; while there are so many, the next sweep goes on."""


@dataclass(slots=True)
class Thinning:
    """What this process has removed, and when it looks again.

    :param retention: how long the history is kept; ``None`` = none is kept, and what there is stays.
    :param ask: executes a statement.
    :param clock: monotonic seconds.
    """

    retention: timedelta | None
    ask: Ask
    clock: Callable[[], float] = time.monotonic
    _again_at: dict[str, float] = field(default_factory=dict)

    def after_sweep(self, source: str) -> None:
        """Remove what is too old of a source, if it is time to look.

        What prevents it is logged and tried again at the next look: the sweep itself is done, and what it has reclaimed
        must be heard of.
        """
        if self.retention is None or self.clock() < self._again_at.get(source, 0.0):
            return
        self._again_at[source] = self.clock() + SELDOM
        try:
            if self.thin(source, self.retention) == PORTION:
                self._again_at[source] = 0.0
        except CoordinationError as error:
            _log.warning("The history of %s cannot be thinned and grows: %s", source, error)

    def thin(self, source: str, retention: timedelta) -> int:
        """Remove at most a portion of what is older than ``retention``, and return how many rows that were."""
        kept = retention // timedelta(microseconds=1)
        parameters = {"source": source, "kept": kept, "limit": PORTION}
        return len(self.ask(Call("thin the history", source), records.thin_history, parameters))
