"""What one partition may do, as those who call it can see: the state table of ``protocol.md`` without its store.

Sweeps and acquisitions whose answer nobody heard are no calls of a history. A lease that has ended may have been
reclaimed at any time since; a token may be left out, by an acquisition that was given back or left to end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from airflow_coordination.planning.view.view import BranchState
from airflow_coordination.testing.history.operations import NEVER, Kind, Operation, Told
from airflow_coordination.testing.history.state import (
    ABSENT,
    ASSIGNED,
    CLOSED,
    COMPLETED,
    FREED,
    SLACK,
    UNASSIGNED,
    UNHEARD,
    Published,
    State,
    merged,
)
from airflow_coordination.testing.history.views import Views, interval_in
from airflow_coordination.values.settings import Settings

MOST_UNHEARD: Final = 3
"""Acquisitions without an answer that are looked for between two calls on one partition, before a person's action."""

_ACTIONS: Final = {
    Kind.RELEASE: (ASSIGNED,),
    Kind.REOPEN: (CLOSED, UNASSIGNED, FREED),
    Kind.PARK: (UNASSIGNED, ASSIGNED, CLOSED, FREED),
    Kind.RESET: (UNASSIGNED, ASSIGNED, CLOSED, COMPLETED, FREED),
    Kind.FINISH: (UNASSIGNED, ASSIGNED, CLOSED, FREED),
    Kind.RETRACT: (UNASSIGNED, CLOSED, COMPLETED, FREED),
    Kind.DELETE: (UNASSIGNED, ASSIGNED, CLOSED, COMPLETED, FREED),
}


