"""The history checker: what it must explain, and what it must refuse to explain."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.leases import Block, Lease, PartitionIdentifier, SourceCoordinator
from airflow_coordination.protocol.metrics import Metric
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import Action, Create, NewPartition
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from airflow_coordination.testing.history import (
    FileLog,
    Kind,
    MemoryLog,
    Operation,
    RecordedCoordinator,
    Told,
    check,
    metrics_are_exact,
    pauses_hold,
    read_logs,
    the_global_state_grows,
    work_is_not_denied,
)
from airflow_coordination.values.errors import OutcomeUnknownError, PartitionNotOwnedError
from airflow_coordination.values.settings import Settings

SETTINGS = Settings(ownership_timeout=timedelta(minutes=1), request_deadline=timedelta(seconds=5))
ONE, TWO = Block("d", "/1", "one"), Block("d", "/2", "two")


class Source:
    """A source of partition ``a``, two owners of it, and their history."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.log = MemoryLog(lambda: self.clock.now().timestamp())
        self.store = FaultyStore(InMemoryStore(self.clock), only=("write", "acquire", "acquire_next"))
        self.first, self.second = self.owner("first"), self.owner("second")
        self.first.create_partitions(["a"])

    def owner(self, name: str, number: int = 1, settings: Settings = SETTINGS) -> RecordedCoordinator:
        one = SourceCoordinator(self.store, "flights", f"h/d/r/{name}/0/{number}", settings=settings, clock=self.clock)
        return RecordedCoordinator(one, self.log, name)

    def acquired(self, by: RecordedCoordinator) -> Lease:
        lease = by.get_next_partition()
        assert lease is not None
        return lease

    def lose(self, *, applied: bool) -> None:
        """Lose the answer of the next write, and all that follow."""
        next_call = len(self.store.calls) + 1
        self.store.faults = dict.fromkeys(range(next_call, next_call + 500), Fault.UNAVAILABLE)
        self.store.faults[next_call] = Fault.APPLIED if applied else Fault.NOT_APPLIED

    def last(self, kind: Kind) -> Operation:
        return [made for made in self.log.operations if made.kind is kind][-1]

    @property
    def broken(self) -> list[str]:
        return [violation.promise for violation in check(self.log.operations, SETTINGS)]


@pytest.fixture
def source() -> Source:
    return Source()


def taken_over(source: Source) -> tuple[Lease, Lease]:
    """Return the lease of an owner that was lost, and that of its successor."""
    lost = source.first.save_progress_state(source.acquired(source.first), {"n": 1}, [ONE])
    source.clock.advance(timedelta(minutes=2))
    return lost, source.acquired(source.second)


def test_two_owners_after_each_other_are_explained(source: Source) -> None:
    lost, mine = taken_over(source)
    with pytest.raises(PartitionNotOwnedError):
        source.first.complete(lost)
    source.second.complete(mine, [TWO])
    source.second.partition("a")
    source.second.published("a")
    assert source.broken == []
    assert source.last(Kind.PUBLISHED).result == {"published": {"d": ("one", "two")}}


@pytest.mark.parametrize("applied", [True, False])
def test_a_lost_answer_is_explained_either_way(source: Source, applied: bool) -> None:
    lease = source.acquired(source.first)
    source.lose(applied=applied)
    with pytest.raises(OutcomeUnknownError):
        source.first.complete(lease, [ONE])
    source.store.faults = {}
    source.second.partition("a")
    source.second.published("a")
    assert source.broken == []


def test_s2_a_zombie_that_is_believed_is_found(source: Source) -> None:
    lost, _ = taken_over(source)
    with pytest.raises(PartitionNotOwnedError):
        source.first.complete(lost)
    source.last(Kind.COMPLETE).told = Told.OK
    assert source.broken == ["S5"]


def test_s6_a_refusal_of_what_was_applied_is_found(source: Source) -> None:
    lease = source.acquired(source.first)
    source.first.complete(lease)
    source.last(Kind.COMPLETE).told = Told.NOT_DONE
    source.second.partition("a")
    assert source.broken == ["S5"]


