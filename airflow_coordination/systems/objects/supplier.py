"""``object_listing``: the supplier of objects (Data Prepper: the supplier of its S3 scan)."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from airflow_coordination.leases.supply import SourceView, Supplied
from airflow_coordination.protocol.partition import Checkpoint
from airflow_coordination.systems.left_out import LeftOut
from airflow_coordination.systems.objects.files_listing import FileListing
from airflow_coordination.systems.objects.grouping import Grouping
from airflow_coordination.systems.objects.listing import Listing
from airflow_coordination.systems.objects.names_file import NamesFiles
from airflow_coordination.systems.objects.s3_listing import SCHEMES, S3Listing
from airflow_coordination.systems.objects.scan import (
    LISTING,
    Late,
    Pages,
    Scan,
    kept,
    look_again,
    unfinished_scan,
    without,
)
from airflow_coordination.systems.objects.selection import Selection, texts
from airflow_coordination.systems.rights import FollowUpRights
from airflow_coordination.systems.schedule import (
    LAST_SCAN_TIME,
    SCAN_COUNT,
    SINGLE_SCAN_COMPLETE,
    Schedule,
    moment,
    written,
)
from airflow_coordination.systems.suppliers import fingerprint, remembered
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.times import Clock, SystemClock, positive

log = logging.getLogger(__name__)
RESERVED: Final = (SCAN_COUNT, SINGLE_SCAN_COMPLETE, LAST_SCAN_TIME, LISTING)
"""Names in the global state that no bucket may have."""
_REMEDY: Final = (
    "All others became partitions. Rename or remove these, or leave them out by a filter; then run it again"
)
_OF: Final = "of"
_GROUPS: Final = "groups"
_FILED: Final = "names_in_files"
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
        known, left, files = self._known(state), LeftOut(self.name, "objects"), self._files(view)
        scan = unfinished_scan(known) or self._begun(known)
        late = Late.of(view, self.listing, known, self.full_scan_every, self.clock.now())
        if scan is not None:
            pages = Pages(self.listing, self.selection, {**known, LISTING: self._marks(known)}, scan, left, late)
            yield from pages.groups(self.grouping, self._once, files) if self.grouping else pages.objects()
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
            yield Checkpoint({**known, LISTING: {**self._marks(known), **scan.at("").document()}})
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
        if before.get(_OF) in (None, self._digest(filed=False), self._digest(filed=True)):
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

    def _marks(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options that all scans of the source must have in common.

        From the first scan on whose names may be in files their digest is another one, for ever: older code would find
        no names in such a partition, take its objects for new ones, and make partitions of them again. So it refuses.
        """
        place = {} if self.grouping else {_PLACE: self._place}  # groups refuse whatever is new
        marks = {_OF: self._digest(filed=False), _GROUPS: self.grouping is not None, **place}
        if self.grouping and (self.grouping.output_root is not None or remembered(known, LISTING).get(_FILED)):
            return {**marks, _OF: self._digest(filed=True), _FILED: True}
        return marks

    def _digest(self, *, filed: bool) -> str:
        mode = ("once" if self._once else "every") if self.grouping else "alone"
        return self.selection.digest(self.listing, f"{mode}, names in files" if filed else mode)

    def _files(self, view: SourceView | None) -> NamesFiles | None:
        """Return where names go that do not fit into a payload, ``None`` where a group ends then."""
        root = self.grouping.output_root if self.grouping else None
        if root is None:
            return None
        if view is None:
            problem = "is for a supplier that sees its source, and this one was called with its global state alone"
            remedy = "Give the listing itself to run_supplier, drain or CreatePartitionsOperator"
            raise InvalidInputError("output_root", root, problem, remedy)
        return NamesFiles(root, view.store.store_id, view.identifier)

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
            LISTING: {**self._marks(known), **first},
        }


LATENESS: Final = timedelta(days=1)
LATENESS_OF_GROUPS: Final = timedelta(minutes=10)
_PASSWORD: Final = re.compile(r"[^/]+://[^/@]*:[^/@]*@")


