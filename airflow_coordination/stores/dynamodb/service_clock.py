"""The service's own time, from the ``Date`` of its answers (promise S8: worker clocks are irrelevant)."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from airflow_coordination.values.errors import StoreUnavailableError
from airflow_coordination.values.times import Clock, SystemClock

MARGIN: Final = timedelta(seconds=2)
"""How much later than its end a lease counts as ended: the service's front ends may disagree by that much."""


_FRESH_SECONDS: Final = 60.0
"""For how long this process's clock is believed rather than an answer that says less and may have been on its way."""


class ServiceClock:
    """Tells the service's time between its answers by this process's monotonic clock.

    ``Date`` has whole seconds and was written before it was read, so the time told is never later than the true
    one, and earlier by at most a second and the answer's way.

    :param local: gives monotonic seconds; its wall time is not used.
    :param injected: decides instead of the service, without any margin, for tests.
    """

    def __init__(self, injected: Clock | None = None, local: Clock | None = None) -> None:
        self.injected, self._local = injected, local or SystemClock()
        self._heard: tuple[datetime, float] | None = None

    @property
    def is_set(self) -> bool:
        """Whether the time is known yet."""
        return self.injected is not None or self._heard is not None

    def hear(self, date: str | None) -> None:
        """Take the time from an answer's ``Date`` header; one that is absent or cannot be read says nothing."""
        with suppress(ValueError, OverflowError):
            heard, at = parsedate_to_datetime(date or "").astimezone(UTC), self._local.monotonic()
            if self._heard is None or at - self._heard[1] > _FRESH_SECONDS or heard >= self.now():
                self._heard = (heard, at)

    def now(self) -> datetime:
        """Return the service's time.

        :raises StoreUnavailableError: before the first answer.
        """
        if self.injected is not None:
            return self.injected.now()
        if self._heard is None:
            raise StoreUnavailableError("learn the service's time", "no answer has said it yet")
        date, at = self._heard
        return date + timedelta(seconds=self._local.monotonic() - at)

    def surely_past(self) -> datetime:
        """Return the newest moment that has surely passed: what ended by then can be taken."""
        return self.now() if self.injected is not None else self.now() - MARGIN
