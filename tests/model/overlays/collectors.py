"""A collector that has no margin but for the slow reader: it decides about one file after another, and deletes at once.

A collection decides about many files from one listing. For each of them it reads in the same order, and a decision that
was right stays right, so one file at a time has all of its interleavings.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.overlays.rules import Scenario
from tests.model.overlays.state import Collector, File, State, named, published, put
from tests.model.overlays.walk import seen

Happening = tuple[str, State]


def happenings(state: State, scenario: Scenario) -> Iterator[Happening]:
    """Yield what the collector does next."""
    for number, each in enumerate(state.collectors):
        if each.file is None:
            yield from _begins(state, number, scenario)
        elif not each.unnamed:
            yield _reads_heads(state, number, each.file, each.overlays, scenario)
        else:
            yield _looks_last(state, number, each.file)


def trusted(state: State, scenario: Scenario) -> tuple[int, ...]:
    """Return the overlays by which a collector goes: none as long as originals are kept."""
    if scenario.old_readers and scenario.rules.originals_kept:
        return (0,) * len(state.groups)
    if not scenario.rules.collected_by_published:
        return tuple(group.newest for group in state.groups)
    return published(state)


def followed(state: State, overlays: tuple[int, ...], scenario: Scenario) -> set[File]:
    """Return the files that readers of these overlays, and of the heads as they are, may follow."""
    present = {File("overlay", group, token) for group, token in enumerate(published(state)) if token}
    return {*seen(state, overlays, named(state), scenario).files, *present}


def files(state: State) -> Iterator[File]:
    """Yield all files that were ever written, as far as anybody can still come to them."""
    for part, partition in enumerate(state.partitions):
        yield from (File("block", part, token) for token in range(1, partition.token + 1))
    for number, group in enumerate(state.groups):
        yield from (File("overlay", number, token) for token, _ in group.written)


def is_over(state: State, file: File) -> bool:
    """Return whether the tenure that wrote a file can publish nothing any more."""
    owner = state.partitions[file.of] if file.kind == "block" else state.groups[file.of]
    return owner.token > file.token or not owner.held


def _begins(state: State, number: int, scenario: Scenario) -> Iterator[Happening]:
    """Yield the first looks: at a tenure, and then at overlays. A tenure that is over stays so: that is one step."""
    first, overlays = scenario.rules.partition_before_heads, trusted(state, scenario)
    for file in files(state):
        if file in state.gone or (first and not is_over(state, file)):
            continue
        if file.kind == "overlay" and first:
            if not _stays(state, file, overlays, scenario):
                yield _deletes(state, number, file, "sees its tenure over, reads the heads")
        else:
            seen_over = "sees its tenure over, and " if first else ""
            begun = Collector(file, overlays)
            yield f"the collector of {file} {seen_over}reads the overlays", _with(state, number, begun)


def _reads_heads(state: State, number: int, file: File, overlays: tuple[int, ...], scenario: Scenario) -> Happening:
    if _stays(state, file, overlays, scenario):
        return f"the collector of {file} reads the heads, and keeps it", _with(state, number, Collector())
    if scenario.rules.partition_before_heads:
        return _deletes(state, number, file, "reads the heads")
    return f"the collector of {file} reads the heads", _with(state, number, Collector(file, overlays, unnamed=True))


def _looks_last(state: State, number: int, file: File) -> Happening:
    if is_over(state, file):
        return _deletes(state, number, file, "sees its tenure over")
    return f"the collector of {file} sees its tenure at work", _with(state, number, Collector())


def _stays(state: State, file: File, overlays: tuple[int, ...], scenario: Scenario) -> bool:
    return file in followed(state, overlays, scenario) or _is_read(state, file)


def _is_read(state: State, file: File) -> bool:
    """Return whether the margin keeps a file: a reader may have followed it when it began."""
    return state.reader is not None and not state.reader.over and file not in state.reader.dead


def _deletes(state: State, number: int, file: File, why: str) -> Happening:
    after = _with(state, number, Collector())._replace(gone=tuple(sorted({*state.gone, file})))
    return f"the collector of {file} {why}, and deletes it", after


def _with(state: State, number: int, each: Collector) -> State:
    return state._replace(collectors=put(state.collectors, number, each))
