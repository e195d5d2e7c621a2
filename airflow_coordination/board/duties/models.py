"""Groups of duties and their configuration, as models of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from airflow_coordination.board.action_models import Sent
from airflow_coordination.board.models import Offer, TaskView

MOST_CHANGES: Final = 100
_Why = Annotated[str, Field(max_length=1000)]


class DutyView(BaseModel):
    """A duty, as the last run of its group has left it; ``outcome`` is ``done``, ``nothing to do`` or ``failed``.

    ``fails`` is how often it has failed in a row, ``said`` what it did or why it failed, ``counts`` are by Druid's
    names of metrics, ``took`` is in seconds.
    """

    name: str
    outcome: str
    fails: int
    said: str
    counts: dict[str, float]
    took: float
    warnings: list[str]


class LeaderView(BaseModel):
    """Who runs a group; ``task`` is absent where that is no task of Airflow's, ``until`` where it does so no more."""

    owner: str
    task: TaskView | None
    until: datetime | None


class DutyGroupView(BaseModel):
    """A group of duties: :class:`~airflow_coordination.duties.groups.told.ToldGroup`.

    ``key`` is that of its partition in ``DutiesPage.source``. ``leader`` is who runs it now, ``last_leader`` who did so
    last, absent where the store does not know. ``period`` and ``took`` are in seconds. ``due`` is absent while it runs,
    and where whoever comes next runs it. ``runs`` are the last ones, the newest last: ``done``, ``failed`` or
    ``paused``. ``offers`` is what the user may do to it now.
    """

    name: str
    key: str
    standing: str
    troubled: bool
    period: float | None
    leader: LeaderView | None
    last_leader: LeaderView | None
    term: int
    led_since: datetime | None
    ran_at: datetime | None
    took: float
    due: datetime | None
    runs: list[str]
    duties: list[DutyView]
    offers: list[Offer]


class TroubleView(BaseModel):
    """What somebody should look at, and what happens next by itself; ``person``: nothing, until somebody does it."""

    sentence: str
    then: str
    at: datetime | None
    person: bool


class LocationView(BaseModel):
    """A place where copies may lie; ``lost_since`` and ``why`` are there while it cannot be read, as duties have found.

    ``capacity`` is in bytes; ``draining``: it gets nothing more.
    """

    name: str
    tier: str
    root: str
    capacity: int
    draining: bool
    lost_since: datetime | None
    why: str


class DutiesPage(BaseModel):
    """What happens by itself in a store: those groups first that somebody should look at.

    ``source`` is the stored identifier of the source whose partitions the groups are. ``more`` says that there are more
    groups than are shown. ``empty`` says what it means that there is none; absent where there are some. ``how`` says
    how groups are run in Airflow, ``starting`` is the command that does so without, ``typed`` says the same.
    ``counting`` is the command that says how full ``locations`` are: nothing is counted for this page.
    """

    source: str
    troubles: list[TroubleView]
    groups: list[DutyGroupView]
    more: bool
    empty: str | None
    how: str
    starting: str
    typed: str
    locations: list[LocationView]
    counting: str


class KeyView(BaseModel):
    """A key of the configuration; ``version`` has set it, absent where it is the default, or was set longer ago.

    ``ours``: Druid does not have it there.
    """

    name: str
    value: Any
    default: Any
    means: str
    ours: bool
    version: int | None


class ChangeView(BaseModel):
    """A key of which two versions say different things."""

    key: str
    old: Any
    new: Any


class VersionView(BaseModel):
    """A version of the configuration: who has set it and why, and what was other than in the one before.

    ``changes`` is absent where the one before is not kept any more, or cannot be read. ``values`` is that of every key.
    ``problem``: why it cannot be read itself; it is corrupt, and has no values.
    """

    version: int
    at: datetime | None
    author: str | None
    comment: str | None
    changes: list[ChangeView] | None
    values: dict[str, Any]
    problem: str | None = None


class ConfigPage(BaseModel):
    """The configuration of now. ``version`` is 0 where nobody has set any; then it has no author.

    ``kept`` is false where the store keeps no documents: then there are only defaults. ``notes`` say what may surprise.
    ``looked_at_all`` is false where the versions that are kept were too many to say of each key which one has set it.
    ``typed`` is the command that changes it. ``problem``: why it cannot be read: it is corrupt; ``typed`` replaces it.
    """

    kept: bool
    version: int
    at: datetime | None
    author: str | None
    comment: str | None
    keys: list[KeyView]
    notes: list[str]
    looked_at_all: bool
    typed: str
    problem: str | None = None


class ConfigHistory(BaseModel):
    """Versions of the configuration, the newest first.

    ``before`` is how to go on, absent on the last page; ``typed`` is the command that shows the same.
    """

    versions: list[VersionView]
    before: int | None
    typed: str


class ToldDifference(BaseModel):
    """What two versions of a document say otherwise, as JSON; ``old`` and ``new`` are absent where they say nothing."""

    key: str
    old: str | None
    new: str | None


class SettingsChange(BaseModel):
    """A version of a document that somebody has written: :class:`~airflow_coordination.monitoring.changes.Change`.

    ``name`` is what people call its source, absent where it serves all. ``duty``: ``by`` is the name of a duty;
    what a person of that name wrote cannot be told from it. ``differences`` are absent where the version before is not
    kept any more, or one of both is no JSON; ``more`` says how many there are beside them. ``typed`` is the command
    that prints all versions, absent where there is none.
    """

    source: str
    name: str | None
    document: str
    what: str
    version: int
    at: datetime
    by: str
    duty: bool
    why: str
    differences: list[ToldDifference] | None
    more: int
    typed: str | None


class UnreadSource(BaseModel):
    """A source that has more documents than were looked at; ``name`` is absent where it is what serves all."""

    source: str
    name: str | None


class SettingsPage(BaseModel):
    """What people and duties have set, the newest first, in so many ``documents`` of so many ``sources``.

    ``since``: what was written then or before was not looked at; absent where all that is kept, and asked for, was.
    ``unread``: the sources of whose documents only the first by name were looked at, or none. ``typed`` is the command
    that says the same, absent where there is none, and of one document, whose lines have it.
    """

    changes: list[SettingsChange]
    documents: int
    since: datetime | None
    sources: int
    all_sources: bool
    unread: list[UnreadSource]
    typed: str | None


class ConfigRequest(Sent):
    """A partial update of the configuration: null makes a key the default again; ``seen`` is the version one saw."""

    store: str
    changes: Annotated[dict[str, Any], Field(min_length=1, max_length=MOST_CHANGES)]
    seen: Annotated[int, Field(ge=0, le=2**53)]
    why: _Why


class ConfigResult(BaseModel):
    """What became of it: the version that holds now, or why it was refused; ``notes`` say what may surprise of it."""

    done: bool
    sentence: str
    version: int
    notes: list[str] = []


class RunNowRequest(Sent):
    """Letting a group that waits for its time be run by whoever comes next, and why."""

    store: str
    group: Annotated[str, Field(min_length=1, max_length=1000)]
    why: _Why


class RunNowResult(BaseModel):
    """What became of it, or why not."""

    done: bool
    sentence: str
