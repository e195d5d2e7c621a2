"""Promise S6 over several calls: what one call could not learn, a later one must not forget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

import pytest

from airflow_coordination.leases import (
    Block,
    CoordinationError,
    Lease,
    OutcomeUnknownError,
    PartitionStatus,
    PartitionUpdateError,
    SourceCoordinator,
    StoreUnavailableError,
)
from airflow_coordination.protocol.beside.parts import StoreParts
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Fault, FaultyStore
from airflow_coordination.values.blocks import merge

T = TypeVar("T")
COUNTED = ("write", "acquire_next", "acquire", "complete_and_acquire", "find_nonce", "act")
ONE, TWO = Block("d", "1", "one", 10, 1), Block("d", "2", "two", 5, 1, follows="one")


class Happening(FaultyStore):
    """A faulty store in which a given call is replaced by what a test wants to happen."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(InMemoryStore(clock=clock), only=COUNTED)
        self.instead: dict[int, Callable[[Callable[[], object]], object]] = {}

    def forward(self, name: str, call: Callable[[], T]) -> T:
        happening = self.instead.pop(len(self.calls) + 1, None) if name in COUNTED else None
        if happening is None:
            return super().forward(name, call)
        self.calls.append(name)
        return happening(call)  # type: ignore[return-value]

    def lose(self, *, applied: bool) -> None:
        """Be unreachable from now on; the next call is applied first, if wished."""
        first = len(self.calls) + 1
        down = dict.fromkeys(range(first, first + 5_000), Fault.UNAVAILABLE)
        self.faults = down | ({first: Fault.APPLIED} if applied else {})

    def back(self) -> None:
        self.faults = {}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> Happening:
    return Happening(clock)


@pytest.fixture
def c(store: Happening, clock: FakeClock) -> SourceCoordinator:
    made = SourceCoordinator(store, "flights", "host/dag/run/task/0/1", clock=clock)
    made.create_partitions(["a", "b"])
    return made


@pytest.fixture
def lease(c: SourceCoordinator) -> Lease:
    lease = c.acquire_partition("a")
    assert lease is not None
    return lease


def status(c: SourceCoordinator, key: str) -> PartitionStatus:
    found = c.partition(key)
    assert found is not None
    return found.status


def test_s6_an_unknown_completion_is_not_forgotten_while_the_store_stays_away(
    c: SourceCoordinator, lease: Lease, store: Happening
) -> None:
    store.lose(applied=True)
    with pytest.raises(OutcomeUnknownError):
        c.complete(lease)
    with pytest.raises(OutcomeUnknownError):  # not StoreUnavailableError: the first call was applied
        c.complete(lease)
    store.back()
    c.complete(lease)
    assert c.refusals == 0


def test_s6_an_unknown_save_is_not_forgotten_while_the_store_stays_away(
    c: SourceCoordinator, lease: Lease, store: Happening
) -> None:
    store.lose(applied=True)
    for _ in range(2):
        with pytest.raises(OutcomeUnknownError):
            c.save_progress_state(lease, {"row": 1})
    store.back()
    c.save_progress_state(lease, {"row": 2})  # a healthy owner is not overtaken by itself
    c.complete(lease)


def test_s6_an_interrupted_save_is_not_forgotten_either(c: SourceCoordinator, lease: Lease, store: Happening) -> None:
    def interrupted(call: Callable[[], object]) -> object:
        call()
        raise KeyboardInterrupt

    store.instead[len(store.calls) + 1] = interrupted
    with pytest.raises(KeyboardInterrupt):
        c.save_progress_state(lease, {"row": 1})
    store.lose(applied=False)
    with pytest.raises(OutcomeUnknownError):
        c.give_up(lease)
    store.back()
    c.give_up(lease)


