"""The partitions that a person acts on: those named one by one, or all that a filter finds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.monitoring.counts import counted
from airflow_coordination.monitoring.states import RARE, WORDS, among, by_state, state_of, word_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.failing import alike
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

    :param state: one of the seven words of counts; or a status, ``PARKED`` or ``BLOCKED``.
    :param error_like: a part of the last error; upper and lower case are the same.
    :param key_prefix: what the keys begin with.
    :param owner_like: a part of the owner; upper and lower case are the same.
    :param payload_like: a part of the payload's JSON; of a group of objects, a part of an object's address, where its
        names are in the payload.
    :param error_alike: the last error but for its numbers and the key (:func:`~.failing.alike`): a group of errors.
    :param key_from: the lowest key in byte order, itself among them.
    :param key_to: the highest one, itself among them.
    """

    state: str | None = None
    error_like: str | None = None
    key_prefix: str | None = None
    owner_like: str | None = None
    payload_like: str | None = None
    error_alike: str | None = None
    key_from: str | None = None
    key_to: str | None = None

    def __bool__(self) -> bool:
        return self.state is not None or self._narrows_keys or self._reads_texts

    def __str__(self) -> str:
        said = (
            self.state and f"are {self.state}",
            self.error_like and f"have a last error with {self.error_like!r} in it",
            self.key_prefix and f"have a key that begins with {self.key_prefix!r}",
            self.key_from and f"have a key from {self.key_from!r} on",
            self.key_to and f"have a key up to {self.key_to!r}",
            self.owner_like and f"have an owner with {self.owner_like!r} in it",
            self.payload_like and f"have a payload with {self.payload_like!r} in it",
            self.error_alike and f"have a last error like {self.error_alike!r}",
        )
        return " and ".join(filter(None, said))

    @property
    def only_state(self) -> str | None:
        """The state, if it narrows by nothing else: that much is counted without being read."""
        return None if self.reads_more or self._narrows_keys else self.state

    @property
    def reads_more(self) -> bool:
        """Whether much more has to be read than it finds: no page is asked for by a text, or what is blocked."""
        return self._reads_texts or self.state in RARE

    @property
    def pages(self) -> int:
        """How many pages one look takes."""
        return len(among(self._looked_at))

    @property
    def tells_time(self) -> bool:
        """Whether the clock decides what it finds."""
        return self.state in WORDS

    @property
    def _looked_at(self) -> str | None:
        return self.state or (None if self.owner_like is None else str(PartitionStatus.ASSIGNED))

    @property
    def _narrows_keys(self) -> bool:
        return any(text is not None for text in (self.key_prefix, self.key_from, self.key_to))

    @property
    def _reads_texts(self) -> bool:
        texts = (self.error_like, self.owner_like, self.payload_like, self.error_alike)
        return any(text is not None for text in texts)

    def page(self, coordinator: SourceCoordinator, after: str | None, limit: int) -> Sequence[Partition]:
        """Return the next partitions to look at, by key: where it names some keys, only what may have them is read.

        :param limit: so many at most; as many are read of each status that a word is among.
        """
        keys = {"prefix": self.key_prefix, "first": self.key_from, "last": self.key_to}
        found = [
            each
            for status, parked in among(self._looked_at)  # what nobody holds has no owner
            for each in coordinator.looking.partitions(status, after, limit, parked=parked, **keys)
        ]
        return found if self.pages == 1 else sorted(found, key=lambda each: each.key.encode())[:limit]

    def finds(self, partition: Partition, now: datetime) -> bool:
        """Return whether it finds one of a page.

        :param now: the store's clock.
        """
        said = _has(partition.last_error, self.error_like) and _has(partition.owner, self.owner_like)
        if self.error_alike is not None:
            said = said and alike(partition.last_error, partition.key) == self.error_alike
        return said and self._in_state(partition, now) and _holds(partition.payload_text, self.payload_like)

    def _in_state(self, partition: Partition, now: datetime) -> bool:
        if self.state is None:
            return True
        return (word_of(partition, now) if self.tells_time else state_of(partition)) == self.state


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
    now, size = _clock(coordinator, chosen), _PAGE if chosen.reads_more else limit + 1
    while rows is None or rows >= chosen.pages:
        size = size if rows is None else min(size, rows // chosen.pages)
        page = chosen.page(coordinator, after, size)
        kept += (each for each in page if chosen.finds(each, now))
        if len(kept) > limit:
            return kept[:limit], kept[limit - 1].key
        if len(page) < size:
            return kept, None
        after, rows = page[-1].key, None if rows is None else rows - size * chosen.pages
        size = min(_PAGE, 2 * size)  # others are among them: less and less is asked one by one
    return kept, after


_ANY_TIME: Final = datetime.fromtimestamp(0, UTC)


def _clock(coordinator: SourceCoordinator, chosen: Filter) -> datetime:
    """Return the store's clock, where it decides what is found."""
    return coordinator.store.now() if chosen.tells_time else _ANY_TIME


def count(
    coordinator: SourceCoordinator, chosen: Filter, after: str | None, limit: int, rows: int | None = None
) -> Selection:
    """Count what a filter finds, and take the first ones of it.

    :param after: start above this key.
    :param limit: how many are taken.
    :param rows: stop after having read so many; the result says where to go on.
    """
    now = _clock(coordinator, chosen)
    if chosen.only_state and after is None and 0 < limit <= _most(chosen, rows):
        known = _counted_by_index(coordinator, chosen, chosen.only_state, limit, now)
        if known is not None:
            return known
    kept: list[Partition] = []
    matching = 0
    while rows is None or rows >= chosen.pages:
        size = _most(chosen, rows)
        page = chosen.page(coordinator, after, size)
        found = [each for each in page if chosen.finds(each, now)]
        matching += len(found)
        kept += found[: limit - len(kept)]
        if len(page) < size:
            return Selection(kept, matching, str(chosen))
        after, rows = page[-1].key, None if rows is None else rows - size * chosen.pages
    return Selection(kept, matching, str(chosen), after)


def _most(chosen: Filter, rows: int | None) -> int:
    """Return the most partitions that one look brings, of so many rows."""
    return _PAGE if rows is None else min(_PAGE, rows // chosen.pages)


def _counted_by_index(
    coordinator: SourceCoordinator, chosen: Filter, state: str, limit: int, now: datetime
) -> Selection | None:
    """Return what is found, ``None`` where others stand between: what is blocked lies among what is UNASSIGNED."""
    page = chosen.page(coordinator, None, limit)
    found = [each for each in page if chosen.finds(each, now)]
    if len(page) < limit:
        return Selection(found, len(found), str(chosen))
    if len(found) < len(page):
        return None
    counts, outlook = coordinator.counts(), coordinator.looking.outlook()
    whole = {**by_state(counts, outlook), **asdict(counted(counts, outlook))}[state]
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
