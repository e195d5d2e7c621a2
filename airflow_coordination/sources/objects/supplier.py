"""The supplier of objects: which scan is due, and what it gives (Data Prepper: the supplier of its S3 scan)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from airflow_coordination.follow_ups.rights import FollowUpRights
from airflow_coordination.leases.supply import SourceView, Supplied
from airflow_coordination.protocol.partition import Checkpoint
from airflow_coordination.sources.left_out import LeftOut
from airflow_coordination.sources.objects.grouping import Grouping
from airflow_coordination.sources.objects.late import Late
from airflow_coordination.sources.objects.listing import Listing
from airflow_coordination.sources.objects.pages import Pages
from airflow_coordination.sources.objects.remaining import kept, look_again, without
from airflow_coordination.sources.objects.scan import LISTING, Scan, unfinished_scan
from airflow_coordination.sources.objects.selection import Selection
from airflow_coordination.sources.planned_pass import fingerprint, remembered
from airflow_coordination.sources.schedule import (
    LAST_SCAN_TIME,
    SCAN_COUNT,
    SINGLE_SCAN_COMPLETE,
    Schedule,
    moment,
    written,
)
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.times import Clock, SystemClock

log = logging.getLogger(__name__)
RESERVED: Final = (SCAN_COUNT, SINGLE_SCAN_COMPLETE, LAST_SCAN_TIME, LISTING)
"""Names in the global state that no bucket may have."""
_REMEDY: Final = (
    "All others became partitions. Rename or remove these, or leave them out by a filter; then run it again"
)
_OF: Final = "of"
_GROUPS: Final = "groups"
_PLACE: Final = "place"


@dataclass(frozen=True, slots=True)
class ObjectListing:
    """The supplier that :func:`~airflow_coordination.sources.object_listing` makes.

    The global state holds Data Prepper's ``SCAN_COUNT``, ``SINGLE_SCAN_COMPLETE`` and ``LAST_SCAN_TIME``, and under
    the bucket's name the moment up to which objects are dealt with. Our ``LISTING`` holds a scan that is under way.
    """

    listing: Listing
    schedule: Schedule
    selection: Selection
    grouping: Grouping | None
    lateness: timedelta
    full_scan_every: timedelta | None = None
    clock: Clock = field(default_factory=SystemClock)

    def __post_init__(self) -> None:
        if self.listing.bucket in RESERVED:
            problem = "is the name of something else in the global state"
            raise InvalidInputError("where", self.listing.bucket, problem, "Use another bucket or directory")

    def supply(self, state: Mapping[str, Any], view: SourceView) -> Iterator[Supplied]:
        """Do what a call does, and look in the source's partitions for what came late by its time of writing.

        :param view: the source's partitions.
        """
        return self._run(state, view)

    def __call__(self, state: Mapping[str, Any]) -> Iterator[Supplied]:
        """Yield the partitions of the scan that is under way or due, with checkpoints between them.

        An object that can be no partition does not stop the others; the error comes at the end.

        :raises SourceError: when the storage cannot be listed, or several objects can be no partitions.
        :raises InvalidInputError: when groups were made with other options, the source lists another place already, or
            one object can be no partition.
        :raises ProgressStateError: when the state cannot be read.
        """
        return self._run(state, None)

    def _run(self, state: Mapping[str, Any], view: SourceView | None) -> Iterator[Supplied]:
        known, left = self._known(state), LeftOut(self.name, "objects")
        scan = unfinished_scan(known) or self._begun(known)
        late = Late.of(view, self.listing, known, self.full_scan_every, self.clock.now())
        if scan is not None:
            pages = Pages(self.listing, self.selection, {**known, LISTING: self._marks()}, scan, left, late)
            yield from pages.groups(self.grouping, once=self._once) if self.grouping else pages.objects()
            self._report(scan, pages)
        look_again(known, self.listing, left)
        yield from self._remembered(known, scan, left, late, unlisted=scan is not None and pages.unlisted)
        left.finish(_REMEDY)

    def _remembered(
        self, known: Mapping[str, Any], scan: Scan | None, left: LeftOut, late: Late, *, unlisted: bool
    ) -> Iterator[Supplied]:
        """Yield the global state after the run; a scan of objects alone that has not seen all begins again."""
        names = kept([name for name in left.names if not name.endswith("/")])
        looked = late.document(known, self.clock.now())
        if scan is None:
            after = {**known, LISTING: {**without(remembered(known, LISTING)), **names}} if LISTING in known else known
            if after != known:
                yield Checkpoint(after)
        elif not self.grouping and (unlisted or (self._once and left.work)):
            yield Checkpoint({**known, LISTING: {**self._marks(), **scan.at("").document()}})
        else:
            finished = self._finished(known, scan)
            yield Checkpoint({**finished, LISTING: {**finished[LISTING], **looked, **names}})

    @property
    def name(self) -> str:
        """The address of the listing, for messages."""
        return self.listing.address(self.listing.prefix)

    @property
    def follow_up_rights(self) -> FollowUpRights:
        """What may be deleted for notes that are found: objects below what is listed."""
        return FollowUpRights(objects=self.name)

    def _report(self, scan: Scan, pages: Pages) -> None:
        log.info("%s: %d objects listed, %d taken.", self.name, pages.listed, pages.taken)
        if pages.young:
            level = logging.INFO if pages.taken else logging.WARNING
            says = "%s: %s objects are younger than %s (lateness) and wait for a later scan."
            log.log(level, says, self.name, f"{pages.young:,}", self.lateness)
        if not pages.listed and not scan.after:
            log.warning("%s lists nothing. If you expected objects, check its name and include_prefix.", self.name)

    @property
    def _once(self) -> bool:
        return self.schedule.every is None

    def _known(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return the state without what scans with other options left: objects alone are then all offered again."""
        before = remembered(state, LISTING)
        if before.get(_OF) in (None, self._marks()[_OF]):
            return dict(state)
        if self.grouping or before.get(_GROUPS):
            problem = "was scanned with other filters, another scan mode, or other than in groups"
            remedy = "No object may be in two partitions: restore the options, or give the source a new name"
            raise InvalidInputError("where", self.name, problem, remedy)
        if before.get(_PLACE, self._place) != self._place:
            problem = "is not the place that this source lists: two listings would mix their work"
            raise InvalidInputError("where", self.name, problem, "Restore it, or give the source a new name")
        log.info("%s: its options are new, so every object is offered again.", self.name)
        ours = {*RESERVED, self.listing.bucket}
        return {name: value for name, value in state.items() if name not in ours}

    def _marks(self) -> dict[str, Any]:
        """Return the options that all scans of the source must have in common."""
        mode = ("once" if self._once else "every") if self.grouping else "alone"
        digest = self.selection.digest(self.listing, mode)
        place = {} if self.grouping else {_PLACE: self._place}  # groups refuse whatever is new
        return {_OF: digest, _GROUPS: self.grouping is not None, **place}

    @property
    def _place(self) -> str:
        return fingerprint([self.listing.bucket, self.listing.prefix])

    def _begun(self, known: Mapping[str, Any]) -> Scan | None:
        """Return the scan that is due, ``None`` when none is."""
        if not self.schedule.due(known, self.clock.now(), self.name):
            return None
        started = self.listing.now().replace(microsecond=0)
        done = moment(known, self.listing.bucket)
        first = moment(remembered(known, LISTING), "first")
        if first is None:
            first = self.selection.first_moment(started) if done is None else self.selection.start_time
        if not self.grouping:
            since = [edge for edge in (first, done and done - self.lateness) if edge]
            return Scan(started, first, max(since, default=None))
        until = None if self._once else started - self.lateness
        if until and done and until <= done:
            log.info("%s: objects wait until they are %s old; there is none yet.", self.name, self.lateness)
            return None
        return Scan(started, first, done or first, until)

    def _finished(self, known: Mapping[str, Any], scan: Scan) -> dict[str, Any]:
        """Return the state after the scan: what is dealt with, and nothing under way."""
        first = {"first": written(scan.first)} if scan.first else {}
        return {
            **known,
            **self.schedule.after_scan(known, scan.started),
            self.listing.bucket: written(scan.until or scan.started),
            LISTING: {**self._marks(), **first},
        }
