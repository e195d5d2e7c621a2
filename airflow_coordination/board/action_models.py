"""Requests and answers of the routes that change something. Who acts is no part of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from airflow_coordination.board.models import PartitionRow, Wanted

MOST_KEYS: Final = 25
"""The most partitions that one request names: more would take longer than a second on a slow store."""
MOST_MINUTES: Final = 7 * 24 * 60
"""The longest pause that ends by itself which the board sets: a week."""
_Why = Annotated[str, Field(max_length=1000)]
_Stamp = Annotated[str, Field(max_length=64)]
_Text = Annotated[str, Field(min_length=1, max_length=2048)]
_Branch = Annotated[int, Field(ge=1, le=2**53)]


class OfferedAction(StrEnum):
    """The actions that the board offers to a person."""

    RELEASE = "release"
    REOPEN = "reopen"
    PARK = "park"
    RESET = "reset"
    FINISH = "finish"
    RETRACT = "retract"


class Sent(BaseModel):
    """A request; what it holds beside its fields is refused."""

    model_config = ConfigDict(extra="forbid")


class Narrowing(Sent):
    """A filter; what is left out narrows nothing."""

    status: Wanted | None = None
    error_like: _Text | None = None
    key_prefix: _Text | None = None
    owner_like: _Text | None = None
    error_alike: _Text | None = None
    key_from: _Text | None = None
    key_to: _Text | None = None


class DryRunRequest(Sent):
    """A dry run of an action: on partitions by name, or on all that a filter finds.

    A large source is counted in portions: ``after``, ``matching`` and ``meant`` say how far the last one came.
    ``branch`` is of a reset: the branch that has begun and that the partitions run in from then on.
    """

    store: str
    source: str
    action: OfferedAction
    keys: Annotated[list[_Text], Field(max_length=MOST_KEYS)] = []
    filter: Narrowing | None = None
    after: str | None = None
    matching: Annotated[int, Field(ge=0)] = 0
    meant: Annotated[int, Field(ge=0)] = 0
    branch: _Branch | None = None


class Meant(Sent):
    """A partition as it was counted: ``stamp`` says what it was, and is given back with the action."""

    key: _Text
    stamp: _Stamp


class Refusal(BaseModel):
    """A refusal: why an action was refused for one partition, and what that is now."""

    key: str
    reason: str


class Sample(PartitionRow):
    """A partition that is meant, with the output that a retract takes back, or whom a finish lets start.

    ``released`` says how many of its children go on although it is taken up again.
    """

    datasets: str | None = None
    rows: int | None = None
    children: int | None = None
    released: int | None = None
    named: str | None = None


class DryRunResult(BaseModel):
    """What would happen; nothing was changed.

    ``matching`` and the sentence count what earlier portions found, too; ``fit``, ``refused`` and ``meant`` are of this
    portion. With ``after`` there is another one, and no sentence yet. ``locked_in`` is the branch that all of these
    run in, and that has begun: a reset out of it was refused, and one in it may be asked for.
    """

    sentence: str | None
    matching: int
    fit: int
    refused: int
    refusals: list[Refusal]
    samples: list[Sample]
    meant: list[Meant]
    after: str | None
    locked_in: int | None = None


class ActionRequest(Sent):
    """An action and its reason, on partitions as they were counted; ``branch`` is of a reset.

    ``batch`` is the same in all requests of one action, so that it is one line among what people did.
    """

    store: str
    source: str
    action: OfferedAction
    why: _Why
    branch: _Branch | None = None
    batch: _Stamp | None = None
    meant: Annotated[list[Meant], Field(min_length=1, max_length=MOST_KEYS)]


class ActionResult(BaseModel):
    """The result of an action. ``problem``: the store has stopped answering, so the rest was not tried."""

    done: int
    refusals: list[Refusal]
    problem: str | None = None


class AgainDryRunRequest(Sent):
    """A dry run of a reset of one partition and a run of its DAG; ``dag`` names one of several."""

    store: str
    source: str
    key: _Text
    dag: _Text | None = None


class AgainDryRunResult(BaseModel):
    """What would happen, or why it would be refused; nothing was changed.

    ``dags`` are those that a run could be triggered of, ``dag`` is the one that it would be, ``conf`` the run's
    configuration as JSON. ``stamp`` says what the partition was, and is given back.
    """

    sentences: list[str]
    refusal: str | None
    dags: list[str]
    dag: str | None
    conf: str
    stamp: str


class AgainRequest(AgainDryRunRequest):
    """The same, and why; ``stamp`` is that of the dry run."""

    why: _Why
    stamp: _Stamp


class AgainResult(BaseModel):
    """What became of it. ``done``: the partition was reset. ``run`` is what was triggered then.

    If it was reset and nothing was triggered, ``typed`` is the command that triggers the run.
    """

    done: bool
    sentence: str
    dag: str | None = None
    run: str | None = None
    typed: str | None = None


class PauseDryRunRequest(Sent):
    """A dry run of pausing or resuming a whole source."""

    store: str
    source: str
    paused: bool


class PauseDryRunResult(BaseModel):
    """The meaning of a pause, and why it would be refused. ``stamp`` is what the pause was; it is given back."""

    sentence: str
    refusal: str | None
    stamp: str


class PauseRequest(PauseDryRunRequest):
    """The same, and why; ``stamp`` is empty for a source that was never paused.

    A pause of so many ``minutes`` ends by itself; without them somebody resumes the source.
    """

    why: _Why
    stamp: _Stamp
    minutes: Annotated[float, Field(gt=0, le=MOST_MINUTES)] | None = None


class PauseResult(BaseModel):
    """What became of it: who has paused or resumed it, or why not."""

    done: bool
    sentence: str