def test_s8_an_acquisition_before_the_lease_has_ended_is_found(source: Source) -> None:
    taken_over(source)
    early = source.last(Kind.ACQUIRE)
    early.invoked, early.answered = early.invoked - 100, early.answered - 100
    assert source.broken == ["S5"]


def test_s12_a_block_that_nobody_named_is_found(source: Source) -> None:
    source.first.complete(source.acquired(source.first), [ONE])
    source.first.published("a")
    source.last(Kind.PUBLISHED).result = {"published": {"d": ("one", "stranger")}}
    assert source.broken == ["S5"]


def retracted(source: Source) -> None:
    """Publish, take it back, and look."""
    source.first.complete(source.acquired(source.first), [ONE])
    source.clock.advance(1)
    source.second.act(Action.RETRACT, "a")
    source.clock.advance(1)
    source.second.published("a")


def test_e16_what_is_published_after_a_retract_is_explained(source: Source) -> None:
    """E16: a retract is legal, and what comes after it starts from nothing."""
    retracted(source)
    assert source.last(Kind.PUBLISHED).result == {"published": {"d": ()}}
    source.clock.advance(1)
    source.second.act(Action.RESET, "a")
    source.first.complete(source.acquired(source.first), [Block("d", "/2", "two", mode="append")])
    source.second.published("a")
    assert source.last(Kind.PUBLISHED).result == {"published": {"d": ("two",)}}
    assert source.broken == []


def test_e16_s12_a_block_read_after_its_retract_is_found(source: Source) -> None:
    """E16, S12: readers see it no more."""
    retracted(source)
    source.last(Kind.PUBLISHED).result = {"published": {"d": ("one",)}}
    assert source.broken == ["S5"]


@pytest.mark.parametrize("told", [Told.NOT_DONE, Told.UNKNOWN])
def test_e16_s6_a_retract_that_was_not_done_takes_nothing_back(source: Source, told: Told) -> None:
    """E16, S6: one of which nobody heard may have."""
    retracted(source)
    source.last(Kind.RETRACT).told = told
    assert source.broken == (["S5"] if told is Told.NOT_DONE else [])


def test_e16_s12_a_retract_under_somebodys_lease_is_found(source: Source) -> None:
    """E16, S12: an owner that adds would bring back what was taken."""
    source.acquired(source.first)
    source.clock.advance(1)
    made = source.log.call("ana", Kind.RETRACT, "a", None, {})
    source.log.answer(made, Told.OK, {})
    assert source.broken == ["S5"]


def test_e16_s12_a_retract_beside_staged_blocks_is_found(source: Source) -> None:
    """E16, S12: the next ending would publish them, and what they follow."""
    lease = source.first.save_progress_state(source.acquired(source.first), {"n": 1}, [ONE])
    source.first.give_up(lease)
    source.clock.advance(1)
    made = source.log.call("ana", Kind.RETRACT, "a", None, {})
    source.log.answer(made, Told.OK, {})
    assert source.broken == ["S5"]


def test_progress_of_a_refused_save_is_found(source: Source) -> None:
    taken_over(source)
    source.last(Kind.ACQUIRE).result = {**source.last(Kind.ACQUIRE).result, "progress": '{"n":2}'}
    assert source.broken == ["S5"]


def test_s1_one_nonce_for_two_is_found(source: Source) -> None:
    taken_over(source)
    first, second = [made for made in source.log.operations if made.kind is Kind.ACQUIRE]
    second.result = {**second.result, "nonce": first.result["nonce"]}
    assert "S1" in source.broken


def lost_twice(source: Source) -> None:
    """Lose two leases whose limit is two, the second one to a sweep with another limit; look at what came of it."""
    worker = source.owner("worker", settings=replace(SETTINGS, max_lost_leases=2))
    sweeper = source.owner("sweeper", settings=replace(SETTINGS, max_lost_leases=20))
    for _ in range(2):
        worker.renew(source.acquired(worker))
        source.clock.advance(timedelta(minutes=2))
    sweeper.sweep()
    sweeper.partition("a")


def falsify(made: Operation, **result: object) -> None:
    made.result = {**made.result, **result}


