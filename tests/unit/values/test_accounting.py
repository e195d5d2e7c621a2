"""Promise S26: a partition's accounting counts what accepted steps stand for, each record once, and nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.leases import (
    Block,
    InvalidInputError,
    Lease,
    OutcomeUnknownError,
    PartitionStatus,
    SourceCoordinator,
)
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Fault, FaultyStore
from airflow_coordination.values.accounting import (
    MAX_TEXT_BYTES,
    OTHERS,
    Accounting,
    Accounts,
    SinkCounts,
    flat,
    of_flat,
)

SOON = timedelta(minutes=1)


def of(read: int) -> Accounting:
    """Return the accounting of so many records, one of them dropped."""
    sinks = {"search": SinkCounts(owed=read - 1, delivered=read - 1)}
    return Accounting(read=read, delivered_everywhere=read - 1, dropped={"cancelled": 1}, sinks=sinks)


class Owned:
    """A partition ``k`` and an owner of it, on a store that may lose answers."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = FaultyStore(InMemoryStore(clock=self.clock), only=("write",))
        self.one = SourceCoordinator(self.store, "flights", "one", clock=self.clock)
        self.one.create_partitions(["k"])

    def acquired(self) -> Lease:
        lease = self.one.acquire_partition("k")
        assert lease is not None
        return lease

    def lose(self, *, applied: bool) -> None:
        first = len(self.store.calls) + 1
        down = dict.fromkeys(range(first, first + 5_000), Fault.UNAVAILABLE)
        self.store.faults = down | ({first: Fault.APPLIED} if applied else {first: Fault.NOT_APPLIED})

    @property
    def read(self) -> int | None:
        partition = self.one.partition("k")
        assert partition is not None
        return partition.accounting.read if partition.accounting else None


@pytest.fixture
def owned() -> Owned:
    return Owned()


def test_s26_a_tenure_says_what_it_has_counted_so_far_and_the_ending_keeps_it(owned: Owned) -> None:
    lease = owned.acquired()
    assert owned.read is None
    lease = owned.one.save_progress_state(lease, 1, counted=of(3))
    assert owned.read == 3
    lease = owned.one.save_progress_state(lease, 2, counted=of(5))
    assert owned.read == 5
    lease = owned.one.save_progress_state(lease, 3)
    owned.one.complete(lease, counted=of(9))
    partition = owned.one.partition("k")
    assert partition is not None
    assert partition.accounting == of(9)


@pytest.mark.parametrize("applied", [True, False])
def test_s26_a_save_whose_answer_was_lost_counts_once(owned: Owned, applied: bool) -> None:
    lease = owned.acquired()
    owned.lose(applied=applied)
    with pytest.raises(OutcomeUnknownError):
        owned.one.save_progress_state(lease, 1, counted=of(3))
    owned.store.faults = {}
    lease = owned.one.save_progress_state(lease, 1, counted=of(3))
    assert owned.read == 3
    owned.one.complete(lease, counted=of(3))
    assert owned.read == 3


@pytest.mark.parametrize("end", ["fail", "give up", "lost"])
def test_s26_what_was_counted_after_the_last_save_never_counts(owned: Owned, end: str) -> None:
    lease = owned.one.save_progress_state(owned.acquired(), 1, counted=of(3))
    if end == "fail":
        owned.one.fail(lease, "boom", retry_after=timedelta(0))
    elif end == "give up":
        owned.one.give_up(lease)
    else:
        owned.clock.advance(timedelta(hours=1))
    owned.one.complete(owned.acquired(), counted=of(4))
    assert owned.read == 7


def test_s26_a_pass_that_goes_on_adds_and_one_from_the_start_counts_from_zero(owned: Owned) -> None:
    owned.one.close(owned.acquired(), SOON, state=1, counted=of(3))
    owned.clock.advance(2 * SOON)
    owned.one.close(owned.acquired(), SOON, counted=of(4))
    assert owned.read == 7
    owned.clock.advance(2 * SOON)
    lease = owned.acquired()
    assert owned.read == 7
    lease = owned.one.save_progress_state(lease, 1, counted=of(2))
    assert owned.read == 2
    owned.one.complete(lease, counted=of(6))
    assert owned.read == 6


def test_s26_a_pass_without_a_delivery_leaves_the_counts_of_the_one_before(owned: Owned) -> None:
    owned.one.close(owned.acquired(), SOON, counted=of(4))
    for _ in range(2):
        owned.clock.advance(2 * SOON)
        owned.one.close(owned.acquired(), SOON)
        assert owned.read == 4


def test_s26_a_saved_pass_that_ends_without_more_stays_counted(owned: Owned) -> None:
    lease = owned.one.save_progress_state(owned.acquired(), 1, counted=of(4))
    owned.one.give_up(lease)
    owned.one.close(owned.acquired(), SOON)
    assert owned.read == 4


