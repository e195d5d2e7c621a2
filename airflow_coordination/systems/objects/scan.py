"""One scan of a listing: its pages and partitions, what came late, and what it has left out."""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import quote, unquote

from airflow_coordination.leases.supply import SourceView, Supplied, partitions_of
from airflow_coordination.protocol.partition import Checkpoint, Partition, PartitionIdentifier
from airflow_coordination.systems.left_out import LeftOut
from airflow_coordination.systems.objects.grouping import Grouping, Planner, identifier
from airflow_coordination.systems.objects.listing import Listing, StoredObject, group_names, is_group
from airflow_coordination.systems.objects.names_file import NamesFiles
from airflow_coordination.systems.objects.selection import Selection, listed
from airflow_coordination.systems.schedule import moment, written
from airflow_coordination.systems.suppliers import SourceError, planned_pass, remembered
from airflow_coordination.values.input_errors import ProgressStateError
from airflow_coordination.values.names import SEPARATOR, encode_part

LISTING: Final = "LISTING"
"""The name in the global state of a scan that is under way, and of the options that all scans have in common."""


@dataclass(frozen=True, slots=True)
class Scan:
    """A scan that is under way.

    :param started: when, by the storage's clock, in whole seconds: some storages stamp objects no finer.
    :param first: the first moment that any scan of the source looks back to; ``None`` for all.
    :param since: objects are wanted from this moment on; ``None`` for all.
    :param until: objects are wanted up to, not including, this moment; ``None`` for all.
    :param after: the last name that is dealt with.
    :param plan: documents of the groups that are planned and perhaps not created.
    """

    started: datetime
    first: datetime | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: str = ""
    plan: tuple[Mapping[str, Any], ...] = ()

    def at(self, after: str, plan: list[dict[str, Any]] | None = None) -> Scan:
        """Return the scan when it has dealt with all names up to ``after``, but for the partitions of ``plan``."""
        return replace(self, after=after, plan=tuple(plan or ()))

    def document(self) -> dict[str, Any]:
        """Return the scan as the global state keeps it."""
        moments = {"started": self.started, "first": self.first, "since": self.since, "until": self.until}
        texts = {name: written(value) for name, value in moments.items() if value}
        return {**texts, "after": self.after, "plan": list(self.plan)}


def unfinished_scan(state: Mapping[str, Any]) -> Scan | None:
    """Return the scan that the state says is under way, ``None`` when there is none.

    :raises ProgressStateError: when what it says cannot be read.
    """
    found = remembered(state, LISTING)
    started = moment(found, "started")
    if started is None:
        return None
    after, plan = found.get("after"), found.get("plan")
    if not isinstance(after, str) or not isinstance(plan, list):
        raise ProgressStateError(f"global_state.{LISTING}", found, "is no scan", "Repair it in the store")
    since, until = moment(found, "since"), moment(found, "until")
    return Scan(started, moment(found, "first"), since, until, after, tuple(plan))


LOOK_EVERY: Final = timedelta(hours=1)
"""How often the partitions are compared with what is passed over, where nobody asks for a full scan."""
WHY: Final = (
    "are older than what this scan looks at and in no partition (they came late by their time of writing, or their "
    "partitions were deleted; full_scan_every= takes such objects)"
)
_LOOKED: Final = "looked"


class Names:
    """The names of the objects in a source's partitions, in eight bytes each.

    :param view: the source.
    :param listing: where its objects are.
    """

    def __init__(self, view: SourceView, listing: Listing) -> None:
        prefix, root = f"{encode_part(listing.bucket)}{SEPARATOR}", listing.address("")
        found = array("Q", (_hash(n) for each in partitions_of(view, prefix) for n in _names(each, prefix, root)))
        self._hashes = array("Q", sorted(found))

    def __contains__(self, name: str) -> bool:
        wanted = _hash(name)
        at = bisect_left(self._hashes, wanted)
        return at < len(self._hashes) and self._hashes[at] == wanted


