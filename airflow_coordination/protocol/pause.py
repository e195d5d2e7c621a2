"""The pause of a source: people hold new leases back, while owners finish (Druid: a supervisor is suspended)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from airflow_coordination.values.failing import BRAKE, Failing
from airflow_coordination.values.input_errors import shown

OF_THE_SOURCE: Final = ""
"""The key under which the audit keeps what people do to a whole source; no partition can have it."""

_LONGEST: Final = 1_200


@dataclass(frozen=True, slots=True)
class Pause:
    """The pause of a source: whether it is paused, and who has paused or resumed it last (promise X12).

    :param paused: whether new leases are held back.
    :param by: who has said so, ``None`` when nobody ever has.
    :param why: what they said.
    :param at: when, by the store's clock.
    :param op: the operation that wrote it. The next one names it, so that none is applied to anything else.
    :param until: when it ends by itself, by the store's clock; ``None`` for one that lasts until somebody resumes.
        It stays when that has come: then the source is not ``paused`` any more.
    :param failing: the failures since the last success, and since ``op``; ``None`` where there are none, or the store
        does not count them.
    """

    paused: bool = False
    by: str | None = None
    why: str | None = None
    at: datetime | None = None
    op: str | None = None
    until: datetime | None = None
    failing: Failing | None = field(default=None, compare=False)

    @property
    def unending(self) -> bool:
        """Whether new leases are held back until somebody resumes the source."""
        return self.paused and self.until is None

    @property
    def over(self) -> bool:
        """Whether it was a pause that has ended by itself."""
        return not self.paused and self.until is not None

    @property
    def braked(self) -> bool:
        """Whether the source has paused itself, because its tenures failed one after the other of one error."""
        return self.paused and self.by == BRAKE

    def __str__(self) -> str:
        """Return it in words, on one line."""
        if self.op is None:
            return "never paused"
        at = f" at {self.at.isoformat(timespec='seconds')}" if self.at else ""
        done = "paused" if self.paused or self.over else "resumed"
        end = (
            f" until {self.until.isoformat(timespec='seconds')}{', which is over,' if self.over else ''}"
            if self.until
            else ""
        )
        return f"{done}{at}{end} by {shown(self.by or '')}, who said {_quoted(self.why or '')}"


def _quoted(why: str) -> str:
    """Return what somebody said in full: the brake says with it what failed, and how to go on."""
    text = ascii(why)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


NEVER_PAUSED: Final = Pause()
