"""The view of a source as a value: its branches, its hidden intervals, and the JSON of the document with both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from airflow_coordination.planning.intervals import Interval, interval_of
from airflow_coordination.protocol.beside.documents import MAX_DOCUMENT_BYTES, Document, Looked
from airflow_coordination.values.documents import parse
from airflow_coordination.values.input_errors import InvalidInputError

_DEPTH: Final = 6


class BranchState(StrEnum):
    """How far a branch is."""

    BEGUN = "begun"
    """Its partitions run; nobody sees what they publish."""
    PUBLISHED = "published"
    """It shows, and can be rolled back."""
    FINAL = "final"
    """It shows for good: what it hides may be emptied."""
    ROLLED_BACK = "rolled back"
    """It does not show, and never will."""


SHOWN: Final = frozenset({BranchState.PUBLISHED, BranchState.FINAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """Partitions that run again aside, and show together.

    :param number: from 1 on; each is given once.
    :param state: how far it is.
    :param selection: what was asked for, for people: ``{"prefix": "2013-01"}``.
    :param interval: of what it replaces, the umbrella of all; ``None`` where that is unknown, or unbounded.
    :param expected: how many partitions were reset into it; ``None`` until all of them were.
    :param by: who has begun it.
    :param why: what they said.
    :param at: when, by the store's clock.
    :param changed_at: when it came into its state.
    :param shown_at: when it was published; ``None`` where it was not.
    :param then: what its partitions say to follow their endings (``then=``) is done while it is begun, too.
    :param retiring: what is being retired in it, as :attr:`selection`; ``None`` unless somebody is at it.
    :param retires: whether anything was retired in it, so that some of its partitions stand for the rows of others.
    """

    number: int
    state: BranchState
    selection: Mapping[str, Any]
    interval: Interval | None = None
    expected: int | None = None
    by: str
    why: str
    at: datetime
    changed_at: datetime
    shown_at: datetime | None = None
    then: bool = False
    retiring: Mapping[str, Any] | None = None
    retires: bool = False

    @property
    def shows(self) -> bool:
        """Whether readers see it."""
        return self.state in SHOWN

    @property
    def begun(self) -> bool:
        """Whether its partitions run, and nobody sees it yet."""
        return self.state is BranchState.BEGUN


BY_RULES: Final = "runRules"
"""Who hides what rules drop: the name of Druid's duty. Such an interval comes back when they drop it no more."""


