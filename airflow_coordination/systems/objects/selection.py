"""The choice of objects for a scan, by name and by the time of writing (Data Prepper: the options of its S3 scan)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from airflow_coordination.systems.objects.listing import Listing, StoredObject, hidden_from_spark
from airflow_coordination.systems.suppliers import SourceError, fingerprint
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.times import positive


@dataclass(frozen=True, slots=True)
class Selection:
    """The user's choice of objects.

    :param include_prefix: beginnings of names; all names when there is none.
    :param exclude_suffix: ends of names.
    :param start_time: the first moment; objects written then belong to it.
    :param end_time: the moment after the last.
    :param range: instead of the two: how far back the first scan looks.
    :param include_hidden: also names that Spark's readers leave out.
    """

    include_prefix: tuple[str, ...] = ()
    exclude_suffix: tuple[str, ...] = ()
    start_time: datetime | None = None
    end_time: datetime | None = None
    range: timedelta | None = None
    include_hidden: bool = False

    def __post_init__(self) -> None:
        positive("range", self.range)
        _check_moment("start_time", self.start_time)
        _check_moment("end_time", self.end_time)
        if self.range and (self.start_time or self.end_time):
            remedy = "Give the range alone, or start_time and end_time"
            raise InvalidInputError("range", self.range, "cannot be combined with start_time or end_time", remedy)
        if self.start_time and self.end_time and _instant(self.end_time) <= _instant(self.start_time):
            problem = f"is not after start_time ({self.start_time.isoformat()})"
            raise InvalidInputError("end_time", self.end_time.isoformat(), problem, "Give a later moment")

    def first_moment(self, now: datetime) -> datetime | None:
        """Return since when objects are wanted, for a first scan that starts ``now``."""
        return now - self.range if self.range else self.start_time

    def prefixes(self, root: str) -> list[str]:
        """Return the beginnings to list, in order; none lies within another, so that no name is listed twice."""
        kept: list[str] = []
        for prefix in sorted({root + prefix for prefix in self.include_prefix or ("",)}):
            if not kept or not prefix.startswith(kept[-1]):
                kept.append(prefix)
        return kept

    def names(self, key: str) -> bool:
        """Tell whether a name is asked for, :attr:`include_prefix` aside, which the listing was asked for.

        Names that end with ``/`` stand for directories (Data Prepper leaves them out, too).
        """
        return not key.endswith(("/", *self.exclude_suffix))

    def why_no_work(self, found: StoredObject) -> str | None:
        """Return why an object that is asked for is no work all the same, ``None`` where it is."""
        if not self.include_hidden and hidden_from_spark(found.key):
            return "have names that Spark reads no row of, and are no work (include_hidden=True takes them)"
        if found.archived is not None:
            return "are in an archive and are no work before they are restored"
        return None

    def in_time(self, found: StoredObject, since: datetime | None, until: datetime | None) -> bool:
        """Tell whether an object was written in the time that is asked for.

        An object whose storage does not say when it was written is always in time.

        :param since: the first moment.
        :param until: the moment after the last, besides :attr:`end_time`.
        """
        if found.modified is None:
            return True
        early = since is not None and found.modified < since
        late = any(end is not None and found.modified >= end for end in (self.end_time, until))
        return not early and not late

    def digest(self, listing: Listing, *more: object) -> str:
        """Return a short text that changes with what is asked for."""
        asked = [listing.bucket, self.prefixes(listing.prefix), sorted(self.exclude_suffix)]
        times = [self.start_time, self.end_time, self.range, *more, *(["hidden"] if self.include_hidden else [])]
        return fingerprint([*asked, *map(str, times)])


def _instant(moment: datetime) -> datetime:
    """Return a moment as Python compares instants: two of one zone it compares by their clocks (:pep:`495`)."""
    return moment.astimezone(UTC)


def _check_moment(field: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, datetime):
        raise InvalidInputError(field, value, f"is {type(value).__name__}, not a datetime", "Give an aware datetime")
    if value.tzinfo is None:
        raise InvalidInputError(field, value.isoformat(), "has no time zone", "Give an aware datetime")


def texts(field: str, value: object) -> tuple[str, ...]:
    """Return one text or several as a tuple.

    :raises InvalidInputError: for anything else, and for an empty text, which would match every name.
    """
    given = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else (value,)
    for text in given:
        if not isinstance(text, str) or not text:
            raise InvalidInputError(field, value, "is not a text or a list of texts", "Leave it out to have all")
    return given


def listed(listing: Listing, selection: Selection, start_after: str) -> Iterator[StoredObject]:
    """Yield every object below the selection's prefixes after ``start_after``, wanted or not, in the order of names.

    :raises SourceError: when the listing is out of order: resuming would then lose objects.
    """
    last = start_after
    for prefix in selection.prefixes(listing.prefix):
        if start_after > prefix and not start_after.startswith(prefix):
            continue
        for found in listing.objects(prefix, start_after):
            if found.key <= last:
                problem = f"lists {found.key!r} after {last!r}"
                raise SourceError("scan", listing.address(""), problem, "A scan needs a listing in the order of names")
            last = found.key
            yield found
