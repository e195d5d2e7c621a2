"""The view of a source over a history: its versions, and which of them was surely in force during a call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airflow_coordination.planning.intervals import Interval, interval_of
from airflow_coordination.planning.view.view import EMPTY, BranchState, View
from airflow_coordination.protocol.beside.documents import VIEW, Document
from airflow_coordination.testing.history.operations import NEVER, Kind, Operation, Told


@dataclass(frozen=True, slots=True)
class Version:
    """One version of the view.

    :param number: of the document; 0 before the first.
    :param view: what it says.
    :param perhaps_since: it was surely not written before, in seconds since 1970.
    :param since: it was surely written by then; ``NEVER`` where nobody has heard of it.
    """

    number: int
    view: View
    perhaps_since: float
    since: float


class Views:
    """All versions of a source's view.

    :param documents: the versions of the document, as the store has them in the end.
    :param operations: the history. Who has changed the view says in ``given["comment"]`` what the comments of its
        versions hold, and of no others, and in ``result["version"]`` which one was there in the end.
    """

    def __init__(self, documents: Iterable[Document] = (), operations: Sequence[Operation] = ()) -> None:
        changes = [made for made in operations if made.kind is Kind.VIEW and made.told in (Told.OK, Told.UNKNOWN)]
        heard = [made for made in operations if "version" in made.result]
        self.versions = [Version(0, EMPTY, 0.0, 0.0)]
        for each in sorted((each for each in documents if each.name == VIEW), key=lambda each: each.version):
            mine = [made for made in changes if made.given["comment"] in each.comment]
            known = [made for made in heard if made.result["version"] >= each.version]
            perhaps = [made.invoked for made in mine or changes if _may_have_written(made, each.version)]
            since = min((made.answered for made in known), default=NEVER)
            first = max(min(perhaps, default=0.0), self.versions[-1].perhaps_since)
            self.versions.append(Version(each.version, View.said_by(each), first, since))

    def during(self, made: Operation) -> View | None:
        """Return the view that was in force during all of a call, ``None`` where that is not sure."""
        known = [version for version in self.versions if version.since <= made.invoked]
        newest = known[-1] if known else None
        if newest is None or any(
            version.number > newest.number and version.perhaps_since <= made.answered for version in self.versions
        ):
            return None
        return newest.view

    def at_some_time(self, made: Operation) -> list[View]:
        """Return the views that may have been in force at some time during a call."""
        newest = max((version.number for version in self.versions if version.since < made.invoked), default=0)
        return [
            version.view
            for version in self.versions
            if version.number >= newest and version.perhaps_since <= made.answered
        ]

    def state_of(self, number: int, made: Operation) -> BranchState | None:
        """Return how far a branch was during all of a call, ``None`` where that is not sure or it was not there."""
        view = self.during(made)
        branch = view.branch(number) if view else None
        return branch.state if branch else None

    def published(self) -> dict[int, Version]:
        """Return for each branch the first version in which it shows."""
        found: dict[int, Version] = {}
        for version in self.versions:
            for number in version.view.shown:
                found.setdefault(number, version)
        return found

    def whole(self) -> dict[int, Version]:
        """Return for each branch the last version in which it became known how many partitions it has."""
        found: dict[int, tuple[int, Version]] = {}
        for version in self.versions:
            for branch in version.view.branches:
                if branch.expected is not None and found.get(branch.number, (None,))[0] != branch.expected:
                    found[branch.number] = (branch.expected, version)
        return {number: version for number, (_, version) in found.items()}


def _may_have_written(made: Operation, version: int) -> bool:
    """Return whether a change of the view may be the one that wrote a version: it reports that one, or a later one."""
    return bool(made.result.get("version", version) >= version)


def said(view: View) -> dict[str, Any]:
    """Return what a history keeps of the view that somebody has read with."""
    hidden = [[each.dataset, str(each.interval)] for each in view.hidden]
    return {"shown": list(view.shown), "hidden": hidden}


_INTERVAL: Final = "interval"


def interval_in(given: object) -> Interval | None:
    """Return an interval as a history keeps it, ``None`` for none."""
    return None if given is None else interval_of(_INTERVAL, given)
