"""What readers may find, said once more and from nothing but what the store holds (promise S22).

It shares no code with what is tried here: the view is read as JSON, and of each partition the head record with the
highest token counts among the base and the branches that the view shows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from airflow_coordination.protocol.results import HeadRecord

Rows = Callable[[str], Iterable[str]]
"""All rows of a block with all that it follows, by its digest."""
BASE: Final = 0
_SHOWN: Final = ("published", "final")


Slots = Mapping[int, HeadRecord]
"""The head records of one partition, by their branch."""


@dataclass(frozen=True)
class Row:
    """What a row's name says of it: which tenure has written it, in which branch, and how it was meant."""

    key: str
    token: int
    branch: int
    mode: str

    @classmethod
    def of(cls, text: str) -> Row:
        """Read it."""
        key, token, branch, mode, _ = text.split("/", 4)
        return cls(key, int(token), int(branch), mode)


def name_of(key: str, token: int, branch: int | None, mode: str, rest: str) -> str:
    """Return the name of a row, or its beginning."""
    return f"{key}/{token}/{branch or BASE}/{mode}/{rest}"


class SaidView:
    """One version of the document, as JSON.

    :param text: its content, ``None`` before the first one.
    """

    def __init__(self, text: str | None) -> None:
        said: dict[str, Any] = json.loads(text) if text else {"branches": [], "hidden": []}
        self.text = text
        self.branches: dict[int, dict[str, Any]] = {each["n"]: each for each in said["branches"]}
        self.hidden: list[dict[str, Any]] = said["hidden"]

    def state(self, number: int) -> str:
        """Return how far a branch is; what is not there was rolled back."""
        found = self.branches.get(number)
        return found["state"] if found else "rolled back"

    def counts(self, number: int) -> bool:
        """Return whether readers see a branch; the base they always do."""
        return number == BASE or self.state(number) in _SHOWN

    def hides(self, dataset: str, head: HeadRecord) -> bool:
        """Return whether an interval that is hidden has all of a head record."""
        if head.interval_start is None or head.interval_end is None:
            return False
        for each in self.hidden:
            start, end = map(_moment, each["interval"].split("/"))
            if each["dataset"] == dataset and start <= head.interval_start and head.interval_end <= end:
                return True
        return False

    def lets_go(self, dataset: str, head: HeadRecord, slots: Slots) -> bool:
        """Return whether a head record may be emptied: nobody can ever see it again (promise S23).

        :param slots: of its partition.
        """
        number = place_of(head)[0]
        if number != BASE and number in self.branches and self.state(number) == "rolled back":
            return True
        purging = SaidView(None)
        purging.hidden = [each for each in self.hidden if each["state"] == "purging"]
        covers = (
            each
            for other, each in slots.items()
            if (other == BASE or self.state(other) == "final")
            and (each.token, other != BASE) > (head.token, number != BASE)
        )
        return purging.hides(dataset, head) or (self.counts(number) and any(covers))


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def place_of(head: HeadRecord) -> tuple[int, str]:
    """Return the branch, or the base, and the dataset of a head record, by the name that it is stored under."""
    if head.dataset.startswith("~"):
        number, _, dataset = head.dataset[1:].partition("~")
        return int(number), dataset
    return BASE, head.dataset


def by_key(heads: Iterable[HeadRecord], dataset: str) -> dict[str, dict[int, HeadRecord]]:
    """Return the head records of one dataset by partition and branch."""
    found: dict[str, dict[int, HeadRecord]] = {}
    for head in heads:
        number, name = place_of(head)
        if name == dataset:
            found.setdefault(head.key, {})[number] = head
    return found


def newest(view: SaidView, slots: Slots) -> HeadRecord | None:
    """Return the last publication that counts: equal tokens are one publication in a branch over one in the base."""
    counted = [(head.token, number != BASE, head) for number, head in slots.items() if view.counts(number)]
    return max(counted, key=lambda each: each[:2])[2] if counted else None


def content(head: HeadRecord, rows: Rows) -> Counter[str]:
    """Return the rows of a head record."""
    return Counter(row for block in head.blocks for row in rows(block.digest))


def expected(view: SaidView, dataset: str, slots: Slots, rows: Rows) -> Counter[str]:
    """Return what readers find of a partition."""
    head = newest(view, slots)
    return Counter() if head is None or view.hides(dataset, head) else content(head, rows)


