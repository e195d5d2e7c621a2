"""What people do to branches: begin, reset partitions into them and out of them, publish, roll back, make final."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.model.branches.rules import Scenario
from tests.model.branches.state import (
    ABSENT,
    BASE,
    BEGUN,
    DONE,
    FINAL,
    FREE,
    NONE,
    PUBLISHED,
    ROLLED_BACK,
    SHOWS,
    Partition,
    State,
    put,
    states,
    with_partition,
    with_view,
)

Happening = tuple[str, State]


def happenings(state: State, scenario: Scenario) -> Iterator[Happening]:
    """Yield what people do next."""
    for number in range(1, len(state.branches) + 1):
        yield from _of_branch(state, number, scenario)
    for key, partition in enumerate(state.partitions):
        yield from _asks(state, key, partition, scenario)
        for branch in partition.asked:
            yield _arrives(state, key, partition, branch, scenario)
        if scenario.retracts and not partition.held and any(head and head.rows for head in partition.heads):
            yield _retracts(state, key, partition, scenario)


def _of_branch(state: State, number: int, scenario: Scenario) -> Iterator[Happening]:
    branch = state.branches[number - 1]
    if branch.state == NONE and (number == 1 or state.branches[number - 2].state != NONE):
        yield f"branch {number} begins", with_view(state, number, BEGUN)
    if branch.state == BEGUN:
        if branch.seen:
            yield f"branch {number} is published", with_view(state, number, PUBLISHED)
        elif _complete(state, number, scenario):
            seen = state._replace(branches=put(state.branches, number - 1, branch._replace(seen=True)))
            yield f"who will publish branch {number} reads the view, and sees its partitions completed", seen
    if branch.state == PUBLISHED:
        yield f"branch {number} is made final", with_view(state, number, FINAL)
    if branch.state in (BEGUN, PUBLISHED):
        yield f"branch {number} is rolled back", with_view(state, number, ROLLED_BACK)


def _complete(state: State, number: int, scenario: Scenario) -> bool:
    within = [state.partitions[key].branch == number for key in scenario.branches[number - 1]]
    done = [state.partitions[key].phase == DONE for key in scenario.branches[number - 1]]
    if not scenario.rules.all:
        return all(within)
    if not scenario.rules.expected:
        return any(within) and all(over for inside, over in zip(within, done, strict=True) if inside)
    return all(within) and all(done)


def _asks(state: State, key: int, partition: Partition, scenario: Scenario) -> Iterator[Happening]:
    """Yield the resets that are sent: what is judged is the partition as the message names it, and then the view.

    As long as the partition stays as it is, it does not matter when it was read.
    """
    early = not scenario.rules.partition_first
    if early and partition.view is None:
        looked = partition._replace(view=states(state))
        yield f"who will reset partition {key} reads the view", with_partition(state, key, looked)
    for branch in range(len(state.branches) + 1):
        view = partition.view if early and branch == BASE else states(state)
        wanted = branch not in partition.asked and _wanted(key, partition, branch, scenario)
        if view is not None and wanted and not _refused(partition, branch, view, scenario):
            sent = partition._replace(asked=tuple(sorted({*partition.asked, branch})))
            yield f"a reset of partition {key}{_into(branch)} is sent", with_partition(state, key, sent)


def _wanted(key: int, partition: Partition, branch: int, scenario: Scenario) -> bool:
    if branch == BASE:
        over = partition.phase != ABSENT and (partition.branch or partition.phase != FREE)
        return scenario.resets and bool(over)
    again = scenario.resets and partition.phase == DONE
    return key in scenario.branches[branch - 1] and (partition.branch != branch or again)


def _refused(partition: Partition, branch: int, view: Sequence[str], scenario: Scenario) -> bool:
    rules, was = scenario.rules, view[partition.branch - 1] if partition.branch else NONE
    if branch:
        elsewhere = partition.branch != branch and was == BEGUN
        return view[branch - 1] != BEGUN or (rules.one and elsewhere)
    if rules.locked and was == BEGUN:
        return True
    return scenario.instead and _gives_twice(partition, was, scenario)


def _gives_twice(partition: Partition, was: str, scenario: Scenario) -> bool:
    """Return whether it may have rows, once reset, that another partition has, too."""
    head = partition.heads[partition.branch]
    if scenario.rules.retired and was in SHOWS and head is not None and not head.rows:
        return True
    if scenario.rules.retiring_is_final and was == PUBLISHED:
        return True
    return scenario.rules.new_stays and was == ROLLED_BACK and partition.heads[BASE] is None


def _arrives(state: State, key: int, partition: Partition, branch: int, scenario: Scenario) -> Happening:
    token = partition.token + partition.held
    as_seen = scenario.rules.purges_as_seen
    after = partition.written(as_seen=as_seen, token=token, phase=FREE, branch=branch, ending=None)
    late = branch and states(state)[branch - 1] != BEGUN
    said = f"partition {key} is reset{_into(branch)}{', late' if late else ''}"
    return said, with_partition(state, key, after)


def _retracts(state: State, key: int, partition: Partition, scenario: Scenario) -> Happening:
    heads = tuple(head and head._replace(rows=()) for head in partition.heads)
    accepted = tuple(each._replace(rows=()) for each in partition.accepted)
    after = partition.written(as_seen=scenario.rules.purges_as_seen, heads=heads, accepted=accepted)
    return f"a person retracts partition {key}", with_partition(state, key, after)


def _into(branch: int) -> str:
    return f" into branch {branch}" if branch else ""
