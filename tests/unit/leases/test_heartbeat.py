"""Promises L6 to L8 of the heartbeat, in virtual time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta

import pytest

from airflow_coordination.leases import (
    CoordinationError,
    Lease,
    NoProgressError,
    PartitionNotFoundError,
    PartitionNotOwnedError,
    PartitionUpdateError,
    SchemaVersionError,
    Settings,
    SourceCoordinator,
    StoreUnavailableError,
)
from airflow_coordination.leases.heartbeat import FirstRenewals, Heartbeat
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Fault, FaultyStore
from airflow_coordination.values.times import Randomness

Held = tuple[SourceCoordinator, Lease, FaultyStore, FakeClock]


@pytest.fixture
def held() -> Held:
    clock = FakeClock()
    store = FaultyStore(InMemoryStore(clock=clock), only=("write",))
    settings = Settings(no_progress_timeout=timedelta(minutes=60), request_deadline=timedelta(seconds=5))
    c = SourceCoordinator(store, "flights", "host/dag/run/task/0/1", settings=settings, clock=clock)
    c.create_partitions(["a"])
    lease = c.get_next_partition()
    assert lease is not None
    return c, lease, store, clock


def test_it_renews_every_tenth_of_the_lease_until_it_is_left(held: Held) -> None:
    c, lease, store, clock = held
    renewed = threading.Semaphore(0)
    renew = c.renew

    def signalled(lease: Lease) -> Lease:
        result = renew(lease)
        renewed.release()
        return result

    c.renew = signalled  # type: ignore[method-assign]
    with c.heartbeat(lease) as heartbeat:
        for _ in range(20):
            while not renewed.acquire(timeout=0.01):
                clock.advance(5)
    assert heartbeat.lost is None
    assert store.calls.count("write") >= 20
    assert clock.monotonic() > 600, "the lease lived longer than its timeout"
    c.complete(lease)


class Waited(FakeClock):
    """Lets time pass whenever a heartbeat waits: what happens meanwhile is scripted.

    :param saves: after how many seconds of which whole pause something is saved.
    """

    def __init__(self, saves: dict[int, float]) -> None:
        super().__init__()
        self.saves, self.pauses = saves, 0
        self.save: Callable[[], object] = lambda: None

    def wait(self, event: threading.Event, seconds: float) -> bool:
        if threading.current_thread() is not threading.main_thread():
            return event.wait(30)  # the deadline's
        self.pauses += seconds == INTERVAL
        if seconds == INTERVAL and self.pauses in self.saves:
            self.advance(self.saves[self.pauses])
            self.save()
            seconds -= self.saves[self.pauses]
        self.advance(seconds)
        return event.is_set()


INTERVAL = 60


class Exactly(Randomness):
    def jitter(self, seconds: float, share: float = 0.2) -> float:
        return seconds


@pytest.mark.parametrize(
    ("saves", "renewals"),
    [
        ({}, [60, 120, 180, 240]),
        ({2: 20, 4: 1}, [60, 140, 200, 261]),  # saved at 80 and at 201
        ({2: 20, 3: 50}, [60, 140, 250, 310]),
        ({1: 59, 2: 59}, [119, 238, 298, 358]),  # whoever saves all the time is still told that the lease is wanted
    ],
)
def test_what_is_saved_puts_the_next_renewal_off(saves: dict[int, float], renewals: list[float]) -> None:
    clock = Waited(saves)
    c = SourceCoordinator(InMemoryStore(clock=clock), "flights", "me", clock=clock, randomness=Exactly())
    c.create_partitions(["a"])
    lease = c.get_next_partition()
    assert lease is not None
    clock.save = lambda: c.save_progress_state(lease, {"at": clock.monotonic()})
    renewed: list[float] = []

    def renew(lease: Lease) -> Lease:
        renewed.append(clock.monotonic())
        if len(renewed) == 4:
            heartbeat._stop.set()
        return c.renew(lease)

    heartbeat = Heartbeat(renew, lease, lambda error: None, c.settings, clock=clock, randomness=Exactly())
    heartbeat._run()
    heartbeat.stop()
    assert renewed == renewals
    assert heartbeat.lost is None


def test_where_a_lease_is_renewed_seldom_no_renewal_is_put_off() -> None:
    """The news that the lease is wanted would come when it is taken."""
    clock = Waited({1: 200})
    settings = Settings(renewals_per_lease=3)
    c = SourceCoordinator(InMemoryStore(clock=clock), "flights", "me", clock=clock, settings=settings)
    c.create_partitions(["a"])
    lease = c.get_next_partition()
    assert lease is not None
    heartbeat = Heartbeat(c.renew, lease, lambda error: None, settings, clock=clock, randomness=Exactly())
    clock.advance(100)
    c.save_progress_state(lease, 1)
    assert heartbeat._put_off(since=50.0) == 0.0


def test_l7_a_lost_lease_is_told_once_with_its_reason(held: Held) -> None:
    c, lease, store, clock = held
    reasons: list[CoordinationError] = []
    heartbeat = c.heartbeat(lease, reasons.append)
    clock.advance(601)
    assert SourceCoordinator(store, "flights", "other", clock=clock).get_next_partition() is not None
    assert not heartbeat.beat()
    assert not heartbeat.beat()
    (reason,) = reasons
    assert isinstance(reason, PartitionNotOwnedError)
    assert "lost" in str(reason)
    assert "'other'" in str(reason)


def test_l7_it_stops_by_its_own_deadline_when_the_store_is_silent(held: Held) -> None:
    c, lease, store, clock = held
    store.faults.update(dict.fromkeys(range(1, 100_000), Fault.UNAVAILABLE))
    reasons: list[CoordinationError] = []
    heartbeat = c.heartbeat(lease, reasons.append)
    before = clock.monotonic()
    while heartbeat.beat():
        clock.advance(60)
    assert isinstance(reasons[0], StoreUnavailableError)
    assert 600 <= clock.monotonic() - before <= 661


@pytest.mark.parametrize("hanging", ["renewal", "look at the work"])
def test_l7_the_deadline_holds_even_while_something_hangs(held: Held, hanging: str) -> None:
    c, lease, _, clock = held
    lost, hangs, released = threading.Event(), threading.Event(), threading.Event()

    def hang(lease: Lease | None = None) -> Lease | None:
        hangs.set()
        released.wait(30)
        return lease

    if hanging == "renewal":
        c.renew = hang  # type: ignore[assignment, method-assign]
    with c.heartbeat(lease, lambda error: lost.set(), hang if hanging != "renewal" else None):
        while not hangs.wait(0.01):
            clock.advance(5)
        while not lost.wait(0.01):
            clock.advance(5)
        assert 600 <= clock.monotonic() < 10_000  # long before it comes back
        released.set()


def test_what_ends_before_its_first_renewal_has_cost_one_thread(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    c, lease, _, clock = held
    names, renew, renewed = started(monkeypatch), c.renew, threading.Event()
    with c.heartbeat(lease):
        pass
    assert names == [f"heartbeat-{lease.fence}"]

    c.renew = lambda lease: (renew(lease), renewed.set())[0]  # type: ignore[method-assign]
    with c.heartbeat(lease):
        while not renewed.wait(0.01):
            clock.advance(5)
    assert names[1:] == [f"heartbeat-{lease.fence}", f"deadline-{lease.fence}"]
    assert not [thread for thread in threading.enumerate() if thread.name in names]


Renew = Callable[[Lease], Lease]
SHORT, LONG = Settings(ownership_timeout=timedelta(seconds=10)), Settings()


def beating(first: FirstRenewals, settings: Settings, renew: Renew, number: int = 1) -> Iterator[Heartbeat]:
    """Yield the heartbeats of leases of one driver, whose time is the machine's."""
    c = SourceCoordinator(InMemoryStore(), "flights", "host/dag/run/task/0/1", settings=settings)
    c.create_partitions(f"lease {each}" for each in range(number))
    for _ in range(number):
        lease = c.get_next_partition()
        assert lease is not None
        yield Heartbeat(renew, lease, lambda error: None, settings, first=first)


