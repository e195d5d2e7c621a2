"""Lost, late and repeated messages, crashes, and several writers at once, at every call."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import chain, cycle, islice
from typing import Any, TypeVar

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.beside.parts import FusedSteps, parts_of
from airflow_coordination.protocol.partition import Checkpoint, Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Answer, Swept
from airflow_coordination.protocol.writes import AcquireNext, Action
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.coordinator_cases import Coordinators, acquired, rows
from airflow_coordination.testing.conformance.fixtures import MINUTE, TIMEOUT, Workbench, block, fence, head, owner
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from airflow_coordination.values.status import Outcome, PartitionStatus

S = PartitionStatus
LOST = [Fault.UNAVAILABLE, Fault.NOT_APPLIED, Fault.APPLIED, Fault.APPLIED_LATE]
ENDS: dict[str, tuple[Callable[[SourceCoordinator, Lease], object], dict[str, object]]] = {
    "complete": (lambda c, lease: c.complete(lease, [block("b1")]), {"status": S.COMPLETED, "closed_count": 0}),
    "close": (lambda c, lease: c.close(lease, MINUTE, blocks=[block("b1")]), {"status": S.CLOSED, "closed_count": 1}),
    "fail": (lambda c, lease: c.fail(lease, "boom"), {"status": S.UNASSIGNED, "failures": 1, "closed_count": 0}),
    "give up": (lambda c, lease: c.give_up(lease), {"status": S.UNASSIGNED, "failures": 0, "closed_count": 0}),
}


class LostAnswers:
    """Promises S6 and S11: what is lost on the way changes nothing, and is known."""

    @pytest.mark.parametrize("fault", LOST)
    @pytest.mark.parametrize("name", ENDS)
    def test_s6_an_ending_is_applied_once(
        self, coordinators: Coordinators, store: PartitionStore, name: str, fault: Fault
    ) -> None:
        end, expected = ENDS[name]
        one = coordinators(store=FaultyStore(store, {1: fault}, only=("write",)))
        one.create_partitions(["k"])
        end(one, acquired(one.get_next_partition()))
        found = one.partition("k")
        assert found is not None
        assert {field: getattr(found, field) for field in expected} == expected
        assert len(found.endings) == 1
        assert one.refusals == 0

    @pytest.mark.parametrize("fault", LOST)
    def test_s6_the_chain_goes_on_after_a_lost_answer(
        self, coordinators: Coordinators, store: PartitionStore, fault: Fault
    ) -> None:
        faulty = FaultyStore(store, {1: fault, 3: fault, 5: fault}, only=("write",))
        one = coordinators(store=faulty)
        one.create_partitions(["k"])
        lease = acquired(one.get_next_partition())
        for number in range(3):
            lease = one.save_progress_state(lease, number, [block(f"b{number}")])
        one.complete(lease)
        assert len(faulty.calls) >= 6
        assert rows(one, store) == {"k": ["b0", "b1", "b2"]}

    @pytest.mark.parametrize("fault", LOST)
    def test_s6_a_renewal_is_heard_in_the_end(
        self, coordinators: Coordinators, store: PartitionStore, clock: FakeClock, fault: Fault
    ) -> None:
        one = coordinators(store=FaultyStore(store, {1: fault}, only=("write",)))
        one.create_partitions(["k"])
        lease = acquired(one.get_next_partition())
        clock.advance(MINUTE)
        assert one.renew(lease).expires_at >= clock.now() + TIMEOUT - MINUTE / 60

    @pytest.mark.parametrize("fault", LOST)
    @pytest.mark.parametrize("by_hint", [True, False], ids=["by hint", "by order"])
    def test_s6_an_acquisition_leaves_no_phantom(
        self, coordinators: Coordinators, store: PartitionStore, by_hint: bool, fault: Fault
    ) -> None:
        faulty = FaultyStore(store, {1: fault}, only=("acquire", "acquire_next"))
        one = coordinators(store=faulty)
        one.create_partitions(["a", "b", "c"])
        held = acquired(one.get_next_partition(hint=one.claimable()[0] if by_hint else None))
        faulty.deliver()
        one.complete(held)
        while (lease := one.get_next_partition()) is not None:
            one.complete(lease)
        assert one.counts() == {S.UNASSIGNED: 0, S.ASSIGNED: 0, S.CLOSED: 0, S.COMPLETED: 3}

    @pytest.mark.parametrize("fault", LOST)
    def test_s6_creation_is_repeated(self, coordinators: Coordinators, store: PartitionStore, fault: Fault) -> None:
        one = coordinators(store=FaultyStore(store, {1: fault}, only=("create",)))
        one.create_partitions(["existing"])
        made = one.create_partitions(["a", "b"])
        assert (made.created, made.existing) == (2, 0)
        assert one.counts()[S.UNASSIGNED] == 3

    @pytest.mark.parametrize("fault", LOST)
    def test_s6_a_fused_step_completes_once(
        self, coordinators: Coordinators, store: PartitionStore, fault: Fault
    ) -> None:
        if parts_of(store).fused is None:
            pytest.skip("this store has no fused step")
        faulty = FaultyStore(store, {1: fault}, only=("complete_and_acquire",))
        one = coordinators(store=faulty)
        one.create_partitions(["a", "b", "c"])
        lease: Lease | None = acquired(one.get_next_partition())
        while lease is not None:
            lease = one.complete_and_get_next(lease, [block("b1")])
            faulty.deliver()
        assert one.counts()[S.ASSIGNED] <= 1
        assert one.counts()[S.CLOSED] == 0
        while (lease := one.get_next_partition()) is not None:
            one.complete(lease)
        assert {partition.status for partition in one.partitions()} == {S.COMPLETED}
        assert one.refusals == 0

    @pytest.mark.parametrize("fault", LOST)
    @pytest.mark.parametrize("action", ["release", "park", "reset", "delete"])
    def test_s6_a_persons_action_is_done_and_audited_once(
        self, coordinators: Coordinators, store: PartitionStore, action: str, fault: Fault
    ) -> None:
        one = coordinators(store=FaultyStore(store, {1: fault}, only=("act",)))
        one.create_partitions(["k"])
        acquired(one.get_next_partition())
        getattr(one.people, action)("k", by="ana", why="a test")
        entries = store.audit("flights|PARTITION", "k")
        assert [entry["action"] for entry in entries] == [action]
        found = store.get("flights|PARTITION", "k")
        assert found is not None
        assert found.token == 2

    @pytest.mark.parametrize("fault", LOST)
    def test_e16_s6_a_retract_is_done_and_audited_once(
        self, coordinators: Coordinators, store: PartitionStore, fault: Fault
    ) -> None:
        """E16: however often its message comes."""
        faulty = FaultyStore(store, {1: fault}, only=("act",))
        one = coordinators(store=faulty)
        one.create_partitions(["k"])
        one.complete(acquired(one.get_next_partition()), [block("b1")])
        one.people.retract("k", by="ana", why="a test")
        assert rows(one, store) == {"k": []}
        one.people.reset("k", by="ana", why="again")
        one.complete(acquired(one.get_next_partition()), [block("b2")])
        faulty.deliver()
        assert rows(one, store) == {"k": ["b2"]}
        entries = store.audit("flights|PARTITION", "k")
        assert sorted(entry["action"] for entry in entries) == ["reset", "retract"]

    @pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
    def test_s11_a_supplier_killed_at_any_call_is_made_good(
        self, coordinators: Coordinators, store: PartitionStore, clock: FakeClock, fault: Fault
    ) -> None:
        """One source for each call at which the process can end, all in one store."""

        def supplier(state: dict[str, Any]) -> Iterator[Any]:
            for page in range(state.get("page", 0), 3):
                yield from (f"{page}-{number}" for number in range(3))
                yield Checkpoint({"page": page + 1})

        number = 0
        while self._killed_at(number := number + 1, supplier, store, clock, fault):
            pass
        assert number > 8

    @staticmethod
    def _killed_at(
        number: int, supplier: Callable[[dict[str, Any]], Any], store: PartitionStore, clock: FakeClock, fault: Fault
    ) -> bool:
        """Kill the supplier at one call and recover; return whether it came to that call."""
        faulty = FaultyStore(store, {number: fault})
        source, by = f"source-{number}", owner().text
        with suppress(Crash):
            SourceCoordinator(faulty, source, by, clock=clock).run_supplier(supplier)
        clock.advance(TIMEOUT)
        successor = SourceCoordinator(store, source, owner("other").text, clock=clock)
        assert successor.run_supplier(supplier).ran
        keys = [partition.key for partition in successor.partitions()]
        assert keys == [f"{page}-{number}" for page in range(3) for number in range(3)]
        assert successor.supplying.global_state() == {"page": 3}
        return faulty.crashed

    @pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
    def test_l1_a_worker_killed_at_any_call_loses_and_doubles_nothing(
        self, store: PartitionStore, clock: FakeClock, fault: Fault
    ) -> None:
        number = 0
        while self._worker_killed_at(number := number + 1, store, clock, fault):
            pass
        assert number > 3

    @staticmethod
    def _worker_killed_at(number: int, store: PartitionStore, clock: FakeClock, fault: Fault) -> bool:
        source = f"work-{number}"
        steady = SourceCoordinator(store, source, owner("steady").text, clock=clock)
        steady.create_partitions(["k"])
        faulty = FaultyStore(store, {number: fault})
        with suppress(Crash):
            _work(SourceCoordinator(faulty, source, owner().text, clock=clock))
        clock.advance(TIMEOUT)
        _work(steady)
        assert rows(steady, store) == {"k": ["b0", "b1", "b2"]}
        assert steady.counts()[S.COMPLETED] == 1
        return faulty.crashed


def _work(coordinator: SourceCoordinator) -> None:
    """Process one partition in three steps, saving after each, and going on where an earlier tenure was."""
    lease = coordinator.get_next_partition()
    if lease is None:
        return
    for number in range(lease.partition.progress_state or 0, 3):
        lease = coordinator.save_progress_state(lease, number + 1, [block(f"b{number}")])
    coordinator.complete(lease)


T = TypeVar("T")
Work = Callable[[], object]

SHARE = 8
"""How many partitions each writer takes."""
ROUNDS = 6
"""How often a race for one partition is run."""
PATIENCE = 1_000
"""How often a writer asks again where others may hold everything for a moment."""


def at_once(works: Sequence[Callable[[], T]]) -> list[T]:
    """Do all works, each in a thread of its own that begins when all are there; return what they return."""
    start = threading.Barrier(len(works))

    def begin(work: Callable[[], T]) -> T:
        start.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(begin, works))


class Concurrency:
    """Promises S1, S2, S3, S5, S10 under two to sixteen writers: their order is chance, what holds in any is checked.

    A store whose engine is made for one thread says so with ``writers = 1``, and these tests are skipped.
    """

    @pytest.fixture(params=[2, 16])
    def crowd(self, request: pytest.FixtureRequest, most_writers: int) -> int:
        """Return how many writers there are."""
        if request.param > most_writers:
            pytest.skip(f"this engine takes {most_writers} at a time")
        return int(request.param)

    def test_e17_s1_writers_acquire_each_partition_once_and_none_in_vain(self, bench: Workbench, crowd: int) -> None:
        """E17: who loses a race to somebody else takes the next one; there are enough for all."""
        bench.create(*_names("k", crowd * SHARE))
        taken = chain.from_iterable(at_once([lambda: [bench.acquire() for _ in range(SHARE)]] * crowd))
        _check_held(bench, taken, crowd * SHARE, token=1)

    def test_e17_s1_hints_of_one_partition_have_one_winner(self, bench: Workbench, crowd: int) -> None:
        """E17: when it is free, and when its lease is over."""
        for key in _names("k", ROUNDS):
            bench.create(key)
            for token in (0, 1):
                assert _applied(at_once([partial(bench.hinted, key, token)] * crowd)) == 1
                bench.expire()

    def test_e17_s2_sweeps_end_no_lease_that_is_healthy(self, bench: Workbench, crowd: int) -> None:
        """E17: they come beside those who acquire what has expired or come due."""
        takers = crowd // 2
        for held in _held(bench, "lost", takers * SHARE):
            assert bench.begin(held).applied
        for held in _held(bench, "closed", takers * SHARE):
            assert bench.close(held).applied
        bench.expire()
        sweeping = [partial(_swept, bench)] * (crowd - takers)
        found = at_once([*sweeping, *[partial(_taken, bench)] * takers])
        _check_held(bench, chain.from_iterable(found), takers * SHARE, token=2)

    def test_e17_s3_an_owner_who_comes_late_ends_its_tenure_or_has_lost_it(self, bench: Workbench, crowd: int) -> None:
        """E17: its completion races with hints and sweeps; the head record goes with the completion."""
        for key in _names("k", ROUNDS):
            held = bench.begin(bench.new(key)).partition
            assert held is not None
            bench.expire()
            complete: Work = partial(bench.complete, held, head(held, block(f"of {key}")))
            rivals: Iterator[Work] = cycle([partial(bench.hinted, key, held.token), bench.sweep])
            done, *others = at_once([complete, *islice(rivals, crowd - 1)])
            taken = _applied(others)
            swept = sum(other.reclaimed for other in others if isinstance(other, Swept))
            assert isinstance(done, Answer)
            assert len(bench.store.heads(bench.source, key=key)) == done.applied
            assert (taken <= 1, swept <= 1, taken + swept > 0) == (True, True, not done.applied)
            ending = bench.get(key).ending_of(fence(held))
            assert ending is not None
            assert ending.outcome is (Outcome.COMPLETED if done.applied else Outcome.LOST)
            bench.act(Action.DELETE, key)  # no later sweep finds it

    def test_e17_s2_one_of_many_people_acts_on_what_they_all_saw(self, bench: Workbench, crowd: int) -> None:
        """E17: beside the owner's completion; whoever was refused leaves no trace in the audit."""
        actions = (Action.RELEASE, Action.PARK, Action.RESET, Action.DELETE)
        for key in _names("k", ROUNDS):
            held = bench.new(key)
            acts = [bench.acting(action, held) for action in islice(cycle(actions), crowd - 1)]
            done, *answers = at_once([partial(bench.complete, held), *(partial(bench.store.act, act) for act in acts)])
            assert _applied([done, *answers]) == 1
            assert len(bench.store.audit(bench.source, key)) == _applied(answers)

    def test_e16_s12_readers_see_what_was_published_or_nothing(self, bench: Workbench, crowd: int) -> None:
        """E16: many retracts of what they all saw, beside an owner that acquires and publishes."""
        for key in _names("k", ROUNDS):
            held = bench.new(key)
            bench.complete(held, head(held, block("b1")))
            seen = bench.act(Action.RESET, key)
            acts = [bench.acting(Action.RETRACT, seen) for _ in range(crowd - 1)]

            def publishes(token: int = seen.token, key: str = key) -> Answer:
                held = bench.hinted(key, token).partition
                assert held is not None
                return bench.complete(held, head(held, block("b2")))

            works: list[Callable[[], Answer]] = [publishes, *(partial(bench.store.act, act) for act in acts)]
            done, *answers = at_once(works)
            assert done.applied
            assert _applied(answers) <= 1
            assert [found.blocks for found in bench.store.heads(bench.source, key=key)] == [(block("b2"),)]
            assert len(bench.store.audit(bench.source, key)) == 1 + _applied(answers)

    def test_e17_s10_each_partition_is_created_by_one_of_many(self, bench: Workbench, crowd: int) -> None:
        """E17: when it is absent, and when it was deleted."""
        keys = _names("k", 3 * SHARE)
        for _ in range(2):
            created = at_once([partial(bench.create, *keys)] * crowd)
            assert sum(found.created for found in created) == len(keys)
            assert all(found.created + found.existing == len(keys) for found in created)
            for key in keys:
                bench.act(Action.DELETE, key)

    def test_e17_s10_copies_of_one_creation_count_the_same(self, bench: Workbench, crowd: int) -> None:
        """E17: the same message, delivered several times at once."""
        keys = _names("k", 3 * SHARE)
        created = at_once([partial(bench.create, *keys, op=bench.op())] * crowd)
        assert {(found.created, found.existing) for found in created} == {(len(keys), 0)}

    def test_e17_s5_fused_steps_complete_and_acquire_each_partition_once(self, bench: Workbench, crowd: int) -> None:
        """E17: each writer goes from one to the next, and there are enough for all."""
        keys = _names("k", crowd * (SHARE + 1))
        bench.create(*keys)
        assert Counter(chain.from_iterable(at_once([partial(_chain, bench, bench.fused)] * crowd))) == Counter(keys)
        assert bench.store.counts(bench.source)[S.COMPLETED] == crowd * SHARE


