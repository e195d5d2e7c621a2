"""Which partitions a person means: those named, by the beginning of their keys, by the time of their rows, or all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from typing import Any, Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.heads.pages import head_pages
from airflow_coordination.planning.intervals import Interval, interval_of, umbrella
from airflow_coordination.planning.view.showing import by_dataset, dataset_of, interval_of_head, newest
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.errors import PartitionNotFoundError
from airflow_coordination.values.input_errors import InvalidInputError, shown
from airflow_coordination.values.names import check_key, identifier_of
from airflow_coordination.values.times import Span

PAGE: Final = 1_000
NAMED: Final = 10
"""How many partitions an error names."""
_KEYS_KEPT: Final = 100
"""So many keys are kept in the view as they are."""
_WAYS: Final = "Give keys, a prefix of keys, an interval, or say that all are meant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Partitions of a source, said in one way of several.

    :param keys: these.
    :param prefix: all whose key begins so.
    :param interval: all of which rows show in it, such as ``"2013-01/P1M"``, as their head records say.
    :param dataset: with an interval: judged by this dataset alone.
    :param everything: all there are.
    :param nothing: none: for a branch that only has partitions that are created in it.
    :raises InvalidInputError: when it is said in no way, or in two, or keys are a text, which would be taken apart into
        letters.
    """

    keys: Sequence[str] = ()
    prefix: str | None = None
    interval: Interval | str | None = None
    dataset: str | None = None
    everything: bool = False
    nothing: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.interval, str):
            object.__setattr__(self, "interval", interval_of("interval", self.interval))
        object.__setattr__(self, "keys", _listed(self.keys))
        if self.prefix is not None:
            check_key(self.prefix, "prefix")
        ways = [bool(self.keys), self.prefix is not None, self.interval is not None, self.everything, self.nothing]
        if sum(ways) != 1:
            problem = "names no partitions" if not any(ways) else "names partitions in two ways"
            raise InvalidInputError("selection", str(self), problem, _WAYS)
        if self.dataset is not None and self.interval is None:
            raise InvalidInputError("dataset", self.dataset, "stands beside no interval", "Give it with an interval")

    @property
    def said(self) -> dict[str, Any]:
        """What the view keeps of it; of many keys how many they are, and which they were."""
        if self.keys:
            digest = sha256("\0".join(sorted(self.keys)).encode()).hexdigest()[:16]
            few = len(self.keys) <= _KEYS_KEPT and sum(map(len, self.keys)) <= 8 * _KEYS_KEPT
            return {"keys": list(self.keys)} if few else {"number": len(self.keys), "digest": digest}
        if self.prefix is not None:
            return {"prefix": self.prefix}
        if self.interval is not None:
            return {"interval": str(self.interval)} | ({"dataset": self.dataset} if self.dataset else {})
        return {"all": True} if self.everything else {"nothing": True}

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Selection:
        """Return the selection that a view has kept.

        :raises InvalidInputError: when it was too many keys.
        """
        if "number" in said:
            problem = "were too many keys to be kept"
            raise InvalidInputError("selection", f"{said['number']} keys", problem, "Name the same ones again")
        return cls(
            keys=tuple(said.get("keys", ())),
            prefix=said.get("prefix"),
            interval=said.get("interval"),
            dataset=said.get("dataset"),
            everything=said.get("all", False),
            nothing=said.get("nothing", False),
        )

    def __str__(self) -> str:
        if self.keys:
            return f"{len(self.keys)} key(s), {named(self.keys)}"
        if self.prefix is not None:
            return f"prefix {shown(self.prefix)}"
        if self.interval is not None:
            return f"interval {self.interval}" + (f" of dataset {shown(self.dataset)}" if self.dataset else "")
        return "all partitions" if self.everything else "no partitions"