def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names, start = [], threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (names.append(thread.name), start(thread))[1])
    return names


def waiting(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Return what is set when a thread of first renewals begins to wait: it lets go of the lock only as it does."""
    begun, wait = threading.Event(), threading.Condition.wait

    def noted(condition: threading.Condition, timeout: float | None = None) -> bool:
        if threading.current_thread().name == "renewals":
            begun.set()
        return wait(condition, timeout)

    monkeypatch.setattr(threading.Condition, "wait", noted)
    return begun


def test_w7_leases_that_end_before_their_first_renewal_share_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    others = set(threading.enumerate())  # an earlier test may have left one of that name
    names, first, waits = started(monkeypatch), FirstRenewals(), waiting(monkeypatch)
    for each in beating(first, LONG, lambda lease: lease, 50):
        with each:
            assert waits.wait(30)
    assert names == ["renewals"]
    for thread in set(threading.enumerate()) - others:
        first.end()
        thread.join(30)
        assert not thread.is_alive()  # it had nothing to wait for
    for each in beating(first, LONG, lambda lease: lease):
        with each:
            assert names == ["renewals"] * 2
    first.end()


@pytest.fixture
def held_back(monkeypatch: pytest.MonkeyPatch) -> tuple[list[threading.Thread], threading.Lock]:
    """All threads that are started, and what holds the first of them back until it is released."""
    threads, barrier, start = list[threading.Thread](), threading.Lock(), threading.Thread.start
    barrier.acquire()

    def started(thread: threading.Thread) -> None:
        runs = thread.run
        thread.run = lambda: (barrier.acquire(timeout=60), runs())[1]  # type: ignore[method-assign]
        threads.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", started)
    return threads, barrier


def test_w7_a_thread_that_comes_to_run_after_the_end_of_its_drain_ends_at_once(held_back) -> None:
    (threads, barrier), first = held_back, FirstRenewals()
    for each in beating(first, LONG, lambda lease: lease):
        with each:
            pass
    first.end()
    barrier.release()
    threads[0].join(30)
    assert not threads[0].is_alive()


def test_w7_the_end_of_a_drain_ends_no_thread_of_the_next(held_back, monkeypatch: pytest.MonkeyPatch) -> None:
    (_, barrier), first, waits = held_back, FirstRenewals(), waiting(monkeypatch)
    first.end()
    for each in beating(first, LONG, lambda lease: lease):
        with each:
            pass
    barrier.release()
    assert waits.wait(30)
    first.end()


def test_l6_a_lease_is_renewed_though_its_driver_ends_another_drain() -> None:
    first, renewed = FirstRenewals(), threading.Event()
    for each in beating(first, SHORT, lambda lease: (renewed.set(), lease)[1]):
        with each:
            first.end()
            assert renewed.wait(30)


def test_l6_a_renewal_that_hangs_keeps_no_other_lease_of_its_driver_waiting() -> None:
    hangs, released, renewed = threading.Event(), threading.Event(), threading.Semaphore(0)

    def renew(lease: Lease) -> Lease:
        if lease.key == "lease 0":
            hangs.set()
            released.wait(60)
        else:
            renewed.release()
        return lease

    with ExitStack() as stack:
        for each in beating(FirstRenewals(), SHORT, renew, 3):
            stack.enter_context(each)
        assert hangs.wait(30)
        assert all(renewed.acquire(timeout=30) for _ in range(4))
        released.set()


def test_l6_a_lease_that_is_due_before_the_others_is_renewed_before_them() -> None:
    first, renewed = FirstRenewals(), threading.Event()
    [late] = beating(first, LONG, lambda lease: lease)
    [early] = beating(first, SHORT, lambda lease: (renewed.set(), lease)[1])
    with late, early:
        assert renewed.wait(30)


def test_l6_a_thread_that_cannot_be_started_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    renewed, refused, start = threading.Event(), [], threading.Thread.start

    def once(thread: threading.Thread) -> None:
        if thread.name.startswith("heartbeat") and not refused:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", once)
    [beats] = beating(FirstRenewals(), SHORT, lambda lease: (renewed.set(), lease)[1])
    with beats:
        assert renewed.wait(30)
    assert "A thread that renews a lease cannot be started, will try again: can't start new thread" in caplog.text


def test_a_short_outage_loses_nothing(held: Held) -> None:
    c, lease, store, _ = held
    store.faults.update(dict.fromkeys(range(1, 4), Fault.UNAVAILABLE))
    heartbeat = c.heartbeat(lease)
    assert heartbeat.beat()
    assert heartbeat.lost is None


@pytest.mark.parametrize(
    "error",
    [
        PartitionUpdateError("renew", "a", "the disk is full. Free some space"),
        SchemaVersionError("store", "it is newer than this code", "Update"),
        OSError(28, "No space left on device"),
        RuntimeError("a driver's own"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_e8_whatever_a_renewal_fails_with_it_is_tried_until_the_deadline(held: Held, error: Exception) -> None:
    """E8: one full-disk moment cancelled every running lease at its next renewal."""
    c, lease, _, clock = held
    renew, reasons = c.renew, list[CoordinationError]()

    def fail(lease: Lease) -> Lease:
        raise error

    c.renew = fail  # type: ignore[method-assign]
    heartbeat = c.heartbeat(lease, reasons.append)
    clock.advance(540)
    assert heartbeat.beat()
    c.renew = heartbeat._renew = renew  # type: ignore[method-assign]
    assert heartbeat.beat(), "the disk has space again"
    heartbeat._renew = fail
    clock.advance(590)
    assert heartbeat.beat()
    clock.advance(11)
    assert not heartbeat.beat()
    [reason] = reasons
    assert str(error) in str(reason)


@pytest.mark.parametrize("error", [PartitionNotFoundError("a", "flights"), NoProgressError("a", 7)])
def test_e8_only_what_says_that_the_lease_is_over_loses_it_at_once(held: Held, error: CoordinationError) -> None:
    """E8, the other side; *not owned* is in the test of L7."""
    c, lease, _, _ = held

    def fail(lease: Lease) -> Lease:
        raise error

    c.renew = fail  # type: ignore[method-assign]
    heartbeat = c.heartbeat(lease)
    assert not heartbeat.beat()
    assert heartbeat.lost is error


def test_l8_work_without_progress_is_warned_and_then_cancelled(held: Held, caplog: pytest.LogCaptureFixture) -> None:
    c, lease, _, clock = held
    reasons: list[CoordinationError] = []
    heartbeat = c.heartbeat(lease, reasons.append, progress=lambda: 7)
    assert heartbeat.beat()
    for _ in range(4):
        clock.advance(timedelta(minutes=9))
        assert heartbeat.beat()
    assert "shows no progress" in caplog.text
    heartbeat.alive()
    for _ in range(6):
        clock.advance(timedelta(minutes=9))
        assert heartbeat.beat()
    clock.advance(timedelta(minutes=9))
    assert not heartbeat.beat()
    assert isinstance(reasons[0], NoProgressError)
    assert "showed no progress for 3780 s" in str(reasons[0])


def test_l8_moving_counters_count_as_progress(held: Held) -> None:
    c, lease, _, clock = held
    tasks = iter(range(1000))
    heartbeat = c.heartbeat(lease, progress=lambda: next(tasks))
    for _ in range(20):
        clock.advance(timedelta(minutes=9))
        assert heartbeat.beat()
