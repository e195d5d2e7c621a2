"""How tenures begin, go on and end, looked at closely. Mutants of ``acquisition.py`` and ``tenures.py`` have asked."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import pytest

from airflow_coordination.leases import (
    Block,
    Lease,
    Outcome,
    OutcomeUnknownError,
    PartitionIdentifier,
    PartitionStatus,
    ProgressStateError,
    SourceCoordinator,
    StoreUnavailableError,
)
from airflow_coordination.leases.outcomes import CloseRequest, CompleteRequest
from airflow_coordination.leases.tenures import ending_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Answer
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Fault, FaultyStore
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.hints import Hint
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.times import Randomness

T = TypeVar("T")
OWNER = "host/dag/run/task/0/1"
ONE, TWO = Block("d", "1", "one", 10, 3), Block("d", "2", "two", 5, 1)


class Certain(Randomness):
    """Whatever has a chance happens."""

    def chance(self, probability: float) -> bool:
        assert 0 < probability < 1
        return True


CERTAIN = Certain(random.Random(7))
"""One for all: two with the same seed would give two owners the same operations."""


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> InMemoryStore:
    return InMemoryStore(clock=clock)


@pytest.fixture
def c(store: InMemoryStore, clock: FakeClock) -> SourceCoordinator:
    made = coordinator(store, clock)
    made.create_partitions(["a", "b"])
    return made


@pytest.fixture
def lease(c: SourceCoordinator) -> Lease:
    return taken(c, "a")


def coordinator(store: PartitionStore, clock: FakeClock, owner: str = OWNER) -> SourceCoordinator:
    return SourceCoordinator(store, "flights", owner, clock=clock, randomness=CERTAIN)


def taken(c: SourceCoordinator, key: str) -> Lease:
    lease = c.acquire_partition(key)
    assert lease is not None
    return lease


def silent(store: PartitionStore, *only: str, calls: int = 10_000) -> FaultyStore:
    return FaultyStore(store, dict.fromkeys(range(1, calls + 1), Fault.UNAVAILABLE), only=only)


def passed(clock: FakeClock, call: Callable[[], object]) -> float:
    """Return how long a call has tried until it gave up."""
    began = clock.monotonic()
    with pytest.raises(StoreUnavailableError):
        call()
    return clock.monotonic() - began


def test_a_tenure_begins_with_the_owners_limits_and_words(c: SourceCoordinator) -> None:
    c.describe_owner(application="application_7")
    tenancy, settings = c._acquisition.tenancy(), Settings()
    assert (tenancy.max_failures, tenancy.max_lost_leases) == (settings.max_failures, settings.max_lost_leases)
    assert tenancy.owner_details is not None
    assert "application_7" in tenancy.owner_details


def test_s9_new_ones_come_first_now_and_then_but_not_before_one_that_is_asked_for(c: SourceCoordinator) -> None:
    anything, one = c._acquisition.following(), c._acquisition.following("b")
    assert (anything.new_first, anything.key, anything.may_miss) == (True, None, False)
    assert (one.new_first, one.key) == (False, "b")
    assert c._acquisition.following(may_miss=True).may_miss


@pytest.mark.parametrize(("key", "may_miss"), [("b", False), (None, True)])
def test_a_step_that_completes_asks_for_the_next_one_as_its_caller_does(
    key: str | None, *, may_miss: bool, c: SourceCoordinator
) -> None:
    request = c._acquisition.fused(key)._request
    assert (request.key, request.may_miss) == (key, may_miss)


def test_s6_after_a_phantom_is_given_back_the_same_key_is_asked_for_again(
    store: InMemoryStore, clock: FakeClock, c: SourceCoordinator
) -> None:
    lossy = FaultyStore(silent(store, "find_nonce", calls=1), {1: Fault.APPLIED}, only=("acquire_next",))
    assert taken(coordinator(lossy, clock), "b").fence.token == 2, "the first was the phantom's"


def test_s6_a_phantom_that_does_not_come_is_looked_for_until_no_request_can_bring_it(
    c: SourceCoordinator, clock: FakeClock
) -> None:
    began = clock.monotonic()
    c._acquisition.abandon("never seen")
    [phantom] = c._acquisition._phantoms
    assert phantom.until == began + Settings().request_deadline.total_seconds()
    clock.advance(phantom.until - began - 1)
    c._acquisition.give_back_phantoms()
    assert c._acquisition._phantoms == [phantom]
    clock.advance(1)
    c._acquisition.give_back_phantoms()
    assert c._acquisition._phantoms == []


def test_s6_a_phantom_that_has_come_is_given_back_and_forgotten(c: SourceCoordinator, lease: Lease) -> None:
    c._acquisition.abandon(lease.fence.nonce)
    c._acquisition.give_back_phantoms()
    assert c._acquisition._phantoms == []
    found = c.partition("a")
    assert found is not None
    assert found.status is PartitionStatus.UNASSIGNED


@pytest.mark.parametrize("gone", ["taken over", "deleted"])
def test_s6_a_phantom_may_end_while_it_is_given_back(
    gone: str, store: InMemoryStore, clock: FakeClock, c: SourceCoordinator, lease: Lease
) -> None:
    class Between(FaultyStore):
        def forward(self, name: str, call: Callable[[], T]) -> T:
            if name == "write":
                if gone == "deleted":
                    c.people.delete("a", by="ana", why="test")
                else:
                    clock.advance(timedelta(minutes=11))
                    taken(coordinator(store, clock, "other/dag/run/task/7/1"), "a")
            return call()

    late = coordinator(Between(store), clock)
    late._acquisition.abandon(lease.fence.nonce)
    late._acquisition.give_back_phantoms()
    assert late._acquisition._phantoms == []


def test_s6_what_the_owner_has_written_since_is_no_lost_acquisition(c: SourceCoordinator, lease: Lease) -> None:
    found = c._acquisition.look_for(lease.fence.nonce)
    assert found is not None
    assert found.key == "a"
    c.save_progress_state(lease, 1)
    assert c._acquisition.look_for(lease.fence.nonce) is None


def test_s6_what_a_step_has_acquired_is_no_phantom(c: SourceCoordinator, lease: Lease) -> None:
    following = c.complete_and_get_next(lease)
    assert following is not None
    assert c._acquisition._phantoms == []
    c.complete(following)


@pytest.mark.parametrize("sent", [False, True], ids=["completed before", "may have missed"])
def test_where_the_step_has_acquired_nothing_its_own_key_is_asked_for(c: SourceCoordinator, *, sent: bool) -> None:
    fused = c._acquisition.fused("b")
    fused._sent = sent
    following = fused.acquired(heard=True)
    assert following is not None
    assert following.key == "b"


def test_a_step_that_is_heard_is_all_that_is_sent(store: InMemoryStore, clock: FakeClock, lease: Lease) -> None:
    sent = FaultyStore(store)
    assert coordinator(sent, clock).complete_and_get_next(lease) is not None
    assert sent.calls == ["complete_and_acquire"]


def test_where_no_step_was_sent_nobody_looks_for_what_it_has_acquired(store: InMemoryStore, clock: FakeClock) -> None:
    looks = FaultyStore(store, only=("find_nonce",))
    coordinator(looks, clock)._acquisition.fused(None).acquired(heard=False)
    assert looks.calls == []


def test_s6_where_a_lost_step_may_have_missed_the_next_one_it_is_asked_for_again(
    store: InMemoryStore, clock: FakeClock, lease: Lease
) -> None:
    """It was carried out while there was nothing, and its answer was lost."""
    other = coordinator(store, clock, "other/dag/run/task/7/1")
    taken(other, "b")
    lossy = FaultyStore(store, {1: Fault.APPLIED}, only=("complete_and_acquire",))
    fused = coordinator(lossy, clock)._acquisition.fused(None)
    with pytest.raises(OutcomeUnknownError):
        fused.send(other._core.tenures.prepare(lease, CompleteRequest(), []))
    other.create_partitions(["c"])
    following = fused.acquired(heard=False)
    assert following is not None
    assert following.key == "c"


def test_a_hint_without_a_token_means_its_own_key(c: SourceCoordinator) -> None:
    lease = c._acquisition.by_hint(Hint("b"))
    assert lease is not None
    assert lease.key == "b"


def test_an_owner_that_has_said_nothing_of_itself_has_no_words(c: SourceCoordinator) -> None:
    assert c._acquisition.tenancy().owner_details is None


def test_where_there_is_nothing_one_request_says_so(store: InMemoryStore, clock: FakeClock) -> None:
    asked = FaultyStore(store, only=("acquire_next",))
    assert coordinator(asked, clock).get_next_partition() is None
    assert asked.calls == ["acquire_next"]


def test_s6_with_a_phantom_about_one_partition_is_taken_at_a_time(c: SourceCoordinator) -> None:
    c._acquisition.abandon("never seen")
    assert c.get_next_partition() is not None
    assert [each.owner is None for each in c.partitions()] == [False, True]


def test_s6_a_silence_after_a_phantom_was_given_back_says_what_could_not_be_done(
    store: InMemoryStore, clock: FakeClock, c: SourceCoordinator, lease: Lease
) -> None:
    taken(c, "b")
    deaf = silent(store, "acquire_next")
    del deaf.faults[1]
    late = coordinator(deaf, clock)
    late._acquisition.abandon("never seen")
    with pytest.raises(StoreUnavailableError) as silence:
        late.get_next_partition()
    assert silence.value.action == "acquire a partition"


def test_nothing_is_sent_to_retake_from_somebody_else(store: InMemoryStore, clock: FakeClock, lease: Lease) -> None:
    sent = FaultyStore(store, only=("acquire",))
    assert coordinator(sent, clock, "other/dag/run/task/7/1")._acquisition.retake("a") is None
    assert sent.calls == []


def test_s6_a_theft_that_was_refused_may_come_late_and_one_that_was_not_has_come(
    c: SourceCoordinator, store: InMemoryStore, clock: FakeClock, lease: Lease
) -> None:
    thief = coordinator(store, clock, "other/dag/run/task/7/1")
    seen = c.partition("a")
    assert seen is not None
    assert thief._acquisition.steal(seen, lease.fence) is None
    assert len(thief._acquisition._phantoms) == 1
    assert thief.workers.ask(seen, timedelta(seconds=5))
    clock.advance(6)
    seen = c.partition("a")
    assert seen is not None
    assert thief._acquisition.steal(seen, lease.fence) is not None
    assert len(thief._acquisition._phantoms) == 1


def test_a_try_does_not_retake_from_itself(c: SourceCoordinator, lease: Lease) -> None:
    assert c._acquisition.retake("a") is None
    assert c._acquisition.retake("a", same_try=True) is not None


def test_a_tenure_that_is_over_is_not_adopted_although_its_owner_holds_a_later_one(
    c: SourceCoordinator, lease: Lease
) -> None:
    c.give_up(lease)
    later = taken(c, "a")
    assert c.tries.adopt("a", lease.fence) is None
    assert c.tries.adopt("a", later.fence) is not None


def test_a_driver_says_what_it_is_when_it_begins(store: InMemoryStore, clock: FakeClock, lease: Lease) -> None:
    reads = FaultyStore(store, only=("get",))
    driver = coordinator(reads, clock)
    driver.describe_owner(application="application_7")
    driver.begin("a", lease.fence)
    assert reads.calls == [], "the answer says all"
    now = driver.partition("a")
    assert now is not None
    assert "application_7" in (now.owner_details or "")


def test_a_driver_tries_to_begin_as_long_as_a_request_may_take(
    store: InMemoryStore, clock: FakeClock, lease: Lease
) -> None:
    driver = coordinator(silent(store, "write"), clock)
    most = Settings().request_deadline.total_seconds()
    assert most - 3 <= passed(clock, lambda: driver.begin("a", lease.fence)) <= most
    with pytest.raises(StoreUnavailableError) as silence:
        driver.begin("a", lease.fence)
    assert silence.value.action == "begin"


def test_s6_a_beginning_that_nobody_could_read_is_not_known(
    store: InMemoryStore, clock: FakeClock, lease: Lease
) -> None:
    lossy = FaultyStore(silent(store, "get"), {1: Fault.APPLIED}, only=("write",))
    with pytest.raises(OutcomeUnknownError) as unknown:
        coordinator(lossy, clock).begin("a", lease.fence)
    assert unknown.value.action == "begin"


def test_a_lease_is_renewed_until_it_surely_ends_and_a_second_longer_when_it_has(
    store: InMemoryStore, clock: FakeClock, lease: Lease
) -> None:
    deaf = coordinator(silent(store, "write"), clock)
    left = Settings().ownership_timeout.total_seconds()
    assert left - 3 <= passed(clock, lambda: deaf.renew(lease)) <= left
    clock.advance(10)
    assert 0.3 <= passed(clock, lambda: deaf.renew(lease)) <= 1
    with pytest.raises(StoreUnavailableError) as silence:
        deaf.renew(lease)
    assert silence.value.action == "renew"


def test_a_renewed_lease_says_until_when_it_is_held(c: SourceCoordinator, clock: FakeClock, lease: Lease) -> None:
    clock.advance(5)
    renewed = c.renew(lease)
    until = clock.now() + Settings().ownership_timeout
    assert (renewed.expires_at, renewed.partition.ownership_timeout) == (until, until)
    assert renewed.chain.deadline == clock.monotonic() + Settings().ownership_timeout.total_seconds()


@pytest.mark.parametrize("field", ["expires_at", "partition"])
def test_an_answer_says_in_one_of_two_ways_until_when(
    field: str, c: SourceCoordinator, clock: FakeClock, lease: Lease
) -> None:
    clock.advance(5)
    now = c.renew(lease).partition
    lease.chain.expires_at = lease.expires_at
    until = now.ownership_timeout
    assert until is not None
    assert until > lease.expires_at
    answer = Answer(True, expires_at=until) if field == "expires_at" else Answer(True, now)
    assert c._core.tenures._prolonged(lease, answer, clock.monotonic()).expires_at == until


def test_nothing_is_no_progress(c: SourceCoordinator, lease: Lease) -> None:
    with pytest.raises(ProgressStateError) as refused:
        c.save_progress_state(lease, None)
    assert str(refused.value) == (
        "progress_state=None: would wipe the saved progress. Save what is done so far, or use renew()"
    )


def test_s6_a_save_with_a_lost_answer_is_in_the_lease(store: InMemoryStore, clock: FakeClock, lease: Lease) -> None:
    lossy = FaultyStore(store, {1: Fault.APPLIED}, only=("write",))
    saved = coordinator(lossy, clock).save_progress_state(lease, {"row": 1}, [ONE])
    assert (saved.partition.progress_state, saved.partition.staged) == ({"row": 1}, (ONE,))


def test_an_ending_is_known_to_its_lease(c: SourceCoordinator, lease: Lease) -> None:
    c.complete(lease)
    assert lease.ending is not None
    assert (lease.ending.outcome, lease.ending.status_after) == (Outcome.COMPLETED, PartitionStatus.COMPLETED)


@pytest.mark.parametrize("fault", [Fault.NOT_APPLIED, Fault.APPLIED], ids=lambda fault: fault.name.lower())
def test_s6_an_ending_that_a_later_call_settles_is_known_too(
    fault: Fault, store: InMemoryStore, clock: FakeClock, lease: Lease
) -> None:
    lossy = silent(store, "write")
    lossy.faults[1] = fault
    c = coordinator(lossy, clock)
    request = CompleteRequest()
    with pytest.raises(OutcomeUnknownError):
        c._core.tenures.end(lease, request)
    lossy.faults.clear()
    write, heard = c._core.tenures.end(lease, request)
    assert (write.outcome, heard) == (Outcome.COMPLETED, False)
    assert lease.ending is not None
    assert lease.ending.outcome is Outcome.COMPLETED


@pytest.mark.parametrize(("faults", "released"), [({}, 1), ({1: Fault.APPLIED}, 0)], ids=["heard", "lost"])
def test_how_many_have_waited_is_known_from_an_answer_only(
    faults: dict[int, Fault], released: int, store: InMemoryStore, clock: FakeClock, c: SourceCoordinator, lease: Lease
) -> None:
    c.create_partitions([PartitionIdentifier("child", parents=("a",))])
    coordinator(FaultyStore(store, faults, only=("write",)), clock).complete(lease)
    assert lease.chain.released == released


def test_an_ending_counts_what_it_publishes(c: SourceCoordinator, lease: Lease) -> None:
    write = c._core.tenures.prepare(lease, CompleteRequest(), [ONE, TWO])
    assert (write.rows, write.bytes) == (ONE.rows + TWO.rows, ONE.bytes + TWO.bytes)
    assert len(write.heads) == 1


def test_what_an_ending_leaves_behind_is_said_with_it(c: SourceCoordinator, lease: Lease) -> None:
    hour = timedelta(hours=1)
    write = c._core.tenures.prepare(lease, CloseRequest(asked=hour, wait=hour), [])
    ending = ending_of(write)
    assert (ending.status_after, ending.closed_count) == (PartitionStatus.CLOSED, 1)


@pytest.mark.parametrize("counted", [None, Accounting(read=2, unrouted=2)], ids=["not counted", "counted"])
def test_totals_of_the_pass_before_say_nothing_of_these_rows(
    counted: Accounting | None, c: SourceCoordinator, clock: FakeClock, lease: Lease
) -> None:
    c.close(lease, timedelta(seconds=1), None, [ONE], Accounting(read=1, unrouted=1))
    clock.advance(2)
    write = c._core.tenures.prepare(taken(c, "a"), CompleteRequest(counted=counted), [TWO])
    assert [head.accounting_text is not None for head in write.heads] == [counted is not None]


def test_a_first_publication_reads_no_head_records(store: InMemoryStore, clock: FakeClock, lease: Lease) -> None:
    reads = FaultyStore(store, only=("heads",))
    coordinator(reads, clock).complete(lease, [ONE])
    assert reads.calls == []


def test_head_records_that_are_not_heard_at_once_are_read_again(
    store: InMemoryStore, clock: FakeClock, c: SourceCoordinator, lease: Lease
) -> None:
    c.close(lease, timedelta(seconds=1), {"row": 1}, [ONE])
    clock.advance(2)
    patient = coordinator(silent(store, "heads", calls=3), clock)
    patient.complete(taken(patient, "a"), [TWO])
    [head] = store.heads(lease.partition.source)
    assert [block.digest for block in head.blocks][-1] == "two"


@pytest.mark.parametrize(
    ("deaf", "call", "action"),
    [
        ("get", lambda c, _: c.partition("a"), "read a partition"),
        ("acquire_next", lambda c, _: c.get_next_partition(), "acquire a partition"),
        ("find_nonce", lambda c, _: c._acquisition.look_for("nonce"), "look for an acquisition"),
        ("heads", lambda c, lease: c.complete(lease, [TWO]), "read the head records"),
    ],
)
def test_a_silence_says_in_words_what_could_not_be_done(
    deaf: str,
    call: Callable[[SourceCoordinator, Lease], object],
    action: str,
    store: InMemoryStore,
    clock: FakeClock,
    c: SourceCoordinator,
    lease: Lease,
) -> None:
    c.close(lease, timedelta(seconds=1), {"row": 1}, [ONE])
    clock.advance(2)
    again = taken(c, "a")
    with pytest.raises(StoreUnavailableError) as silence:
        call(coordinator(silent(store, deaf), clock), again)
    assert silence.value.action == action


def test_a_write_that_an_earlier_call_left_unknown_is_named_as_such(
    store: InMemoryStore, clock: FakeClock, lease: Lease
) -> None:
    lossy = silent(store, "write")
    lossy.faults[1] = Fault.NOT_APPLIED
    c = coordinator(lossy, clock)
    actions = []
    for _ in range(2):
        with pytest.raises(OutcomeUnknownError) as unknown:
            c.save_progress_state(lease, 1)
        actions.append(unknown.value.action)
    assert actions == ["save progress of 'a'", "settle the write before"]


def test_s6_an_ending_whose_answer_was_lost_is_known_with_its_time(
    store: InMemoryStore, clock: FakeClock, lease: Lease
) -> None:
    clock.advance(5)
    coordinator(FaultyStore(store, {1: Fault.APPLIED}, only=("write",)), clock).complete(lease)
    assert lease.ending is not None
    assert (lease.ending.outcome, lease.ending.at is not None) == (Outcome.COMPLETED, True)


def test_another_partitions_head_records_are_no_matter(
    store: InMemoryStore, clock: FakeClock, c: SourceCoordinator, lease: Lease
) -> None:
    for one in (lease, taken(c, "b")):
        c.close(one, timedelta(seconds=1), {"row": 1}, [ONE])
    clock.advance(2)
    c.complete(taken(c, "a"), [TWO])
    c.complete(taken(c, "b"), [TWO])
    heads = store.heads(lease.partition.source)
    assert [(head.key, [block.digest for block in head.blocks]) for head in heads] == [
        (key, ["one", "two"]) for key in ("a", "b")
    ]