@dataclass(slots=True)
class Late:
    """Whether and how one run of a supplier looks for what came late.

    :param names: reads the partitions' names; ``None`` where this run does not look.
    :param takes: whether what is found becomes partitions; otherwise it is only counted and named.
    """

    names: Callable[[], Names] | None
    takes: bool
    looked: bool = False
    """Whether the partitions were read: only where something was passed over at all."""
    _known: Names | None = None

    @classmethod
    def of(
        cls, view: SourceView | None, listing: Listing, state: Mapping[str, Any], every: timedelta | None, now: datetime
    ) -> Late:
        """Return what is due.

        :param view: the source, ``None`` where the supplier was called without it.
        :param every: what :func:`object_listing` was given as ``full_scan_every``.
        """
        last = moment(remembered(state, LISTING), _LOOKED)
        due = last is None or now - last >= (LOOK_EVERY if every is None else every)
        return cls((lambda: Names(view, listing)) if view is not None and due else None, every is not None)

    def is_new(self, name: str) -> bool:
        """Tell whether an object that is passed over for its age is in no partition, as far as this run looks."""
        if self.names is None:
            return False
        if self._known is None:
            self._known, self.looked = self.names(), True
        return name not in self._known

    def document(self, state: Mapping[str, Any], now: datetime) -> dict[str, str]:
        """Return the part of ``LISTING`` that remembers when the partitions were read last."""
        before = remembered(state, LISTING).get(_LOOKED)
        last = written(now) if self.looked else before
        return {_LOOKED: last} if last else {}


def _names(partition: Partition, prefix: str, root: str) -> Iterator[str]:
    text = partition.payload_text or ""
    payload = partition.payload if '"base"' in text else {}
    if not is_group(payload):
        yield partition.key.removeprefix(prefix)
        return
    base, names = payload["base"], group_names(payload)
    if isinstance(base, str) and isinstance(names, list):
        yield from (f"{base.removeprefix(root)}{name}" for name in names)


def _hash(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest())


_KEPT: Final = "left_out"
_LONGEST: Final = 4096
"""Of a name that is remembered, so that ten fit into a global state."""


def look_again(state: Mapping[str, Any], listing: Listing, left: LeftOut) -> None:
    """Count what an earlier scan has left out, if it is there still and this run has not counted it already.

    :param state: the global state before the run.
    """
    for name in _names_left(state):
        if name not in left.names and _is_there(listing, name):
            problem = "was left out by an earlier scan and is still there"
            remedy = "Rename or remove it, and list it under its new name"
            left.failed(name, SourceError("list", listing.address(name), problem, remedy))


def kept(names: Sequence[str]) -> dict[str, Any]:
    """Return the part of ``LISTING`` that remembers what is left out.

    :param names: the first ten; such as no store can hold are spelt out.
    """
    texts = [quote(name, errors="surrogatepass") for name in names if len(name) <= _LONGEST]
    return {_KEPT: texts} if texts else {}


