"""Accounting: totals that a save or an ending carries, stored by the same step and by none that is refused (S26)."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

from dataclasses import fields, replace

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import AcquireNext, Action
from airflow_coordination.testing.conformance.coordinating import Coordinators
from airflow_coordination.testing.conformance.workbench import MINUTE, TIMEOUT, Workbench
from airflow_coordination.values.accounting import Accounting, Accounts, AddedUp, SinkCounts, flat
from airflow_coordination.values.status import Outcome
from airflow_coordination.values.status import PartitionStatus as S


def counted(read: int, sinks: int = 1) -> Accounting:
    """Return an accounting of records that each sink has confirmed."""
    each = {f"sink {number}": SinkCounts(owed=read, delivered=read) for number in range(sinks)}
    return Accounting(read=read, delivered_everywhere=read, sinks=each)


LARGE = replace(counted(10**12, sinks=8), dropped={f"reason {number}": 0 for number in range(20)})


def totals(held: Partition, accounting: Accounting, generation: str | None = None) -> str:
    """Return the text of these totals, valid in the partition's own generation unless another is named."""
    over = generation is not None
    return Accounts(held.generation if generation is None else generation, over, accounting).text


def close_anew(bench: Workbench, held: Partition, accounting: Accounting) -> None:
    """Close so that the next tenure starts over, with the totals of the pass that this ends."""
    end = bench.ending(
        held,
        Outcome.CLOSED,
        S.CLOSED,
        closed_count=1,
        delay=MINUTE,
        progress=None,
        clear_staged=True,
        generation="second",
        accounting=totals(held, accounting, "second"),
    )
    assert bench.store.write(end).applied


def saved(bench: Workbench, held: Partition, accounting: Accounting, state: object = 1) -> Partition:
    """Save with an accounting, and return the partition after it."""
    assert bench.store.write(replace(bench.saving(held, state), accounting=totals(held, accounting))).applied
    return bench.get(held.key)


class Keeping:
    """What became of the records."""

    def test_s26_a_save_stores_what_it_carries_and_one_that_carries_nothing_leaves_it(self, bench: Workbench) -> None:
        held = bench.new("k")
        assert held.accounting is None
        for accounting in (counted(3), LARGE, counted(7)):
            held = saved(bench, held, accounting)
            assert held.accounting == accounting
        held = bench.save(held, {"row": 9})
        assert held.accounting == counted(7)

    def test_s26_an_ending_stores_what_it_carries(self, bench: Workbench) -> None:
        held = bench.new("k")
        assert bench.store.write(replace(bench.completing(held), accounting=totals(held, LARGE))).applied
        done = bench.get("k")
        assert (done.status, done.accounting) == (S.COMPLETED, LARGE)

    def test_s26_an_ending_that_carries_nothing_leaves_what_was_saved(self, bench: Workbench) -> None:
        for key, end in (("failed", bench.fail), ("given up", bench.give_up), ("completed", bench.complete)):
            held = saved(bench, bench.new(key), LARGE)
            assert end(held).applied
            assert bench.get(key).accounting == LARGE

    def test_s26_a_fused_ending_stores_what_it_carries(self, bench: Workbench) -> None:
        if not bench.store.has_fused_step:
            return
        held = bench.new("k")
        end = replace(bench.completing(held), accounting=totals(held, counted(5)))
        following = AcquireNext(source=bench.source, tenancy=bench.tenancy())
        assert bench.store.complete_and_acquire(end, following).ended.applied
        assert bench.get("k").accounting == counted(5)

    def test_s26_a_lost_tenure_changes_nothing_and_its_successor_finds_what_was_accepted(
        self, bench: Workbench
    ) -> None:
        held = saved(bench, bench.new("k"), counted(4))
        bench.clock.advance(2 * TIMEOUT)
        again = bench.acquire()
        assert again.accounting == counted(4)
        late = totals(held, counted(9))
        assert not bench.store.write(replace(bench.saving(held, 2), accounting=late)).applied
        assert not bench.store.write(replace(bench.completing(held), accounting=late)).applied
        assert bench.get("k").accounting == counted(4)

    def test_s26_a_repeated_step_is_refused_and_counts_once(self, bench: Workbench) -> None:
        held = bench.new("k")
        save = replace(bench.saving(held, 1), accounting=totals(held, counted(4)))
        assert [bench.store.write(save).applied for _ in range(2)] == [True, False]
        held = bench.get("k")
        end = replace(bench.completing(held), accounting=totals(held, counted(6)))
        assert [bench.store.write(end).applied for _ in range(2)] == [True, False]
        assert bench.get("k").accounting == counted(6)

    def test_s26_who_starts_over_counts_from_zero(self, bench: Workbench) -> None:
        saved(bench, bench.new("k"), LARGE)
        assert bench.act(Action.RESET, "k").accounting is None
        saved(bench, bench.acquire(), counted(2))
        bench.act(Action.DELETE, "k")
        bench.create("k")
        assert bench.get("k").accounting is None

    def test_s26_the_counts_of_a_pass_stay_until_the_next_one_has_delivered(self, bench: Workbench) -> None:
        held = bench.new("k")
        close_anew(bench, held, counted(8))
        assert bench.get("k").accounting == counted(8)
        bench.clock.advance(2 * MINUTE)
        assert bench.acquire().accounting == counted(8)

    def test_s26_a_source_is_the_sum_of_its_partitions(self, bench: Workbench, coordinators: Coordinators) -> None:
        one = coordinators()
        assert one.accounting() == AddedUp()
        other = Accounting(read=5, dropped={"bad": 2}, dead_lettered=3, sinks={"sink 0": SinkCounts(3, 0, 3, 0)})
        saved(bench, bench.new("a"), counted(4))
        saved(bench, bench.new("b"), other)
        saved(bench, bench.new("large"), LARGE)
        saved(bench, bench.new("reset"), counted(100))
        bench.act(Action.RESET, "reset")
        saved(bench, bench.new("deleted"), counted(100))
        bench.act(Action.DELETE, "deleted")
        bench.new("nothing")
        found, wanted = one.accounting(), counted(4) + other + LARGE
        assert found.partitions == 3
        assert flat(found) == flat(wanted)
        assert one.accounting("b") == AddedUp(**{f.name: getattr(other, f.name) for f in fields(other)}, partitions=1)
        assert one.accounting("nothing") == one.accounting("not there") == AddedUp()

    def test_s26_a_source_may_have_more_sinks_and_larger_counts_than_a_partition(
        self, bench: Workbench, coordinators: Coordinators
    ) -> None:
        most = 10**15 - 1
        for key in "abc":
            sinks = {f"{key} {number}": SinkCounts(owed=most, delivered=most) for number in range(8)}
            saved(bench, bench.new(key), Accounting(read=most, delivered_everywhere=most, sinks=sinks))
        found = coordinators().accounting()
        assert (found.read, len(found.sinks), found.imbalances()) == (3 * most, 24, [])

    def test_s26_a_page_and_a_search_show_it_too(self, bench: Workbench) -> None:
        held = saved(bench, bench.new("k"), LARGE)
        [listed] = bench.store.page(bench.source, None, None, 10)
        found = bench.store.find_nonce(bench.source, held.nonce)
        assert found is not None
        assert (listed.accounting, found.accounting) == (LARGE, LARGE)
