"""The one rule of all suppliers: go on, count what was left out, name ten, and fail at the end where it was work.

One odd item among many (a name that no store can hold, a topic that was deleted, a directory that may not be read) must
not keep the others waiting. What is no work by a rule, such as a file that Spark hides, is said and is no error.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from airflow_coordination.leases.errors import CoordinationError, printable, shown
from airflow_coordination.sources.errors import SourceError

NAMED: Final = 10
"""So many are named of each kind."""
_LONGEST: Final = 500
"""Of what is said of one item, in characters."""
log = logging.getLogger(__name__)


class _Some:
    """Items of one kind: how many, and the first ten."""

    def __init__(self) -> None:
        self.count = 0
        self.named: list[str] = []

    def add(self, text: str) -> None:
        self.count += 1
        if len(self.named) < NAMED:
            self.named.append(text)

    def __str__(self) -> str:
        more = self.count - len(self.named)
        return ", ".join(self.named) + (f" and {more:,} more" if more else "")


class LeftOut:
    """What one run of a supplier leaves out.

    :param place: what it lists, for messages; without credentials.
    :param items: what it lists there, in the plural.
    """

    def __init__(self, place: str, items: str) -> None:
        self._place, self._items = place, items
        self._no_work: dict[str, _Some] = {}
        self._work = _Some()
        self._first: Exception | None = None
        self.names: list[Any] = []
        """The first ten of those that are work."""

    @property
    def work(self) -> int:
        """How many items were left out that are work."""
        return self._work.count

    def no_work(self, name: object, why: str) -> None:
        """Count an item that is no work, by a rule.

        :param why: the rule, as an end of the sentence "100 objects …"; few different ones.
        """
        self._no_work.setdefault(why, _Some()).add(shown(name))

    def failed(self, name: object, error: Exception) -> None:
        """Count an item that is work, and of which nothing can be made."""
        self._first = self._first or error
        if len(self.names) < NAMED:
            self.names.append(name)
        self._work.add(f"{shown(name)} ({printable(str(error), limit=_LONGEST)})")

    @contextmanager
    def item(self, name: object) -> Iterator[None]:
        """Count the item if anything is raised for it. Nothing may be yielded inside: that is not the item's error."""
        try:
            yield
        except Exception as error:
            self.failed(name, error)

    def say(self) -> None:
        """Write to the log what was left out."""
        for why, some in self._no_work.items():
            log.warning("%s: %s %s %s: %s.", self._place, f"{some.count:,}", self._items, why, some)
        if self._work.count:
            log.error("%s: %s %s left out: %s.", self._place, f"{self._work.count:,}", self._items, self._work)

    def finish(self, remedy: str) -> None:
        """Say what was left out, as the last thing of a run, and fail if work was.

        :raises CoordinationError: the item's own error where there is one such item; otherwise a
            :class:`SourceError` that counts them and names ten.
        """
        self.say()
        if self._first is None:
            return
        if self._work.count == 1 and isinstance(self._first, CoordinationError):
            raise self._first
        problem = f"has {self._work.count:,} {self._items} that were left out: {self._work}"
        raise SourceError("take everything", self._place, problem, remedy) from self._first