def without(listing: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is under ``LISTING`` without it."""
    return {name: value for name, value in listing.items() if name != _KEPT}


def _names_left(state: Mapping[str, Any]) -> Iterator[str]:
    found = remembered(state, LISTING).get(_KEPT, [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ProgressStateError(f"global_state.{LISTING}.{_KEPT}", found, "is no list of names", "Repair it")
    return (unquote(name, errors="surrogatepass") for name in found)


def _is_there(listing: Listing, name: str) -> bool:
    first = next(iter(listing.objects(name, "")), None)
    return first is not None and first.key == name


LISTED_PER_CHECKPOINT: Final = 10_000
GROUPS_PER_CHECKPOINT: Final = 32
"""Of 4 KB each: half of what a global state may hold."""
_READABLE: Final = "See to it that this process may read there, and run it again"


class Pages:
    """One supplier's way through one scan.

    :param state: the global state but for the scan; what it has under ``LISTING`` is kept beside the scan.
    :param left: counts what is left out.
    :param late: looks for what came late.
    """

    def __init__(
        self, listing: Listing, selection: Selection, state: Mapping[str, Any], scan: Scan, left: LeftOut, late: Late
    ) -> None:
        self._listing, self._selection, self._state, self._scan = listing, selection, state, scan
        self._left, self._late = left, late
        self.listed = self.taken = 0
        self.young = 0
        """How many objects wait because they are younger than the lateness."""
        self.unlisted = False
        """Whether a part of the storage could not be listed: what is in it is not dealt with."""

    def objects(self) -> Iterator[Supplied]:
        """Yield a partition for every wanted object: an object's key is a function of its name, so none doubles."""
        for found, wanted in self._found():
            if wanted:
                yield from self._alone(found)
            if self.listed % LISTED_PER_CHECKPOINT == 0:
                yield self._checkpoint(self._scan.at(found.key))

    def groups(self, grouping: Grouping, once: bool, files: NamesFiles | None = None) -> Iterator[Supplied]:
        """Yield a partition for every group, in planned steps: a group's key depends on what is in it.

        :param once: whether there is one scan only; later ones tell by time which objects are new.
        :param files: where names go that do not fit into a payload; ``None`` where a group ends then.
        """
        for item in planned_pass(self._scan, self._steps(grouping, once, files), identifier, self._checkpoint):
            yield item
            if files is not None and isinstance(item, Checkpoint):  # the plan is saved: from now on it keeps its files
                files.keep()

    def _steps(self, grouping: Grouping, once: bool, files: NamesFiles | None) -> Iterator[Scan]:
        planner = Planner(self._listing, grouping, self._left, files)
        for found, wanted in self._found():
            if wanted and found.modified is None and not once:
                problem = f"does not say when {found.key!r} was written"
                remedy = "Use scan='once', or leave out max_objects and max_bytes"
                raise SourceError("group objects", self._listing.address(""), problem, remedy)
            if found.problem and found.key.endswith("/"):
                raise SourceError("group objects", self._listing.address(found.key), found.problem, _READABLE)
            planner.see(found, wanted)
            if len(planner.plan) >= GROUPS_PER_CHECKPOINT or self.listed % LISTED_PER_CHECKPOINT == 0:
                yield self._scan.at(planner.covered, planner.take())
        planner.close()
        yield self._scan.at(planner.covered, planner.take())

    def _found(self) -> Iterator[tuple[StoredObject, bool]]:
        for found in listed(self._listing, self._selection, self._scan.after):
            self.listed += 1
            wanted = self._wants(found)
            self.taken += wanted
            self._left.taken += wanted
            yield found, wanted

    def _wants(self, found: StoredObject) -> bool:
        """Tell whether an object becomes part of a partition, and count it where it does not by rule or by mishap."""
        if found.problem:
            self.unlisted = self.unlisted or found.key.endswith("/")
            self._left.failed(
                found.key, SourceError("list", self._listing.address(found.key), found.problem, _READABLE)
            )
            return False
        if not self._selection.names(found.key):
            return False
        if not self._selection.in_time(found, self._scan.since, self._scan.until):
            self.young += self._waits(found)
            if not self._came_late(found):
                return False
        no_work = self._selection.why_no_work(found)
        if no_work:
            self._left.no_work(found.key, no_work, usual=True)
        return no_work is None

    def _came_late(self, found: StoredObject) -> bool:
        """Tell whether an object that is passed over for its age is taken all the same; otherwise count a new one."""
        scan = self._scan
        if scan.since is None or not self._selection.in_time(found, scan.first, scan.since):
            return False
        if self._selection.why_no_work(found) or not self._late.is_new(found.key):
            return False
        if not self._late.takes:
            self._left.no_work(found.key, WHY)
        return self._late.takes

    def _waits(self, found: StoredObject) -> bool:
        return self._scan.until is not None and self._selection.in_time(found, self._scan.until, None)

    def _alone(self, found: StoredObject) -> tuple[PartitionIdentifier, ...]:
        with self._left.item(found.key):
            return (alone(self._listing, found),)
        return ()

    def _checkpoint(self, scan: Scan) -> Checkpoint:
        return Checkpoint({**self._state, LISTING: {**self._state[LISTING], **scan.document()}})


def alone(listing: Listing, found: StoredObject) -> PartitionIdentifier:
    """Return the partition of one object: key ``bucket|name``, as Data Prepper has it.

    The name comes last and is kept as it is: a bucket's name is encoded, so two pairs never have one key.
    """
    payload = {"path": listing.address(found.key), "size": found.size}
    if found.modified is not None:
        payload["modified"] = written(found.modified)
    if found.etag is not None:
        payload["etag"] = found.etag
    return PartitionIdentifier(f"{encode_part(listing.bucket)}{SEPARATOR}{found.key}", payload=payload)