def _names(kind: str, number: int) -> list[str]:
    return [f"{kind}-{place:03}" for place in range(number)]


def _held(bench: Workbench, kind: str, number: int) -> list[Partition]:
    """Create partitions and acquire them."""
    keys = _names(kind, number)
    bench.create(*keys)
    return [bench.acquire(key) for key in keys]


def _applied(answers: Iterable[object]) -> int:
    return sum(isinstance(answer, Answer) and answer.applied for answer in answers)


def _swept(bench: Workbench) -> list[Partition]:
    """Sweep a few at a time, so that it is not over at once."""
    for _ in range(SHARE):
        bench.sweep(limit=3)
    return []


def _taken(bench: Workbench) -> list[Partition]:
    """Acquire a share, waiting where a sweep holds what there is."""
    taken: list[Partition] = []
    for _ in range(PATIENCE):
        found = bench.next()
        taken += [found] if found else []
        if len(taken) == SHARE:
            return taken
    raise AssertionError(f"{len(taken)} of {SHARE} partitions came in {PATIENCE} tries")


def _check_held(bench: Workbench, taken: Iterable[Partition], number: int, *, token: int) -> None:
    """Check that as many leases were given, each of another partition, and that all of them hold."""
    leases = {held.key: held for held in taken}
    assert [held.token for held in leases.values()] == [token] * number
    assert [held.key for held in leases.values() if not bench.get(held.key).held_under(fence(held))] == []


def _chain(bench: Workbench, fused: FusedSteps) -> list[str]:
    """Complete a share of partitions, each together with acquiring the next; return all their keys."""
    held = bench.acquire()
    keys = [held.key]
    for _ in range(SHARE):
        following = AcquireNext(source=bench.source, tenancy=bench.tenancy())
        answer = fused.complete_and_acquire(bench.completing(held), following)
        assert answer.ended.applied
        assert answer.next is not None
        held = answer.next
        keys.append(held.key)
    return keys
