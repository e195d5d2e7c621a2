"""Random writes, stale and repeated ones too, to one or several stores that must agree.

The machine checks after every write what the protocol promises of each step: only transitions of the state
table, fences unique and growing, an exact ``closedCount``; and that all stores answer and hold the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.follow_up import of_parked, promised
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.refreshing import Refresh
from airflow_coordination.protocol.results import Answer, FusedAnswer, Outlook
from airflow_coordination.protocol.transitions import TRANSITIONS, Event, State
from airflow_coordination.protocol.writes import (
    KEEP,
    AcquireHinted,
    AcquireNext,
    Act,
    Action,
    Adopt,
    Ask,
    Begin,
    Create,
    End,
    NewPartition,
    OnParked,
    Renew,
    Retake,
    Save,
    SetPause,
    Steal,
    Sweep,
    Tenancy,
)
from airflow_coordination.stores.dynamodb.items import NOT_KEPT
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.fixtures import block, head, owner
from airflow_coordination.testing.history.past_tenures import unremembered_of
from airflow_coordination.values.documents import encode_payload
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.status import Outcome, PartitionStatus

_examples = itertools.count()
KEYS = ("a", "b", "c", "d")
MINUTE = timedelta(minutes=1)
Store = PartitionStore
Write = AcquireHinted | Retake | Steal | Adopt | Renew | Begin | Save | OnParked | End | Ask

keys = st.sampled_from(KEYS)
ages = st.sampled_from([0, 0, 0, 0, 1, 2, 5])
minutes = st.integers(0, 3).map(lambda number: number * MINUTE)
owners = st.builds(owner, st.sampled_from(["t1", "t2"]), st.integers(1, 3))
limits = st.sampled_from([1, 2, 5])

OUTCOMES: dict[Outcome, tuple[PartitionStatus, ...]] = {
    Outcome.COMPLETED: (PartitionStatus.COMPLETED,),
    Outcome.CLOSED: (PartitionStatus.CLOSED,),
    Outcome.FAILED: (PartitionStatus.UNASSIGNED, PartitionStatus.CLOSED),
    Outcome.GIVEN_UP: (PartitionStatus.UNASSIGNED,),
    Outcome.HANDED_OVER: (PartitionStatus.UNASSIGNED,),
}
EVENT_OF_OUTCOME = {
    Outcome.COMPLETED: Event.COMPLETE,
    Outcome.CLOSED: Event.CLOSE,
    Outcome.FAILED: Event.FAIL,
    Outcome.GIVEN_UP: Event.GIVE_UP,
    Outcome.HANDED_OVER: Event.GIVE_UP,
}
EVENT_OF_WRITE: dict[type, Event] = {
    AcquireHinted: Event.ACQUIRE,
    Retake: Event.RETAKE,
    Adopt: Event.ADOPT,
    Renew: Event.RENEW,
    Begin: Event.BEGIN,
    Save: Event.SAVE,
    OnParked: Event.ON_PARKED,
    Ask: Event.ASK,
    Steal: Event.STEAL,
}


def event_of(write: Write) -> Event:
    """Return the state table's name for an applied write."""
    return EVENT_OF_OUTCOME[write.outcome] if isinstance(write, End) else EVENT_OF_WRITE[type(write)]


def state(partition: Partition | None) -> State:
    """Return the partition's state in the table: absent and deleted are ``None``."""
    return None if partition is None or partition.deleted else partition.status


def _complete_and_acquire(store: PartitionStore, end: End, following: AcquireNext) -> FusedAnswer:
    """Do in one step, or in two where the store has no such step, what a coordinator does."""
    if (fused := parts_of(store).fused) is not None:
        return fused.complete_and_acquire(end, following)
    ended = store.write(end)
    return FusedAnswer(ended, store.acquire_next(following) if ended.applied else None)


def _in_order(past: PastTenure) -> tuple[str, int]:
    return past.key, past.token


