"""Tenures of the partitions: they publish into the base, or into their partition's branch."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.branches.rules import Scenario
from tests.model.branches.showing import counts, newest
from tests.model.branches.state import (
    BASE,
    BEGUN,
    DONE,
    FREE,
    HELD,
    PARKED,
    ROLLED_BACK,
    SENT,
    Accepted,
    Ending,
    Head,
    Partition,
    State,
    put,
    states,
    with_partition,
)

Happening = tuple[str, State, str]


def happenings(state: State, scenario: Scenario) -> Iterator[Happening]:
    """Yield what owners do next, and what is wrong with it."""
    for key, partition in enumerate(state.partitions):
        if partition.phase == FREE and partition.token <= scenario.tokens:
            taken = _written(partition, scenario, token=partition.token + 1, phase=HELD)
            said = f"partition {key} is acquired{_where(partition)}, with token {taken.token}"
            yield said, with_partition(state, key, taken), ""
        if partition.phase == HELD:
            yield from _prepares(state, key, partition, scenario)
        if partition.phase == SENT:
            yield from _ends(state, key, partition, scenario)
        if partition.phase == DONE and scenario.vanishes and not partition.life:
            yield _vanishes(state, key, partition, scenario)


def _prepares(state: State, key: int, partition: Partition, scenario: Scenario) -> Iterator[Happening]:
    """Yield the endings that its owner may prepare; it reads the view first, and heads cannot change meanwhile."""
    branch = partition.branch
    if branch and states(state)[branch - 1] == ROLLED_BACK:
        if scenario.rules.rolled_back:
            parked = _written(partition, scenario, phase=PARKED)
            yield f"partition {key} is parked: branch {branch} was rolled back", with_partition(state, key, parked), ""
        else:
            broken = f"S22: partition {key} goes on publishing into branch {branch}, which nobody will ever see"
            yield f"partition {key} prepares an ending in branch {branch}", state, broken
        return
    for said, ending in _endings(state, key, partition, scenario):
        sent = partition._replace(phase=SENT, ending=ending)
        yield f"partition {key} prepares an ending{_where(partition)}: {said}", with_partition(state, key, sent), ""


def _endings(state: State, key: int, partition: Partition, scenario: Scenario) -> Iterator[tuple[str, Ending]]:
    branch, block = partition.branch, (partition.block,)
    if scenario.instead and branch and key == 0:
        yield "it is retired, and has nothing", Ending(Head(partition.token, (), dated=True))
        return
    yield "it replaces", Ending(Head(partition.token, block, dated=True))
    if scenario.undated:
        yield "it replaces, of no interval", Ending(Head(partition.token, block, dated=False))
    if scenario.silent:
        yield "it publishes nothing", Ending(None)
    own = partition.heads[branch]
    if (
        scenario.adds
        and own is not None
        and _may_add(state, partition, scenario)
        and not _is_going(partition, scenario)
    ):
        head = Head(partition.token, (*own.rows, *block), own.dated)
        yield f"it adds to {_said(own.rows)}", Ending(head, adds=True)


def _may_add(state: State, partition: Partition, scenario: Scenario) -> bool:
    """Return whether readers see the very place that is added to, or none of it yet, because its branch has begun."""
    branch, view = partition.branch, states(state)
    if not scenario.rules.same or (branch and view[branch - 1] == BEGUN):
        return True
    seen = newest(list(enumerate(partition.heads)), view, scenario.rules)
    return seen is not None and seen[0] == branch


def _is_going(partition: Partition, scenario: Scenario) -> bool:
    """Return whether what an ending would add to is being purged, and is there yet."""
    return scenario.rules.purging_stays and _doomed(partition)


def _doomed(partition: Partition) -> bool:
    own = partition.heads[partition.branch]
    doomed = any(each.doomed for each in partition.accepted if each.place == partition.branch)
    return doomed and own is not None and bool(own.rows)


def _ends(state: State, key: int, partition: Partition, scenario: Scenario) -> Iterator[Happening]:
    """Yield what the ending leads to when it is applied: its partition is done, or will be read again."""
    ending, branch = partition.ending, partition.branch
    assert ending is not None
    broken = _lost(state, key, partition, scenario)
    after = _published(partition, branch, ending)
    done = _written(after, scenario, phase=DONE, ending=None)
    completed = with_partition(state, key, done)
    if branch:
        one = state.branches[branch - 1]
        ran = tuple(sorted({*one.ran, key}))
        completed = completed._replace(branches=put(state.branches, branch - 1, one._replace(ran=ran)))
    yield f"partition {key} completes{_where(partition)}", completed, broken
    if scenario.closes:
        closed = _written(after, scenario, phase=FREE, ending=None)
        said = f"partition {key} closes{_where(partition)}, and is open again"
        yield said, with_partition(state, key, closed), broken


def _lost(state: State, key: int, partition: Partition, scenario: Scenario) -> str:
    """Return what an addition hides that readers see, and that it does not have."""
    ending, branch, view = partition.ending, partition.branch, states(state)
    if ending is None or not ending.adds or ending.head is None or not counts(branch, view):
        return ""
    before = newest(list(enumerate(partition.heads)), view, scenario.rules)
    if before is None or set(before[1].rows) <= set(ending.head.rows):
        return ""
    return f"S22: what partition {key} adds{_where(partition)} hides {_said(before[1].rows)}, which readers see"


def _published(partition: Partition, branch: int, ending: Ending) -> Partition:
    if ending.head is None:
        return partition
    accepted = [each for each in partition.accepted if each.place != branch]
    kept = (partition.block,) if ending.adds and _doomed(partition) else ending.head.rows
    now = Accepted(branch, kept, ending.head.dated)
    moved = partition.moved if branch else None
    heads = put(partition.heads, branch, ending.head)
    return partition._replace(heads=heads, accepted=(*accepted, now), moved=moved)


def _vanishes(state: State, key: int, partition: Partition, scenario: Scenario) -> Happening:
    token = partition.token if scenario.rules.tokens_rise else 0
    anew = _written(partition, scenario, token=token, phase=FREE, branch=BASE, life=partition.life + 1)
    return f"partition {key} is taken away by TTL, and created again", with_partition(state, key, anew), ""


def _written(partition: Partition, scenario: Scenario, **values: object) -> Partition:
    return partition.written(as_seen=scenario.rules.purges_as_seen, **values)


def _where(partition: Partition) -> str:
    return f" in branch {partition.branch}" if partition.branch else ""


def _said(rows: tuple[int, ...]) -> str:
    return " and ".join(f"block {row}" for row in rows) or "nothing"