def test_s6_beyond_the_ring_an_unknown_ending_stays_unknown(
    c: SourceCoordinator, lease: Lease, store: Happening, clock: FakeClock
) -> None:
    store.lose(applied=True)
    with pytest.raises(OutcomeUnknownError):
        c.fail(lease, "boom")
    store.back()
    for _ in range(9):
        clock.advance(timedelta(hours=2))
        again = c.acquire_partition("a")
        assert again is not None
        c.give_up(again)
    with pytest.raises(OutcomeUnknownError):  # it was applied: a refusal would be wrong
        c.fail(lease, "boom")


def test_s6_nothing_was_written_means_that_nothing_will_be(
    c: SourceCoordinator, lease: Lease, store: Happening
) -> None:
    store.lose(applied=False)
    with pytest.raises(StoreUnavailableError):
        c.complete_and_get_next(lease)
    store.back()
    c.fail(lease, "the store was away")
    assert status(c, "a") is PartitionStatus.UNASSIGNED


def test_s6_a_fused_step_that_is_made_again_knows_its_completion(
    c: SourceCoordinator, lease: Lease, store: Happening
) -> None:
    store.lose(applied=True)
    with pytest.raises(OutcomeUnknownError):
        c.complete_and_get_next(lease)
    store.back()
    following = c.complete_and_get_next(lease)
    assert following is not None
    assert following.key == "b"
    assert c.refusals == 0
    counts = c.metrics.counts  # type: ignore[attr-defined]
    assert counts["flights_source_coordinator_partitionsCompleted"] == 1


def test_s6_the_same_close_again_until_the_same_moment(
    c: SourceCoordinator, lease: Lease, store: Happening, clock: FakeClock
) -> None:
    moment = clock.now() + timedelta(hours=5)
    store.lose(applied=True)
    with pytest.raises(OutcomeUnknownError):
        c.close(lease, moment)
    store.back()
    c.close(lease, moment)
    assert c.refusals == 0


def test_what_the_store_answered_it_cannot_do_is_not_sent_again(
    c: SourceCoordinator, lease: Lease, store: Happening
) -> None:
    def full(call: Callable[[], object]) -> object:
        raise PartitionUpdateError("complete", "a", "the disk is full")

    store.instead[len(store.calls) + 1] = full
    with pytest.raises(PartitionUpdateError):
        c.complete(lease)
    c.fail(lease, "could not be completed")
    assert status(c, "a") is PartitionStatus.UNASSIGNED


def test_s6_an_answer_cannot_to_a_repetition_says_nothing_of_the_first_attempt(
    c: SourceCoordinator, lease: Lease, store: Happening
) -> None:
    def cannot(call: Callable[[], object]) -> object:
        raise PartitionUpdateError("save", lease.key, "there is no room")

    first = len(store.calls) + 1
    store.faults, store.instead = {first: Fault.APPLIED}, {first + 1: cannot}
    with pytest.raises(OutcomeUnknownError, match="there is no room"):
        c.save_progress_state(lease, {"row": 1})
    assert c.partition(lease.key).progress_state == {"row": 1}  # type: ignore[union-attr]


def test_s6_an_acquisition_that_may_have_been_applied_is_unknown(c: SourceCoordinator, store: Happening) -> None:
    store.lose(applied=True)
    with pytest.raises(OutcomeUnknownError):
        c.get_next_partition()
    assert status(c, "a") is PartitionStatus.ASSIGNED


def test_a_phantom_that_its_own_acquisition_still_looks_for_is_left_to_it(
    c: SourceCoordinator, store: Happening
) -> None:
    def beside(call: Callable[[], object]) -> object:
        found = call()
        c._acquisition.give_back_phantoms()  # as another thread's acquisition does at this moment
        return found

    first = len(store.calls) + 1
    store.faults[first] = Fault.APPLIED
    store.instead[first + 1] = beside
    lease = c.get_next_partition()
    assert lease is not None
    c.complete(lease)


def test_s6_a_release_whose_answer_was_lost_counts_although_the_partition_was_acquired_since(
    c: SourceCoordinator, lease: Lease, store: Happening
) -> None:
    def lost(call: Callable[[], object]) -> object:
        call()
        assert c.acquire_partition("a") is not None
        raise OutcomeUnknownError("release", "connection lost")

    store.instead[len(store.calls) + 1] = lost
    c.people.release("a", by="ana", why="stuck")