def test_e11_l5_leases_lost_under_their_own_limit_are_explained(source: Source) -> None:
    """E11, L5: the checker did not know them; parked by their limit, whoever sweeps."""
    lost_twice(source)
    assert source.last(Kind.READ).result["parked"]
    source.second.act(Action.REOPEN, "a")
    source.second.complete(source.acquired(source.second))
    source.second.partition("a")
    assert source.broken == []


def test_e11_l5_what_is_free_at_its_last_lost_lease_is_found(source: Source) -> None:
    """E11, L5: as if the sweeper's own limit had been in force."""
    lost_twice(source)
    falsify(source.last(Kind.READ), status="UNASSIGNED", parked=False)
    assert source.broken == ["S5"]


def test_e11_l5_what_is_parked_before_its_last_lost_lease_is_found(source: Source) -> None:
    """E11, L5: as if a stricter sweeper's limit had been in force."""
    taken_over(source)
    source.clock.advance(timedelta(minutes=2))
    source.first.sweep()
    source.first.partition("a")
    assert source.broken == []
    falsify(source.last(Kind.READ), status="CLOSED", parked=True)
    assert source.broken == ["S5"]


def test_e11_l5_an_acquisition_at_the_last_lost_lease_is_found(source: Source) -> None:
    """E11, L5: only a sweep acts then."""
    worker = source.owner("worker", settings=replace(SETTINGS, max_lost_leases=1))
    worker.renew(source.acquired(worker))
    source.clock.advance(timedelta(minutes=2))
    made = source.log.call("second", Kind.ACQUIRE, "a", None, {"limit": 5})
    lease = {**source.last(Kind.RENEW).result, **source.log.operations[1].result}
    source.log.answer(made, Told.OK, {**lease, "token": 2, "nonce": "n", "lost": 1, "limit": 5})
    assert source.broken == ["S5"]
    source.log.operations[1].result = {**source.log.operations[1].result, "limit": 2}  # then it was not the last one
    source.log.operations[1].given = {"limit": 2}
    assert source.broken == []


@pytest.mark.parametrize("lost", [0, 2])
def test_e11_l5_a_wrong_number_of_lost_leases_is_found(source: Source, lost: int) -> None:
    """E11, L5: one lease was lost, and its owner had written."""
    taken_over(source)
    assert source.last(Kind.ACQUIRE).result["lost"] == 1
    falsify(source.last(Kind.ACQUIRE), lost=lost)
    assert source.broken == ["S5"]


def test_a14_l5_lost_leases_that_outlive_a_success_are_found(source: Source) -> None:
    """A14, L5: they count in a row."""
    _, mine = taken_over(source)
    source.second.close(mine, timedelta(0))
    source.second.partition("a")
    assert source.last(Kind.READ).result["lost"] == 0
    assert source.broken == []
    falsify(source.last(Kind.READ), lost=1)
    assert source.broken == ["S5"]


def test_e11_a_lease_without_its_acquirers_limit_is_found(source: Source) -> None:
    """E11: whoever sweeps would judge by its own."""
    source.acquired(source.first)
    assert source.broken == []
    falsify(source.last(Kind.ACQUIRE), limit=None)
    assert source.broken == ["S5"]


def created_again(source: Source) -> None:
    """Delete the partition, let a create arrive that the tombstone does not know, and acquire what it made."""
    name = source.first.coordinator.partition("a").source  # asked of the coordinator, it is no call of the history
    source.clock.advance(1)
    source.second.act(Action.DELETE, "a")
    source.clock.advance(1)
    old = NewPartition(key="a", payload_text=None, priority=0)
    source.store.create(Create(source=name, op=24 * "f", partitions=(old,)))
    source.acquired(source.second)


def test_a_create_that_found_its_partition_may_arrive_again(source: Source) -> None:
    source.second.create_partitions(["a"])
    created_again(source)
    assert source.broken == []


def test_s5_a_create_that_made_its_partition_and_makes_it_again_is_found(source: Source) -> None:
    created_again(source)
    assert source.broken == ["S5"]


