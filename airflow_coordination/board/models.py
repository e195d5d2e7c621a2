"""The answers of the API, as models."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel

from airflow_coordination.monitoring.counts import Counts


class State(StrEnum):
    """A partition's status as people see it: a parked one is not just CLOSED."""

    UNASSIGNED = "UNASSIGNED"
    BLOCKED = "BLOCKED"
    ASSIGNED = "ASSIGNED"
    CLOSED = "CLOSED"
    PARKED = "PARKED"
    COMPLETED = "COMPLETED"


class Wanted(StrEnum):
    """What a list is narrowed by: one of the seven words that counts have, or a state of the version before."""

    claimable = "claimable"
    held = "held"
    expired = "expired"
    delayed = "delayed"
    blocked = "blocked"
    parked = "parked"
    completed = "completed"
    UNASSIGNED = "UNASSIGNED"
    BLOCKED = "BLOCKED"
    ASSIGNED = "ASSIGNED"
    CLOSED = "CLOSED"
    PARKED = "PARKED"
    COMPLETED = "COMPLETED"


class Numbers(BaseModel):
    """Numbers of partitions of a source; each is counted in one state, and in one word.

    ``claimable`` has the expired ones in it; it is there for one version more, look at ``in_words``.
    ``now`` is the store's clock when they were counted, ``counted_at`` the API server's. ``oldest_claimable`` is for
    how many seconds the oldest claimable partition could have been acquired; ``pause`` says who has paused the source.
    """

    counts: dict[State, int]
    in_words: Counts
    claimable: int
    overdue: int
    next_due: datetime | None
    oldest_claimable: float | None
    pause: str | None
    now: datetime
    counted_at: datetime


class FailedView(BaseModel):
    """Parked partitions with one error; ``alike`` finds exactly them."""

    error: str
    alike: str
    number: int


class NeedView(BaseModel):
    """One thing that only a person can move: :class:`~airflow_coordination.monitoring.needs.Need`.

    ``what`` follows or is followed by the source's name, as ``kind`` says; ``since`` is by the store's clock, ``now``
    the same clock when it was looked at. ``key`` is there where it is about one partition, ``errors`` are those of
    parked ones that ``more`` names.
    """

    store: str
    source: str
    name: str
    kind: str
    number: int
    what: str
    more: str
    since: datetime | None
    owner: str | None
    now: datetime
    key: str | None = None
    errors: list[FailedView] = []


class SourceView(BaseModel):
    """A source; ``numbers`` are absent as long as it was never counted, which is being done then.

    ``trouble`` is the worst of what is wrong with it, absent where it is well, and ``said`` says it in sentences.
    ``owners`` is how many hold something; ``all_owners`` is false where more leases are held than were looked at.
    """

    store: str
    source: str
    name: str
    prefix: str | None
    dags: list[str]
    may_act: bool
    numbers: Numbers | None
    trouble: str | None = None
    said: str | None = None
    owners: int | None = None
    all_owners: bool = True


class StoreView(BaseModel):
    """A store with those of its sources that the user may see.

    ``problem`` says that it does not answer, or why its numbers are not there.
    """

    connection: str
    problem: str | None = None
    sources: list[SourceView] = []


class Overview(BaseModel):
    """All stores; ``duties``: whether the user may also see what happens by itself in them.

    ``needs`` is what only a person can move, and ``order`` are all sources, each as its store and its identifier: those
    with the worst trouble first, then by what is left to do.
    """

    stores: list[StoreView]
    needs: list[NeedView] = []
    order: list[tuple[str, str]] = []
    duties: bool = False


class DeedView(BaseModel):
    """What somebody did: :class:`~airflow_coordination.monitoring.deeds.Deed`; ``name`` is the source's.

    ``became`` is what became of it, where that was asked for and can be told. ``duty``: a duty of that name did it.
    """

    source: str
    name: str
    since: datetime
    at: datetime
    by: str
    action: str
    why: str
    keys: list[str]
    number: int
    became: str | None = None
    duty: bool = False


class SourceName(BaseModel):
    """A source that one may ask for; ``name`` is what people call it."""

    source: str
    name: str


class EndView(BaseModel):
    """A source of which more is kept than was read: nothing of it is told from before ``at``."""

    source: str
    name: str
    at: datetime


class DeedsPage(BaseModel):
    """What people did, the newest first; ``after`` is what the next page is asked with, absent on the last.

    ``sources`` is in how many sources was looked, and ``all_sources`` whether these are all; of each ``lines`` lines
    of the audit were read for this page, of many sources the newest. ``typed`` is the command that lists the same of
    one source. ``people`` and ``actions`` are those of what was read, and ``of`` the sources in which was looked, where
    all are asked for: what one may narrow it by. ``ends`` are the sources of which older lines are there that pages of
    all sources do not lead to, the one that ends first at the top.
    """

    deeds: list[DeedView]
    after: str | None
    sources: int
    all_sources: bool
    lines: int
    typed: str | None
    people: list[str] = []
    actions: list[str] = []
    of: list[SourceName] = []
    ends: list[EndView] = []


class BranchNote(BaseModel):
    """The branch that a partition runs in, or that a head record is of; ``state`` is how far it is."""

    number: int
    state: str