@pytest.mark.parametrize("again", [(ONE, TWO), merge((), (ONE, TWO))], ids=["as they are", "merged"])
def test_s12_blocks_of_a_save_that_is_made_again_are_read_once(
    again: tuple[Block, ...], c: SourceCoordinator, lease: Lease, store: Happening
) -> None:
    store.lose(applied=True)
    with pytest.raises(OutcomeUnknownError):
        c.save_progress_state(lease, 1, [ONE, TWO])
    store.back()
    c.save_progress_state(lease, 1, again)
    c.complete(lease)
    (head,) = store.heads(lease.partition.source)
    assert (head.rows, [block.digest for block in head.blocks]) == (15, ["two"])


def test_s12_a_follower_of_an_unknown_saves_block_is_read_once(
    c: SourceCoordinator, lease: Lease, store: Happening
) -> None:
    store.lose(applied=True)
    with pytest.raises(OutcomeUnknownError):
        c.save_progress_state(lease, 1, [ONE])
    store.back()
    c.complete(lease, [ONE, TWO])
    (head,) = store.heads(lease.partition.source)
    assert head.rows == 15


def test_the_sender_of_errors_is_always_this_tree(c: SourceCoordinator, lease: Lease) -> None:
    with pytest.raises(CoordinationError):
        c.close(lease, timedelta.max)
    c.give_up(lease)


class TwoSteps(Happening):
    """A store without the fused step, as DynamoDB is."""

    def parts(self) -> StoreParts:
        return replace(super().parts(), fused=None)


@pytest.mark.parametrize("kind", [Happening, TwoSteps])
def test_s6_what_follows_a_completion_never_says_that_nothing_was_written(
    kind: type[Happening], clock: FakeClock
) -> None:
    """Found by the simulator: without the fused step, an unavailable store denied a completion that it had applied."""
    store = kind(clock)
    one = SourceCoordinator(store, "flights", "host/dag/run/task/0/1", clock=clock)
    one.create_partitions(["a"])
    lease = one.get_next_partition()
    assert lease is not None
    first = len(store.calls) + 1
    store.faults = dict.fromkeys(range(first + 1, first + 5_000), Fault.UNAVAILABLE)
    with pytest.raises(OutcomeUnknownError, match="the partition before is completed"):
        one.complete_and_get_next(lease, hint="b")
    store.back()
    assert status(one, "a") is PartitionStatus.COMPLETED


def test_s6_a_driver_does_not_take_its_own_unheard_beginning_for_a_rivals(
    c: SourceCoordinator, lease: Lease, store: Happening, clock: FakeClock
) -> None:
    """Found by the simulator: it retook from itself, which cost the partition a lost lease."""
    driver = SourceCoordinator(store, "flights", "host/dag/run/task/0/1", max_lost_leases=1, clock=clock)
    store.lose(applied=True)
    with pytest.raises(OutcomeUnknownError):
        driver.begin("a", lease.fence)
    store.back()
    begun = driver.begin("a", lease.fence)
    assert begun.fence == lease.fence
    driver.complete(begun)
    assert status(c, "a") is PartitionStatus.COMPLETED


def test_s6_a_beginning_that_cannot_be_read_is_not_denied(
    c: SourceCoordinator, lease: Lease, store: Happening, clock: FakeClock
) -> None:
    """Found by the simulator: "nothing was written", and the next call met its own write."""
    driver = SourceCoordinator(store, "flights", "host/dag/run/task/0/1", max_lost_leases=1, clock=clock)
    store.only = (*COUNTED, "get")
    first = len(store.calls) + 1
    store.faults = dict.fromkeys(range(first + 2, first + 5_000), Fault.UNAVAILABLE) | {first: Fault.APPLIED}
    with pytest.raises(OutcomeUnknownError):
        driver.begin("a", lease.fence)
    store.back()
    assert driver.begin("a", lease.fence).fence == lease.fence
