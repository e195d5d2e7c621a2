"""Overlays as a world that the explorer goes through."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tests.model.overlays import checks, collectors, compactors, publishers, readers
from tests.model.overlays.rules import Scenario
from tests.model.overlays.state import SENT, Collector, Driver, File, Group, Partition, Read, State

Step = tuple[str, State, str]


class Overlays:
    """The design within the bounds of one scenario.

    :param forgets: whether states differ only by what somebody may still come to.
    """

    def __init__(self, scenario: Scenario, *, forgets: bool = True) -> None:
        self._scenario, self.expect, self._forgets = scenario, scenario.expect, forgets

    def start(self) -> State:
        """Return the state in which each partition has published one block, and nothing is merged."""
        return State(
            tuple(Partition(plan=plan) for plan in self._scenario.plans),
            (Group(),) * len(self._scenario.epochs),
            (Driver(),) * self._scenario.drivers,
            (Collector(),) * self._scenario.collector,
        )

    def successors(self, state: State) -> Iterator[Step]:
        """Yield what can happen next, and what is wrong with it."""
        for said, after, broken in self._steps(state):
            after = readers.goes_on(state, after, self._scenario)
            yield said, _remembered(after) if self._forgets else after, broken

    def _steps(self, state: State) -> Iterator[Step]:
        for said, after in publishers.happenings(state):
            yield said, after, ""
        for said, after in compactors.happenings(state, self._scenario):
            yield said, after, ""
        for said, after in collectors.happenings(state, self._scenario):
            yield said, after, ""
        yield from readers.happenings(state, self._scenario)

    def wrong(self, state: State) -> str:
        """Return what is wrong with a state, whatever led to it."""
        return checks.wrong(state, self._scenario)

    def said(self, label: str, after: State) -> str:
        """Return one step of a trace."""
        return label


def _remembered(state: State) -> State:
    """Return the state without what nobody can come to any more, and drivers in one order: they are all the same."""
    if any(token != group.published for group in state.groups for token, _ in group.written):
        reads = [driver.read for driver in state.drivers] + ([state.reader.read] if state.reader else [])
        groups = tuple(_group(state, number, group, reads) for number, group in enumerate(state.groups))
        state = state._replace(groups=groups)
    if len(state.drivers) > 1:
        state = state._replace(drivers=tuple(sorted(state.drivers, key=_by_tenure)))
    if state.gone:
        reach = _within_reach(state)
        state = state._replace(gone=tuple(file for file in state.gone if file in reach))
    return state


def _group(state: State, number: int, group: Group, reads: list[Read | None]) -> Group:
    tokens = {read.overlays[number] for read in reads if read is not None and read.overlays} | {group.published}
    tokens |= {each.overlays[number] for each in state.collectors if each.overlays}
    tokens |= {driver.token for driver in state.drivers if driver.group == number and driver.phase == SENT}
    return group._replace(written=tuple(each for each in group.written if each[0] in tokens))


def _within_reach(state: State) -> set[File]:
    """Return the files that somebody may still come to."""
    heads = [partition.head for partition in state.partitions]
    if state.reader is not None and state.reader.read.heads:
        heads = [(*head, *(read or ())) for head, read in zip(heads, state.reader.read.heads, strict=True)]
    blocks = {
        File("block", part, each)
        for part, (partition, head) in enumerate(zip(state.partitions, heads, strict=True))
        for token in head
        for each in partition.chain(token)
    }
    return blocks | {
        File("overlay", number, token) for number, group in enumerate(state.groups) for token, _ in group.written
    }


@cache
def _by_tenure(driver: Driver) -> tuple[object, ...]:
    read = driver.read or Read((), ())
    known = tuple((value is not None, value or 0) for value in read.overlays)
    return driver.group, driver.token, driver.phase, known, tuple((each is not None, each or ()) for each in read.heads)
