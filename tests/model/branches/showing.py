"""Which head record of a partition shows, and what must show: the last accepted ending that counts."""

from __future__ import annotations

from collections.abc import Sequence

from tests.model.branches.rules import Rules
from tests.model.branches.state import BASE, FINAL, SHOWS, Head, Partition, Rows

Places = Sequence[tuple[int, Head | None]]


def counts(place: int, branches: Sequence[str]) -> bool:
    """Return whether readers go by what is in a place."""
    return place == BASE or branches[place - 1] in SHOWS


def newest(heads: Places, branches: Sequence[str], rules: Rules) -> tuple[int, Head] | None:
    """Return the place that readers see, and what is there, hidden or not."""
    found = [(place, head) for place, head in heads if head is not None and counts(place, branches)]
    if not rules.token:
        return max(found, key=lambda each: (each[0] != BASE, each[1].token), default=None)
    return max(found, key=lambda each: (each[1].token, each[0]), default=None)


def seen(heads: Places, branches: Sequence[str], entry: str, rules: Rules) -> Rows:
    """Return the blocks whose rows readers find in a partition.

    :param entry: what the view says of its interval.
    """
    if not rules.hidden_as_shown:
        heads = [(place, head) for place, head in heads if not (entry and head and head.dated)]
    found = newest(heads, branches, rules)
    return () if found is None or (entry and found[1].dated) else found[1].rows


def shown(partition: Partition, branches: Sequence[str], rules: Rules) -> Rows:
    """Return what a reader finds who is done in an instant."""
    return seen(list(enumerate(partition.heads)), branches, partition.entry, rules)


def promised(partition: Partition, branches: Sequence[str]) -> Rows:
    """Return what S22 says: the rows of the last accepted ending that counts, if nobody has hidden them."""
    for each in reversed(partition.accepted):
        if counts(each.place, branches):
            return () if each.doomed or (each.dated and partition.entry) else each.rows
    return ()


def hidden_for_good(partition: Partition, place: int, branches: Sequence[str], states: Sequence[str]) -> bool:
    """Return whether a later publication in one of some branches hides what is in a place, as long as it shows.

    :param states: those of branches that are asked.
    """
    head = partition.heads[place]
    return head is not None and any(
        other is not None and other.token > head.token and branches[at] in states
        for at, other in enumerate(partition.heads[1:])
    )


FOR_GOOD = (FINAL,)
