"""Drivers that merge: they read, write an overlay, and publish it by the ordinary ending of their group's tenure.

Any of them may sleep at any point, past its lease, and go on then; one that never goes on has crashed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.model.overlays.reading import next_reads
from tests.model.overlays.rules import Scenario
from tests.model.overlays.state import (
    IDLE,
    NOTHING,
    OWNS,
    SENT,
    Block,
    Driver,
    Group,
    Origin,
    Overlay,
    Read,
    State,
    named,
    put,
    unread,
)
from tests.model.overlays.walk import seen, walk

Happening = tuple[str, State]


def happenings(state: State, scenario: Scenario) -> Iterator[Happening]:
    """Yield what drivers do next, and what people do to overlays."""
    for index, driver in enumerate(state.drivers):
        if driver.phase == IDLE and driver not in state.drivers[:index]:  # they are all the same
            yield from _begins(state, index, scenario)
        if driver.read is not None and not driver.read.whole:
            yield from _reads(state, index, scenario)
        if driver.phase == OWNS and driver.read is not None and driver.read.whole:
            yield from _writes(state, index, scenario)
        if driver.phase == SENT:
            yield _ending(state, index, scenario)
    yield from _taken_back(state, scenario)


def _begins(state: State, index: int, scenario: Scenario) -> Iterator[Happening]:
    """Yield acquisitions: the lease of before has ended, or the planner has opened the group again."""
    driver = state.drivers[index]
    read = driver.read or unread(state)
    for number, group in enumerate(state.groups):
        if scenario.rules.under_lease != "all" and driver.read is None:
            yield _who(number, 0, "looks"), _with_driver(state, index, Driver(number, read=unread(state)))
        elif group.token < scenario.tokens[number] and driver.group in ((number,) if read.whole else (-1,)):
            taken = group._replace(token=group.token + 1, held=True)
            anew = scenario.rules.under_lease == "overlays"
            known = read._replace(overlays=unread(state).overlays) if anew else read
            after = _with_driver(state, index, Driver(number, OWNS, taken.token, known))
            yield _who(number, taken.token, "acquires"), _with_group(after, number, taken)


def _reads(state: State, index: int, scenario: Scenario) -> Iterator[Happening]:
    driver = state.drivers[index]
    assert driver.read is not None
    for said, read in next_reads(state, driver.read, scenario):
        yield _who(driver.group, driver.token, said), _with_driver(state, index, driver._replace(read=read))


def _writes(state: State, index: int, scenario: Scenario) -> Iterator[Happening]:
    driver = state.drivers[index]
    assert driver.read is not None
    group = state.groups[driver.group]
    for overlay in sorted(set(_choices(state, driver.group, driver.read, scenario))):
        written = group._replace(written=tuple(sorted([*group.written, (driver.token, overlay)])))
        after = _with_driver(state, index, driver._replace(phase=SENT, read=None))
        covers = ", ".join(f"block {part}.{token}" for (part, token), _ in overlay) or "nothing"
        said = _who(driver.group, driver.token, f"writes overlay {driver.group}.{driver.token} for {covers}")
        yield said, _with_group(after, driver.group, written)


def _ending(state: State, index: int, scenario: Scenario) -> Happening:
    """Return what becomes of the ending that was sent: a late one finds another fence."""
    driver = state.drivers[index]
    group = state.groups[driver.group]
    after = _with_driver(state, index, Driver())
    own = (group.token, group.held) == (driver.token, True)
    if scenario.rules.fence and not own:
        return _who(driver.group, driver.token, "ends too late, and is refused"), after
    ended = group._replace(held=group.held and not own, published=driver.token)
    return (
        _who(driver.group, driver.token, f"ends: overlay {driver.group}.{driver.token} is published"),
        _with_group(after, driver.group, ended),
    )


def _taken_back(state: State, scenario: Scenario) -> Iterator[Happening]:
    for number, group in enumerate(state.groups):
        if scenario.overlays_may_go and group.published and not group.held:
            after = _with_group(state, number, group._replace(published=NOTHING))
            yield f"a person takes overlay {number}.{group.published} back", after


def _choices(state: State, number: int, read: Read, scenario: Scenario) -> Iterator[Overlay]:
    """Yield all overlays that a driver may write: for each block that it read, a place on its walk, or none if allowed.

    It may leave out what it likes (a schema that does not fit, a limit): only what it has already must stay covered.
    """
    heads = tuple(head or () for head in read.heads)
    places = [
        _places(state, number, read, scenario, (part, token), _by_then(state, scenario, part, at, token))
        for part, head in enumerate(heads)
        for at, token in enumerate(head)
    ]
    for chosen in product(*places):
        yield tuple(sorted({origin for origin in chosen if origin is not None}))


def _by_then(state: State, scenario: Scenario, part: int, at: int, token: int) -> Block:
    """Return the block under whose digest rows go that were read for another one."""
    now = named(state)[part]
    return (part, now[at] if not scenario.rules.named_as_read and at < len(now) else token)


def _places(
    state: State, number: int, read: Read, scenario: Scenario, block: Block, name: Block
) -> list[Origin | None]:
    part, token = block
    mine = {origin.block: origin for origin in state.groups[number].overlay(read.overlays[number] or NOTHING)}
    met = walk(state, part, token, set(mine))
    carried = mine.get((part, met[-1]))
    whole = Origin(name, _rows(state, read, scenario, block))
    places: list[Origin | None] = [whole]
    if carried is not None and carried.block != name:
        places.append(carried)
    if carried is None or _may_let_go(state, number, read, scenario, part, met):
        places.append(None)
    return places


def _may_let_go(state: State, number: int, read: Read, scenario: Scenario, part: int, met: tuple[int, ...]) -> bool:
    """Return whether a group may let go of the place where its present overlay ends this walk."""
    needs = scenario.rules.covers
    if needs == "nothing" or (needs == "what heads name" and len(met) > 1):
        return True
    return any((part, token) in _relied_on(state, number, read, scenario) for token in met)


def _relied_on(state: State, number: int, read: Read, scenario: Scenario) -> set[Block]:
    """Return what others cover by whom a group may let go."""
    found: set[Block] = set()
    for other, group in enumerate(state.groups):
        if _frees(number, other, scenario):
            tokens = {read.overlays[other] or NOTHING}
            if not scenario.rules.relies_on_published:
                tokens.add(group.newest)
            found |= {origin.block for token in tokens for origin in group.overlay(token)}
    return found


def _frees(number: int, other: int, scenario: Scenario) -> bool:
    epoch, theirs = scenario.epochs[number], scenario.epochs[other]
    if scenario.rules.relies_on == "later epochs":
        return theirs > epoch
    return other != number and (scenario.rules.relies_on == "any other" or theirs >= epoch)


def _rows(state: State, read: Read, scenario: Scenario, block: Block) -> tuple[Block, ...]:
    """Return the rows that a driver finds for one block, by what it has read."""
    heads = tuple((block[1],) if part == block[0] else () for part in range(len(state.partitions)))
    return seen(state, read.overlays, heads, scenario).rows[block[0]]


def _who(group: int, token: int, does: str) -> str:
    return f"the driver of {group}.{token} {does}" if token else f"a driver, before it has group {group}, {does}"


def _with_driver(state: State, index: int, driver: Driver) -> State:
    return state._replace(drivers=put(state.drivers, index, driver))


def _with_group(state: State, number: int, group: Group) -> State:
    return state._replace(groups=put(state.groups, number, group))
