"""Keeps a lease alive while its work makes progress, and says so once when it is lost (promises L6 to L8)."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from airflow_coordination.leases.lease import Lease, lease_time
from airflow_coordination.values.errors import (
    NoProgressError,
    PartitionNotFoundError,
    PartitionNotOwnedError,
    StoreUnavailableError,
)
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.times import Clock, Randomness, SystemClock

log = logging.getLogger(__name__)

RENEW = "renew the lease"
FEW_RENEWALS = 4
"""Of fewer in the time of a lease none is put off."""
_NO_THREAD: Final = 0.2
"""Seconds after which a thread is started once more that could not be started."""
OnLost = Callable[[CoordinationError], object]


class FirstRenewals:
    """Waits in one thread for the first renewals of all leases of a driver; most leases are over before.

    It asks no store. Whatever comes to its first renewal goes on in a thread of its own, so that a renewal that hangs
    keeps no other lease from being renewed. The thread ends when nothing is waited for as it wakes.
    """

    def __init__(self) -> None:
        self._due: dict[Heartbeat, float] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._wakes, self._ends = 0.0, False

    def add(self, heartbeat: Heartbeat, seconds: float) -> None:
        """Begin a heartbeat's renewals in so many seconds.

        :param seconds: until its first renewal.
        :raises RuntimeError: when no thread can be started.
        """
        with self._changed:
            due = time.monotonic() + seconds
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._run, name="renewals", daemon=True)
                thread.start()  # it waits for the lock
                self._thread, self._wakes = thread, due
            elif due < self._wakes:
                self._wakes = due
                self._changed.notify()
            self._due[heartbeat], self._ends = due, False

    def forget(self, heartbeat: Heartbeat) -> None:
        """Wait for a heartbeat no more; from here on nothing begins its renewals."""
        with self._changed:
            self._due.pop(heartbeat, None)

    def end(self) -> None:
        """End the thread if nothing is waited for: at the end of a drain."""
        with self._changed:
            self._ends = True
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while self._due or not self._ends:  # asked before it waits: all may be over by the time it gets the lock
                self._changed.wait(max(self._wakes - time.monotonic(), 0))
                for heartbeat in [each for each, due in self._due.items() if due <= time.monotonic()]:
                    self._begin(heartbeat)
                if self._due:
                    self._wakes = min(self._due.values())
                elif time.monotonic() >= self._wakes:
                    break
            self._thread = None

    def _begin(self, heartbeat: Heartbeat) -> None:
        try:
            heartbeat.begin()
        except RuntimeError as error:  # there are too many threads just now
            log.warning("A thread that renews a lease cannot be started, will try again: %s", error)
            self._due[heartbeat] = time.monotonic() + _NO_THREAD
        else:
            del self._due[heartbeat]


class Heartbeat:
    """Renews one lease every tenth of its timeout, in a thread of its own; then a second one watches the deadline.

    With ``first`` the thread begins with the first renewal only.
    What the owner saves holds the lease as well, so that the renewal it comes before is put off, once: a renewal surely
    brings the news that another worker wants the lease.
    It stops, and calls ``on_lost`` once, when the store says the lease is over, when no renewal succeeds
    before the lease's own monotonic deadline, whatever the reason, or when the work shows no progress for too
    long: a renewal must not keep a hung job alive. Use as a context manager; leaving it waits for the threads.

    :param renew: renews a lease, for example ``SourceCoordinator.renew``.
    :param lease: the lease.
    :param on_lost: called in the heartbeat's thread with the reason; cancel the work there.
    :param settings: timers.
    :param progress: returns any value that changes when the work moves (Spark task counters); optional.
    :param first: waits for the first renewal, for all leases of a driver; by default the own thread does.
    """

    def __init__(
        self,
        renew: Callable[[Lease], Lease],
        lease: Lease,
        on_lost: OnLost,
        settings: Settings,
        progress: Callable[[], object] | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
        first: FirstRenewals | None = None,
    ) -> None:
        self._renew, self._lease, self._on_lost, self._settings = renew, lease, on_lost, settings
        self._progress, self._first = progress, first
        self._process = os.getpid()
        self._clock, self._randomness = clock or SystemClock(), randomness or Randomness()
        self._stop = threading.Event()
        self._seen: object = None
        self._moved_at = self._clock.monotonic()
        self._since = self._moved_at
        self._warned = False
        self.lost: CoordinationError | None = None
        """Why the lease was lost, ``None`` while it was not."""
        self._losing = threading.Lock()
        self._beats, self._guards = (
            threading.Thread(target=target, name=f"{name}-{lease.fence}", daemon=True)
            for name, target in (("heartbeat", self._run), ("deadline", self._guard))
        )

    def __enter__(self) -> Heartbeat:
        self._since = self._clock.monotonic()
        if self._first is None:
            self.begin()
        else:
            self._first.add(self, self._pause())
        return self

    def begin(self) -> None:
        """Start the thread that renews.

        :raises RuntimeError: when it cannot be started.
        """
        self._beats.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the renewals and wait for the threads, unless this is one of them; a forked child has none."""
        if os.getpid() != self._process:
            return
        self._stop.set()
        if self._first is not None:
            self._first.forget(self)
        for thread in (self._beats, self._guards):  # in this order: the first starts the second
            if thread.is_alive() and threading.current_thread() is not thread:
                thread.join(timeout=5)

    def alive(self) -> None:
        """Count as progress: for long steps that Spark's counters do not show."""
        self._moved_at = self._clock.monotonic()
        self._warned = False

    @contextmanager
    def attentive(self, seconds: float) -> Iterator[None]:
        """Renew so often while the block lasts: for work that a person may take back, and that should end soon then."""
        over = threading.Event()

        def beat() -> None:
            while not self._stop.is_set() and not self._clock.wait(over, seconds) and self.beat():
                pass

        beats = threading.Thread(target=beat, name=f"attentive-{self._lease.fence}", daemon=True)
        beats.start()
        try:
            yield
        finally:
            over.set()
            beats.join(timeout=5)

    def beat(self) -> bool:
        """Renew once if the work moves; return whether to go on. The thread calls this; tests may."""
        try:
            self._watch()
            self._renew(self._lease)
        except (PartitionNotOwnedError, PartitionNotFoundError, NoProgressError) as error:
            self._lose(error)
        except Exception as error:  # a full disk, a driver's own exception: none of them says that the lease is over
            self._missed(error)
        return self.lost is None

    def _missed(self, error: Exception) -> None:
        if self._clock.monotonic() < self._lease.chain.deadline:
            log.warning("Partition %r was not renewed, will try again: %s", self._lease.key, error)
        elif isinstance(error, CoordinationError):
            self._lose(error)
        else:
            self._lose(StoreUnavailableError(RENEW, f"{type(error).__name__}: {error}"))

    def _run(self) -> None:
        """Renew until it is over. Who is done before the first renewal, as most are, has cost one thread or none."""
        since = self._since
        if self._first is None and self._clock.wait(self._stop, self._pause()):
            return
        self._start_guard()
        while not self._clock.wait(self._stop, self._put_off(since)) and self.beat():
            since = self._clock.monotonic()
            if self._clock.wait(self._stop, self._pause()):
                return

    def _put_off(self, since: float) -> float:
        """Return for how many seconds a renewal is not needed yet: something was saved while it was waited for.

        Where a lease is renewed only two or three times, the news that it is wanted would come too late.
        """
        if self._settings.renewals_per_lease < FEW_RENEWALS:
            return 0.0
        saved = self._lease.chain.deadline - lease_time(self._settings, self._lease.partition.source).total_seconds()
        return max(saved - since, 0.0)

    def _start_guard(self) -> None:
        self._guards.start()

    def _guard(self) -> None:
        """Lose the lease at its own monotonic deadline, even while a renewal hangs in the store (promise L7)."""
        while (left := self._lease.chain.deadline - self._clock.monotonic()) > 0:
            if self._clock.wait(self._stop, left):
                return
        if not self._stop.is_set():
            self._lose(StoreUnavailableError(RENEW, "no answer came before the lease's own deadline"))

    def _pause(self) -> float:
        """Return the seconds to the next beat; after a missed one never past the lease's deadline."""
        interval = self._randomness.jitter(self._settings.renewal_interval.total_seconds())
        left = self._lease.chain.deadline - self._clock.monotonic()
        return max(min(interval, left), 0.01)

    def _watch(self) -> None:
        limit = self._settings.no_progress_timeout
        if limit is None:
            return
        seen = self._look()
        if seen != self._seen:
            self._seen = seen
            self.alive()
        idle = timedelta(seconds=self._clock.monotonic() - self._moved_at)
        if idle >= limit:
            raise NoProgressError(self._lease.key, idle.total_seconds())
        if idle >= limit / 2 and not self._warned:
            self._warned = True
            log.warning(
                "Partition %r shows no progress for %s; its work is cancelled at %s", self._lease.key, idle, limit
            )

    def _look(self) -> object:
        try:
            return self._progress() if self._progress else None
        except Exception as error:  # whatever the caller's counters do, the lease must not be lost by it
            log.warning("The progress of %r could not be seen: %s", self._lease.key, error)
            return self._seen

    def _lose(self, error: CoordinationError) -> None:
        with self._losing:
            if self.lost is not None:
                return
            self.lost = error
        self._stop.set()
        self._on_lost(error)
