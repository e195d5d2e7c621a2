"""All orders of add, acquire, release, complete, extend, expire, cancel and crash, against a plain model."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from airflow_coordination.acknowledgments import AcknowledgmentSetManager, SetStatus
from airflow_coordination.testing.clock import FakeClock

SECOND = timedelta(seconds=1)
HANDLES = st.integers(0, 4)
COUNTS = st.integers(1, 3)


class AcknowledgmentSets(RuleBasedStateMachine):
    """One set at a time. The model keeps every release that counts, and never computes as the set does."""

    @initialize(notify=st.booleans(), timeout=st.integers(2, 6))
    def start(self, notify: bool, timeout: int) -> None:
        self.clock = FakeClock()
        self.manager = AcknowledgmentSetManager(self.clock)
        self.sets = 0
        self.create(notify, timeout)

    def create(self, notify: bool, timeout: int) -> None:
        self.told: list[bool] = []
        self.acks = self.manager.create(self.told.append, timeout * SECOND, notify_on_expiry=notify)
        self.sets += 1
        self.notify, self.left, self.passed = notify, timeout, 0
        self.owed: dict[int, int] = {}
        self.negative = self.completed = False
        self.end: SetStatus | None = None

    def over(self) -> bool:
        if self.end is None and self.passed >= self.left:
            self.end = SetStatus.EXPIRED
        return self.end is not None

    def end_if_done(self) -> bool:
        if self.completed and not any(self.owed.values()):
            self.end = SetStatus.NEGATIVE if self.negative else SetStatus.POSITIVE
        return self.end is not None

    @rule(handle=HANDLES, count=COUNTS)
    def add(self, handle: int, count: int) -> None:
        if self.over() or not self.owed.get(handle):
            assert self.acks.add(handle, count) == (not self.over())
            if not self.over():
                self.owed[handle] = count

    @rule(handle=HANDLES, count=COUNTS)
    def acquire(self, handle: int, count: int) -> None:
        counts = not self.over() and bool(self.owed.get(handle))
        assert self.acks.acquire(handle, count) == counts
        if counts:
            self.owed[handle] += count

    @rule(handle=HANDLES, count=COUNTS, positive=st.sampled_from([True, True, True, False]))
    def release(self, handle: int, count: int, positive: bool) -> None:
        counts = not self.over() and self.owed.get(handle, 0) >= count
        ended = False
        if counts:
            self.owed[handle] -= count
            self.negative = self.negative or not positive
            ended = self.end_if_done()
        assert self.acks.release(handle, positive, count) == ended

    @rule()
    def complete(self) -> None:
        ended = False
        if not self.over():
            self.completed = True
            ended = self.end_if_done()
        assert self.acks.complete() == ended

    @rule(seconds=st.integers(1, 3))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds * SECOND)
        self.passed += seconds

    @rule(seconds=st.integers(1, 5))
    def extend(self, seconds: int) -> None:
        over = self.over()
        assert self.acks.extend(seconds * SECOND) == (not over)
        if not over:
            self.left = self.passed + seconds

    @rule()
    def look(self) -> None:
        self.over()
        self.manager.look()
        if self.end is SetStatus.EXPIRED:
            assert self.told == ([False] if self.notify else [])

    @rule()
    def cancel(self) -> None:
        over = self.over()
        assert self.acks.cancel() == (not over)
        if not over:
            self.end = SetStatus.CANCELLED

    @precondition(lambda self: self.end is not None)
    @rule(notify=st.booleans(), timeout=st.integers(2, 6))
    def next_set(self, notify: bool, timeout: int) -> None:
        self.create(notify, timeout)

    @rule(notify=st.booleans(), timeout=st.integers(2, 6))
    def crash(self, notify: bool, timeout: int) -> None:
        """The process is gone with all its sets: the source hears nothing, and delivers again."""
        before, told = list(self.told), self.told
        self.manager, self.sets = AcknowledgmentSetManager(self.clock), 0
        self.create(notify, timeout)
        assert told == before

    @invariant()
    def what_was_told_is_what_happened(self) -> None:
        over = self.over()
        if over and self.end is not SetStatus.EXPIRED:
            assert self.told == {SetStatus.POSITIVE: [True], SetStatus.NEGATIVE: [False]}.get(self.end, [])
        elif over:
            assert self.told in ([], [False])
        else:
            assert self.told == []
        waiting = SetStatus.COMPLETE if self.completed else SetStatus.OPEN
        assert self.acks.status is (self.end or waiting)

    @invariant()
    def counts_add_up(self) -> None:
        counts = self.manager.counts()
        parts = counts.open + counts.positive + counts.negative + counts.expired + counts.cancelled
        assert (counts.created, parts) == (self.sets, self.sets)
        assert 0 <= self.acks.progress <= 1


TestAcknowledgmentSets = AcknowledgmentSets.TestCase
