"""Rules of branches, each of which can be left out: the run must see it then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from airflow_coordination.duties.branches import showing as commands
from airflow_coordination.leases.viewing.branches import BranchRules
from airflow_coordination.outputs.heads import showing as heads
from airflow_coordination.planning.view.showing import branch_of, newest
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.results import HeadRecord
from tests.merging import broken


def _branch_first(view: View, found: Iterable[HeadRecord]) -> HeadRecord | None:
    """Show a branch before the base, however old."""
    row = list(found)
    aside = [head for head in row if branch_of(head) in view.shown]
    return newest(view, aside or row)


def _unchecked(*_: object, **__: object) -> None:
    """Allow everything."""


RULES: Final[Mapping[str, broken.Rule]] = {
    "token": (heads, "newest", _branch_first),
    "locked": (BranchRules, "check_reset", _unchecked),
    "same": (BranchRules, "_check_same", _unchecked),
    "all": (commands, "check_ready", _unchecked),
    "rolled back": (BranchRules, "_check_counts", _unchecked),
}
"""Where each is kept, and what stands there without it."""

without = partial(broken.without, rules=RULES)