@dataclass(frozen=True, slots=True)
class Model:
    """The rules of one source.

    :param settings: as its coordinators have them.
    :param behind: by how many seconds the store's own time may be behind; DynamoDB says whole seconds.
    :param views: what its view said.
    """

    settings: Settings
    behind: float = 0.0
    views: Views = field(default_factory=Views)

    def after(self, state: State, made: Operation) -> Iterator[State]:
        """Yield the states that ``made`` may lead to if it takes effect in ``state``; none when it cannot."""
        yield from self._after(state, made)
        if state.returnable:
            yield from self._after(state._replace(status=UNASSIGNED, free_at=0.0), made)

    def _after(self, state: State, made: Operation) -> Iterator[State]:
        if made.told is Told.REFUSED:
            return self._refused(state, made)
        if made.told is Told.MISSING:
            return iter([state] if state.status == ABSENT else [])
        return _STEPS[made.kind](self, state, made)

    def _acquire(self, state: State, made: Operation) -> Iterator[State]:
        if state.status in (UNASSIGNED, FREED, CLOSED, ASSIGNED) and state.due(made.answered):
            yield from self._grant(state, made)

    def _retake(self, state: State, made: Operation) -> Iterator[State]:
        if made.fence is not None and not state.held_under(made.fence):
            return  # a second driver takes over from the first one of its own tenure only
        if state.status == ASSIGNED:
            yield from self._grant(state, made)
        else:  # from what an acquisition without an answer has taken
            yield from self._acquire(state, made)

    def _ask(self, state: State, made: Operation) -> Iterator[State]:
        """Ask for a tenure, where nobody else's time is running; who holds it may not have heard of it."""
        if made.fence is None:
            return
        news = made.told is Told.OK and made.fence[0] > state.token
        if news and state.status != ABSENT and state.due(made.answered):
            state = state.taken(made.fence[0], made.invoked)
        if not state.may_be_held_under(made.fence):
            return
        if all(process == made.process or over <= made.answered + SLACK for process, over in state.asked):
            yield state.asked_by(made.process, made.invoked - self.behind + made.given["patience"])

    def _steal(self, state: State, made: Operation) -> Iterator[State]:
        """S28: only who has asked for this very tenure, after the time that it gave; nothing counts as lost."""
        asked = state.may_be_held_under(made.fence) and any(
            process == made.process and over <= made.answered + SLACK for process, over in state.asked
        )
        if asked and made.result.get("token", state.token + 1) == state.token + 1:
            yield from self._grant(state._replace(status=UNASSIGNED), made)

    def _grant(self, state: State, made: Operation) -> Iterator[State]:
        if made.told is Told.UNKNOWN:
            yield state.taken(state.token + 1, made.invoked)
            return
        found = made.result
        limit = found.get("limit")
        if found["token"] <= state.token or state.is_at_its_last or made.given.get("limit", limit) != limit:
            return
        taken = state.taken(found["token"], found["expires"])
        if _same_work(taken, made):
            yield _counted(taken, made)._replace(nonce=found["nonce"], limit=limit)

    def _adopt(self, state: State, made: Operation) -> Iterator[State]:
        if made.told is Told.UNKNOWN:
            yield state
        elif state.held_under(made.fence):
            yield _prolonged(state, made)._replace(wrote=True)
        elif state.status == ASSIGNED and state.nonce == UNHEARD and made.result["token"] == state.token:
            known = state._replace(nonce=made.result["nonce"], found=state.token, limit=made.result.get("limit"))
            yield _prolonged(known, made)._replace(wrote=True)  # now it is known who took it
        elif made.result["token"] > state.token:  # an acquisition without an answer, found by the task's next try
            yield from (taken._replace(found=taken.token, wrote=True) for taken in self._acquire(state, made))

    def _begin(self, state: State, made: Operation) -> Iterator[State]:
        if not state.held_under(made.fence):
            return
        if not state.writer:
            yield _written(_prolonged(state, made), made)
        if made.told is Told.UNKNOWN:  # another driver may have been first: it may have retaken from that one
            yield from self._grant(state, made)

    def _renew(self, state: State, made: Operation) -> Iterator[State]:
        if state.held_under(made.fence):
            yield _prolonged(state, made)._replace(wrote=True)

    def _save(self, state: State, made: Operation) -> Iterator[State]:
        if _in_chain(state, made):
            saved = state._replace(progress=made.given["progress"], staged=merged(state.staged, made.given["blocks"]))
            yield _written(_prolonged(saved.counting(made.given.get("counts")), made), made)

    def _complete(self, state: State, made: Operation) -> Iterator[State]:
        if _in_chain(state, made) and self._may_end(state, made):
            done = state._replace(status=COMPLETED, staged=(), published=_publishing(state, made), free_at=NEVER)
            yield done.counting(made.given.get("counts"))._replace(failures=0, lost=(0, 0))

    def _close(self, state: State, made: Operation) -> Iterator[State]:
        if not _in_chain(state, made) or not self._may_end(state, made):
            return
        count, limit = state.closed + 1, self.settings.max_closed_count
        done = limit is not None and count >= limit
        progress = made.given["progress"]
        counted = state.counting(made.given.get("counts"), over=progress is None)
        yield counted._replace(
            status=COMPLETED if done else CLOSED,
            staged=(),
            published=_publishing(state, made),
            closed=count,
            failures=0,
            lost=(0, 0),
            progress=progress,
            generation=state.generation + (progress is None),
            free_at=NEVER if done else made.invoked - self.behind + made.given["after"],
        )

    def _fail(self, state: State, made: Operation) -> Iterator[State]:
        if not _in_chain(state, made):
            return
        failures, after = state.failures + 1, made.given["after"]
        parks = failures >= self.settings.max_failures
        wait = self.settings.delay_after(failures) if after is None else timedelta(seconds=after)
        yield state._replace(
            status=CLOSED if parks else UNASSIGNED,
            failures=failures,
            free_at=NEVER if parks else made.invoked - self.behind + wait.total_seconds(),
        )

    def _give_up(self, state: State, made: Operation) -> Iterator[State]:
        if _in_chain(state, made):
            after = made.given.get("after") or 0
            yield state._replace(status=UNASSIGNED, free_at=made.invoked - self.behind + after)

    def _refused(self, state: State, made: Operation) -> Iterator[State]:
        """Refuse a call when its fence is not the current one, or when somebody else writes under it."""
        if not state.held_under(made.fence):
            yield state
        elif made.result.get("ending") == "overtaken":
            if state.writer not in ("", made.process):
                yield state
        elif state.due(made.answered):
            yield state.reclaimed()

    def _create(self, state: State, made: Operation) -> Iterator[State]:
        if state.status != ABSENT:
            yield state
        elif state.creator != (made.process, made.number):
            yield state.fresh((made.process, made.number), made.given.get("branch"))

    def _act(self, state: State, made: Operation) -> Iterator[State]:
        for before in _unseen(state, made):
            if before.status in _ACTIONS[made.kind] and not (made.kind is Kind.RETRACT and before.staged):
                if made.kind is Kind.RESET and not self._may_reset(before, made):
                    continue
                after = before.acted_on(made.kind, made.given.get("branch"), made.given.get("datasets"))
                if made.told is Told.UNKNOWN or after.token <= made.result.get("token", after.token):
                    yield after

    def _read(self, state: State, made: Operation) -> Iterator[State]:
        found = made.result
        if found["status"] is None:
            if state.status == ABSENT:
                yield state
            return
        for before in _unseen(state, made):
            if before.token == found["token"] and _shows(before, made) and _same_work(before, made):
                yield _counted(before, made)
        if found["token"] > state.token and state.due(made.answered):
            taken = state.taken(found["token"], 0.0)
            taken = taken if found["status"] == ASSIGNED else taken.reclaimed()
            if _same_work(taken, made):
                yield _counted(taken, made)

    def _published(self, state: State, made: Operation) -> Iterator[State]:
        shown = {each.dataset: each.digests for each in state.published}
        if shown == {dataset: tuple(digests) for dataset, digests in made.result["published"].items()}:
            yield state

    def _shown(self, state: State, made: Operation) -> Iterator[State]:
        """S22: what shows is the last accepted publication that counts, unless it is hidden."""
        dataset, found = made.given["dataset"], made.result
        newest = state.newest(dataset, found["shown"])
        hidden = [interval_in(interval) for name, interval in found["hidden"] if name == dataset]
        if newest is not None and newest.interval is not None:
            newest = None if any(each and each.contains(newest.interval) for each in hidden) else newest
        if tuple(found["digests"]) == (newest.digests if newest else ()):
            yield state

    def _may_reset(self, state: State, made: Operation) -> bool:
        """Return whether the view, if it stayed, allows it: not out of a branch that has begun, only into one."""
        branch = made.given.get("branch")
        view = self.views.during(made)
        if branch is not None and view is not None and view.state_of(branch) is not BranchState.BEGUN:
            return False
        if state.branch is None or state.branch == branch:
            return True
        return self.views.state_of(state.branch, made) is not BranchState.BEGUN

    def _may_end(self, state: State, made: Operation) -> bool:
        """Return whether the view, if it stayed, allows an ending: nobody publishes for nobody, or hides what shows."""
        if made.given.get("branch", state.branch) != state.branch:
            return False
        view = self.views.during(made)
        if view is None:
            return True
        if state.branch is not None:
            branch = view.state_of(state.branch)
            if branch in (BranchState.BEGUN, BranchState.ROLLED_BACK):
                return branch is BranchState.BEGUN
        blocks = merged(state.staged, made.given["blocks"])
        for dataset in {block.dataset for block in blocks}:
            added_to = state.adds_to(dataset, tuple(block for block in blocks if block.dataset == dataset))
            if added_to is not None and added_to != state.newest(dataset, view.shown):
                return False
        return True

    def _vanish(self, state: State, made: Operation) -> Iterator[State]:
        yield State(published=state.published, generation=state.generation)


