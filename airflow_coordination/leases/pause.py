"""The pause of a source: people hold new leases back, while owners finish (Druid: a supervisor is suspended)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from airflow_coordination.leases.input_errors import shown

OF_THE_SOURCE: Final = ""
"""The key under which the audit keeps what people do to a whole source; no partition can have it."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Whether a source is paused, and who has paused or resumed it last (promise X12).

    :param paused: whether new leases are held back.
    :param by: who has said so, ``None`` when nobody ever has.
    :param why: what they said.
    :param at: when, by the store's clock.
    :param op: the operation that wrote it. The next one names it, so that none is applied to anything else.
    """

    paused: bool = False
    by: str | None = None
    why: str | None = None
    at: datetime | None = None
    op: str | None = None

    def __str__(self) -> str:
        """Return it in words, on one line."""
        if self.op is None:
            return "never paused"
        at = f" at {self.at.isoformat(timespec='seconds')}" if self.at else ""
        done = "paused" if self.paused else "resumed"
        return f"{done}{at} by {shown(self.by or '')}, who said {shown(self.why or '')}"


NEVER_PAUSED: Final = Pause()
