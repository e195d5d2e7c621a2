"""How long, how often and with what a write is confirmed. Mutants of ``confirm.py`` have asked for each of these."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from airflow_coordination.leases import (
    Block,
    Lease,
    Outcome,
    OutcomeUnknownError,
    PartitionNotFoundError,
    PartitionNotOwnedError,
    PartitionUpdateError,
    SourceCoordinator,
    StoreUnavailableError,
)
from airflow_coordination.leases.confirm import FORGOTTEN, Fate, Settler, judge, not_owned
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.writes import Save
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Fault, FaultyStore
from airflow_coordination.values.fence import RING_SIZE
from airflow_coordination.values.times import Randomness

SOURCE = "flights"


class Even(Randomness):
    """Moves nothing: what is waited is what was planned."""

    def jitter(self, seconds: float, share: float = 0.2) -> float:
        assert share == 0.5
        return seconds


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> InMemoryStore:
    return InMemoryStore(clock=clock)


def coordinator(store: PartitionStore, clock: FakeClock, owner: str = "host/dag/run/task/0/1") -> SourceCoordinator:
    return SourceCoordinator(store, SOURCE, owner, clock=clock)


def held(store: PartitionStore, clock: FakeClock) -> Lease:
    c = coordinator(store, clock)
    c.create_partitions(["a"])
    lease = c.acquire_partition("a")
    assert lease is not None
    return lease


def save(lease: Lease, op: str = "operation") -> Save:
    chain = lease.chain
    return Save(
        source=lease.partition.source,
        key=lease.key,
        fence=lease.fence,
        op=op,
        prev=chain.last_op,
        progress_text="1",
        staged=(),
        timeout=timedelta(minutes=10),
    )


def silent(store: PartitionStore, *only: str, calls: int = 10_000) -> FaultyStore:
    """Return the store as it is while ``calls`` calls do not reach it."""
    return FaultyStore(store, dict.fromkeys(range(1, calls + 1), Fault.UNAVAILABLE), only=only)


def settler(store: PartitionStore, clock: FakeClock, seconds: float = 30, heard: list[object] | None = None) -> Settler:
    return Settler(store, clock, Even(), timedelta(seconds=seconds), (heard if heard is not None else []).append)


def now_of(store: PartitionStore, lease: Lease) -> Partition:
    now = store.get(lease.partition.source, lease.key)
    assert now is not None
    return now


def test_a_refusal_names_who_holds_the_partition_now(store: InMemoryStore, clock: FakeClock) -> None:
    lease = held(store, clock)
    clock.advance(timedelta(minutes=11))
    thief = coordinator(store, clock, "other/dag/run/task/7/1").acquire_partition("a")
    assert thief is not None
    error = not_owned("a", lease.fence, now_of(store, lease))
    assert (error.owner, error.current) == ("other/dag/run/task/7/1", thief.fence)
    assert error.ending is not None
    assert error.ending.outcome is Outcome.LOST


def test_a_refusal_names_nobody_where_nobody_holds_it(store: InMemoryStore, clock: FakeClock) -> None:
    lease = held(store, clock)
    coordinator(store, clock).fail(lease, "boom")
    assert not_owned("a", lease.fence, now_of(store, lease)).owner is None


def test_a_tenure_is_overtaken_when_the_partition_was_last_written(store: InMemoryStore, clock: FakeClock) -> None:
    lease = held(store, clock)
    clock.advance(5)
    coordinator(store, clock).save_progress_state(lease, 1)
    now = now_of(store, lease)
    ending = not_owned("a", lease.fence, now).ending
    assert ending is not None
    assert (ending.outcome, ending.at, now.updated_at) == (Outcome.OVERTAKEN, clock.now(), clock.now())


def test_s6_a_write_is_repeated_while_the_one_before_it_is_the_last(store: InMemoryStore, clock: FakeClock) -> None:
    lease = held(store, clock)
    write = save(lease)
    assert judge(write, now_of(store, lease)) is Fate.REPEAT
    store.write(write)
    assert judge(write, now_of(store, lease)) is Fate.APPLIED
    assert judge(save(lease, "another"), now_of(store, lease)) is Fate.REFUSED


def test_what_is_refused_without_a_reason_is_sent_again_until_the_deadline(
    store: InMemoryStore, clock: FakeClock
) -> None:
    lease = held(store, clock)
    refusal, began = Answer(False, now_of(store, lease)), clock.monotonic()
    with pytest.raises(StoreUnavailableError) as refused:
        settler(store, clock, 10).settle("save", save(lease), lease.chain, lambda: refusal)
    assert refused.value.reason == "the store refuses it without a reason"
    assert 8 < clock.monotonic() - began <= 10
    assert lease.chain.unsettled is None


def test_s6_an_answer_that_says_only_applied_is_enough(store: InMemoryStore, clock: FakeClock) -> None:
    lease = held(store, clock)
    said = Answer(True)
    assert settler(store, clock).settle("save", save(lease), lease.chain, lambda: said) is said
    assert lease.chain.last_op == "operation"


def test_pauses_double_until_two_seconds_and_end_with_the_deadline(store: InMemoryStore, clock: FakeClock) -> None:
    at, heard = list[float](), list[object]()
    deaf = silent(store)

    def send() -> object:
        at.append(clock.monotonic())
        return deaf.get(SOURCE, "a")

    with pytest.raises(StoreUnavailableError):
        settler(store, clock, 7.15, heard).repeat("read", send)
    pauses = [round(later - one, 9) for one, later in pairwise(at)]
    assert pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]  # the last begins at the very deadline, not after it
    assert len(heard) == len(at)
    assert all(isinstance(error, StoreUnavailableError) for error in heard)


def test_a_deadline_that_is_given_counts_and_not_the_requests_own(store: InMemoryStore, clock: FakeClock) -> None:
    began = clock.monotonic()
    with pytest.raises(StoreUnavailableError):
        settler(store, clock, 30).repeat("read", lambda: silent(store).get(SOURCE, "a"), began + 100)
    assert 97 < clock.monotonic() - began <= 100


@pytest.mark.parametrize(("left", "most"), [(5.0, 5.0), (100.0, 30.0), (-3.0, 0.0)])
def test_a_write_is_settled_no_longer_than_its_lease_runs_and_its_request(
    left: float, most: float, store: InMemoryStore, clock: FakeClock
) -> None:
    lease = held(store, clock)
    clock.advance(10)
    began, deaf = clock.monotonic(), silent(store)
    lease.chain.deadline = began + left
    with pytest.raises(StoreUnavailableError):
        settler(deaf, clock, 30).settle("save", save(lease), lease.chain)
    assert max(0.0, most - 2) <= clock.monotonic() - began <= most
    assert deaf.calls, "at least one attempt is made"


def in_doubt(lease: Lease) -> Save:
    """Return a write of which nobody has heard; by now the store remembers nothing of its tenure."""
    lease.chain.unsettled = save(lease)
    return lease.chain.unsettled


GONE = Answer(False, None)


def test_s6_what_no_head_record_names_stays_unknown(store: InMemoryStore, clock: FakeClock) -> None:
    """A head record of another write is no answer to this one."""
    lease = held(store, clock)
    write = in_doubt(lease)
    driver = coordinator(store, clock)
    driver.complete(driver.begin("a", lease.fence), [Block("clean", "a", "digest", 1, 1)])
    assert len(store.heads(lease.partition.source)) == 1
    with pytest.raises(OutcomeUnknownError, match=FORGOTTEN):
        settler(store, clock).settle("save", write, lease.chain, lambda: GONE)
    assert lease.chain.unsettled == write


def test_s6_only_its_own_head_records_are_asked(clock: FakeClock) -> None:
    """However many others the source has."""
    asked = list[str | None]()

    class Asked(InMemoryStore):
        def heads(self, source: str, dataset: str | None = None, key: str | None = None, *page: Any) -> Any:
            asked.append(key)
            return super().heads(source, dataset, key, *page)

    store = Asked(clock=clock)
    lease = held(store, clock)
    with pytest.raises(OutcomeUnknownError, match=FORGOTTEN):
        settler(store, clock).settle("save", in_doubt(lease), lease.chain, lambda: GONE)
    assert asked == ["a"]


def test_s6_head_records_that_are_not_heard_at_once_are_asked_for_again(store: InMemoryStore, clock: FakeClock) -> None:
    lease = held(store, clock)
    write = in_doubt(lease)
    with pytest.raises(OutcomeUnknownError, match=FORGOTTEN):
        settler(silent(store, "heads", calls=3), clock).settle("save", write, lease.chain, lambda: GONE)


def test_s6_head_records_that_are_never_heard_leave_the_write_unknown(store: InMemoryStore, clock: FakeClock) -> None:
    """Not "surely not applied": the write may have been."""
    lease = held(store, clock)
    write = in_doubt(lease)
    with pytest.raises(OutcomeUnknownError):
        settler(silent(store, "heads"), clock).settle("save", write, lease.chain, lambda: GONE)
    assert lease.chain.unsettled == write


def test_z6_who_deleted_it_is_asked_of_this_partition(store: InMemoryStore, clock: FakeClock) -> None:
    lease = held(store, clock)
    other = coordinator(store, clock, "people")
    other.create_partitions(["b"])
    other.people.delete("a", by="ana", why="test")
    other.people.delete("b", by="bo", why="other")
    with pytest.raises(PartitionNotFoundError, match=r"was deleted by 'ana' \('test'\)"):
        coordinator(store, clock).complete(lease)


def test_z6_who_deleted_it_is_a_person_where_the_audit_is_silent(store: InMemoryStore, clock: FakeClock) -> None:
    lease = held(store, clock)
    coordinator(store, clock).people.delete("a", by="ana", why="test")
    with pytest.raises(PartitionNotFoundError, match=r"was deleted by a person\."):
        coordinator(silent(store, "audit"), clock).complete(lease)


def test_s6_what_the_store_cannot_do_after_a_lost_answer_is_not_known_and_says_why(
    store: InMemoryStore, clock: FakeClock
) -> None:
    answers = iter(
        [OutcomeUnknownError("save", "connection lost"), PartitionUpdateError("save", "a", "the disk is full")]
    )

    def send() -> object:
        raise next(answers)

    with pytest.raises(OutcomeUnknownError) as unknown:
        settler(store, clock).repeat("save", send)
    assert "the disk is full" in unknown.value.reason


def test_s6_a_tenure_that_nobody_remembers_is_refused_and_the_partition_is_there(
    store: InMemoryStore, clock: FakeClock
) -> None:
    """Its ending has left the ring: that is no reason to say that there is no such partition."""
    lease = held(store, clock)
    forgotten = replace(now_of(store, lease), nonce="another", token=99, ring=(None,) * RING_SIZE)
    with pytest.raises(PartitionNotOwnedError, match="how this tenure ended is no longer known"):
        settler(store, clock).settle("save", save(lease), lease.chain, lambda: Answer(False, forgotten))
