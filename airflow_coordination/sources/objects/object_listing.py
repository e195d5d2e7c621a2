"""The function that users call for a supplier of objects."""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta
from typing import Any, Final

from airflow_coordination.sources.objects.files import FileListing
from airflow_coordination.sources.objects.grouping import Grouping
from airflow_coordination.sources.objects.listing import Listing
from airflow_coordination.sources.objects.s3 import SCHEMES, S3Listing
from airflow_coordination.sources.objects.selection import Selection, texts
from airflow_coordination.sources.objects.supplier import ObjectListing
from airflow_coordination.sources.schedule import Schedule
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.times import positive

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
    lateness: timedelta | None = None,
    full_scan_every: timedelta | None = None,
    client: Any = None,
    filesystem: Any = None,
) -> ObjectListing:
    """Return a supplier that makes a partition of every object, or of every group of small ones, exactly once.

    Left out, counted and named in the log are what Spark hides and what S3 has archived. What can be no partition, such
    as a name that is no UTF-8, does not stop the others: the supplier fails when it is done with them.

    An object's partition has the key ``bucket|name`` (Data Prepper's) and the payload ``path``, ``size``,
    ``modified`` and ``etag``. A group's payload has ``base``, the ``names`` below it, and ``bytes``. Nothing is
    contacted before the supplier runs.

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
    grouping = Grouping.of(max_objects, max_bytes)
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
    address = os.fspath(where) if isinstance(where, str | os.PathLike) else ""
    if _PASSWORD.match(address):
        remedy = "It would be in every partition: give filesystem=…, or client=…, that knows it"
        raise InvalidInputError("where", f"{address.partition('://')[0]}://…", "holds a password", remedy)
    of_s3 = address.partition("://")[0] in SCHEMES and filesystem is None
    if client is not None and not of_s3:
        raise InvalidInputError("client", type(client).__name__, "is for S3 only", "Give s3://…, and no filesystem")
    if of_s3:
        return S3Listing(address, client)
    if isinstance(where, str | os.PathLike):
        return FileListing(address, filesystem)
    return _own_listing(where, filesystem)


def _own_listing(where: Any, filesystem: Any) -> Listing:
    missing = [name for name in ("bucket", "prefix", "address", "now", "objects") if not hasattr(where, name)]
    if missing:
        problem = f"is {type(where).__name__}, which has no {', '.join(missing)}"
        raise InvalidInputError("where", where, problem, "Give an address or a Listing")
    if filesystem is not None:
        raise InvalidInputError("filesystem", type(filesystem).__name__, "needs an address", "Give the directory")
    return where  # type: ignore[no-any-return]