class Machine(RuleBasedStateMachine):
    """The rules, for the stores that :meth:`others` adds to the in-memory one."""

    exactly: ClassVar = True
    """Whether all stores count exactly, and order those whose leases have ended by when that was.

    DynamoDB's index does not follow each renewal, so there the next partition is acquired by its key, and sweeps take
    all that is due.
    """

    def __init__(self) -> None:
        super().__init__()
        self.clock = self.start_clock()
        self.source = f"example-{next(_examples)}|PARTITION"
        self.stores: list[Store] = [InMemoryStore(self.clock), *self.others()]
        self.number = 0
        self.seen: dict[str, list[Partition]] = {key: [] for key in KEYS}
        self.now: dict[str, Partition | None] = dict.fromkeys(KEYS)
        self.sent: list[Write | Create | Act | Refresh | Sweep] = []
        self.fences: dict[str, list[Fence]] = {key: [] for key in KEYS}
        self.closes = dict.fromkeys(KEYS, 0)
        self.left: dict[str, str] = {}
        """What is still to be done at the source, by the operation of the ending that it follows."""
        self.pauses: list[str | None] = [None]
        self.paused = False

    def start_clock(self) -> FakeClock:
        """Return the time that all stores share."""
        return FakeClock()

    def others(self) -> Sequence[Store]:
        """Return the stores to compare with."""
        return ()

    def comparable(self, partition: Partition | None) -> Partition | None:
        """Return what all stores must agree on: everything but the ordinal, of which only the order counts."""
        left_out: dict[str, Any] = {} if self.exactly else dict.fromkeys(NOT_KEPT)
        return partition and replace(partition, ordinal=0, **left_out)

    def op(self) -> str:
        self.number += 1
        return f"{self.number:024x}"

    def tenancy(self, by: Any, max_lost: int) -> Tenancy:
        details = '{"application":"x"}' if max_lost == 2 else None
        return Tenancy(op=self.op(), owner=by, timeout=2 * MINUTE, max_lost_leases=max_lost, owner_details=details)

    def view(self, key: str, age: int) -> Partition | None:
        """Return the partition as it was some changes ago."""
        known = self.seen[key]
        return known[-1 - min(age, len(known) - 1)] if known else None

    def held(self, key: str, age: int) -> Partition | None:
        seen = self.view(key, age)
        return seen if seen is not None and seen.nonce else None

    def ask(self, call: Callable[[Store], Any]) -> Any:
        """Ask every store; all must answer the same."""
        first, *others = [call(store) for store in self.stores]
        for other in others:
            assert other == first
        return first

    def answer(self, call: Callable[[Store], Answer], *, shows: bool) -> bool:
        """Ask every store; return whether it was applied. ``shows``: an applied answer must carry the partition."""
        answers = [call(store) for store in self.stores]
        first = answers[0]
        for other in answers:
            assert other.applied is first.applied
            if shows or not other.applied:
                assert self.comparable(other.partition) == self.comparable(first.partition)
        return first.applied

    def observe(self, *events: Event) -> None:
        """Look at every key: what changed must be a transition of one of ``events``."""
        for key in KEYS:
            found = [store.get(self.source, key) for store in self.stores]
            for other in found[1:]:
                assert self.comparable(other) == self.comparable(found[0])
            before, after = self.now[key], found[0]
            if after is not None and after != before:
                self._check(key, events, before, after)
                self.seen[key].append(after)
                self.now[key] = after

    def _check(self, key: str, events: tuple[Event, ...], before: Partition | None, after: Partition) -> None:
        old, new = state(before), state(after)
        by = [event for event in events if new in TRANSITIONS[event].get(old, ())]
        assert by, f"{old} -> {new} by {events} is not in the state table"
        if before is not None:
            assert after.token >= before.token
        if by[0] in (Event.ACQUIRE, Event.RETAKE, Event.STEAL) and after.fence is not None:
            assert all(after.token > given.token for given in self.fences[key])
            self.fences[key].append(after.fence)
        assert not (self.paused and by[0] in (Event.ACQUIRE, Event.STEAL)), "acquired while the source is paused"
        if by[0] in (Event.CREATE, Event.RESET):
            self.closes[key] = 0
        if by[0] is Event.CLOSE:
            self.closes[key] += 1
        if not after.deleted:
            assert after.closed_count == self.closes[key]
        assert (after.status is PartitionStatus.ASSIGNED) == (after.owner is not None)
        assert (after.status is PartitionStatus.ASSIGNED) == (after.ownership_timeout is not None)
        assert (after.status is PartitionStatus.ASSIGNED) == (after.acquired_at is not None)
        self._check_history(before, after)

    def _check_history(self, before: Partition | None, after: Partition) -> None:
        """Compare the row of the tenure that was ended with what was seen of it."""
        fence = before.fence if before is not None and before.status is PartitionStatus.ASSIGNED else None
        if before is None or fence is None or (after.fence == fence and after.status is PartitionStatus.ASSIGNED):
            return
        [row] = [past for past in self.stores[0].history(self.source, after.key) if past.fence == fence]
        assert (row.owner, row.owner_details, row.acquired_at) == (
            before.owner,
            before.owner_details,
            before.acquired_at,
        )
        assert row.error == ("boom" if row.outcome is Outcome.FAILED else None)

    @invariant()
    def every_tenure_is_remembered(self) -> None:
        """By each store that keeps a history: alike, and as the ring says."""
        keeping = [store for store in self.stores if parts_of(store).history is not None]
        histories = [sorted(store.history(self.source), key=_in_order) for store in keeping]
        for history in histories[1:]:
            assert history == histories[0]
        for partition in filter(None, self.now.values()):
            assert not list(unremembered_of(self.stores[0], partition))

    @invariant()
    def nonces_are_unique(self) -> None:
        given = [fence.nonce for fences in self.fences.values() for fence in fences]
        assert len(given) == len(set(given))

    @invariant()
    def everything_read_is_the_same(self) -> None:
        if len(self.stores) == 1:
            return
        self.ask(lambda store: self._claimable(store))
        self.ask(lambda store: [self.comparable(p) for p in store.page(self.source, None, None, 10)])
        self.ask(lambda store: list(store.heads(self.source)))
        self.ask(lambda store: [len(store.audit(self.source, key)) for key in KEYS])
        self.ask(self._outlook)
        if self.exactly:
            self.ask(lambda store: store.counts(self.source))

    def _claimable(self, store: Store) -> list[tuple[str, int]]:
        found = list(store.claimable(self.source, 10))
        return found if self.exactly else sorted(found)

    def next_key(self, key: str | None) -> str | None:
        """Return which partition to acquire next, ``None`` for whatever is first."""
        if self.exactly or key is not None:
            return key
        return next((first for first, _ in self.stores[0].claimable(self.source, 1)), KEYS[0])

    def _outlook(self, store: Store) -> Outlook:
        outlook = store.outlook(self.source)
        outlook = replace(outlook, claimable=min(outlook.claimable, 1))  # stores may stop counting at one
        vague = dict.fromkeys(("assigned", "expired", "waiting", "completed", "overdue"), 0)
        vague |= {"next_due": None, "oldest_claimable": None}
        return outlook if self.exactly else replace(outlook, **vague)

    @rule(by=minutes)
    def time_passes(self, by: timedelta) -> None:
        self.clock.advance(by)

    @rule(
        names=st.lists(keys, min_size=1, max_size=4), payload=st.sampled_from([None, 1, 2]), priority=st.integers(-1, 1)
    )
    def create(self, names: list[str], payload: int | None, priority: int) -> None:
        text = encode_payload({"n": payload} if payload else None)
        page = tuple(NewPartition(key=name, payload_text=text, priority=priority) for name in dict.fromkeys(names))
        self._send(Create(source=self.source, op=self.op(), partitions=page))

    @rule(by=owners, max_lost=limits, new_first=st.booleans(), key=st.none() | keys)
    def acquire_next(self, by: Any, max_lost: int, new_first: bool, key: str | None) -> None:
        write = AcquireNext(
            source=self.source, tenancy=self.tenancy(by, max_lost), new_first=new_first, key=self.next_key(key)
        )
        self.ask(lambda store: self.comparable(store.acquire_next(write)))
        self.observe(Event.ACQUIRE)

    @rule(key=keys, age=ages, by=owners, max_lost=limits)
    def acquire_hinted(self, key: str, age: int, by: Any, max_lost: int) -> None:
        token = seen.token if (seen := self.view(key, age)) else 0
        self._send(AcquireHinted(source=self.source, key=key, token=token, tenancy=self.tenancy(by, max_lost)))

    @rule(key=keys, age=ages, by=owners, max_lost=limits, same_try=st.booleans())
    def retake(self, key: str, age: int, by: Any, max_lost: int, same_try: bool) -> None:
        if seen := self.view(key, age):
            tenancy = self.tenancy(by, max_lost)
            where = {"source": self.source, "key": key, "token": seen.token, "last_op": seen.last_op}
            self._send(Retake(**where, tenancy=tenancy, same_try=same_try))  # type: ignore[arg-type]

    @rule(key=keys, age=ages, by=owners, kind=st.sampled_from(["adopt", "renew", "begin"]), timeout=minutes)
    def keep(self, key: str, age: int, by: Any, kind: str, timeout: timedelta) -> None:
        if (held := self.held(key, age)) and held.fence:
            at: dict[str, Any] = {"source": self.source, "key": key, "fence": held.fence}
            writes: dict[str, Write] = {
                "adopt": Adopt(**at, owner=by),
                "renew": Renew(**at, timeout=timeout),
                "begin": Begin(
                    source=self.source, key=key, fence=held.fence, op=self.op(), timeout=timeout, owner_details="{}"
                ),
            }
            self._send(writes[kind])

    @rule(key=keys, age=ages, by=owners, patience=st.sampled_from([timedelta(microseconds=1), MINUTE]))
    def ask_for(self, key: str, age: int, by: Any, patience: timedelta) -> None:
        if (held := self.held(key, age)) and held.fence:
            self._send(Ask(source=self.source, key=key, fence=held.fence, by=by.text, patience=patience))

    @rule(key=keys, age=ages, by=owners, max_lost=limits)
    def steal(self, key: str, age: int, by: Any, max_lost: int) -> None:
        if (held := self.held(key, age)) and held.fence:
            self._send(Steal(source=self.source, key=key, fence=held.fence, tenancy=self.tenancy(by, max_lost)))

    @rule(key=keys, age=ages, progress=st.sampled_from([None, "1", '"\\u0000"']), timeout=minutes)
    def save(self, key: str, age: int, progress: str | None, timeout: timedelta) -> None:
        if (held := self.held(key, age)) and held.fence:
            op = self.op()
            staged = (*held.staged, block(op)) if progress else ()
            where: dict[str, Any] = {"source": self.source, "key": key, "fence": held.fence, "prev": held.last_op}
            self._send(Save(**where, op=op, progress_text=progress, staged=staged, timeout=timeout))

    @rule(key=keys, age=ages, text=st.sampled_from([None, '"é"']))
    def say_what_follows_a_parking(self, key: str, age: int, text: str | None) -> None:
        if (held := self.held(key, age)) and held.fence:
            where: dict[str, Any] = {"source": self.source, "key": key, "fence": held.fence, "prev": held.last_op}
            self._send(OnParked(**where, op=self.op(), text=promised(held, text)))

    @rule(
        key=keys,
        age=ages,
        outcome=st.sampled_from(list(OUTCOMES)),
        parks=st.booleans(),
        delay=minutes,
        publishes=st.booleans(),
    )
    def end(self, key: str, age: int, outcome: Outcome, parks: bool, delay: timedelta, publishes: bool) -> None:
        if held := self.held(key, age):
            self._send(self._ending(held, outcome, parks, delay, publishes))

    def _ending(self, held: Partition, outcome: Outcome, parks: bool, delay: timedelta, publishes: bool) -> End:
        op, status = self.op(), OUTCOMES[outcome][-1 if parks else 0]
        unknown = held.fence
        assert unknown is not None
        closes, clears = outcome is Outcome.CLOSED, outcome in (Outcome.COMPLETED, Outcome.CLOSED)
        return End(
            source=self.source,
            key=held.key,
            fence=unknown,
            op=op,
            prev=held.last_op,
            outcome=outcome,
            status=status,
            closed_count=held.closed_count + closes,
            failures=0 if clears else held.failures + (outcome is Outcome.FAILED),
            lost_leases=0 if clears else held.lost_leases,
            last_error="boom" if outcome is Outcome.FAILED else None,
            delay=None
            if status is PartitionStatus.COMPLETED or (parks and status is PartitionStatus.CLOSED)
            else delay,
            progress=None if closes else KEEP,
            generation=op if closes else held.generation,
            clear_staged=clears,
            heads=(head(held, block(op), op=op),) if publishes and status is not PartitionStatus.UNASSIGNED else (),
            then=f'"{op}"' if clears and not publishes else None,
        )

    @rule(key=keys, age=ages, by=owners, max_lost=limits, publishes=st.booleans())
    def complete_and_acquire(self, key: str, age: int, by: Any, max_lost: int, publishes: bool) -> None:
        if held := self.held(key, age):
            end = self._ending(held, Outcome.COMPLETED, False, MINUTE, publishes)
            following = AcquireNext(source=self.source, tenancy=self.tenancy(by, max_lost), key=self.next_key(None))
            answers = [_complete_and_acquire(store, end, following) for store in self.stores]
            assert len({answer.ended.applied for answer in answers}) == 1
            self._note(end, answers[0].ended.applied)
            assert all(self.comparable(answer.next) == self.comparable(answers[0].next) for answer in answers)
            assert answers[0].ended.applied or answers[0].next is None
            self.observe(Event.COMPLETE, Event.ACQUIRE)

    @rule(max_lost=limits)
    def sweep(self, max_lost: int) -> None:
        # Which of those that are due come first within a limit is each store's own business.
        self._send(Sweep(source=self.source, op=self.op(), limit=len(KEYS), max_lost_leases=max_lost))

    @rule(key=keys, age=ages, action=st.sampled_from(list(Action)))
    def act(self, key: str, age: int, action: Action) -> None:
        if seen := self.view(key, age):
            self._send(
                Act(source=self.source, key=key, op=self.op(), action=action, seen=seen, by="ana", why="because")
            )

    @rule(key=keys, age=ages, late=ages, payload=st.sampled_from([None, 1, 2]))
    def refresh(self, key: str, age: int, late: int, payload: int | None) -> None:
        if (seen := self.view(key, age)) and (generation := self.view(key, late)):
            text = encode_payload({"n": payload} if payload else None)
            where = {"source": self.source, "key": key, "generation": generation.generation}
            self._send(Refresh(**where, seen=seen.payload_text, payload_text=text))

    @rule(paused=st.sampled_from([True, *4 * [False]]), age=ages)
    def pause_or_resume(self, paused: bool, age: int) -> None:
        seen = self.pauses[-1 - min(age, len(self.pauses) - 1)]
        write = SetPause(source=self.source, op=self.op(), paused=paused, seen=seen, by="ana", why="because")
        applied = self.ask(lambda store: store.set_pause(write)).applied
        assert applied is (seen == self.pauses[-1])
        if applied:
            self.paused = paused
            self.pauses.append(write.op)

    @precondition(lambda self: self.sent)
    @rule(age=st.integers(0, 10))
    def an_old_message_comes_again(self, age: int) -> None:
        write = self.sent[-1 - min(age, len(self.sent) - 1)]
        if not (isinstance(write, Create) and self._answered_from_memory(write)):
            self._send(write)

    def _answered_from_memory(self, write: Create) -> bool:
        """Return whether a store may know the answer from the first time, where the reference looks and creates."""
        known = (seen for new in write.partitions for seen in self.seen[new.key])
        return not self.exactly and any(seen.deleted or seen.generation != seen.create_op for seen in known)

    def _send(self, write: Write | Create | Act | Refresh | Sweep) -> None:
        self.sent.append(write)
        if isinstance(write, Create):
            self.ask(lambda store: store.create(write))
            self.observe(Event.CREATE)
        elif isinstance(write, Sweep):
            self.ask(lambda store: store.sweep(write))
            self.observe(Event.RECLAIM, Event.SWEEP_REOPEN)
        elif isinstance(write, Act):
            self.answer(lambda store: store.act(write), shows=True)
            self.observe(Event[write.action.name])
        elif isinstance(write, Refresh):
            self.answer(lambda store: store.refresh(write), shows=True)
            self.observe(Event.REFRESH)
        elif isinstance(write, AcquireHinted | Retake | Steal):
            self.answer(lambda store: store.acquire(write), shows=True)
            self.observe(event_of(write))
        else:
            applied = self.answer(lambda store: store.write(write), shows=isinstance(write, Begin))
            self._note(write, applied)
            self.observe(event_of(write))

    def _note(self, write: Write, applied: bool) -> None:
        """Remember what an accepted ending wants to be done at the source."""
        if isinstance(write, End) and write.then is not None and applied:
            assert write.op not in self.left, "applied twice"
            self.left[write.op] = write.then

    @rule(number=st.integers(0, 5), twice=st.booleans())
    def clear_follow_up(self, number: int, twice: bool) -> None:
        noted = self.stores[0].follow_ups(self.source, None, None, 100)
        for store in self.stores * (1 + twice) if number < len(noted) else ():
            store.clear_follow_up(noted[number])
        if number < len(noted):
            self.left.pop(noted[number].op, None)

    @invariant()
    def what_follows_is_what_accepted_endings_have_noted(self) -> None:
        noted = self.ask(lambda store: list(store.follow_ups(self.source, None, None, 100)))
        there = filter(None, (self.stores[0].get(self.source, key) for key in KEYS))
        parked = {note.op: note.text for note in map(of_parked, there) if note is not None}
        assert {one.op: one.text for one in noted} == self.left | parked