def test_a_create_may_be_repeated_where_its_item_vanished(source: Source) -> None:
    create = source.log.call("first", Kind.CREATE, "b", None, {})
    source.first.coordinator.create_partitions(["b"])
    source.clock.advance(1)
    source.second.acquire_partition("b")
    source.clock.advance(1)
    source.log.answer(source.log.call("nature", Kind.VANISH, "b", None, {}), Told.OK, {})
    other = Source()  # knows nothing of the first life
    other.first.coordinator.create_partitions(["b"])
    source.log.answer(create, Told.OK, {})
    source.clock.advance(1)
    RecordedCoordinator(other.second.coordinator, source.log, "third").acquire_partition("b")
    assert source.last(Kind.ACQUIRE).result["token"] == 1
    assert source.broken == []


def test_a_driver_may_have_begun_before_it_hears_that_the_item_vanished(source: Source) -> None:
    lease = source.acquired(source.first)
    fence = (lease.fence.token, lease.fence.nonce)
    source.clock.advance(1)
    begun, second = (source.log.call(f"driver {number}", Kind.BEGIN, "a", fence, {}) for number in (1, 2))
    source.log.answer(second, Told.REFUSED, {"ending": "overtaken"})
    source.clock.advance(1)
    source.second.partition("a")  # nobody has retaken it
    source.clock.advance(1)
    source.log.answer(source.log.call("nature", Kind.VANISH, "a", None, {}), Told.OK, {})
    source.log.answer(begun, Told.MISSING, {})
    assert source.broken == []
    begun.kind = Kind.RENEW  # then there was no driver
    assert source.broken == ["S5"]


def adopted(source: Source) -> tuple[RecordedCoordinator, Lease]:
    """Return a task's next try, and the lease that the one before has taken without hearing of it."""
    source.store.faults = {len(source.store.calls) + 1: Fault.CRASH_AFTER}
    with pytest.raises(Crash):
        source.first.get_next_partition()
    source.store.crashed = False
    found = source.second.coordinator.partition("a")
    assert found is not None
    assert found.fence is not None
    next_try = source.owner("first", 2)
    source.clock.advance(1)
    lease = next_try.adopt("a", found.fence)
    assert lease is not None
    return next_try, lease


def returned_behind(source: Source, lease: Lease) -> None:
    """Let a giving back arrive that is no call of the history, and somebody else acquire long before the lease ends."""
    source.clock.advance(1)
    source.first.coordinator.give_up(lease)
    source.clock.advance(1)
    source.acquired(source.second)


def test_what_a_next_try_found_may_have_been_given_back_by_the_one_before(source: Source) -> None:
    """The first try found its unheard acquisition as well, gave it back, and died; the message came late."""
    next_try, lease = adopted(source)
    returned_behind(source, lease)
    with pytest.raises(PartitionNotOwnedError):
        next_try.renew(lease)
    source.second.partition("a")
    assert source.broken == []


def test_s8_a_giving_back_after_the_owners_first_write_is_found(source: Source) -> None:
    next_try, lease = adopted(source)
    returned_behind(source, next_try.begin("a", lease.fence))
    assert source.broken == ["S5"]


def test_s8_a_giving_back_of_what_was_acquired_and_heard_of_is_found(source: Source) -> None:
    returned_behind(source, source.acquired(source.first))
    assert source.broken == ["S5"]


PATIENCE = timedelta(seconds=20)


def asked(source: Source) -> tuple[Lease, Partition]:
    """Return the first one's lease, and what the second one saw of it and has asked for; its time to steal has come."""
    lease = source.first.save_progress_state(source.acquired(source.first), {"n": 1}, [ONE])
    seen = source.second.partition("a")
    assert seen is not None
    source.clock.advance(1)
    assert source.second.ask(seen, PATIENCE)
    source.clock.advance(PATIENCE)
    return lease, seen


def stolen(source: Source) -> tuple[Lease, Lease]:
    """Return the lease of an owner that was stolen from, and the thief's."""
    lease, seen = asked(source)
    mine = source.second.steal(seen)
    assert mine is not None
    source.clock.advance(1)
    return lease, mine


def test_s28_what_was_asked_for_and_stolen_is_explained(source: Source) -> None:
    lost, mine = stolen(source)
    with pytest.raises(PartitionNotOwnedError):
        source.first.renew(lost)
    source.second.complete(mine, [TWO])
    source.second.partition("a")
    source.second.published("a")
    assert source.last(Kind.STEAL).result["lost"] == 0
    assert source.last(Kind.PUBLISHED).result == {"published": {"d": ("one", "two")}}
    assert source.broken == []


