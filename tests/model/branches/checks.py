"""What is checked in every state: S22, and of S23 that what a reader follows is there."""

from __future__ import annotations

from tests.model.branches.rules import Scenario
from tests.model.branches.showing import newest, promised, shown
from tests.model.branches.state import BEGUN, SHOWS, Partition, Rows, State, states


def wrong(state: State, scenario: Scenario) -> str:
    """Return what is wrong with a state, empty for nothing."""
    view = states(state)
    for key, partition in enumerate(state.partitions):
        found, said = shown(partition, view, scenario.rules), promised(partition, view)
        if found != said:
            return f"{_which(found, said)}: a reader finds {_said(found)} in partition {key}, not {_said(said)}"
        for row in found:
            if (key, row) in state.gone:
                return f"S23: a reader follows block {row} of partition {key}, which is gone"
    return _of_branches(state, scenario) or _of_what_moved(state, scenario)


def _which(found: Rows, said: Rows) -> str:
    return "S23" if said and not found else "S22"


def _of_branches(state: State, scenario: Scenario) -> str:
    for number, branch in enumerate(state.branches, 1):
        for key in scenario.branches[number - 1]:
            if branch.state in SHOWS and key not in branch.ran:
                return f"S22: branch {number} shows without partition {key}"
            if branch.state == BEGUN and branch.seen and _since(state, state.partitions[key], number, scenario):
                return f"since: partition {key} has published since it completed in branch {number}"
    return ""


def _since(state: State, partition: Partition, number: int, scenario: Scenario) -> bool:
    """Return whether readers see something of a partition already that is newer than what its branch has.

    If that could be, who publishes a branch would have to look for it.
    """
    own, found = partition.heads[number], newest(list(enumerate(partition.heads)), states(state), scenario.rules)
    return not scenario.vanishes and own is not None and found is not None and found[1].token > own.token


def _of_what_moved(state: State, scenario: Scenario) -> str:
    """Return whether rows that go from one partition to another are not there once."""
    if not scenario.instead:
        return ""
    times = sum(bool(shown(partition, states(state), scenario.rules)) for partition in state.partitions)
    return "" if times == 1 else f"S22: a reader finds rows {times} times that go from one partition to another"


def _said(rows: Rows) -> str:
    return " and ".join(f"block {row}" for row in rows) or "nothing"
