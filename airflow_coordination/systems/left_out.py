"""The one rule of all suppliers: go on, count what was left out, name ten, and fail at the end where it was work.

One odd item among many (a name that no store can hold, a topic that was deleted, a directory that may not be read) must
not keep the others waiting. What is no work by a rule, such as a file that Spark hides, is said and is no error.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

from airflow_coordination.systems.suppliers import SourceError
from airflow_coordination.values.input_errors import CoordinationError, printable, shown
from airflow_coordination.values.scrubbing import without_secrets

NAMED: Final = 10
"""The most that are named of each kind."""
_LONGEST: Final = 500
"""Of what is said of one item, in characters."""
log = logging.getLogger(__name__)


class _Some:
    """Items of one kind: how many, and the first ten."""

    def __init__(self) -> None:
        self.count = 0
        self.named: list[str] = []

    def add(self, text: str) -> bool:
        self.count += 1
        if self.count > NAMED:
            return False
        self.named.append(text)
        return True

    def __str__(self) -> str:
        more = self.count - len(self.named)
        return ", ".join(self.named) + (f" and {more:,} more" if more else "")


@dataclass(frozen=True, slots=True)
class _Item:
    """See :meth:`LeftOut.item`."""

    left: LeftOut
    name: object

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        """Return whether the block's error is the item's alone."""
        if not isinstance(error, Exception):
            return False
        self.left.failed(self.name, error)
        return True


class LeftOut:
    """The items that one run of a supplier leaves out.

    :param place: what it lists, for messages; without credentials.
    :param items: what it lists there, in the plural.
    """

    def __init__(self, place: str, items: str) -> None:
        self._place, self._items = place, items
        self._no_work: dict[str, _Some] = {}
        self._work = _Some()
        self._first: Exception | None = None
        self._usual: set[str] = set()
        self.names: list[Any] = []
        """The first ten of those that are work."""
        self.taken = 0
        """How many became partitions."""

    @property
    def work(self) -> int:
        """How many items were left out that are work."""
        return self._work.count

    def no_work(self, name: object, why: str, *, usual: bool = False) -> bool:
        """Count an item that is no work, by a rule, and return whether it is one of the first ten.

        :param why: the rule, as an end of the sentence "100 objects …"; few different ones.
        :param usual: whether such items lie beside good ones every day: that is no warning, unless nothing was taken.
        """
        if usual:
            self._usual.add(why)
        return self._no_work.setdefault(why, _Some()).add(shown(name))

    def some_no_work(self, names: Sequence[object], count: int, why: str) -> None:
        """Count so many items that are no work yet, of which the first are named."""
        for name in names:
            self.no_work(name, why)
        if count > len(names):
            self._no_work[why].count += count - len(names)

    def failed(self, name: object, error: Exception) -> None:
        """Count an item that is work, and of which nothing can be made."""
        self._first = self._first or error
        if len(self.names) < NAMED:
            self.names.append(name)
        self._work.add(f"{shown(name)} ({printable(without_secrets(str(error)), limit=_LONGEST)})")

    def item(self, name: object) -> _Item:
        """Return a block that counts the item if anything is raised for it, and goes on after the block.

        Inside no partition may be yielded, and the store not be asked: their errors are not the item's.
        """
        return _Item(self, name)

    def say(self) -> None:
        """Write to the log what was left out."""
        for why, some in self._no_work.items():
            level = logging.INFO if why in self._usual and self.taken else logging.WARNING
            log.log(level, "%s: %s %s %s: %s.", self._place, f"{some.count:,}", self._items, why, some)
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