@dataclass(frozen=True)
class Look:
    """Head records before and after something was read."""

    before: Mapping[str, Slots]
    after: Mapping[str, Slots]
    dataset: str

    def steady(self, key: str) -> bool:
        """Return whether nothing was published by a partition meanwhile."""
        return self.before.get(key, {}) == self.after.get(key, {})

    def allows(self, view: SaidView, key: str, found: Counter[str], rows: Rows) -> bool:
        """Return whether a reader may have found these rows of a partition under a view."""
        before, after = (_counted(view, slots.get(key, {})) for slots in (self.before, self.after))
        if before == after:
            return expected(view, self.dataset, before, rows) == found
        if any(expected(view, self.dataset, slots, rows) == found for slots in _mixed(before, after)):
            return True
        return self._in_between(view, before, after, found)

    def _in_between(self, view: SaidView, before: Slots, after: Slots, found: Counter[str]) -> bool:
        """Return whether they may be of a publication that came and went between the two looks."""
        if not found:
            return True  # taken back, and published again
        last = max((Row.of(row) for row in found), key=lambda row: row.token)
        was, now = before.get(last.branch), after.get(last.branch)
        return view.counts(last.branch) and now is not None and (was.token if was else 0) < last.token <= now.token


def _counted(view: SaidView, slots: Slots) -> dict[int, HeadRecord]:
    return {number: head for number, head in slots.items() if view.counts(number)}


def _mixed(before: Slots, after: Slots) -> Iterator[dict[int, HeadRecord]]:
    """Yield what may be read one head record after the other: each as it was, or as it is."""
    found: list[dict[int, HeadRecord]] = [{}]
    for number in sorted({*before, *after}):
        either = [one for one in (before.get(number), after.get(number)) if one is not None]
        either = either[:1] if len(either) == 2 and either[0] == either[1] else either
        row = [{**each, number: head} for each in found for head in either]
        found = row if number in before else [*row, *found]
    yield from found


def misplaced(look: Mapping[str, Slots], rows: Rows) -> Iterator[str]:
    """Yield head records whose newest rows were written in another branch."""
    for key, slots in look.items():
        for number, head in slots.items():
            for block in head.blocks:
                last = max(map(Row.of, rows(block.digest)), key=lambda row: row.token)
                if (last.key, last.branch) != (key, number) or last.token > head.token:
                    yield f"S12: {key} in branch {number}, token {head.token}, has rows of {last}"


def lost_by_adding(view: SaidView, look: Mapping[str, Slots], rows: Rows) -> Iterator[str]:
    """Yield additions that hide what readers saw before: in another branch, newer than what they were added to."""
    for key, slots in look.items():
        head = newest(view, slots)
        if head is None or not head.blocks:
            continue
        named = [Row.of(row) for row in content(head, rows)]
        last = max(row.token for row in named)
        number = place_of(head)[0]
        older = [row.token for row in named if row.token < last]
        if any(row.mode != "append" for row in named if row.token == last) or (number != BASE and not older):
            continue
        for other, seen in slots.items():
            if other != number and view.counts(other) and seen.blocks and max(older, default=0) < seen.token < last:
                yield f"S22: {key} has added in {number} at token {last} and hides {other}, token {seen.token}"


def halves(
    number: int, members: Iterable[str], before: Mapping[str, Slots], after: Mapping[str, Slots]
) -> Iterator[str]:
    """Yield partitions of a branch that shows which have published nothing in it.

    :param members: ran in it, and were not retired.
    :param before: head records before it showed: who had none may have been retired without leaving one.
    """
    for key in members:
        if key in before and number not in after.get(key, {}):
            yield f"S22: branch {number} shows, and {key} has nothing in it"


def hidden_by_showing(view: SaidView, look: Mapping[str, Slots], number: int, keys: Sequence[str]) -> Iterator[str]:
    """Yield partitions of a branch that is about to show, of which something newer than it shows already.

    :param keys: of the branch.
    """
    for key in keys:
        slots = look.get(key, {})
        head, mine = newest(view, slots), slots.get(number)
        if head is not None and mine is not None and head.token > mine.token:
            yield f"S22: {key} had published at token {head.token} when branch {number} had {mine.token}"
