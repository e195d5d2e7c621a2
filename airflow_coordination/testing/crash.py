"""Crash points and lost answers, at any call to the store.

>>> store = FaultyStore(InMemoryStore(), {3: Fault.CRASH_AFTER})

lets the third call apply and then kills the caller; ``store.calls`` lists the calls so far, so that a test can
run once without faults and then once for every call (promise S11).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TypeVar

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.errors import OutcomeUnknownError, StoreUnavailableError

T = TypeVar("T")


class Crash(BaseException):
    """The process ends here. Not an :class:`Exception`: code that tidies up after errors must not catch it."""


class Fault(Enum):
    """What happens at one call."""

    CRASH_BEFORE = "the process ends before the call is sent"
    CRASH_AFTER = "the process ends after the call was applied"
    UNAVAILABLE = "the store is not reached"
    NOT_APPLIED = "not applied, and the answer is lost"
    APPLIED = "applied, and the answer is lost"
    APPLIED_LATE = "the answer is lost, and it is applied after the next call"


class FaultyStore(ForwardingStore):
    """A store whose calls fail as planned.

    :param store: the store that does the work.
    :param faults: what happens at the first, second, … call.
    :param only: names of the calls that are counted; all when empty.
    """

    def __init__(
        self, store: PartitionStore, faults: Mapping[int, Fault] | None = None, *, only: tuple[str, ...] = ()
    ) -> None:
        super().__init__(store)
        self.faults = dict(faults or {})
        self.calls: list[str] = []
        self.only = only
        self._late: list[Callable[[], object]] = []
        self.crashed = False
        """Whether the process has ended: every further call ends it again, also one made while tidying up."""

    def forward(self, name: str, call: Callable[[], T]) -> T:
        """Carry out one call, or what is planned for it."""
        if self.only and name not in self.only:
            return call()
        if self.crashed:
            raise Crash(f"{name} after the end")
        self.calls.append(name)
        late, self._late = self._late, []
        try:
            return self._meet(self.faults.get(len(self.calls)), name, call)
        finally:
            for delayed in late:
                delayed()

    def deliver(self) -> None:
        """Apply now what was to be applied late."""
        late, self._late = self._late, []
        for delayed in late:
            delayed()

    def _meet(self, fault: Fault | None, name: str, call: Callable[[], T]) -> T:
        if fault is None:
            return call()
        self.crashed = fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
        if fault is Fault.CRASH_BEFORE:
            raise Crash(f"before call {len(self.calls)}, {name}")
        if fault is Fault.UNAVAILABLE:
            raise StoreUnavailableError(name, "connection refused")
        if fault in (Fault.CRASH_AFTER, Fault.APPLIED):
            call()
        if fault is Fault.CRASH_AFTER:
            raise Crash(f"after call {len(self.calls)}, {name}")
        if fault is Fault.APPLIED_LATE:
            self._late.append(call)
        raise OutcomeUnknownError(name, "connection lost")
