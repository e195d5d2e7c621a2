"""A slow reader: it reads the view, head records one by one, and the view again."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.branches.rules import Scenario
from tests.model.branches.showing import FOR_GOOD, counts, hidden_for_good, promised, seen
from tests.model.branches.state import BASE, SHOWS, Reader, Rows, State, entries, put, states

Happening = tuple[str, State, str]


def happenings(state: State, scenario: Scenario) -> Iterator[Happening]:
    """Yield what the reader does next, and what is wrong with what it finds."""
    reader = state.reader
    if reader is None:
        if scenario.reader:
            yield "the reader reads the view", state._replace(reader=_begun(state)), ""
        return
    if reader.changed:
        yield "the reader reads the view, which has changed, and begins anew", state._replace(reader=_begun(state)), ""
    elif left := list(_unread(reader, scenario)):
        for key, place in left:
            head = state.partitions[key].heads[place]
            after = reader._replace(heads=put(reader.heads, key, (*reader.heads[key], (place, head))))
            what = f"what branch {place} has" if place else "what the base has"
            yield (
                f"the reader reads {what} of partition {key}, {_said(head.rows if head else ())}",
                (state._replace(reader=after)),
                "",
            )
    else:
        how = "reads the view, which has not changed, and reads" if scenario.rules.view_twice else "reads"
        yield f"the reader {how}", state._replace(reader=None), _wrong(reader, scenario)


def goes_on(before: State, after: State, scenario: Scenario) -> State:
    """Return the state with what the reader's check must know: what was to be seen since it began, view by view."""
    reader = after.reader
    if reader is None or before.reader is None or (scenario.rules.view_twice and reader.changed):
        return after
    now, shown = _promised(after), reader.shown
    if _showing(before) != _showing(after):
        shown = (*shown, tuple((rows,) for rows in now))
    else:
        both = zip(shown[-1], now, strict=True)
        shown = (*shown[:-1], tuple(known if rows in known else (*known, rows) for known, rows in both))
    if scenario.rules.view_twice and _view(before) != _view(after):  # it will begin anew, whatever it finds
        reader = reader._replace(changed=True, shown=(), heads=((),) * len(reader.heads))
        return after._replace(reader=reader)
    return after if shown == reader.shown else after._replace(reader=reader._replace(shown=shown))


def _view(state: State) -> tuple[object, ...]:
    return states(state), entries(state)


def _showing(state: State) -> tuple[object, ...]:
    return tuple(each in SHOWS for each in states(state)), entries(state)


def _begun(state: State) -> Reader:
    view = states(state)
    hidden = tuple(
        (key, place)
        for key, partition in enumerate(state.partitions)
        for place in range(len(partition.heads))
        if hidden_for_good(partition, place, view, FOR_GOOD)
    )
    shown = (tuple((rows,) for rows in _promised(state)),)
    return Reader(view, entries(state), ((),) * len(state.partitions), shown, hidden)


def _promised(state: State) -> tuple[Rows, ...]:
    return tuple(promised(partition, states(state)) for partition in state.partitions)


def _unread(reader: Reader, scenario: Scenario) -> Iterator[tuple[int, int]]:
    """Yield what may be read next: head records of one kind come in any order."""
    places = range(len(reader.branches) + 1)
    wanted = [
        (key, place)
        for key, read in enumerate(reader.heads)
        for place in places
        if counts(place, reader.branches) and place not in dict(read)
    ]
    base = [each for each in wanted if each[1] == BASE]
    aside = [each for each in wanted if each[1] != BASE]
    yield from (base or aside) if scenario.base_first else (aside or base)


def _wrong(reader: Reader, scenario: Scenario) -> str:
    found = tuple(
        seen(sorted(read), reader.branches, entry, scenario.rules)
        for read, entry in zip(reader.heads, reader.entries, strict=True)
    )
    for view in reader.shown:
        if all(rows in known for rows, known in zip(found, view, strict=True)):
            return ""
    said = ", ".join(f"{_said(rows)} in partition {key}" for key, rows in enumerate(found))
    return f"S22: the reader finds {said}, which no view has shown"


def _said(rows: Rows) -> str:
    return " and ".join(f"block {row}" for row in rows) or "nothing"
