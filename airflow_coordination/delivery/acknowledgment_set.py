"""One batch of records whose source waits for an answer (Data Prepper: ``AcknowledgementSet``), and its error.

Whoever's call ends a set, by the last release, by ``complete`` or by the look that finds it expired, runs its
callback, in the same thread and outside the lock. There is no other thread, and a set that has ended cannot expire: so
a slow callback is never interrupted (Data Prepper's is). A call that comes after the deadline changes nothing, whether
somebody has looked since or not.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final, TypeVar

from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError, shown
from airflow_coordination.values.times import Clock, SystemClock, positive


def seconds(field: str, value: timedelta) -> float:
    """Return a positive duration in seconds.

    :raises InvalidInputError: for anything else, ``None`` included, naming ``field``.
    """
    checked = positive(field, value)
    if checked is None:
        raise InvalidInputError(field, value, "is no duration: nothing may wait for ever", "Give a positive timedelta")
    return checked.total_seconds()


MEND_THE_SINK: Final = "Mend the sink, or give dead_letters=… for records that it will never take"
MORE_TIME: Final = "Give a longer acknowledgment_timeout, or deliver fewer records at once"
ONCE_MORE: Final = "Let its error end the function, or deliver the same records to the same sinks once more"


class NegativeAcknowledgmentError(CoordinationError):
    """Records that were delivered under a lease are not everywhere they should be, so it may not end well.

    :param key: the partition key.
    :param problems: what is wrong, one sentence each, naming the sink.
    :param remedy: what to do about it.
    """

    def __init__(self, key: str, problems: tuple[str, ...], remedy: str = MEND_THE_SINK) -> None:
        super().__init__(key, problems, remedy)
        self.key, self.problems, self.remedy = key, problems, remedy

    def __str__(self) -> str:
        return (
            f"Not every record of partition {self.key!a} was delivered: {'; '.join(self.problems)}. Nothing after "
            f"the last save counts. {self.remedy}"
        )


log = logging.getLogger(__name__)

Callback = Callable[[bool], None]
ProgressCheck = Callable[[float], None]
Value = TypeVar("Value")


class SetStatus(StrEnum):
    """The status of a set: what it waits for, or how it ended."""

    OPEN = "open"
    """Records may be added; no release ends it yet."""
    COMPLETE = "complete"
    """All initial records were added; the last release ends it."""
    POSITIVE = "positive"
    NEGATIVE = "negative"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


_WAITING = (SetStatus.OPEN, SetStatus.COMPLETE)


@dataclass(slots=True)
class _Handle:
    """The references that are left of one record, or of a counted unit of several.

    :param units: how many records it stands for.
    :param references: how many releases it waits for.
    """

    units: int
    references: int


@dataclass(slots=True)
class _Check:
    callback: ProgressCheck
    interval: float
    due: float


class AcknowledgmentSet:
    """Tells its callback once whether every record of a batch was delivered, or dropped on purpose.

    A record is added under a handle with one reference. Each further sink acquires one more, each sink releases one. A
    handle may stand for many records: ``add(task, 5000)`` waits for five thousand releases, which may come at once.

    :param callback: called with the result, exactly once; never after :meth:`cancel`, and after the expiry only if
        ``notify_on_expiry``, with ``False``. What it raises is logged.
    :param timeout: how long from now the set waits.
    :param clock: the time.
    :param notify_on_expiry: call the callback with ``False`` when the set expires (Data Prepper:
        ``invokeCallbackOnExpiry``). Without it an expired set is freed in silence.
    :raises InvalidInputError: for a timeout that is not a positive duration.
    """

    def __init__(
        self,
        callback: Callback,
        timeout: timedelta,
        *,
        clock: Clock | None = None,
        notify_on_expiry: bool = False,
    ) -> None:
        self._callback, self._clock, self._notify_on_expiry = callback, clock or SystemClock(), notify_on_expiry
        self._deadline = self._after(timeout)
        self._status, self._result = SetStatus.OPEN, True
        self._handles: dict[Hashable, _Handle] = {}
        self._total = 0
        self._checks: list[_Check] = []
        self._lock = threading.Lock()

    @property
    def status(self) -> SetStatus:
        """What it waits for, or how it ended; looks at the clock, but calls nobody."""
        with self._lock:
            return SetStatus.EXPIRED if self._overdue() else self._status

    @property
    def pending(self) -> int:
        """How many records still wait for a release."""
        with self._lock:
            return self._pending()

    @property
    def progress(self) -> float:
        """The share of records that still wait: 1 at first, 0 at the end, and 0 for an empty set."""
        with self._lock:
            return self._ratio()

    def add(self, handle: Hashable, count: int = 1) -> bool:
        """Add a record, or ``count`` of them under one handle, each with one reference.

        Before the record goes anywhere: a release of what was not added yet changes nothing. Also allowed after
        :meth:`complete`, for copies that routing makes.

        :return: whether it counts; false once the set has ended.
        :raises InvalidInputError: for a handle that is in the set, or a count below 1.
        """
        _at_least_one(count)
        with self._lock:
            if self._over():
                return False
            if handle in self._handles:
                raise InvalidInputError("handle", handle, "is in this set already", "Acquire it for a further sink")
            self._handles[handle] = _Handle(count, count)
            self._total += count
            return True

    def acquire(self, handle: Hashable, count: int = 1) -> bool:
        """Ask for ``count`` more releases of a handle.

        :return: whether it counts; false, with a warning, for a handle that is unknown or was released to the end.
        :raises InvalidInputError: for a count below 1.
        """
        _at_least_one(count)
        with self._lock:
            if self._over():
                return False
            known = self._handles.get(handle)
            if known is None:
                log.warning(
                    "Acquired %s, which is not in the set or was released before; nothing changes", shown(handle)
                )
                return False
            known.references += count
            return True

    def release(self, handle: Hashable, positive: bool = True, count: int = 1) -> bool:
        """Give back ``count`` references; one negative release makes the whole set negative.

        A release of an unknown handle, of one that was released to the end, or of more references than are left,
        changes nothing, also if it is negative (Data Prepper's turns the set negative).

        :return: whether this release ended the set.
        :raises InvalidInputError: for a count below 1.
        """
        _at_least_one(count)
        with self._lock:
            known = None if self._over() else self._handles.get(handle)
            if known is None or known.references < count:
                return False
            self._result = self._result and bool(positive)
            known.references -= count
            if not known.references:
                del self._handles[handle]
            ended = self._end_if_done()
        if ended:
            self._call()
        return ended

    def complete(self) -> bool:
        """Say that all initial records were added. An empty set is positive.

        :return: whether this ended the set.
        """
        with self._lock:
            if self._over():
                return False
            self._status = SetStatus.COMPLETE
            ended = self._end_if_done()
        if ended:
            self._call()
        return ended

    def extend(self, timeout: timedelta) -> bool:
        """Let the set expire ``timeout`` from now, and no longer when it was to expire.

        :return: whether it counts; false once the set has ended.
        :raises InvalidInputError: for a timeout that is not a positive duration.
        """
        deadline = self._after(timeout)
        with self._lock:
            if self._over():
                return False
            self._deadline = deadline
            return True

    def cancel(self) -> bool:
        """End the set without a word to its source.

        :return: whether it had not ended before.
        """
        with self._lock:
            if self._over():
                return False
            self._end(SetStatus.CANCELLED)
            return True

    def add_progress_check(self, callback: ProgressCheck, interval: timedelta) -> None:
        """Have ``callback`` called with :attr:`progress` at the next :meth:`look`, then every ``interval``.

        Until the set ends. What it raises is logged, and it is called again (Data Prepper stops in silence).

        :raises InvalidInputError: for an interval that is not a positive duration.
        """
        every = seconds("interval", interval)
        with self._lock:
            self._checks.append(_Check(callback, every, self._clock.monotonic()))

    def look(self) -> SetStatus:
        """Expire the set if it is due, run the progress checks that are, and return its status."""
        with self._lock:
            expired = self._overdue()
            if expired:
                self._end(SetStatus.EXPIRED)
            due = self._due_checks()
            ratio = self._ratio()
        if expired and self._notify_on_expiry:
            self._call()
        for check in due:
            _guarded(check.callback, ratio, "A progress check")
        return self.status

    def _after(self, timeout: timedelta) -> float:
        return self._clock.monotonic() + seconds("timeout", timeout)

    def _over(self) -> bool:
        return self._status not in _WAITING or self._overdue()

    def _overdue(self) -> bool:
        return self._status in _WAITING and self._clock.monotonic() >= self._deadline

    def _pending(self) -> int:
        return sum(min(handle.units, handle.references) for handle in self._handles.values())

    def _ratio(self) -> float:
        return self._pending() / self._total if self._total else 0.0

    def _due_checks(self) -> list[_Check]:
        now = self._clock.monotonic()
        due = [check for check in self._checks if check.due <= now]
        for check in due:
            check.due = now + check.interval
        return due

    def _end_if_done(self) -> bool:
        if self._status is not SetStatus.COMPLETE or self._handles:
            return False
        self._end(SetStatus.POSITIVE if self._result else SetStatus.NEGATIVE)
        return True

    def _end(self, status: SetStatus) -> None:
        self._status = status
        self._handles.clear()
        self._checks.clear()

    def _call(self) -> None:
        _guarded(self._callback, self._status is SetStatus.POSITIVE, "The callback of an acknowledgment set")


def _guarded(callback: Callable[[Value], None], value: Value, what: str) -> None:
    """Call what is not ours in the thread of somebody who has nothing to do with it."""
    try:
        callback(value)
    except Exception:
        log.exception("%s failed; the set is as it was", what)


def _at_least_one(count: object) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InvalidInputError("count", count, "is not a positive whole number", "Give how many records, 1 or more")