def _publishing(state: State, made: Operation) -> tuple[Published, ...]:
    given = made.given
    return state.publishing(given["blocks"], given.get("empty", ()), interval_in(given.get("interval")))


def _in_chain(state: State, made: Operation) -> bool:
    """Return whether an owner's write may be next: one process writes a chain, in the order of its calls."""
    if not state.held_under(made.fence):
        return False
    if state.writer == made.process:
        return state.chain < made.number
    return not state.writer or "for" in made.given


def _written(state: State, made: Operation) -> State:
    return state._replace(writer=made.process, chain=made.number, wrote=True)


def _prolonged(state: State, made: Operation) -> State:
    expires = made.result.get("expires")
    return state._replace(free_at=max(state.free_at, expires)) if expires else state


def _counted(state: State, made: Operation) -> State:
    """Return the state when it was read how many leases are lost."""
    lost = made.result.get("lost")
    return state if lost is None else state._replace(lost=(lost, lost))


def _same_work(state: State, made: Operation) -> bool:
    """Return whether what was read of the work itself is what the state holds."""
    found = made.result
    return (
        found["progress"] == state.progress
        and found.get("branch", state.branch) == state.branch
        and found.get("counts", {}) == dict(state.counts)
        and found["closed"] == state.closed
        and found["failures"] == state.failures
        and state.lost[0] <= found.get("lost", state.lost[0]) <= state.lost[1]
        and [block.digest for block in found["blocks"]] == [block.digest for block in state.staged]
    )


def _unseen(state: State, made: Operation) -> Iterator[State]:
    """Yield the state, and what it may have become by steps that are no calls."""
    yield state
    if not state.due(made.answered):
        return
    if state.status == ASSIGNED:
        yield state.reclaimed()
    if state.status == CLOSED:  # a sweep reopened it
        yield state._replace(status=UNASSIGNED)
    if state.status in (ASSIGNED, CLOSED, UNASSIGNED, FREED):  # acquisitions without an answer took it
        for token in range(state.token + 1, state.token + 1 + MOST_UNHEARD):
            taken = state.taken(token, state.free_at)
            yield taken
            yield taken.reclaimed()


def _shows(state: State, made: Operation) -> bool:
    status, parked = made.result["status"], made.result["parked"]
    if state.status == FREED:
        return bool(status == UNASSIGNED or parked)
    if state.status == CLOSED and (state.free_at == NEVER) != parked:
        return False
    return bool(status == state.status)


Step = Callable[[Model, State, Operation], Iterator[State]]
_STEPS: Final[dict[Kind, Step]] = {
    Kind.CREATE: Model._create,
    Kind.ACQUIRE: Model._acquire,
    Kind.RETAKE: Model._retake,
    Kind.ADOPT: Model._adopt,
    Kind.BEGIN: Model._begin,
    Kind.RENEW: Model._renew,
    Kind.SAVE: Model._save,
    Kind.COMPLETE: Model._complete,
    Kind.CLOSE: Model._close,
    Kind.FAIL: Model._fail,
    Kind.GIVE_UP: Model._give_up,
    Kind.HAND_OVER: Model._give_up,
    Kind.ASK: Model._ask,
    Kind.STEAL: Model._steal,
    Kind.READ: Model._read,
    Kind.PUBLISHED: Model._published,
    Kind.SHOWN: Model._shown,
    Kind.VANISH: Model._vanish,
    **dict.fromkeys(_ACTIONS, Model._act),
}
