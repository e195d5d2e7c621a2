"""Branches and hidden intervals, as models of the API."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel


class BranchView(BaseModel):
    """A branch of a source: :class:`~airflow_coordination.planning.view.view.Branch`.

    ``selection`` is what it was begun for, as JSON. ``completed`` and ``parked`` are counted of ``partitions`` that run
    in it still; absent for one that nobody waits for, and where the store cannot tell. ``sentence`` says what it waits
    for. ``interval`` is absent where it is not known, or unbounded.
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


class HiddenView(BaseModel):
    """An interval of a dataset that readers do not see: :class:`~airflow_coordination.planning.view.view.Hidden`.

    ``by`` is a person, or the duty that applies rules, and ``why`` what was said, or the rule.
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


class ViewPage(BaseModel):
    """What readers see of a source: its branches, the newest first, and its hidden intervals, the newest first.

    ``kept`` is false where the store keeps no view. ``version`` is that of the document, 0 where nobody has said
    anything; ``author``, ``why`` and ``changed_at`` are of its last change.
    """

    kept: bool
    version: int
    author: str | None
    why: str | None
    changed_at: datetime | None
    branches: list[BranchView]
    hidden: list[HiddenView]
