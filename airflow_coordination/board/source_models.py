"""One source in detail, as models of the API."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from airflow_coordination.board.models import CountView, Offer, TaskView
from airflow_coordination.monitoring.counts import Counts


class PaceView(BaseModel):
    """The pace of a source: how fast partitions are completed, and how many seconds the rest takes.

    ``least`` and ``most`` are the rate's spread, ``soonest`` and ``latest`` that of the time left, absent where no end
    can be named: :class:`~airflow_coordination.monitoring.progress.Progress`.
    """

    per_minute: float
    least: float
    most: float
    seconds: float | None
    soonest: float | None
    latest: float | None
    sentence: str


class WorkerView(BaseModel):
    """A task, or anybody else, with how many partitions it holds; ``expired`` ones are among them."""

    owner: str
    task: TaskView | None
    held: int
    expired: int


class ErrorView(BaseModel):
    """Parked partitions with the same error; ``alike`` finds exactly them.

    ``like`` is what their errors begin with, absent where they have no text in common. The first of them is parked
    since ``since``, the last since ``last``, as far as the partitions tell.
    """

    error: str
    like: str | None
    alike: str
    number: int
    since: datetime | None
    last: datetime | None


class SupplierView(BaseModel):
    """The supplier, as far as the store knows: when it last saved anything, and in whose hands it is."""

    at: datetime | None
    owner: str | None
    task: TaskView | None


class AdviceView(BaseModel):
    """One thing to look at or to set, and why: :mod:`~airflow_coordination.monitoring.advice`."""

    kind: str
    about: str
    sentence: str


class SourceDetail(BaseModel):
    """One source in detail, from at most 2,000 rows.

    ``since`` is absent where the store keeps no history: pace and advice are unknown then. Otherwise it is
    the moment from which on all endings were read; ``whole`` says whether that is a day. ``looked_at_all_owners`` and
    ``looked_at_all_parked`` say whether there are more than were read. ``acquired_at`` is when somebody acquired a
    partition last, among what was read. ``pausing`` is what the user may do to the whole source. ``left_to_do`` is how
    many notes say what is still to be done after endings; of more than are read, ``looked_at_all_left`` is false.
    ``in_words``, ``trouble`` and ``said`` are what the overview says of it, absent as long as it was never counted.
    ``finishing`` is the command that does it. ``more_owners`` and ``more_errors`` say how many were read and are not
    shown; owners whose leases last stand before those whose leases have all ended. ``spent`` says what the tenures
    took and brought that ended from ``since`` on. ``may_act`` says whether the user may act on its partitions.
    """

    since: datetime | None
    whole: bool
    pace: PaceView | None
    advice: list[AdviceView]
    owners: list[WorkerView]
    more_owners: int
    looked_at_all_owners: bool
    errors: list[ErrorView]
    more_errors: int
    looked_at_all_parked: bool
    supplier: SupplierView | None
    acquired_at: datetime | None
    pausing: Offer | None
    in_words: Counts | None = None
    trouble: str | None = None
    said: str | None = None
    left_to_do: int
    looked_at_all_left: bool
    finishing: str
    spent: str | None = None
    may_act: bool = False


class Tile(BaseModel):
    """A partition on the map; ``state`` is there for one version more, look at ``word``."""

    key: str
    state: str
    word: str


class TilesPage(BaseModel):
    """Tiles in byte order of the keys; ``after`` is how to go on, absent on the last page."""

    tiles: list[Tile]
    after: str | None


class EndedSlot(BaseModel):
    """What ended from ``at`` on, for as long as a slot lasts: tenures by their ending, and what they published."""

    at: datetime
    completed: int
    failed: int
    lost: int
    rows: int
    bytes: int


class EndedPage(BaseModel):
    """What ended in the last day, by slots of so many ``seconds``, from at most 2,000 rows.

    ``kept`` is false where the store keeps no history: nothing else is there then. ``slots`` has those in which
    something ended; of the others between ``since`` and ``counted_to`` it is known that nothing did. ``start`` is
    when the first of 288 slots begins; ``whole`` says whether all of them are counted. ``by_duty`` is false where no
    duty has counted for a quarter of an hour: what is there was counted by this server then, from its own start on.
    ``typed`` asks the same.
    """

    kept: bool = False
    seconds: int
    start: datetime | None = None
    since: datetime | None = None
    counted_to: datetime | None = None
    whole: bool = False
    by_duty: bool = False
    slots: list[EndedSlot] = []
    typed: str


class SourceEnded(BaseModel):
    """What ended in each slot of one source: how much completed, and how much failed or was lost.

    Known is what lies between ``since`` and ``counted_to``. ``per_minute`` is how many completed a minute in the hour
    up to ``counted_to``, absent where that is not known.
    """

    store: str
    source: str
    since: datetime
    counted_to: datetime
    completed: list[int]
    others: list[int]
    per_minute: float | None = None


class EndedLately(BaseModel):
    """What ended lately in all sources together, in ``number`` slots of so many ``seconds``, and in each of them.

    ``kept`` is false where no store keeps a history. ``counted`` is of how many of ``of`` sources something is known:
    what a duty has stored, from ``since`` to ``counted_to`` of at least one of them; ``by_duty`` is false where that is
    a quarter of an hour ago for some. Upkeep is among ``sources``, and not among the sums; of a day there are none.
    ``behind`` is how many sources were not read yet, because one look reads some: ask again.
    """

    kept: bool
    seconds: int
    number: int
    of: int
    counted: int
    behind: int = 0
    start: datetime | None = None
    since: datetime | None = None
    counted_to: datetime | None = None
    by_duty: bool = False
    slots: list[EndedSlot] = []
    sources: list[SourceEnded] = []


class RangeView(BaseModel):
    """Partitions whose keys follow each other, from the first one to the last one that are there."""

    first: str
    last: str
    counts: Counts


class RangesPage(BaseModel):
    """Where in the keys of a source what is, in byte order.

    ``ranges`` is absent as long as they are being counted, and where the store does not count them: ``said`` says
    which, or what of them is not known. ``counted_at`` is the store's clock then.
    """

    ranges: list[RangeView] | None
    said: str | None
    counted_at: datetime | None


class SourceAccounting(BaseModel):
    """What became of the records of a portion of a source, added up over so many partitions; ``typed`` asks of all.

    ``dead_lettered`` is how many of them are dead letters, of which some may have been delivered again since. ``after``
    is how to go on, absent behind the last partition.
    """

    partitions: int
    accounting: list[CountView]
    typed: str
    dead_lettered: int = 0
    after: str | None = None


class AgainPortion(BaseModel):
    """What became of some dead letters of a source that were delivered again, from at most 2,000 rows.

    ``partitions`` is how many partitions deliver these, ``done`` how many records are no dead letters any more,
    ``void`` how many were delivered before the original replaced them. ``after`` is how to go on, absent behind the
    last of them.
    """

    partitions: int
    counts: list[CountView]
    done: int
    void: int
    after: str | None
