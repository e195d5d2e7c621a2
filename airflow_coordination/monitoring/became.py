"""What became of what people did: from its partitions as they are now, and how their tenures have ended since.

What else has happened in between, nobody asks: who acts twice on a partition sees the same twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from airflow_coordination.monitoring.deeds import Deed
from airflow_coordination.monitoring.states import word_of
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.writes import Action
from airflow_coordination.values.status import Outcome

LOOKED_AT: Final = 100
"""Partitions that are read for a page of what people did."""
_GOES: Final = (Action.DELETE, Action.CLEAN_UP)
_OPENS: Final = (Action.RELEASE, Action.REOPEN, Action.RESET)


@dataclass(frozen=True, slots=True)
class Became:
    """What became of something that somebody did.

    :param said: what, and of how many partitions, most of them first; of the source itself one, of none.
    :param looked_at: how many partitions were looked at, the first ones by key.
    """

    said: tuple[tuple[str, int], ...]
    looked_at: int


def became(store: PartitionStore, deeds: Sequence[Deed], now: datetime, limit: int = LOOKED_AT) -> list[Became | None]:
    """Return what became of each; ``None`` where nothing can be told.

    It reads ``limit`` partitions at most, of each deed about as many, and the pause of each source.

    :param deeds: those of a page.
    :param now: the store's clock.
    :param limit: partitions that are read; of a deed that gets none, nothing is told.
    """
    shares, pauses = _shared(deeds, limit), _pauses(store, deeds)
    told: list[Became | None] = []
    for deed, share in zip(deeds, shares, strict=True):
        if deed.number == 0:
            said = _of_pause(deed, pauses.get(deed.source))
            told.append(Became(((said, 0),), 0) if said else None)
            continue
        found = [
            _of_partition(deed.action, at, store.get(deed.source, key), now) for key, at in sorted(deed.each)[:share]
        ]
        said_of = Counter(said for said in found if said)
        told.append(Became(tuple(said_of.most_common()), len(found)) if said_of else None)
    return told


def _shared(deeds: Sequence[Deed], limit: int) -> list[int]:
    """Return how many partitions of each are looked at: of those with few all, of the others as many each."""
    shares = [0] * len(deeds)
    few_first = sorted(range(len(deeds)), key=lambda place: deeds[place].number)
    for done, place in enumerate(few_first):
        shares[place] = min(deeds[place].number, -(-limit // (len(deeds) - done)))
        limit -= shares[place]
    return shares


def _pauses(store: PartitionStore, deeds: Sequence[Deed]) -> Mapping[str, Pause]:
    pauses = parts_of(store).pauses
    of = {deed.source for deed in deeds if deed.number == 0}
    return {source: pauses.pause(source) for source in of} if pauses else {}


def _of_pause(deed: Deed, pause: Pause | None) -> str | None:
    """Return what became of a pause, or of its end: only the newest of both is known."""
    if pause is None or pause.at is None or deed.action not in ("pause", "resume"):
        return None
    newest = pause.at == deed.at
    if deed.action == "resume":
        return "goes on since" if newest else "paused again since" if pause.paused else "goes on"
    if newest:
        return "still paused" if pause.paused else "ended by itself"
    return "paused anew since" if pause.paused else "resumed since"


def _of_partition(action: str, at: datetime, found: Partition | None, now: datetime) -> str | None:
    """Return what became of one partition, to which that was done at a moment."""
    gone = found is None or found.deleted
    if action in _GOES:
        return "still gone" if gone or found is None else f"created again: {word_of(found, now)}"
    if gone or found is None:
        return "deleted since"
    word, same = word_of(found, now), found.updated_at is not None and found.updated_at <= at
    outcomes = {each.outcome for each in found.endings if each.at is not None and each.at > at}
    if action in _OPENS:
        return _after_opening(word, failed=bool(outcomes & {Outcome.FAILED, Outcome.LOST}), same=same)
    if action == Action.PARK:
        return ("still parked" if same else "parked now") if word == "parked" else f"not parked any more: {word}"
    if action == Action.FINISH:
        return ("still completed" if same else "completed now") if word == "completed" else f"begun again: {word}"
    if action == Action.RETRACT:
        return "completed again since" if Outcome.COMPLETED in outcomes else "not completed since"
    return None


def _after_opening(word: str, *, failed: bool, same: bool) -> str:
    """Return what became of a partition that was given free."""
    if word == "completed":
        return "completed since"
    if word == "claimable" and same:
        return "not taken yet"
    if word == "held" and not failed:
        return "held now"
    return f"failed again, {word} now" if failed else f"{word} now"


def spoken(deed: Deed, found: Became) -> str:
    """Return it as one sentence.

    :param deed: what was done.
    :param found: what became of it.
    """
    if deed.number <= 1:
        return found.said[0][0]
    parts = ", ".join(f"{number:,} {said}" for said, number in found.said)
    return parts if found.looked_at >= deed.number else f"{parts} (of the first {found.looked_at:,})"
