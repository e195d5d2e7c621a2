"""Pausing a source through its coordinator: who is told what, and what becomes of lost answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import pytest

from airflow_coordination.duties.standing import observe
from airflow_coordination.leases import PartitionUpdateError, Reason, SettingsError, SourceCoordinator
from airflow_coordination.protocol.pause import NEVER_PAUSED
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.errors import OutcomeUnknownError, StoreUnavailableError
from airflow_coordination.values.input_errors import InvalidInputError

T = TypeVar("T")
MINUTE = timedelta(minutes=1)


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


def test_a_pause_for_a_time_ends_by_itself_and_says_so(c: SourceCoordinator, clock: FakeClock) -> None:
    paused = c.pausing.pause(by="ana", why="the zone is gone", lasts=2 * MINUTE)
    said = "paused at 2026-01-01T00:00:00+00:00 until 2026-01-01T00:02:00+00:00{} by 'ana', who said 'the zone is gone'"
    assert str(paused) == said.format("")
    assert c.get_next_partition() is None
    why = c.explain("a")
    assert (why.reason, why.next) == (
        Reason.PAUSED,
        "At 2026-01-01T00:02:00+00:00 the pause ends by itself; then it can be acquired.",
    )
    seen = observe(c, 10)
    assert "until 2026-01-01T00:02:00+00:00 by 'ana'" in str(seen)
    assert "nothing is acquired until then, or `" in str(seen)
    clock.advance(2 * MINUTE)
    assert c.get_next_partition() is not None
    assert str(c.pausing.current_pause()) == said.format(", which is over,")
    assert observe(c, 10).resumed == said.format(", which is over,"), "tasks that found it paused may have ended"
    clock.advance(timedelta(days=2))
    assert observe(c, 10).resumed == ""


def test_what_waits_for_later_says_that_the_pause_has_an_end(c: SourceCoordinator) -> None:
    held = c.acquire_partition("a")
    assert held is not None
    c.close(held, timedelta(hours=1))
    c.pausing.pause(by="ana", why="why", lasts=2 * MINUTE)
    said = "Nothing of the source is acquired until that ends, or it is resumed: it was paused"
    assert said in str(c.explain("a").next)


def test_who_pauses_for_good_takes_over_a_pause_that_has_an_end(c: SourceCoordinator, clock: FakeClock) -> None:
    seen = c.pausing.pause(by="watch", why="why", lasts=2 * MINUTE)
    assert c.pausing.pause(by="ana", why="it is worse", seen=seen).unending
    clock.advance(3 * MINUTE)
    assert c.get_next_partition() is None
    with pytest.raises(PartitionUpdateError, match=r"meanwhile paused at .* by 'ana'"):
        c.pausing.resume(by="watch", why="they are back", seen=seen)


def test_a_pause_that_has_ended_can_be_resumed_for_older_code(c: SourceCoordinator, clock: FakeClock) -> None:
    c.pausing.pause(by="ana", why="why", lasts=MINUTE)
    clock.advance(MINUTE)
    assert not c.pausing.resume(by="ana", why="older code works here").over
    with pytest.raises(PartitionUpdateError, match="it was resumed at"):
        c.pausing.resume(by="ana", why="twice")


def test_a_source_is_not_moved_under_a_pause_that_would_end(c: SourceCoordinator) -> None:
    c.pausing.pause(by="ana", why="why", lasts=MINUTE)
    for move in (c.moving.check_at_rest, c.moving.wait_until_paused, lambda: c.moving.settle_in([], "op")):
        with pytest.raises(PartitionUpdateError, match=r"it is paused for a time only\. See `.* pause "):
            move()
    c.pausing.pause(by="ana", why="it moves")
    assert c.moving.check_at_rest().unending


@pytest.mark.parametrize("lasts", [timedelta(0), -MINUTE])
def test_a_pause_lasts_for_a_time_above_zero(c: SourceCoordinator, lasts: timedelta) -> None:
    with pytest.raises(InvalidInputError, match=r"^lasts"):
        c.pausing.pause(by="ana", why="why", lasts=lasts)
    assert c.pausing.current_pause() == NEVER_PAUSED


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
    assert one.pausing.pause(by="ana", why="why", lasts=MINUTE).until is not None
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
