"""Branches and hidden intervals, as models of the API."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, Field

from airflow_coordination.board.action_models import Sent
from airflow_coordination.board.models import Offer

_Text = Annotated[str, Field(min_length=1, max_length=2048)]


class ViewAction(StrEnum):
    """What people do to what readers see of a source."""

    PUBLISH = "publish"
    ROLL_BACK = "roll back"
    FINALIZE = "make final"
    HIDE = "hide"
    RESTORE = "restore"


class BranchView(BaseModel):
    """A branch of a source: :class:`~airflow_coordination.planning.view.view.Branch`.

    ``selection`` is what it was begun for, as JSON. ``completed`` and ``parked`` are counted of ``partitions`` that run
    in it still; absent for one that nobody waits for, and where the store cannot tell. ``sentence`` says what it waits
    for. ``interval`` is absent where it is not known, or unbounded. ``offers`` are what fits it now, and empty for who
    may not act on the source.
    """

    number: int
    state: str
    selection: str
    interval: str | None
    expected: int | None
    partitions: int | None
    completed: int | None
    parked: int | None
    sentence: str
    by: str
    why: str
    at: datetime
    changed_at: datetime
    offers: list[Offer]


class HiddenView(BaseModel):
    """An interval of a dataset that readers do not see: :class:`~airflow_coordination.planning.view.view.Hidden`.

    ``by`` is a person, or the duty that applies rules, and ``why`` what was said, or the rule. ``restorable_until`` is
    until when no purge with the default margins takes it; absent where it is being purged. ``offers`` as of a branch.
    """

    dataset: str
    interval: str
    start: datetime
    end: datetime
    state: str
    since: datetime
    by: str
    why: str
    sentence: str
    restorable_until: datetime | None
    offers: list[Offer]


class ViewPage(BaseModel):
    """What readers see of a source: its branches, the newest first, and its hidden intervals, the newest first.

    ``kept`` is false where the store keeps no view. ``version`` is that of the document, 0 where nobody has said
    anything; ``author``, ``why`` and ``changed_at`` are of its last change. ``offers`` are what one may do to the
    dataset that was asked for. ``typed`` is the command that says the same of the branches.
    """

    kept: bool
    version: int
    author: str | None
    why: str | None
    changed_at: datetime | None
    branches: list[BranchView]
    hidden: list[HiddenView]
    offers: list[Offer]
    typed: str


class RuleView(BaseModel):
    """A rule, as people find it: its place, its type, and what it is for; ``own``: it is of the dataset itself.

    ``copies`` says how many each tier has, of a rule that loads. ``chunks`` is about how many of those that were looked
    at it decides now; ``changes_at`` is when another one first decides about one of these, absent for never, and
    ``then`` says in sentences which.
    """

    named: str
    own: bool
    drops: bool
    copies: dict[str, int]
    chunks: int
    changes_at: datetime | None
    then: list[str]


class FitsView(BaseModel):
    """Which rule decides about one interval: :class:`~airflow_coordination.duties.retention.explaining.Explained`."""

    interval: str
    becomes: str
    why: str
    changes_at: datetime | None
    then: str | None
    hidden_by: str | None
    hidden_since: datetime | None


class RulesPage(BaseModel):
    """The rules that decide about a dataset, the first that fits first: its own, then those of all datasets.

    ``version`` is that of its own, absent where it has none, as are ``author``, ``why`` and ``changed_at``, which are
    of its last change. ``looked_at`` is of how many chunks it is told what rules do to them: the newest, with
    ``looked_at_all`` all of them. ``ahead`` is false where there are too many rules to say when they change something.
    ``fits`` is about what was asked for. ``typed`` prints its own as Druid's JSON, ``explaining`` says what ``fits``
    says.
    """

    rules: list[RuleView]
    version: int | None
    author: str | None
    why: str | None
    changed_at: datetime | None
    looked_at: int
    looked_at_all: bool
    ahead: bool
    fits: FitsView | None
    typed: str
    explaining: str


class ViewDryRunRequest(Sent):
    """A dry run of a change of what readers see: of a branch by its number, or of an interval of a dataset."""

    store: str
    source: str
    action: ViewAction
    branch: Annotated[int, Field(ge=1, le=2**53)] | None = None
    dataset: _Text | None = None
    interval: _Text | None = None


class Effect(BaseModel):
    """What readers would see of a dataset: of how many partitions something else, rows and bytes of these."""

    dataset: str
    partitions: int
    rows_before: int
    rows_after: int
    bytes_before: int
    bytes_after: int


class ViewDryRunResult(BaseModel):
    """What would happen, and why it would be refused; nothing was changed.

    ``counted`` is false where there are too many head records to be read for a page: then ``effects`` is empty, and
    ``typed`` the command that counts. ``stamp`` is what the view was; it is given back.
    """

    sentences: list[str]
    refusal: str | None
    counted: bool
    effects: list[Effect]
    stamp: str
    typed: str


class ViewChangeRequest(ViewDryRunRequest):
    """The same, and why."""

    why: Annotated[str, Field(max_length=1000)]
    stamp: Annotated[str, Field(max_length=64)]


class ViewChangeResult(BaseModel):
    """What became of it: what readers see now, or why not."""

    done: bool
    sentence: str


class PurgeDryRunRequest(Sent):
    """A dry run of a purge of one dataset, with the default margins."""

    store: str
    source: str
    dataset: _Text


class PurgedHead(BaseModel):
    """What a partition has published and would lose, in which branch, and what hides it."""

    key: str
    branch: int | None
    rows: int
    bytes: int
    files: int | None
    since: datetime
    why: str


class PurgeDryRunResult(BaseModel):
    """What a purge would delete; nothing was deleted, and nothing can be from here.

    ``heads`` of partitions would name nothing any more, the oldest first, of which ``samples`` are the first. Files are
    counted as they were published; absent where their manifests cannot be read from here. ``marks`` are the hidden
    intervals that nobody could restore from then on, ``skipped`` how many partitions wait for what. ``margins`` says
    how old all of it is. ``typed`` is the command that prints exactly the files.
    """

    sentence: str
    margins: str
    heads: int
    rows: int
    bytes: int
    files: int | None
    samples: list[PurgedHead]
    marks: list[str]
    skipped: dict[str, int]
    refusal: str | None
    typed: str
