"""When a source was paused, as far as a history can tell: promise X12, and what a pause excuses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from airflow_coordination.testing.history.operations import HELD_BACK, NEVER, Kind, Operation, Told


@dataclass(frozen=True, slots=True)
class Paused:
    """One pause, as two spans of time: in the inner one the source was paused, outside of the outer one it was not.

    :param call: that paused it.
    :param since: when its answer came; ``NEVER`` where none did.
    :param until: when the first call that may have resumed it was made.
    :param perhaps_until: when the first answer came that it is resumed.
    """

    call: Operation
    since: float
    until: float
    perhaps_until: float

    @property
    def perhaps_since(self) -> float:
        """When it was called for."""
        return self.call.invoked

    def forbids(self, made: Operation, grace: float) -> bool:
        """Return whether a call was made while the source was surely paused, and answered before it was resumed.

        :param grace: seconds after which the last process knows of a pause.
        """
        return self.since + grace <= made.invoked and made.answered <= self.until

    def excuses(self, made: Operation) -> bool:
        """Return whether the source may have been paused at some time during a call."""
        return self.perhaps_since <= made.answered and made.invoked <= self.perhaps_until


def pauses(operations: Sequence[Operation]) -> Iterator[Paused]:
    """Yield the pauses of a history, also those of which nobody knows whether they were applied."""
    resumes = [made for made in operations if made.kind is Kind.RESUME and made.told in (Told.OK, Told.UNKNOWN)]
    for made in operations:
        if made.kind is Kind.PAUSE and made.told in (Told.OK, Told.UNKNOWN):
            later = [resume for resume in resumes if resume.answered > made.invoked]
            until = min((resume.invoked for resume in later), default=NEVER)
            heard = (resume.answered for resume in later if resume.told is Told.OK and resume.invoked > made.invoked)
            since = made.answered if made.told is Told.OK else NEVER
            yield Paused(made, since, until, min(heard, default=NEVER))


def acquired_under(paused: Paused, operations: Sequence[Operation], grace: float) -> Iterator[Operation]:
    """Yield the acquisitions that a pause has not held back."""
    for made in operations:
        if made.kind in HELD_BACK and made.told is Told.OK and paused.forbids(made, grace):
            yield made
