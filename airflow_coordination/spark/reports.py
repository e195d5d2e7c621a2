"""A driver's reports to the task that started it: marked JSON lines on standard output.

The marker holds a word that the task made up for this submission, so that nothing else that is printed is obeyed. Each
line holds ``event`` and its facts:

* ``spark``: ``application``, ``url`` of the Spark UI (``null`` without one)
* ``began``: ``key``, ``fence``, ``owner``; from here on the driver renews
* ``saved``: ``key``, ``fence``, ``blocks`` (how many went with it), ``progress`` (a short text)
* ``refused``: ``message``, and ``key`` and ``fence`` where a tenure had begun
* ``ended``: ``key``, ``fence``, ``message``, ``outcome``: a value of :class:`~.leases.status.Outcome`;
  ``rows`` where it has published some
* ``metrics``: ``counts`` by full name, since the line before
* ``gauges``: ``gauges`` by full name, as they are now
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any, Protocol, TextIO

from airflow_coordination.leases.handover import report_marker
from airflow_coordination.systems.spark.error_text import error_text as error_text
from airflow_coordination.values.scrubbing import without_secrets as without_secrets


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