def test_what_was_asked_for_and_handed_over_is_explained(source: Source) -> None:
    lease, seen = asked(source)
    lease = source.first.renew(lease)
    assert lease.wanted
    source.first.hand_over(lease)
    assert source.second.steal(seen) is None
    source.second.complete(source.acquired(source.second))
    source.second.partition("a")
    assert source.broken == []
    counts = {Metric.ACQUIRED: 1, Metric.HANDED_OVER: 1}
    assert list(metrics_are_exact(source.log.operations, "first", counts)) == []
    source.last(Kind.HAND_OVER).told = Told.NOT_DONE
    assert source.broken == ["S5"]


@pytest.mark.parametrize("told", [Told.NOT_DONE, Told.NOTHING, Told.UNKNOWN])
def test_s28_a_steal_without_a_question_is_found(source: Source, told: Told) -> None:
    """S28: one of which nobody heard may have been applied; one that came too early may have come again."""
    stolen(source)
    source.last(Kind.ASK).told = told
    assert source.broken == (["S5"] if told is Told.NOT_DONE else [])


def test_s28_a_steal_by_another_than_who_has_asked_is_found(source: Source) -> None:
    stolen(source)
    source.last(Kind.ASK).process = "third"
    assert source.broken == ["S5"]


def test_s28_a_steal_before_its_time_is_found(source: Source) -> None:
    stolen(source)
    source.last(Kind.ASK).given = {"patience": PATIENCE.total_seconds() + 2}
    assert source.broken == ["S5"]


def pretend_stolen(source: Source, by: str, fence: tuple[int, str] | None, token: int, like: Operation) -> None:
    """Note a steal that no store has done."""
    made = source.log.call(by, Kind.STEAL, "a", fence, {})
    lease = {"token": token, "nonce": f"nonce {token}", "expires": made.invoked + 60}
    source.log.answer(made, Told.OK, {**like.result, **lease})
    source.clock.advance(1)


@pytest.mark.parametrize("again", [True, False])
def test_s28_a_steal_under_the_fence_of_an_earlier_tenure_is_found(source: Source, again: bool) -> None:
    """S28: one that was asked for *again* is another matter."""
    lease, _ = asked(source)
    source.first.give_up(lease)
    source.acquired(source.first)
    seen = source.second.partition("a")
    assert seen is not None
    source.clock.advance(1)
    if again:
        source.second.ask(seen, PATIENCE)
        source.clock.advance(PATIENCE)
    earlier = source.last(Kind.ASK).fence
    pretend_stolen(source, "second", earlier, 3, source.last(Kind.ACQUIRE))
    assert source.broken == ([] if again else ["S5"])


def test_s28_two_steals_under_one_fence_are_found(source: Source) -> None:
    _, mine = stolen(source)
    source.second.renew(mine)
    assert source.broken == []
    first = source.last(Kind.STEAL)
    pretend_stolen(source, "second", first.fence, 3, first)
    assert source.broken == ["S5"]


@pytest.mark.parametrize("token", [2, 3])
def test_s28_a_steal_leaves_out_no_token(source: Source, token: int) -> None:
    """S28: between the tenure that was asked for and the thief's there is none."""
    _, seen = asked(source)
    pretend_stolen(source, "second", (seen.token, str(seen.nonce)), token, source.last(Kind.READ))
    assert source.broken == ([] if token == 2 else ["S5"])


def test_s28_l5_a_stolen_lease_that_counts_as_lost_is_found(source: Source) -> None:
    stolen(source)
    falsify(source.last(Kind.STEAL), lost=1)
    assert source.broken == ["S5"]


def test_l5_at_the_last_lost_lease_it_may_be_stolen(source: Source) -> None:
    """L5: a stolen lease is no lost one, so it parks nothing."""
    source.first = source.owner("first", settings=replace(SETTINGS, max_lost_leases=1))
    stolen(source)
    assert source.broken == []


