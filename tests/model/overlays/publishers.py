"""Tenures of the dataset's partitions: they publish as ever, and know nothing of overlays but where they add."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.overlays.state import NOTHING, Heads, Partition, State, put

Happening = tuple[str, State]


def happenings(state: State) -> Iterator[Happening]:
    """Yield what happens next to each partition."""
    for part, partition in enumerate(state.partitions):
        if partition.held:
            yield _ends(state, part, partition)
        elif partition.plan and partition.plan[0] == "retract":
            emptied = partition._replace(head=(), rows=(), plan=partition.plan[1:])
            yield f"a person retracts partition {part}", _with(state, part, emptied)
        elif partition.plan:
            yield _writes(state, part, partition)


def _writes(state: State, part: int, partition: Partition) -> Happening:
    """Return the beginning of a tenure, with the block that it writes: nobody else can change what that follows."""
    adds = partition.plan[0] == "add" and partition.head
    followed = partition.head[-1] if adds else NOTHING
    token = partition.token + 1
    after = partition._replace(token=token, held=True, follows=(*partition.follows, followed))
    how = f"block {part}.{token}{f', which follows block {part}.{followed}' if followed else ''}"
    return f"partition {part} is acquired ({partition.plan[0]}): its owner writes {how}", _with(state, part, after)


def _ends(state: State, part: int, partition: Partition) -> Happening:
    token, kind = partition.token, partition.plan[0]
    followed = partition.follows[token - 1]
    head: Heads = (token,)
    rows: tuple[int, ...] = (token,)
    if kind != "replace":
        kept = tuple(token if each == followed else each for each in partition.head)
        head, rows = (kept if followed else (*kept, token)), (*partition.rows, token)
    after = partition._replace(held=False, plan=partition.plan[1:], head=head, rows=tuple(sorted(rows)))
    return f"partition {part} ends: block {part}.{token} is published", _with(state, part, after)


def _with(state: State, part: int, partition: Partition) -> State:
    return state._replace(partitions=put(state.partitions, part, partition))
