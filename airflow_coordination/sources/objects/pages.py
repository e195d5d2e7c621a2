"""Walks through one scan and yields its partitions, page by page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from airflow_coordination.leases.supply import Supplied
from airflow_coordination.protocol.partition import Checkpoint, PartitionIdentifier
from airflow_coordination.sources.errors import SourceError
from airflow_coordination.sources.left_out import LeftOut
from airflow_coordination.sources.objects.grouping import Grouping, Planner, identifier
from airflow_coordination.sources.objects.late import WHY, Late
from airflow_coordination.sources.objects.listing import Listing, StoredObject
from airflow_coordination.sources.objects.scan import LISTING, Scan
from airflow_coordination.sources.objects.selection import Selection, listed
from airflow_coordination.sources.planned_pass import planned_pass
from airflow_coordination.sources.schedule import written
from airflow_coordination.values.names import SEPARATOR, encode_part

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

    def groups(self, grouping: Grouping, once: bool) -> Iterator[Supplied]:
        """Yield a partition for every group, in planned steps: a group's key depends on what is in it.

        :param once: whether there is one scan only; later ones tell by time which objects are new.
        """
        return planned_pass(self._scan, self._steps(grouping, once), identifier, self._checkpoint)

    def _steps(self, grouping: Grouping, once: bool) -> Iterator[Scan]:
        planner = Planner(self._listing, grouping, self._left)
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
