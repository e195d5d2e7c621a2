"""The one function by which everybody reads: from heads down what blocks follow, until an overlay has the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from tests.model.overlays.rules import Scenario
from tests.model.overlays.state import Block, File, Heads, Origin, Overlay, State

Shown = tuple[tuple[int, int, Overlay], ...]
"""Overlays as they count: group, token, what it stands for; where two cover a block, the last one has it."""


class Seen(NamedTuple):
    """What a reader finds: the rows of each partition, and the files that it takes them from."""

    rows: tuple[tuple[Block, ...], ...]
    files: tuple[File, ...]


def shown(state: State, overlays: Sequence[int | None], scenario: Scenario) -> Shown:
    """Return the overlays that somebody has read, earlier epochs first."""
    order = sorted(range(len(overlays)), key=lambda group: scenario.epochs[group])
    tokens = ((group, overlays[group]) for group in order)
    return tuple((group, token, state.groups[group].overlay(token)) for group, token in tokens if token)


def walk(state: State, part: int, token: int, covered: set[Block]) -> tuple[int, ...]:
    """Return the blocks that somebody meets who begins at one, down to the first that is covered."""
    met: list[int] = []
    for each in state.partitions[part].chain(token):
        met.append(each)
        if (part, each) in covered:
            break
    return tuple(met)


def seen(state: State, overlays: Sequence[int | None], heads: tuple[Heads, ...], scenario: Scenario) -> Seen:
    """Return what a reader finds that has read these overlays and heads."""
    chains = tuple(
        tuple(partition.chain(token) for token in head) for partition, head in zip(state.partitions, heads, strict=True)
    )
    rules = scenario.rules
    return _seen(chains, shown(state, overlays, scenario), rules.walk_stops, rules.origins_met)


@lru_cache(maxsize=200_000)
def _seen(chains: tuple[tuple[tuple[int, ...], ...], ...], overlays: Shown, stops: bool, met_only: bool) -> Seen:
    places = {origin.block: (group, token, origin) for group, token, overlay in overlays for origin in overlay}
    rows: list[list[Block]] = [[] for _ in chains]
    files: set[File] = set()
    met: set[Block] = set()
    for part, token in _walked(chains, places.keys(), stops=stops):
        if place := places.get((part, token)):
            files.add(File("overlay", *place[:2]))
            rows[part] += place[2].rows
            met.add((part, token))
        else:
            files.add(File("block", part, token))
            rows[part].append((part, token))
    if not met_only:
        for origin in _beside(overlays, files, met):
            rows[origin.block[0]] += origin.rows
    return Seen(tuple(tuple(sorted(each)) for each in rows), tuple(sorted(files)))


def _walked(chains: tuple[tuple[tuple[int, ...], ...], ...], covered: object, *, stops: bool) -> Iterator[Block]:
    for part, heads in enumerate(chains):
        for chain in heads:
            for token in chain:
                yield part, token
                if stops and (part, token) in covered:  # type: ignore[operator]
                    break


def _beside(overlays: Shown, files: set[File], met: set[Block]) -> Iterator[Origin]:
    """Yield what overlays that are read hold of blocks that nobody has met."""
    for group, token, overlay in overlays:
        if File("overlay", group, token) in files:
            yield from (origin for origin in overlay if origin.block not in met)
