"""Pausing a source through its coordinator: who is told what, and what becomes of lost answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from airflow_coordination.leases import PartitionUpdateError, SettingsError, SourceCoordinator
from airflow_coordination.protocol.pause import NEVER_PAUSED
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.errors import OutcomeUnknownError, StoreUnavailableError
from airflow_coordination.values.input_errors import InvalidInputError

T = TypeVar("T")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> InMemoryStore:
    return InMemoryStore(clock)


@pytest.fixture
def c(store: InMemoryStore, clock: FakeClock) -> SourceCoordinator:
    made = SourceCoordinator(store, "flights", "me", clock=clock)
    made.create_partitions(["a", "b", "c"])
    return made


def test_nothing_is_acquired_until_it_is_resumed(c: SourceCoordinator) -> None:
    held = c.get_next_partition()
    assert held is not None
    hints = c.claimable()
    c.pausing.pause(by="ana", why="Spark is ill")
    assert c.get_next_partition() is None
    assert c.get_next_partition(hint=hints[0]) is None
    assert c.acquire_partition("b") is None
    assert c.complete_and_get_next(held) is None
    assert c.looking.outlook().completed == 1
    c.pausing.resume(by="bob", why="it is well")
    assert c.get_next_partition(hint=hints[0]) is not None


def test_it_says_who_and_why(c: SourceCoordinator, clock: FakeClock) -> None:
    assert str(c.pausing.current_pause()) == "never paused"
    paused = c.pausing.pause(by="ana", why="Spark is ill")
    assert paused == c.pausing.current_pause()
    at = clock.now().isoformat(timespec="seconds")
    assert str(paused) == f"paused at {at} by 'ana', who said 'Spark is ill'"
    assert str(c.pausing.resume(by="bob", why="well")) == f"resumed at {at} by 'bob', who said 'well'"
    assert [(each["action"], each["by"], each["why"], each["at"]) for each in c.pausing.pauses()] == [
        ("pause", "ana", "Spark is ill", clock.now()),
        ("resume", "bob", "well", clock.now()),
    ]


def test_it_is_told_to_whoever_is_too_late(c: SourceCoordinator) -> None:
    seen = c.pausing.current_pause()
    c.pausing.pause(by="ana", why="first")
    with pytest.raises(PartitionUpdateError, match=r"Cannot pause source 'flights': it was paused at .* by 'ana', who"):
        c.pausing.pause(by="bob", why="second")
    with pytest.raises(PartitionUpdateError, match=r"it was meanwhile paused at .* by 'ana', who said 'first'"):
        c.pausing.pause(by="bob", why="second", seen=seen)
    assert c.pausing.current_pause().by == "ana"


def test_nobody_resumes_what_nobody_has_paused(c: SourceCoordinator) -> None:
    with pytest.raises(PartitionUpdateError, match="Cannot resume source 'flights': it was never paused"):
        c.pausing.resume(by="ana", why="why")


def test_nobody_resumes_another_pause_than_the_one_they_saw(c: SourceCoordinator) -> None:
    seen = c.pausing.pause(by="ana", why="first")
    c.pausing.resume(by="ana", why="over")
    c.pausing.pause(by="bob", why="second")
    with pytest.raises(PartitionUpdateError, match=r"it was meanwhile paused at .* by 'bob', who said 'second'"):
        c.pausing.resume(by="ana", why="mine is over", seen=seen)
    assert c.pausing.current_pause().paused


@pytest.mark.parametrize(("by", "why", "field"), [(" ", "why", "by"), ("ana", "", "why")])
def test_it_needs_a_name_and_a_reason(c: SourceCoordinator, by: str, why: str, field: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^{field}"):
        c.pausing.pause(by=by, why=why)
    assert c.pausing.current_pause() == NEVER_PAUSED


class Silent(ForwardingStore):
    """Loses answers, or requests, by the name of the call, as often as it is told."""

    def __init__(self, store: InMemoryStore, clock: FakeClock) -> None:
        super().__init__(store)
        self._clock = clock
        self.loses: dict[str, int] = {}
        self.before: Callable[[], object] = lambda: None

    def forward(self, name: str, call: Callable[[], T]) -> T:
        """Carry out a write, and lose its answer; lose a read."""
        if not self.loses.get(name):
            return call()
        self.loses[name] -= 1
        if name == "pause":
            raise StoreUnavailableError(name, "the line is dead")
        call()
        self.before()
        raise OutcomeUnknownError(name, "the line is dead")


@pytest.fixture
def silent(store: InMemoryStore, c: SourceCoordinator, clock: FakeClock) -> tuple[Silent, SourceCoordinator]:
    wrapped = Silent(store, clock)
    return wrapped, SourceCoordinator(wrapped, "flights", "me", clock=clock)


def test_s6_a_pause_whose_answer_was_lost_is_found_applied(silent: tuple[Silent, SourceCoordinator]) -> None:
    wrapped, one = silent
    wrapped.loses["set_pause"] = 2
    assert one.pausing.pause(by="ana", why="why").by == "ana"
    assert len(one.pausing.pauses()) == 1


def test_s6_an_applied_pause_is_not_denied_because_a_read_fails(silent: tuple[Silent, SourceCoordinator]) -> None:
    """The simulator showed it: resumed, and its sender was told that nothing was written."""
    wrapped, one = silent
    seen = one.pausing.current_pause()
    wrapped.loses["pause"] = 1_000_000
    assert one.pausing.pause(by="ana", why="why", seen=seen).paused


def test_s6_a_pause_that_somebody_has_changed_since_may_have_been_applied(
    silent: tuple[Silent, SourceCoordinator], c: SourceCoordinator
) -> None:
    wrapped, one = silent
    wrapped.loses["set_pause"] = 1
    wrapped.before = lambda: c.pausing.resume(by="bob", why="why")
    with pytest.raises(OutcomeUnknownError, match="pause source 'flights' was applied: others have paused or resumed"):
        one.pausing.pause(by="ana", why="why")


def test_a_store_from_elsewhere_may_know_of_no_pauses(store: InMemoryStore) -> None:
    class Foreign:
        """Has only what a store had before there were pauses."""

        partition_prefix = None
        description = "foreign://"

    foreign = Foreign()
    one = SourceCoordinator(foreign, "flights", "me")  # type: ignore[arg-type]
    assert one.pausing.current_pause() == NEVER_PAUSED
    assert not one.pausing.holds_back()
    with pytest.raises(SettingsError, match=r"knows of no pauses\. Pause the DAGs that work on it"):
        one.pausing.pause(by="ana", why="why")
