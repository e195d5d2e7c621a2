"""A slow reader, and the collector's margin: what was followed when it began stays until it has read its files."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.overlays import collectors
from tests.model.overlays.reading import next_reads
from tests.model.overlays.rules import Scenario
from tests.model.overlays.state import File, Read, Reader, State, named, published, unread
from tests.model.overlays.walk import seen

Happening = tuple[str, State, str]
OVER = Reader(Read((), ()), over=True)


def happenings(state: State, scenario: Scenario) -> Iterator[Happening]:
    """Yield what the reader does next, and what is wrong with what it finds."""
    reader = state.reader
    if reader is None and scenario.reader:
        begun = Reader(
            unread(state), tuple((partition.rows,) for partition in state.partitions), _dead(state, scenario)
        )
        yield "the reader begins", state._replace(reader=begun), ""
    elif reader is not None and not reader.over:
        for said, read in next_reads(state, reader.read, scenario):
            if read.whole:
                yield (
                    f"the reader {said}, and reads",
                    state._replace(reader=OVER),
                    _wrong(state, reader, read, scenario),
                )
            else:
                yield f"the reader {said}", state._replace(reader=reader._replace(read=read)), ""


def goes_on(before: State, after: State, scenario: Scenario) -> State:
    """Return the state with what the reader's check must know: what was published since, and what may be deleted."""
    reader = after.reader
    if reader is None or reader.over or before.reader is None:
        return after
    both = zip(reader.rows, after.partitions, strict=True)
    rows = tuple(known if partition.rows in known else (*known, partition.rows) for known, partition in both)
    dead = reader.dead
    if not scenario.rules.collected_by_aged and published(before) != published(after):
        dead = tuple(sorted({*dead, *_newly_dead(before, after, scenario)}))
    return after._replace(reader=reader._replace(rows=rows, dead=dead))


def _dead(state: State, scenario: Scenario) -> tuple[File, ...]:
    """Return what a collector may delete from now on, whatever margin it has."""
    kept = collectors.followed(state, collectors.trusted(state, scenario), scenario)
    return tuple(file for file in collectors.files(state) if file not in kept and collectors.is_over(state, file))


def _newly_dead(before: State, after: State, scenario: Scenario) -> set[File]:
    """Return the originals that an overlay covers which has just been published."""
    was = set(seen(before, published(before), named(before), scenario).files)
    now = seen(after, published(after), named(after), scenario).files
    return {file for file in was.difference(now) if file.kind == "block"}


def _wrong(state: State, reader: Reader, read: Read, scenario: Scenario) -> str:
    heads = tuple(head or () for head in read.heads)
    found = seen(state, read.overlays, heads, scenario)
    if lost := [file for file in found.files if file in reader.dead or file in state.gone]:
        return f"S21: the reader follows {lost[0]}, which the collector may have deleted by now"
    for part, rows in enumerate(found.rows):
        tokens = [token for _, token in rows]
        if not any(tokens == sorted(known) and {each[0] for each in rows} <= {part} for known in reader.rows[part]):
            return f"S21: the reader finds {_said(rows)} in partition {part}, which never published that"
    return ""


def _said(rows: tuple[tuple[int, int], ...]) -> str:
    return " and ".join(f"the rows of block {part}.{token}" for part, token in rows) or "no rows"