class HiddenState(StrEnum):
    """What may become of a hidden interval."""

    HIDDEN = "hidden"
    """It can be restored."""
    PURGING = "purging"
    """It is being deleted: nobody can have it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """An interval of a dataset that readers do not see.

    :param dataset: as users name it.
    :param interval: all head records that lie in it are hidden.
    :param since: when that began, by the store's clock.
    :param by: who has hidden it.
    :param why: what they said, or the rule.
    :param state: whether it can be restored.
    :param upto: once it is being purged: what was published later is not deleted, and shows when this entry is gone.
    :param branches: once it is being purged: those that showed then. What others bring later is not deleted either.
    """

    dataset: str
    interval: Interval
    since: datetime
    by: str
    why: str
    state: HiddenState = HiddenState.HIDDEN
    upto: datetime | None = None
    branches: tuple[int, ...] = ()

    @property
    def purging(self) -> bool:
        """Whether it is being deleted."""
        return self.state is HiddenState.PURGING

    @property
    def by_rules(self) -> bool:
        """Whether rules have hidden it, and no person."""
        return self.by == BY_RULES


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What readers see of a source.

    :param branches: by number. One that is not there, and once was, was rolled back.
    :param hidden: in the order in which they were hidden.
    :param next_number: the number of the next branch.
    :param looked: what the store said with it to who changes it; ``None`` for who only reads it.
    """

    branches: tuple[Branch, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    next_number: int = 1
    looked: Looked | None = field(default=None, compare=False, repr=False)

    @property
    def is_new(self) -> bool:
        """Whether nobody has written one before, so that it is not known what code may open the store."""
        return self.looked is None or self.looked.document is None

    @property
    def now(self) -> datetime:
        """When whoever changes it has read it, by the store's clock."""
        assert self.looked is not None, "only who changes a view knows when"
        return self.looked.now

    @property
    def shown(self) -> tuple[int, ...]:
        """The numbers of the branches that readers see."""
        return tuple(branch.number for branch in self.branches if branch.shows)

    def branch(self, number: int) -> Branch | None:
        """Return a branch; ``None`` for one that there is not, or that was rolled back and forgotten."""
        return next((branch for branch in self.branches if branch.number == number), None)

    def existing(self, number: int) -> Branch:
        """Return a branch that is there.

        :raises InvalidInputError: naming those there are.
        """
        found = self.branch(number)
        if found is None:
            raise InvalidInputError("branch", number, "is not there", f"Name one of those there are: {self.named}")
        return found

    @property
    def named(self) -> str:
        """The numbers of its branches, as a text."""
        return ", ".join(str(branch.number) for branch in self.branches) or "none"

    def changed(self, branch: Branch) -> View:
        """Return the view with a branch in the place of the one that had its number."""
        others = (branch if each.number == branch.number else each for each in self.branches)
        return replace(self, branches=tuple(others))

    def state_of(self, number: int) -> BranchState:
        """Return how far a branch is; what the view does not know was rolled back."""
        branch = self.branch(number)
        return branch.state if branch else BranchState.ROLLED_BACK

    @property
    def text(self) -> str:
        """The document's content.

        :raises InvalidInputError: when it is longer than a document may be.
        """
        said = {
            "next": self.next_number,
            "branches": [_branch_said(branch) for branch in self.branches],
            "hidden": [_hidden_said(hidden) for hidden in self.hidden],
        }
        text = json.dumps(said, separators=(",", ":"), ensure_ascii=False)
        if (size := len(text.encode())) > MAX_DOCUMENT_BYTES:
            problem = f"takes {size} bytes, the limit is {MAX_DOCUMENT_BYTES}"
            named = f"{len(self.branches)} branches, {len(self.hidden)} hidden intervals"
            remedy = "Hide longer intervals, purge what is hidden and what was rolled back, begin larger branches"
            raise InvalidInputError("view", named, problem, remedy)
        return text

    @classmethod
    def said_by(cls, document: Document | None) -> View:
        """Return the view that a version of its document says; an empty one where there is none.

        :raises InvalidInputError: as :meth:`of`.
        """
        return EMPTY if document is None else cls.of(document.content)

    @classmethod
    def of(cls, text: str | None) -> View:
        """Return the view that a document's content says; an empty one for none.

        :raises InvalidInputError: when it is corrupt: it is never taken for an empty one.
        """
        if text is None:
            return EMPTY
        try:
            said = parse(text, max_bytes=MAX_DOCUMENT_BYTES, max_depth=_DEPTH)
            return cls(
                branches=tuple(_branch_in(branch) for branch in said["branches"]),
                hidden=tuple(_hidden_in(hidden) for hidden in said["hidden"]),
                next_number=int(said["next"]),
            )
        except (KeyError, TypeError, ValueError) as cause:
            remedy = "Look at its history (`outputs history`), and write the last good version again"
            raise InvalidInputError("view", text[:200], f"is corrupt in the store ({cause})", remedy) from cause


EMPTY: Final = View()


def _branch_said(branch: Branch) -> dict[str, Any]:
    said: dict[str, Any] = {
        "n": branch.number,
        "state": branch.state.value,
        "by": branch.by,
        "why": branch.why,
        "at": branch.at.isoformat(),
        "changed_at": branch.changed_at.isoformat(),
    }
    if branch.selection:
        said["selection"] = dict(branch.selection)
    said["expected"] = branch.expected
    if branch.interval is not None:
        said["interval"] = str(branch.interval)
    if branch.shown_at is not None:
        said["shown_at"] = branch.shown_at.isoformat()
    if branch.then:
        said["then"] = True
    if branch.retiring is not None:
        said["retiring"] = dict(branch.retiring)
    if branch.retires:
        said["retires"] = True
    return said


def _branch_in(said: Mapping[str, Any]) -> Branch:
    interval = said.get("interval")
    return Branch(
        number=int(said["n"]),
        state=BranchState(said["state"]),
        selection=said.get("selection", {}),
        interval=None if interval is None else interval_of("view.branches.interval", interval),
        expected=None if said.get("expected") is None else int(said["expected"]),
        by=said["by"],
        why=said["why"],
        at=datetime.fromisoformat(said["at"]),
        changed_at=datetime.fromisoformat(said["changed_at"]),
        shown_at=datetime.fromisoformat(said["shown_at"]) if "shown_at" in said else None,
        then=said.get("then", False),
        retiring=said.get("retiring"),
        retires=said.get("retires", False),
    )


def _hidden_said(hidden: Hidden) -> dict[str, Any]:
    fixed = {} if hidden.upto is None else {"upto": hidden.upto.isoformat(), "branches": list(hidden.branches)}
    return fixed | {
        "dataset": hidden.dataset,
        "interval": str(hidden.interval),
        "since": hidden.since.isoformat(),
        "by": hidden.by,
        "why": hidden.why,
        "state": hidden.state.value,
    }


def _hidden_in(said: Mapping[str, Any]) -> Hidden:
    upto = said.get("upto")
    return Hidden(
        dataset=said["dataset"],
        interval=interval_of("view.hidden.interval", said["interval"]),
        since=datetime.fromisoformat(said["since"]),
        by=said["by"],
        why=said["why"],
        state=HiddenState(said["state"]),
        upto=None if upto is None else datetime.fromisoformat(upto),
        branches=tuple(int(number) for number in said.get("branches", ())),
    )