class PartitionRow(BaseModel):
    """A partition in a list, with what happens to it next; ``branch`` is absent for one that runs in none.

    ``word`` is its state in the words that counts have, ``since`` when it was written last: as long as nobody holds it
    it has been so since then. ``waits_for`` are the first parents that a blocked one waits for.
    """

    key: str
    status: State
    owner: str | None
    next: str | None
    next_at: datetime | None
    closed: int
    failures: int
    lost_leases: int
    last_error: str | None
    branch: BranchNote | None = None
    word: str = ""
    since: datetime | None = None
    waits_for: list[str] = []


class Offer(BaseModel):
    """An action that the user may choose, what it does, and the command that does it to the partition that is shown.

    ``advised``: what the explanation of that partition says one should type. ``final``: what cannot be taken back, as
    it ends work, or takes rows from readers.
    """

    action: str
    does: str
    typed: str | None = None
    advised: bool = False
    final: bool = False


class PartitionPage(BaseModel):
    """Partitions in byte order of their keys; ``after`` is how to go on, absent on the last page.

    ``offers`` is empty for who may not act on the source. ``typed`` is the command that lists the same. Where ``after``
    follows less than a full page, as many partitions were looked at as one request may.
    """

    typed: str
    offers: list[Offer]
    partitions: list[PartitionRow]
    after: str | None


class TaskView(BaseModel):
    """The try of an Airflow task, as an owner names it."""

    dag: str
    run: str
    task: str
    map_index: str
    try_number: str
    hostname: str


class HoldingView(BaseModel):
    """One partition in somebody's hands: :class:`~airflow_coordination.monitoring.owners.Holding`.

    ``task`` is absent where the owner is no task of Airflow's; ``spark_url`` is one that a browser may follow.
    ``sign_at`` is when the owner wrote or renewed last, absent where that is not known.
    """

    key: str
    owner: str
    task: TaskView | None
    since: datetime | None
    wrote_at: datetime | None
    heard: bool
    expires_at: datetime | None
    expired: bool
    late: bool
    application: str | None
    spark_url: str | None
    branch: BranchNote | None = None
    sign_at: datetime | None = None
    silent: bool = False


class OwnersPage(BaseModel):
    """A page of the leases in a source, in byte order of the keys; ``after`` is how to go on."""

    held: list[HoldingView]
    after: str | None


class EventView(BaseModel):
    """One thing that happened to a partition: :class:`~airflow_coordination.monitoring.timeline.Event`.

    ``records`` is what had become of its records when a tenure ended, absent where none were delivered.
    """

    at: datetime | None
    since: datetime | None
    what: str
    who: str | None
    task: TaskView | None
    why: str | None
    rows: int | None
    records: str | None
    application: str | None
    spark_url: str | None


class HeadView(BaseModel):
    """A head record: what a partition has published in a dataset; ``records``: what had become of its records then.

    ``branch`` is absent for what was published in none. ``unseen`` says why readers do not see it; absent, they do.
    """

    dataset: str
    branch: BranchNote | None
    unseen: str | None
    blocks: int
    rows: int
    bytes: int
    token: int
    published_at: datetime | None
    records: str | None


class ExplanationView(BaseModel):
    """The explanation why a partition is not moving, what happens next by itself, and what to type."""

    reason: str
    sentence: str
    next: str | None
    command: str | None


class CountView(BaseModel):
    """What became of so many records, as a whole or of what one sink was owed; no number where that is corrupt."""

    count: str
    sink: str | None
    records: int | None


class RelativeView(BaseModel):
    """A parent or a child of a partition; ``word`` is absent where it is not there any more, or may not be known.

    ``waits``: the child still waits for its parent, seen from either of them.
    """

    key: str
    word: str | None
    waits: bool


class ParkedBeside(BaseModel):
    """The parked partitions before and behind one, by key; ``place`` is which of the ``number`` that were read it is.

    ``whole`` says whether these are all that are parked. ``place`` is absent of one beyond them, and ``previous`` where
    the store does not read its keys backwards.
    """

    previous: str | None
    following: str | None
    place: int | None
    number: int
    whole: bool


class PartitionView(BaseModel):
    """One partition. Payload and progress are JSON as text, so that no number or character of them changes.

    ``offers`` are what fits it now, and empty for who may not act on the source. ``typed`` is the command that explains
    it. ``accounting`` is empty where nothing was delivered; ``unbalanced`` says which of its sums do not balance.
    ``children`` are the first of them, ``all_children`` says whether there are more. ``beside`` is there for a parked
    one, if it is among the first that are read.
    """

    typed: str
    summary: PartitionRow
    explanation: ExplanationView
    offers: list[Offer]
    priority: int
    fence: str | None
    max_lost_leases: int | None
    payload: str | None
    progress: str | None
    available_at: datetime | None
    reopen_at: datetime | None
    created_at: datetime | None
    updated_at: datetime | None
    events: list[EventView]
    heads: list[HeadView]
    accounting: list[CountView]
    unbalanced: list[str] = []
    beside: ParkedBeside | None = None
    parents: list[RelativeView] = []
    children: list[RelativeView] = []
    all_children: bool = True
