"""Reading in steps: one overlay or one head at a time, while everything else goes on."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.overlays.rules import Scenario
from tests.model.overlays.state import Read, State, put


def next_reads(state: State, read: Read, scenario: Scenario) -> Iterator[tuple[str, Read]]:
    """Yield what is read next, in words, and what is known then.

    Overlays of one epoch come in any order, and so do heads: nobody says in which order a store lists them.
    """
    groups, heads = _left(read.overlays), _left(read.heads)
    if (groups and scenario.rules.overlays_first) or not heads:
        for group in _of_next_epoch(groups, scenario):
            token = state.groups[group].published
            said = f"reads the overlay of group {group}, {f'overlay {group}.{token}' if token else 'none'}"
            yield said, read._replace(overlays=put(read.overlays, group, token))
    else:
        for part in heads:
            head = state.partitions[part].head
            said = f"reads the head of partition {part}, {words(part, head)}"
            yield said, read._replace(heads=put(read.heads, part, head))


def words(part: int, head: tuple[int, ...]) -> str:
    """Return what a head names."""
    return ", ".join(f"block {part}.{token}" for token in head) or "no block"


def _left(values: tuple[object, ...]) -> list[int]:
    return [index for index, value in enumerate(values) if value is None]


def _of_next_epoch(groups: list[int], scenario: Scenario) -> list[int]:
    epochs = [scenario.epochs[group] for group in groups]
    chosen = (min if scenario.rules.epochs_ascending else max)(epochs)
    return [group for group, epoch in zip(groups, epochs, strict=True) if epoch == chosen]
