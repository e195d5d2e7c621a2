"""A driver's reports to the task that started it: marked JSON lines on standard output.

The marker holds a word that the task made up for this submission, so that nothing else that is printed is obeyed. Each
line holds ``event`` and its facts:

* ``spark``: ``application``, ``url`` of the Spark UI (``null`` without one)
* ``began``: ``key``, ``fence``, ``owner``; from here on the driver renews
* ``saved``: ``key``, ``fence``, ``blocks`` (how many went with it), ``progress`` (a short text)
* ``refused``: ``message``, and ``key`` and ``fence`` where a tenure had begun
* ``ended``: ``key``, ``fence``, ``message``, ``outcome``: a value of :class:`~.leases.status.Outcome`;
  ``rows`` where it has published some
* ``passed``: ``tenures`` (how many), ``rows`` where they have published some, ``key`` and ``fence`` of the last:
  they began and were completed since the line before
* ``metrics``: ``counts`` by full name, since the line before
* ``gauges``: ``gauges`` by full name, as they are now
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from typing import Any, Final, Protocol, TextIO

from airflow_coordination.leases.handover import report_marker
from airflow_coordination.systems.spark.error_text import error_text as error_text
from airflow_coordination.values.scrubbing import without_secrets as without_secrets
from airflow_coordination.values.status import Outcome

SINGLY: Final = 1_000
"""So many tenures of a drain are told one by one, whatever they come to: as many as an asset event names."""
EVERY: Final = 1.0
"""Seconds: what has begun later than those is told by then."""


class Report(Protocol):
    """Takes one event and its facts."""

    def __call__(self, event: str, **facts: Any) -> None:
        """Tell about ``event``."""


def silent(event: str, **facts: Any) -> None:
    """Tell nobody: for drivers that no task watches."""


class LineReport:
    """Writes each event as one marked line, at once; safe under threads.

    :param stream: standard output by default.
    :param word: by which the task knows them; ``None`` where no task reads them.
    """

    def __init__(self, stream: TextIO | None = None, word: str | None = None) -> None:
        self._stream, self._marker = stream, report_marker(word)
        self._lock = threading.Lock()

    def __call__(self, event: str, **facts: Any) -> None:
        """Write the line of ``event``."""
        line = f"{self._marker}{json.dumps({'event': event, **facts}, default=str)}\n"
        stream = self._stream or sys.stdout
        with self._lock:
            stream.write(line)
            stream.flush()


class ShortTenures:
    """Tells of the first tenures of a drain one by one, and of later ones that pass within a second in one sum.

    A task reads, looks up and logs what it is told, and a thousand leases that take two milliseconds each need none of
    it singly (decision 171). Whatever is not simply completed is told at once, after all that came before it; so is a
    partition that has failed in this drain, and one that runs in a branch.

    :param report: told what is to be told.
    :param singly: so many tenures are told one by one.
    :param every: seconds after which a tenure that goes on, and all that passed, is told.
    """

    def __init__(self, report: Report, singly: int = SINGLY, every: float = EVERY) -> None:
        self._report, self._singly, self._every = report, singly, every
        self._begun: dict[str, dict[str, Any]] = {}
        self._passed: dict[str, Any] | None = None
        self._counts: Counter[str] = Counter()
        self._in_branches: set[str] = set()
        self._unwell: set[str] = set()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, event: str, **facts: Any) -> None:
        """Take one event, and tell of it now or soon."""
        with self._lock:
            if event == "metrics" and self._waits():
                self._counts.update(facts["counts"])
            elif event == "began" and self._may_wait(facts):
                self._begun[facts["fence"]] = facts
            elif event == "ended" and self._has_passed(facts):
                self._pass(facts)
            else:
                self._tell_at_once(event, facts)

    def tell(self) -> None:
        """Tell all that is kept back."""
        with self._lock:
            self._tell_passed()
            for fence in list(self._begun):
                self._tell_begun(fence)

    def close(self) -> None:
        """Tell all, and from now on each at once: the drain is over."""
        self._over.set()
        self.tell()

    def _may_wait(self, began: dict[str, Any]) -> bool:
        return "branch" not in began and began["key"] not in self._unwell and self._waits()

    def _has_passed(self, ended: dict[str, Any]) -> bool:
        completed = ended["outcome"] == Outcome.COMPLETED
        return completed and ended["fence"] in self._begun and not self._over.is_set()

    def _waits(self) -> bool:
        """Return whether anything may wait: as long as a thread tells of it, which a full machine may not start."""
        if self._singly > 0 or self._over.is_set():
            return False
        if self._thread is None:
            thread = threading.Thread(target=self._now_and_then, name="short-tenures", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return False
            self._thread = thread
        return True

    def _pass(self, ended: dict[str, Any]) -> None:
        del self._begun[ended["fence"]]
        before = self._passed or {"tenures": 0, "rows": 0}
        self._passed = {
            "key": ended["key"],
            "fence": ended["fence"],
            "tenures": before["tenures"] + 1,
            "rows": before["rows"] + ended.get("rows", 0),
        }

    def _tell_at_once(self, event: str, facts: dict[str, Any]) -> None:
        if "fence" in facts:
            self._tell_passed()
            self._tell_begun(facts["fence"])
        if event == "began" and "branch" in facts:
            self._in_branches.add(facts["fence"])
        if event == "ended":
            self._note(facts)
        self._report(event, **facts)

    def _note(self, ended: dict[str, Any]) -> None:
        """Count what its task names to others; one that ended in another way is told when it is completed, too."""
        shows = ended["fence"] not in self._in_branches
        self._in_branches.discard(ended["fence"])
        if ended["outcome"] in (Outcome.COMPLETED, Outcome.CLOSED):
            self._singly -= shows
        else:
            self._unwell.add(ended["key"])

    def _tell_passed(self) -> None:
        """Tell what passed and was counted. Whoever is interrupted here tells it never, and so never twice."""
        passed, self._passed = self._passed, None
        counts, self._counts = self._counts, Counter()
        if passed is not None:
            self._report("passed", **passed)
        if counts:
            self._report("metrics", counts=counts)

    def _tell_begun(self, fence: str) -> None:
        """Tell that it has begun, if that was not told. Interrupted here it is told again, which does no harm."""
        if fence in self._begun:
            self._report("began", **self._begun[fence])
            del self._begun[fence]

    def _now_and_then(self) -> None:
        while not self._over.wait(self._every):
            try:
                self.tell()
            except Exception:  # nobody reads any more: whoever reports next is told, as it is its own error
                self._over.set()