def object_listing(
    where: str | os.PathLike[str] | Listing,
    *,
    scan: str | timedelta,
    count: int | None = None,
    include_prefix: str | list[str] | tuple[str, ...] = (),
    exclude_suffix: str | list[str] | tuple[str, ...] = (),
    start_time: datetime | None = None,
    end_time: datetime | None = None,
    range: timedelta | None = None,
    include_hidden: bool = False,
    max_objects: int | None = None,
    max_bytes: int | None = None,
    output_root: str | os.PathLike[str] | None = None,
    lateness: timedelta | None = None,
    full_scan_every: timedelta | None = None,
    client: Any = None,
    filesystem: Any = None,
) -> ObjectListing:
    """Return a supplier that makes a partition of every object, or of every group of small ones, exactly once.

    Left out, counted and named in the log are what Spark hides and what S3 has archived. What can be no partition, such
    as a name that is no UTF-8, does not stop the others: the supplier fails when it is done with them.

    An object's partition has the key ``bucket|name`` (Data Prepper's) and the payload ``path``, ``size``,
    ``modified`` and ``etag``. A group's payload has ``base``, the ``names`` below it, and ``bytes``; instead of more
    names than fit into it, ``names_file`` with the ``address``, ``count`` and ``sha256`` of a file of them.
    :func:`~airflow_coordination.sources.object_paths` reads all of them. Nothing is contacted before the supplier runs.

    :param where: ``s3://bucket/prefix`` (also ``s3a``), a directory or URL that fsspec knows, or a :class:`Listing`.
    :param scan: ``"once"``, or the interval between the starts of two scans; ``timedelta(0)`` scans whenever the
        supplier is asked, which suits a DAG with a schedule of its own.
    :param count: how many scans there are; ``None`` for no end (Data Prepper: ``scheduling.count``).
    :param include_prefix: beginnings of names (Data Prepper: ``filter.include_prefix``).
    :param exclude_suffix: ends of names that are left out (Data Prepper: ``filter.exclude_suffix``).
    :param start_time: only objects written then or later.
    :param end_time: only objects written before.
    :param range: only objects written this long before the first scan, or later.
    :param include_hidden: also files that Spark's readers leave out (``_x``, ``.x``, ``x._COPYING_``), for work that
        reads them otherwise; by default they are counted and named in the log, and are no work.
    :param max_objects: objects per group; without this and ``max_bytes`` each object is a partition of its own.
    :param max_bytes: bytes per group.
    :param output_root: the directory or URL that the source's jobs publish below. Names of a group beyond the 4 KB of a
        payload go into a file there, 100,000 of them or 16 MiB at most, so that its bounds are what was asked for.
        Without it a group ends when its names fill the payload. Who runs the supplier writes there, who works on the
        partition reads there, and ``collect`` deletes there what no partition needs any more. Workers and suppliers of
        versions before this one cannot read such partitions and fail: upgrade them first.
    :param lateness: how long after the time it is stamped with an object may appear: the upload's duration (S3 stamps
        an upload in parts with its beginning) and differences of clocks. Objects alone: names so much older than the
        last scan are offered again (1 day). Groups: objects wait until they are so old (10 minutes).
    :param full_scan_every: how often a scan looks at all objects, of whatever age, and makes partitions of those that
        are in none: what came late by its time of writing, as replication and moves make it. That reads the source's
        keys, so do not delete partitions whose objects stay. By default such objects are looked for once an hour,
        counted and named in a warning.
    :param client: for S3: a boto3 client, an Airflow ``S3Hook``, or a function that returns one.
    :param filesystem: for other storages: an open fsspec file system, or a function that returns one.
    :raises InvalidInputError: for options that are wrong or contradict each other; the message names them.
    """
    _refuse_password("output_root", output_root, "the process's own configuration")
    grouping = Grouping.of(max_objects, max_bytes, output_root)
    if lateness is None:
        lateness = LATENESS_OF_GROUPS if grouping else LATENESS
    selection = Selection(
        texts("include_prefix", include_prefix),
        texts("exclude_suffix", exclude_suffix),
        start_time,
        end_time,
        range,
        include_hidden,
    )
    return ObjectListing(
        _listing(where, client, filesystem),
        Schedule.of(scan, count),
        selection,
        grouping,
        positive("lateness", lateness, zero=True) or timedelta(0),
        _full_scans(full_scan_every, scan),
    )


def _full_scans(every: timedelta | None, scan: object) -> timedelta | None:
    if every is not None and scan == "once":
        problem = "makes no sense with scan='once', which looks at all objects"
        raise InvalidInputError("full_scan_every", every, problem, "Leave it out")
    return positive("full_scan_every", every, zero=True)


def _listing(where: object, client: Any, filesystem: Any) -> Listing:
    address = _refuse_password("where", where, "filesystem=…, or client=…,")
    of_s3 = address.partition("://")[0] in SCHEMES and filesystem is None
    if client is not None and not of_s3:
        raise InvalidInputError("client", type(client).__name__, "is for S3 only", "Give s3://…, and no filesystem")
    if of_s3:
        return S3Listing(address, client)
    if isinstance(where, str | os.PathLike):
        return FileListing(address, filesystem)
    return _own_listing(where, filesystem)


def _refuse_password(field: str, where: object, knows: str) -> str:
    """Return an address as text, empty for what is none.

    :param knows: what the password belongs into.
    """
    address = str(os.fspath(where)) if isinstance(where, str | os.PathLike) else ""
    if _PASSWORD.match(address):
        remedy = f"It would be in every partition: give {knows} that knows it"
        raise InvalidInputError(field, f"{address.partition('://')[0]}://…", "holds a password", remedy)
    return address


def _own_listing(where: Any, filesystem: Any) -> Listing:
    missing = [name for name in ("bucket", "prefix", "address", "now", "objects") if not hasattr(where, name)]
    if missing:
        problem = f"is {type(where).__name__}, which has no {', '.join(missing)}"
        raise InvalidInputError("where", where, problem, "Give an address or a Listing")
    if filesystem is not None:
        raise InvalidInputError("filesystem", type(filesystem).__name__, "needs an address", "Give the directory")
    return where  # type: ignore[no-any-return]
