"""The partitions that a person acts on: those named one by one, or all that a filter finds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.monitoring.states import BLOCKED, by_state, state_of, wanted
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.status import PartitionStatus

SAMPLE: Final = 5
"""Examples that are shown of what a filter finds."""
AT_ONCE: Final = 1000
"""The most partitions that are meant at once, unless somebody asks for more."""
_PAGE: Final = 1000
_GROUP: Final = '"names":'
"""In the payload of each group of objects."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter over the partitions of a source. What is ``None`` narrows nothing.

    :param state: a status, ``PARKED`` or ``BLOCKED``.
    :param error_like: a part of the last error; upper and lower case are the same.
    :param key_prefix: what the keys begin with.
    :param owner_like: a part of the owner; upper and lower case are the same.
    :param payload_like: a part of the payload's JSON; of a group of objects, a part of an object's address.
    """

    state: str | None = None
    error_like: str | None = None
    key_prefix: str | None = None
    owner_like: str | None = None
    payload_like: str | None = None

    def __bool__(self) -> bool:
        return self.state is not None or self.key_prefix is not None or self._reads_texts

    def __str__(self) -> str:
        said = (
            self.state and f"are {self.state}",
            self.error_like and f"have a last error with {self.error_like!r} in it",
            self.key_prefix and f"have a key that begins with {self.key_prefix!r}",
            self.owner_like and f"have an owner with {self.owner_like!r} in it",
            self.payload_like and f"have a payload with {self.payload_like!r} in it",
        )
        return " and ".join(filter(None, said))

    @property
    def only_state(self) -> str | None:
        """The state, if it narrows by nothing else: that much is counted without being read."""
        return None if self.reads_more or self.key_prefix is not None else self.state

    @property
    def reads_more(self) -> bool:
        """Whether more has to be read than it finds: no page is asked for by a text, or what is blocked."""
        return self._reads_texts or self.state == BLOCKED

    @property
    def _reads_texts(self) -> bool:
        return any(text is not None for text in (self.error_like, self.owner_like, self.payload_like))

    def page(self, coordinator: SourceCoordinator, after: str | None, limit: int) -> Sequence[Partition]:
        """Return the next partitions to look at, by key: where it names a prefix, only what may have it is read."""
        state = self.state or (None if self.owner_like is None else str(PartitionStatus.ASSIGNED))
        status, parked = wanted(state)  # what nobody holds has no owner
        return coordinator.partitions(status, after, limit, parked=parked, prefix=self.key_prefix)

    def finds(self, partition: Partition) -> bool:
        """Return whether it finds one of a page."""
        in_state = self.state is None or state_of(partition) == self.state
        said = _has(partition.last_error, self.error_like) and _has(partition.owner, self.owner_like)
        return in_state and said and _holds(partition.payload_text, self.payload_like)


def _has(text: str | None, part: str | None) -> bool:
    return part is None or part.casefold() in (text or "").casefold()


def _holds(payload: str | None, part: str | None) -> bool:
    """Return whether a payload has a text in it, as it is written or as JSON escapes it."""
    return part is None or _has(payload, part) or _has(payload, json.dumps(part)[1:-1]) or _in_group(payload, part)


def _in_group(payload: str | None, part: str) -> bool:
    """Return whether a text is in the address of one object of a group, whose payload says their directory once."""
    document = json.loads(payload) if payload and _GROUP in payload else {}
    base, names = document.get("base"), document.get("names")
    if not isinstance(base, str) or not isinstance(names, list):
        return False
    return any(_has(f"{base}{name}", part) for name in names)


@dataclass(frozen=True, slots=True)
class Selection:
    """The partitions that are meant, as the person saw them: each action is conditioned on that.

    :param partitions: those named, or the first ones found.
    :param matching: how many the filter finds altogether.
    :param scope: what the filter says, empty where partitions are named.
    :param after: the key above which counting has to go on; ``None`` when everything was counted.
    """

    partitions: Sequence[Partition]
    matching: int
    scope: str = ""
    after: str | None = None

    @property
    def shown(self) -> Sequence[Partition]:
        """Return all that were named, or a few of what was found."""
        return self.partitions[:SAMPLE] if self.scope else self.partitions


def listed(
    coordinator: SourceCoordinator, chosen: Filter, after: str | None, limit: int, rows: int | None = None
) -> tuple[list[Partition], str | None]:
    """Return the first partitions that a filter finds, by key, and the key above which to go on, if there may be more.

    :param after: start above this key.
    :param limit: so many at most.
    :param rows: stop after having read so many, one more at least than ``limit``; perhaps nothing was found among them.
    """
    kept: list[Partition] = []
    while rows is None or rows > 0:
        size = _PAGE if chosen.reads_more else limit + 1
        size = size if rows is None else min(size, rows)
        page = chosen.page(coordinator, after, size)
        kept += filter(chosen.finds, page)
        if len(kept) > limit:
            return kept[:limit], kept[limit - 1].key
        if len(page) < size:
            return kept, None
        after, rows = page[-1].key, None if rows is None else rows - size
    return kept, after


def count(
    coordinator: SourceCoordinator, chosen: Filter, after: str | None, limit: int, rows: int | None = None
) -> Selection:
    """Count what a filter finds, and take the first ones of it.

    :param after: start above this key.
    :param limit: how many are taken.
    :param rows: stop after having read so many; the result says where to go on.
    """
    if chosen.only_state and after is None and 0 < limit <= _PAGE:
        counted = _counted_by_index(coordinator, chosen, chosen.only_state, limit)
        if counted is not None:
            return counted
    kept: list[Partition] = []
    matching = 0
    while rows is None or rows > 0:
        size = _PAGE if rows is None else min(_PAGE, rows)
        page = chosen.page(coordinator, after, size)
        found = list(filter(chosen.finds, page))
        matching += len(found)
        kept += found[: limit - len(kept)]
        if len(page) < size:
            return Selection(kept, matching, str(chosen))
        after, rows = page[-1].key, None if rows is None else rows - size
    return Selection(kept, matching, str(chosen), after)


def _counted_by_index(coordinator: SourceCoordinator, chosen: Filter, state: str, limit: int) -> Selection | None:
    """Return what is found, ``None`` where others stand between: what is blocked lies among what is UNASSIGNED."""
    page = chosen.page(coordinator, None, limit)
    found = list(filter(chosen.finds, page))
    if len(page) < limit:
        return Selection(found, len(found), str(chosen))
    if len(found) < len(page):
        return None
    whole = by_state(coordinator.counts(), coordinator.looking.outlook())[state]
    return Selection(found, max(whole, len(found)), str(chosen))


def sentence(source: str, scope: str, matching: int, meant: int) -> str:
    """Return how much a filter finds, how much of it is shown, and how much of it is meant at once.

    :param scope: what the filter says.
    :param matching: how many it finds.
    :param meant: how many of them are meant.
    """
    said = f"{matching} partition(s) of source {source} {scope}."
    if matching > (few := min(meant, SAMPLE)):
        said += f" These are the first {few} by key."
    if matching > meant:
        said += f" At most {meant} are meant at once"
    return said