def test_two_whose_time_runs_at_once_are_found(source: Source) -> None:
    asked(source)
    made = source.log.call("third", Kind.ASK, "a", source.last(Kind.ASK).fence, {"patience": 1.0})
    source.log.answer(made, Told.OK, {})
    assert source.broken == []
    made.invoked, made.answered = made.invoked - 10, made.answered - 10
    assert source.broken == ["S5"]


def test_a_question_for_what_nobody_holds_says_nothing(source: Source) -> None:
    free = source.second.partition("a")
    assert free is not None
    assert not source.second.ask(free, PATIENCE)
    assert source.second.steal(free) is None
    source.acquired(source.first)
    assert source.broken == []


@pytest.mark.parametrize("applied", [True, False])
def test_s6_a_steal_whose_answer_was_lost_is_explained_either_way(source: Source, applied: bool) -> None:
    lost, seen = asked(source)
    source.store.faults = {}
    source.lose(applied=applied)
    with pytest.raises(OutcomeUnknownError):
        source.second.steal(seen)
    source.store.faults = {}
    source.clock.advance(1)
    if applied:
        with pytest.raises(PartitionNotOwnedError):
            source.first.renew(lost)
    else:
        source.first.renew(lost)
    source.first.partition("a")
    assert source.broken == []
    source.last(Kind.STEAL).told = Told.NOT_DONE
    assert source.broken == (["S5"] if applied else [])


def test_x12_a_steal_while_the_source_is_paused_is_found(source: Source) -> None:
    _, seen = asked(source)
    source.second.pause()
    source.clock.advance(1)
    pretend_stolen(source, "second", (seen.token, str(seen.nonce)), 2, source.last(Kind.READ))
    assert [violation.promise for violation in pauses_hold(source.log.operations)] == ["X12"]


def test_a_steal_that_was_refused_may_arrive_once_more_when_its_time_has_come(source: Source) -> None:
    lease = source.acquired(source.first)
    seen = source.second.partition("a")
    assert seen is not None
    source.clock.advance(1)
    assert source.second.ask(seen, PATIENCE)
    assert source.second.steal(seen) is None
    refused = source.last(Kind.STEAL)
    source.clock.advance(PATIENCE)
    assert source.second.coordinator.workers.steal(seen) is not None  # as if it were the same message
    source.clock.advance(1)
    with pytest.raises(PartitionNotOwnedError):
        source.first.renew(lease)
    source.second.partition("a")
    assert source.broken == []
    refused.told = Told.NOT_DONE
    assert source.broken == ["S5"]


def test_calls_at_the_same_time_are_put_in_the_order_that_explains_them(source: Source) -> None:
    lost, mine = taken_over(source)
    with pytest.raises(PartitionNotOwnedError):
        source.first.save_progress_state(lost, {"n": 2})
    source.second.complete(mine)
    refused, acquired = source.last(Kind.SAVE), source.log.operations[3]
    assert acquired.kind is Kind.ACQUIRE
    refused.invoked = acquired.invoked - 1  # the refusal came after the acquisition that it follows
    ordered = sorted(source.log.operations, key=lambda made: made.invoked)
    assert check(ordered, SETTINGS) == []
    refused.answered = acquired.invoked - 0.5  # now it came before anybody had taken the lease over…
    acquired.invoked = refused.invoked + 1
    refused.invoked -= 90
    refused.answered -= 90  # …and before the lease could have ended
    assert [v.promise for v in check(sorted(ordered, key=lambda made: made.invoked), SETTINGS)] == ["S5"]


def test_s2_counts_that_differ_from_the_history_are_found(source: Source) -> None:
    lost, _ = taken_over(source)
    with pytest.raises(PartitionNotOwnedError):
        source.first.complete(lost)
    calls = source.log.operations
    assert list(metrics_are_exact(calls, "first", {Metric.NOT_OWNED: 1, Metric.ACQUIRED: 1})) == []
    assert len(list(metrics_are_exact(calls, "first", {Metric.NOT_OWNED: 2}))) == 2


def family(source: Source) -> None:
    """Let the first one complete ``a``, and the second one take its child, which was created before."""
    source.first.create_partitions([PartitionIdentifier("child", parents=["a"])])
    source.first.complete(source.acquired(source.first))
    source.clock.advance(1)
    assert source.acquired(source.second).key == "child"


