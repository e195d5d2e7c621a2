"""Whether children come after their parents, as far as a history can tell (promise S19)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_coordination.testing.history.operations import GRANTS, NEVER, Kind, Operation, Told

_FINISH = (Kind.COMPLETE, Kind.CLOSE, Kind.FINISH)
"""What may finish a partition; a close does at the maximum only."""


def acquired_early(operations: Sequence[Operation]) -> Iterator[tuple[Operation, str]]:
    """Yield acquisitions that were heard of before any call began that can have finished a parent, and that parent.

    Of several creations of a child any may be the one that made it. Those that name no parents excuse it.

    :param operations: all calls on a source, in the order in which they were made.
    """
    finished_from: dict[str, float] = {}
    named: dict[str, list[tuple[str, ...]]] = {}
    for made in operations:
        if made.told in (Told.OK, Told.UNKNOWN):
            if made.kind in _FINISH:
                finished_from.setdefault(made.key, made.invoked)
            elif made.kind is Kind.CREATE:
                named.setdefault(made.key, []).append(tuple(made.given.get("parents", ())))
    for made in operations:
        if made.kind in GRANTS and made.told is Told.OK:
            ahead = [
                [parent for parent in parents if finished_from.get(parent, NEVER) > made.answered]
                for parents in named.get(made.key, ())
            ]
            if ahead and all(ahead):
                yield made, ahead[-1][0]
