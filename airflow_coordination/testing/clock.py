"""Virtual time."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Final

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_LOOK_EVERY: Final = 0.002


class FakeClock:
    """A :class:`~airflow_coordination.values.times.Clock` that moves only when somebody moves it.

    ``sleep`` moves it, so that code which backs off runs at once. ``wait`` does not: it is what threads in
    the background do, and they wait until a test calls :meth:`advance`.

    :param start: the first wall time.
    """

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._passed = timedelta(0)
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """Return the virtual wall time."""
        return self._start + self._passed

    def monotonic(self) -> float:
        """Return the virtual seconds since the clock was made."""
        return self._passed.total_seconds()

    def advance(self, by: timedelta | float) -> datetime:
        """Let time pass, and return the time after.

        :param by: how much; a number means seconds.
        """
        step = by if isinstance(by, timedelta) else timedelta(seconds=by)
        with self._lock:
            self._passed += step
            return self._start + self._passed

    def sleep(self, seconds: float) -> None:
        """Let ``seconds`` pass for everybody, at once."""
        self.advance(seconds)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait until ``event`` is set or others have moved the time by ``seconds``; return whether it is set."""
        until = self.monotonic() + seconds
        while not event.is_set() and self.monotonic() < until:
            event.wait(_LOOK_EVERY)  # an event knows no virtual time, so look again soon
        return event.is_set()
