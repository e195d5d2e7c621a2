"""Whether the calls on one partition, some of them at the same time, can have happened one after the other.

The search of Wing and Gong in the form of Lowe: take any call that no other one had ended before, see where the model
goes, and come back when it leads nowhere; what was tried is remembered. Partitions do not touch each other, so each
is searched by itself (promise S5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from airflow_coordination.testing.history.model import Model
from airflow_coordination.testing.history.operations import GRANTS, NEVER, Kind, Operation, Told
from airflow_coordination.testing.history.state import State

MAX_STEPS: Final = 200_000
_SETTLED_LATER: Final = frozenset({Kind.BEGIN, Kind.COMPLETE, Kind.CLOSE, Kind.FAIL, Kind.GIVE_UP, Kind.HAND_OVER})
_SEEN_LATER: Final = frozenset({Kind.ACQUIRE, Kind.ADOPT, Kind.RENEW, Kind.READ, Kind.PUBLISHED, Kind.SHOWN})
"""Without an answer these change nothing, or what the model allows at any time: a token that somebody took."""
_MAY_ARRIVE_LATE: Final = frozenset({Kind.ASK, Kind.STEAL})
"""Refused because a time had not come, and when it has, the same message may arrive once more."""
_WITHOUT_EFFECT: Final = frozenset({Told.NOTHING, Told.NOT_DONE})


class Undecided(Exception):
    """The search took too long; a history that cannot be decided does not count."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """No order explains the calls.

    :param done: the longest sequence that could be explained.
    :param state: where it leads.
    :param next: the call that must come before all others then, and cannot.
    """

    done: tuple[Operation, ...]
    state: State
    next: Operation


def matters(made: Operation) -> bool:
    """Return whether a call says anything about its partition."""
    if made.told in _WITHOUT_EFFECT or not made.key:
        return False
    return made.told is not Told.UNKNOWN or made.kind not in _SEEN_LATER


class Search:
    """One partition's calls.

    :param calls: those that matter, in the order in which they were made.
    """

    def __init__(self, model: Model, calls: Sequence[Operation]) -> None:
        self._model = model
        self._calls = calls
        self._answered = [index for index, made in enumerate(calls) if made.told is not Told.UNKNOWN]
        self._open = [index for index, made in enumerate(calls) if made.told is Told.UNKNOWN]
        self._ceilings = self._highest_tokens()
        self._repeats = {index: self._earlier(index) for index in self._answered}
        self._tried: set[tuple[int, State]] = set()
        self._path: list[int] = []

    def _highest_tokens(self) -> list[float]:
        """Return, by place, the highest token that the answers from there on allow: tokens never go back.

        Nothing is known where an item vanished, because its tokens begin anew.
        """
        ceilings = [NEVER] * (len(self._answered) + 1)
        if any(made.kind is Kind.VANISH for made in self._calls):
            return ceilings
        for place in reversed(range(len(self._answered))):
            made = self._calls[self._answered[place]]
            token = made.result.get("token", NEVER) - (made.kind in GRANTS)
            ceilings[place] = min(token, ceilings[place + 1])
        return ceilings

    def _is_hopeless(self, done: int, place: int, state: State) -> bool:
        """Return whether a token is known already that calls which are still to come say is not given."""
        last = done.bit_length()  # nothing from here on is done
        while place < len(self._answered) and self._answered[place] < last:
            place += 1
        return state.token > self._ceilings[place]

    def _earlier(self, index: int) -> int:
        """Return the calls, as bits, that this one repeats: the same write of the same owner, its answer lost."""
        made, bits = self._calls[index], 0
        if made.kind not in _SETTLED_LATER or made.told is not Told.OK:
            return 0
        for other in self._open:
            earlier = self._calls[other]
            if other < index and (earlier.kind, earlier.fence, earlier.process, earlier.given) == (
                made.kind,
                made.fence,
                made.process,
                made.given,
            ):
                bits |= 1 << other
        return bits

    def run(self, start: State) -> Stuck | None:
        """Return what cannot be explained, ``None`` when everything can.

        :raises Undecided: when there are too many ways.
        """
        done, place, state = 0, 0, start
        choices = self._choices(done, place, state)
        stack: list[tuple[int, int, State, Iterator[tuple[int, State]]]] = []
        deepest: tuple[int, State, list[int]] = (0, start, [])
        steps = 0
        while place < len(self._answered):
            step = next(choices, None)
            if step is None:
                if not stack:
                    return self._stuck(deepest)
                done, place, state, choices = stack.pop()
                self._path.pop()
                continue
            index, after = step
            steps += 1
            if steps > MAX_STEPS:
                raise Undecided(f"{len(self._calls)} calls on {self._calls[0].key!r}")
            bits = done | 1 << index
            if (bits, after) in self._tried or self._is_hopeless(bits, place, after):
                continue
            self._tried.add((bits, after))
            stack.append((done, place, state, choices))
            self._path.append(index)
            done, state = bits, after
            place = self._first(done, place)
            if place > deepest[0]:
                deepest = (place, state, self._path.copy())
            choices = self._choices(done, place, state)
        return None

    def _first(self, done: int, place: int) -> int:
        """Return the place of the first answered call that is not done."""
        while place < len(self._answered) and done >> self._answered[place] & 1:
            place += 1
        return place

    def _choices(self, done: int, place: int, state: State) -> Iterator[tuple[int, State]]:
        """Yield which call may come next and where it leads: answered ones first, then those nobody heard of."""
        bound = NEVER
        for index in self._answered[place:]:
            made = self._calls[index]
            if made.invoked > bound:
                break
            if not done >> index & 1:
                bound = min(bound, made.answered)
                yield from self._ways(index, done, state)
        for index in self._open:
            if self._calls[index].invoked > bound:
                break
            if not done >> index & 1:
                ways = self._ways(index, done, state)
                yield from ((index, after) for _, after in ways if after != state)  # it need not happen at all

    def _ways(self, index: int, done: int, state: State) -> Iterator[tuple[int, State]]:
        """Yield the ways in which a call can come next."""
        if self._repeats.get(index, 0) & done:
            yield index, state
        for after in self._model.after(state, self._calls[index]):
            yield index, after

    def _stuck(self, deepest: tuple[int, State, list[int]]) -> Stuck:
        place, state, path = deepest
        return Stuck(tuple(self._calls[index] for index in path), state, self._calls[self._answered[place]])


def _with_what_nobody_heard(calls: Sequence[Operation]) -> Iterator[Operation]:
    """Yield the calls that matter, and what may have happened beside them.

    A driver may have begun before it is told that its tenure has ended since, or that the partition is gone. A create
    may arrive once more when its partition has gone: a tombstone remembers only the create that made it, and where it
    vanished nothing does. So may what was refused because a time had not come.
    """
    gone = any(made.kind in (Kind.DELETE, Kind.VANISH) for made in calls)
    for made in calls:
        if matters(made):
            yield made
            begun = made.kind is Kind.BEGIN and made.told in (Told.REFUSED, Told.MISSING)
            if begun or (made.kind is Kind.CREATE and gone):
                yield _unheard(made)
        elif made.kind in _MAY_ARRIVE_LATE and made.told is Told.NOTHING:
            yield _unheard(made)


def _unheard(made: Operation) -> Operation:
    return replace(made, told=Told.UNKNOWN, answered=NEVER, result={})


def explain(model: Model, calls: Sequence[Operation], start: State | None = None) -> Stuck | None:
    """Return what cannot be explained of the calls on one partition, ``None`` when everything can.

    :param calls: in the order in which they were made.
    :raises Undecided: when there are too many ways.
    """
    return Search(model, list(_with_what_nobody_heard(calls))).run(start or State())
