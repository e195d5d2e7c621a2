"""From when on readers surely did not see what a view hides: not before the store had that view (promise S23).

Who hides an interval, or rolls a branch back, reads the store's clock, and writes then. In between a process may be
stopped for longer than any margin: what it writes at last says that it was so all the time, while readers saw it until
now. So margins are not counted from what a view says of itself. The versions of its document bear the time at which the
store has written them, and only what one of before the margin said counts as old.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.planning.view.view import EMPTY, Branch, Hidden, View
from airflow_coordination.protocol.beside.documents import VIEW
from airflow_coordination.values.input_errors import InvalidInputError

_PAGE: Final = 20


def view_at(coordinator: SourceCoordinator, moment: datetime) -> View:
    """Return the view as it was at a moment, by the store's clock; an empty one where that cannot be read.

    :param moment: versions that were written later are passed over, the newest first.
    """
    before = None
    while page := coordinator.documents.history(VIEW, before, _PAGE):
        for version in page:
            if version.at <= moment:
                with suppress(InvalidInputError):  # somebody has mended it since, and what it said is not known
                    return View.said_by(version)
                return EMPTY
        before = page[-1].version
    return EMPTY


def surely(view: View, then: View, now: datetime) -> View:
    """Return a view that counts as new what it did not say already at an earlier time.

    What is being purged stays as it is: its mark says what goes.

    :param then: the view as it was at that time.
    :param now: when what is new is said to have begun.
    """

    def branch(each: Branch) -> Branch:
        before = then.branch(each.number)
        same = before is not None and before.state is each.state
        return each if same else replace(each, changed_at=now)

    def hidden(each: Hidden) -> Hidden:
        return each if each.purging or each in then.hidden else replace(each, since=now)

    return replace(
        view, branches=tuple(branch(each) for each in view.branches), hidden=tuple(hidden(each) for each in view.hidden)
    )