@pytest.mark.parametrize("before", [None, 2])
def test_s26_what_this_tenure_has_saved_stays_counted_when_it_closes_without_more(
    owned: Owned, before: int | None
) -> None:
    if before:
        owned.one.give_up(owned.one.save_progress_state(owned.acquired(), 1, counted=of(before)))
    lease = owned.one.save_progress_state(owned.acquired(), 2, counted=of(4))
    owned.one.close(lease, SOON)
    assert owned.read == (before or 0) + 4
    owned.clock.advance(2 * SOON)
    owned.one.close(owned.acquired(), SOON, counted=of(3))
    assert owned.read == 3, "that pass was over"


@pytest.mark.parametrize(
    ("saved", "ending", "told"), [(None, None, None), (2, None, 2), (None, 3, 3), (2, 3, 3)], ids=str
)
def test_s26_counts_of_a_pass_that_is_over_are_not_said_of_what_the_next_one_publishes(
    owned: Owned, saved: int | None, ending: int | None, told: int | None
) -> None:
    owned.one.close(owned.acquired(), SOON, blocks=[Block("clean", "/out/1", "1", 4, 10)], counted=of(5))
    owned.clock.advance(2 * SOON)
    lease = owned.acquired()
    if saved:
        lease = owned.one.save_progress_state(lease, 1, counted=of(saved))
    owned.one.complete(lease, [Block("clean", "/out/2", "2", 7, 10)], counted=of(ending) if ending else None)
    [head] = owned.store.heads("flights|PARTITION")
    assert (head.rows, head.accounting) == (7, of(told) if told else None)
    assert owned.read == (told or 5), "the partition goes on to show them"


def test_s26_a_reset_counts_from_zero(owned: Owned) -> None:
    owned.one.complete(owned.acquired(), counted=of(4))
    owned.one.people.reset("k", "ana", "again")
    assert owned.read is None
    owned.one.complete(owned.acquired(), counted=of(2))
    assert owned.read == 2


def test_s26_an_accounting_that_does_not_balance_is_refused_and_nothing_is_written(owned: Owned) -> None:
    lease = owned.acquired()
    wrong = Accounting(read=3, delivered_everywhere=2)
    for write in (
        lambda: owned.one.save_progress_state(lease, 1, counted=wrong),
        lambda: owned.one.complete(lease, counted=wrong),
        lambda: owned.one.close(lease, SOON, counted=wrong),
        lambda: owned.one.complete_and_get_next(lease, counted=wrong),
    ):
        with pytest.raises(InvalidInputError, match="does not balance: read 3 ≠ delivered everywhere 2"):
            write()
    assert owned.read is None
    owned.one.complete(lease, counted=of(3))
    assert owned.read == 3


def test_the_largest_accounting_fits() -> None:
    most = 10**15 - 1
    sinks = {f"{number:032}": SinkCounts(most, most, most, most) for number in range(8)}
    dropped = {f"{number:032}": most // 32 for number in range(30)}
    totals = dict.fromkeys(("read", "delivered_everywhere", "unrouted", "dead_lettered", "failed"), most)
    accounting = Accounting(**totals, dropped=dropped, sinks=sinks)
    assert OTHERS in accounting.dropped
    stored = Accounts("g" * 24, True, accounting)
    assert len(stored.text.encode()) <= MAX_TEXT_BYTES
    assert Accounts.parse(stored.text) == stored


def test_names_with_colons_are_told_apart() -> None:
    sinks = {"owed:x": SinkCounts(), "x": SinkCounts(owed=1, failed=1)}
    accounting = Accounting(read=2, unrouted=1, dropped={"a:b": 1, ":": 0}, sinks=sinks)
    assert of_flat(flat(accounting)) == accounting


@pytest.mark.parametrize("counts", ['{"reed":1}', '{"read":-1}', '{"delivered":1}', '{"read:x":1}', "[]", "7"])
def test_counts_that_are_corrupt_in_the_store_are_an_error_and_not_nothing(counts: str) -> None:
    with pytest.raises(InvalidInputError, match=r"^accounting='.*': is corrupt in the store\. Reset the partition"):
        Accounts.parse(f'{{"generation":"g","over":0,"counts":{counts}}}')


@pytest.mark.parametrize("text", ["", "[]", "{}", "null"])
def test_what_is_corrupt_in_the_store_is_an_error_and_not_nothing(text: str) -> None:
    with pytest.raises(InvalidInputError, match="is corrupt in the store"):
        Accounts.parse(text)


def test_what_is_corrupt_in_the_store_refuses_only_what_would_be_added_to_it(
    owned: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A save and an ending that count nothing go through: who does not deliver any more is not held up."""
    with monkeypatch.context() as patch:
        broken = property(lambda self: f'{{"generation":"{self.generation}","over":0,"counts":{{"read":"many"}}}}')
        patch.setattr(Accounts, "text", broken)
        owned.one.give_up(owned.one.save_progress_state(owned.acquired(), 1, counted=of(3)))
    lease = owned.one.save_progress_state(owned.acquired(), 2)
    for write in (
        lambda: owned.one.save_progress_state(lease, 3, counted=of(2)),
        lambda: owned.one.complete(lease, counted=of(2)),
        lambda: owned.one.close(lease, SOON),
    ):
        with pytest.raises(InvalidInputError, match="is corrupt in the store"):
            write()
    owned.one.complete(lease)
    assert owned.one.counts()[PartitionStatus.COMPLETED] == 1