def test_s19_a_child_after_its_parent_is_explained(source: Source) -> None:
    family(source)
    assert source.broken == []
    source.last(Kind.COMPLETE).told = Told.UNKNOWN
    assert source.broken == []


def test_s19_a_child_before_its_parent_is_found(source: Source) -> None:
    family(source)
    ended, taken = source.last(Kind.COMPLETE), source.last(Kind.ACQUIRE)
    assert (ended.key, taken.key) == ("a", "child")
    ended.invoked = taken.answered + 1
    assert next(str(one) for one in check(source.log.operations, SETTINGS)).startswith(
        "S19: acquired before its parent 'a' can have finished"
    )


def test_s19_what_was_refused_has_finished_nothing(source: Source) -> None:
    family(source)
    source.last(Kind.COMPLETE).told = Told.NOT_DONE
    assert "S19" in source.broken


def test_s19_finished_by_a_person_it_has_finished(source: Source) -> None:
    source.first.create_partitions([PartitionIdentifier("child", parents=["a"])])
    source.acquired(source.first)
    source.clock.advance(1)
    source.second.act(Action.FINISH, "a")
    assert source.acquired(source.second).key == "child"
    assert source.second.partition("a") is not None
    assert source.broken == []
    source.log.operations.remove(source.last(Kind.FINISH))
    assert "S19" in source.broken


def test_l6_what_waits_for_its_parents_is_no_work(source: Source) -> None:
    source.acquired(source.first)
    source.first.create_partitions([PartitionIdentifier("child", parents=["a"])])
    source.clock.advance(1)
    assert source.second.get_next_partition() is None
    assert list(work_is_not_denied(source.log.operations)) == []


def test_l6_no_work_is_no_answer_while_there_is_some(source: Source) -> None:
    source.clock.advance(1)
    made = source.log.call("second", Kind.ACQUIRE, "", None, {})
    source.log.answer(made, Told.NOTHING, {})
    assert [violation.promise for violation in work_is_not_denied(source.log.operations)] == ["L6"]
    source.clock.advance(1)
    source.acquired(source.first)
    source.clock.advance(1)
    source.second.get_next_partition()
    assert len(list(work_is_not_denied(source.log.operations))) == 1


def test_s10_a_global_state_that_moves_back_is_found(source: Source) -> None:
    for number in (1, 3, 2):
        source.clock.advance(1)
        made = source.log.call("reader", Kind.STATE, "", None, {})
        source.log.answer(made, Told.OK, {"state": {"n": number}})
    found = list(the_global_state_grows(source.log.operations, lambda state: float(state["n"])))
    assert [violation.promise for violation in found] == ["S10"]


def test_a_killed_process_leaves_its_call_and_no_answer(tmp_path: Path) -> None:
    source = Source()
    log = FileLog(tmp_path / "first", lambda: source.clock.now().timestamp())
    one = RecordedCoordinator(source.first.coordinator, log, "first")
    lease = one.get_next_partition()
    assert lease is not None
    source.store.faults = {len(source.store.calls) + 1: Fault.CRASH_AFTER}
    with pytest.raises(Crash):
        one.complete(lease, [ONE])
    log.close()
    (tmp_path / "cut off").write_text('[0,"second"')
    acquired, completed = read_logs(sorted(tmp_path.iterdir()))
    assert (acquired.told, completed.told) == (Told.OK, Told.UNKNOWN)
    assert completed.given["blocks"] == source.last(Kind.CREATE).given.get("blocks", completed.given["blocks"])


def test_a_history_without_the_calls_of_the_killed_raises_false_alarms(source: Source) -> None:
    """Why every call is noted before it is made."""
    lease = source.acquired(source.first)
    source.store.faults = {len(source.store.calls) + 1: Fault.CRASH_AFTER}
    with pytest.raises(Crash):
        source.first.complete(lease)
    source.store.crashed = False
    source.second.partition("a")
    assert source.broken == []
    without = [made for made in source.log.operations if made.kind is not Kind.COMPLETE]
    assert [violation.promise for violation in check(without, SETTINGS)] == ["S5"]
