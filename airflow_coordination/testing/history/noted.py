"""Whether what follows endings is noted: for each accepted one, and for no other (promise S27)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.history.operations import Operation, Told

_ALL = 1_000_000


def not_noted(calls: Iterable[Operation], store: PartitionStore, source: str) -> Iterator[str]:
    """Yield what is noted and should not be, or should be and is not.

    :param calls: a history in which nobody has cleared anything, and each note is given once.
    :param source: the stored source identifier.
    """
    told: dict[str, set[Told]] = {}
    for made in calls:
        if made.given.get("then") is not None:
            told.setdefault(made.given["then"], set()).add(made.told)
    texts = [note.text for note in store.follow_ups(source, None, None, _ALL)]
    for text in {text for text in texts if texts.count(text) > 1}:
        yield f"{text} is noted twice"
    for text, outcomes in told.items():
        if Told.OK in outcomes and text not in texts:
            yield f"{text} was to follow an accepted ending, and is not noted"
    for text in texts:
        if not told.get(text, set()) & {Told.OK, Told.UNKNOWN}:
            yield f"{text} is noted, and no ending of it was accepted"
