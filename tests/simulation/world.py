"""Virtual time in one thread: processes are greenlets, and everything that happens is an entry in one queue.

Nothing is left to the machine: the queue is in the order of time, then of entry, so one seed gives one run.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from greenlet import GreenletExit, getcurrent, greenlet

EPOCH = 1_767_225_600.0
"""When every run begins: 2026-01-01 in UTC, in seconds since 1970."""


class Killed(BaseException):
    """The process ends here. Not an :class:`Exception`: code that tidies up after errors must not catch it."""


class World:
    """Time, and what is still to happen."""

    def __init__(self) -> None:
        self.time = EPOCH
        self._queue: list[tuple[float, int, Callable[[], object]]] = []
        self._entries = count()
        self.hub = getcurrent()

    def after(self, seconds: float, action: Callable[[], object]) -> None:
        """Let ``action`` happen in ``seconds``."""
        heappush(self._queue, (self.time + seconds, next(self._entries), action))

    def run(self, until: float) -> None:
        """Let everything happen that is due by ``until``."""
        queue = self._queue
        while queue and queue[0][0] <= until:
            self.time, _, action = heappop(queue)
            action()
        self.time = until


class Process:
    """A process with its threads. It can be stopped and continued, and killed at any moment.

    :param name: unique for every start.
    """

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.dead = False
        self.stopped_until = 0.0
        self.when_killed: Callable[[], object] = lambda: None
        self._threads: list[greenlet] = []

    def spawn(self, target: Callable[[], object]) -> None:
        """Run ``target`` in a thread of its own, soon."""

        def run() -> None:
            try:
                target()
            except (Killed, GreenletExit):
                pass
            finally:
                self._threads.remove(thread)

        thread = greenlet(run, parent=self.world.hub)
        self._threads.append(thread)
        self.world.after(0.0, lambda: self._continue(thread))

    @property
    def alive(self) -> bool:
        """Whether anything of it may still run."""
        return bool(self._threads) and not self.dead

    def sleep(self, seconds: float) -> None:
        """Let the calling thread wait; also for as long as the process is stopped."""
        thread = getcurrent()
        self.world.after(seconds, lambda: self._continue(thread))
        self.world.hub.switch()
        self.check()

    def wait_for(self, start: Callable[[Callable[[], None]], object]) -> None:
        """Let the calling thread wait until what ``start`` was given is called."""
        thread = getcurrent()
        start(lambda: self._continue(thread))
        self.world.hub.switch()
        self.check()

    def check(self) -> None:
        """Go no further in a process that is dead."""
        if self.dead:
            raise Killed(self.name)

    def stop(self, seconds: float) -> None:
        """Stop it for ``seconds``: SIGSTOP, then SIGCONT."""
        self.stopped_until = max(self.stopped_until, self.world.time + seconds)

    def kill(self) -> None:
        """End it now. What it has sent is on its way."""
        if self.dead:
            return
        self.dead = True
        self.when_killed()
        for thread in list(self._threads):
            if thread is not getcurrent():
                self.world.after(0.0, lambda thread=thread: self._continue(thread))  # type: ignore[misc]

    def _continue(self, thread: greenlet) -> None:
        if thread.dead:
            return
        if not self.dead and self.stopped_until > self.world.time:
            self.world.after(self.stopped_until - self.world.time, lambda: self._continue(thread))
            return
        thread.switch()
