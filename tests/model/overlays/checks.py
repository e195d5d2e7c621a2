"""What is checked in every state: S21, and of S24 that nobody who publishes waits for upkeep, or needs what it took."""

from __future__ import annotations

from tests.model.overlays.rules import Scenario
from tests.model.overlays.state import State, named, published
from tests.model.overlays.walk import Seen, seen


def wrong(state: State, scenario: Scenario) -> str:
    """Return what is wrong with a state, empty for nothing."""
    found = seen(state, published(state), named(state), scenario)
    return (
        _of_rows(state, found)
        or _of_files(state, found, "a reader")
        or _of_old_readers(state, scenario)
        or _of_adding(state, scenario)
    )


def _of_rows(state: State, found: Seen) -> str:
    for part, (rows, partition) in enumerate(zip(found.rows, state.partitions, strict=True)):
        published_rows = tuple((part, token) for token in partition.rows)
        if rows != published_rows:
            return f"S21: a reader finds {_said(rows)} in partition {part}, which has published {_said(published_rows)}"
    return ""


def _of_files(state: State, found: Seen, who: str) -> str:
    lost = [file for file in found.files if file in state.gone]
    return f"S21: {who} follows {lost[0]}, which is gone" if lost else ""


def _of_old_readers(state: State, scenario: Scenario) -> str:
    if not scenario.old_readers:
        return ""
    nothing = (0,) * len(state.groups)
    return _of_files(state, seen(state, nothing, named(state), scenario), "a reader who knows no overlays")


def _of_adding(state: State, scenario: Scenario) -> str:
    """Return who cannot add: it looks at what the block that it follows is, before it publishes."""
    overlays = published(state) if scenario.rules.adds_through_overlays else (0,) * len(state.groups)
    for part, partition in enumerate(state.partitions):
        if partition.plan[:1] == ("add",) and not partition.held and partition.head:
            heads = tuple(partition.head[-1:] if each == part else () for each in range(len(state.partitions)))
            for file in seen(state, overlays, heads, scenario).files:
                if file in state.gone:
                    return f"S24: who adds to partition {part} looks at {file}, which is gone"
    return ""


def _said(rows: tuple[tuple[int, int], ...]) -> str:
    return " and ".join(f"block {part}.{token}" for part, token in rows) or "nothing"