def _listed(keys: object) -> tuple[str, ...]:
    if isinstance(keys, str | bytes | Mapping) or not isinstance(keys, Iterable):
        remedy = "Give a list; a template makes one in a DAG with render_template_as_native_obj=True"
        raise InvalidInputError("keys", keys, f"is {type(keys).__name__}, not a list of keys", remedy)
    return tuple(map(check_key, keys))


def named(keys: Iterable[str]) -> str:
    """Return the first keys of some, as a text."""
    row = list(keys)
    return ", ".join(map(shown, row[:NAMED])) + (f" and {len(row) - NAMED} more" if len(row) > NAMED else "")


def selected(
    coordinator: SourceCoordinator, selection: Selection, view: View, *, even_if_gone: bool = False
) -> Iterator[Partition]:
    """Yield the partitions that a selection means, as they are now, by key.

    :param view: of the source: what readers see, where an interval is meant.
    :param even_if_gone: leave out keys that are not there: what is gone on with may have lost some.
    :raises PartitionNotFoundError: when one that is named does not exist.
    :raises InvalidInputError: when an interval would cut partitions; it names those that stick out.
    """
    if selection.nothing:
        return
    if selection.keys or selection.interval is not None:
        keys = sorted(set(selection.keys)) or keys_within(coordinator, selection, view)
        for key in keys:
            found = coordinator.partition(key)
            if found is not None:
                yield found
            elif selection.keys and not even_if_gone:
                raise PartitionNotFoundError(key, coordinator.source)
        return
    after: str | None = None
    while page := coordinator.partitions(after=after, limit=PAGE, prefix=selection.prefix):
        yield from page
        after = page[-1].key


def keys_within(coordinator: SourceCoordinator, selection: Selection, view: View) -> list[str]:
    """Return the keys of the partitions of which rows show in an interval.

    :raises InvalidInputError: naming those that have rows outside of it, too.
    """
    interval = selection.interval
    assert isinstance(interval, Interval)
    within: list[str] = []
    out: list[str] = []
    for key, intervals in _seen(coordinator, selection.dataset, view, interval):
        if any(interval.overlaps(each) for each in intervals):
            inside = all(interval.contains(each) for each in intervals)
            (within if inside else out).append(key)
    if out:
        problem = f"would cut {len(out)} partition(s), which have rows outside of it, too: {named(out)}"
        remedy = "A partition is replaced whole: take a longer interval, or name the keys"
        raise InvalidInputError("interval", str(interval), problem, remedy)
    return within


def _seen(
    coordinator: SourceCoordinator, dataset: str | None, view: View, within: Span | None
) -> Iterator[tuple[str, list[Interval]]]:
    """Yield the key of each partition that readers see rows of, with the intervals of these rows."""
    for key, heads in heads_by_key(coordinator, within):
        shown_heads = [head for head in showing(view, heads) if dataset in (None, dataset_of(head))]
        intervals = [interval for head in shown_heads if (interval := interval_of_head(head)) is not None]
        if intervals:
            yield key, intervals


def heads_by_key(coordinator: SourceCoordinator, within: Span | None = None) -> Iterator[tuple[str, list[HeadRecord]]]:
    """Yield all head records of each partition, those in branches, too, by key.

    :param within: only those with a moment in common with it, and those without an interval.
    """
    pages = head_pages(coordinator.store, identifier_of(coordinator), None, within)
    heads = (head for page in pages for head in page)
    for key, group in groupby(heads, key=lambda head: head.key):
        yield key, list(group)


def showing(view: View, heads: Iterable[HeadRecord]) -> list[HeadRecord]:
    """Return of the head records of one partition those that readers see, and that name blocks: one of each dataset."""
    found = (newest(view, group) for group in by_dataset(heads).values())
    return [head for head in found if head is not None and head.blocks]


def umbrella_of(heads: Iterable[HeadRecord]) -> Interval | None:
    """Return the shortest interval with the rows of all head records in it; ``None`` where that of one is unknown."""
    intervals = [interval_of_head(head) for head in heads]
    known = [each for each in intervals if each is not None]
    return umbrella(known) if known and len(known) == len(intervals) else None
