"""Accounting: totals that a save or an ending carries, stored by the same step and by none that is refused (S26)."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import AcquireNext, Action
from airflow_coordination.testing.conformance.coordinator_cases import Coordinators, acquired
from airflow_coordination.testing.conformance.endings import ENDINGS
from airflow_coordination.testing.conformance.fixtures import MINUTE, TIMEOUT, Workbench, block, head
from airflow_coordination.testing.conformance.heads import history
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
        held = bench.new("k")
        end = replace(bench.completing(held), accounting=totals(held, counted(5)))
        following = AcquireNext(source=bench.source, tenancy=bench.tenancy())
        assert bench.fused.complete_and_acquire(end, following).ended.applied
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


class Copying:
    """The accounting as it was when a tenure ended, or when something was published."""

    @pytest.mark.parametrize("outcome", ENDINGS)
    @pytest.mark.parametrize("accounting", [counted(3), LARGE], ids=["small", "large"])
    def test_x11_a_row_has_the_accounting_that_the_tenure_has_left(
        self, keeping: Workbench, outcome: Outcome, accounting: Accounting, starts_are_kept: bool
    ) -> None:
        held = saved(keeping, keeping.new("k"), accounting)
        end, _ = ENDINGS[outcome]
        end(keeping, held)
        [row] = history(keeping, "k")
        # Where starts are not stored, a sweep may see no more than an index repeats, and no large text in any case.
        unseen = outcome is Outcome.LOST and not starts_are_kept and row.accounting is None
        assert unseen or row.accounting == accounting

    def test_x11_a_row_has_what_the_ending_itself_counts(self, keeping: Workbench) -> None:
        held = keeping.new("k")
        assert keeping.store.write(replace(keeping.completing(held), accounting=totals(held, LARGE))).applied
        assert [row.accounting for row in history(keeping)] == [LARGE]

    def test_x11_a_row_of_nothing_delivered_has_none(self, keeping: Workbench) -> None:
        for number, (end, _) in enumerate(ENDINGS.values()):
            end(keeping, keeping.new(f"k{number}"))
        assert {row.accounting_text for row in history(keeping)} == {None}

    def test_x11_each_row_has_its_own_tenures_accounting(self, keeping: Workbench) -> None:
        keeping.create("k")
        for number in (1, 2, 3):
            held = saved(keeping, keeping.acquire("k"), counted(number))
            keeping.fail(held)
        keeping.give_up(keeping.acquire("k"))
        found = [row.accounting for row in history(keeping, "k")]
        assert found == [counted(3), counted(3), counted(2), counted(1)]

    def test_x11_a_row_of_a_tenure_that_is_taken_over_has_it_too(self, keeping: Workbench) -> None:
        saved(keeping, keeping.new("k"), LARGE)
        keeping.expire()
        keeping.acquire("k")
        [row] = history(keeping, "k")
        assert (row.outcome, row.accounting) == (Outcome.LOST, LARGE)

    def test_x11_counts_of_an_earlier_generation_are_in_no_later_row(self, keeping: Workbench) -> None:
        held = saved(keeping, keeping.new("k"), LARGE)
        keeping.act(Action.RESET, "k")  # ends the tenure, which has counted
        keeping.fail(keeping.acquire("k"))
        keeping.act(Action.RELEASE, keeping.acquire("k").key)
        released, failed, reset = history(keeping, "k")
        assert (reset.token, reset.accounting) == (held.token, LARGE)
        assert (released.accounting, failed.accounting) == (None, None)

    def test_x11_the_row_of_a_close_that_starts_over_has_the_pass(self, keeping: Workbench) -> None:
        held = saved(keeping, keeping.new("k"), counted(3))
        close_anew(keeping, held, counted(8))
        assert [row.accounting for row in history(keeping)] == [counted(8)]

    def test_x11_a_fused_ending_has_it_too(self, keeping: Workbench) -> None:
        lost = saved(keeping, keeping.new("lost"), counted(4))
        keeping.expire()
        held = keeping.new("mine")
        end = replace(keeping.completing(held), accounting=totals(held, counted(5)))
        answer = keeping.fused.complete_and_acquire(end, AcquireNext(source=keeping.source, tenancy=keeping.tenancy()))
        assert answer.next is not None
        assert answer.next.key == lost.key
        assert [row.accounting for row in history(keeping, "mine")] == [counted(5)]
        assert [row.accounting for row in history(keeping, "lost")] == [counted(4)]

    def test_x11_corrupt_counts_refuse_no_ending(self, keeping: Workbench) -> None:
        for key, outcome in (("a", Outcome.LOST), ("b", Outcome.FAILED), ("c", Outcome.COMPLETED)):
            held = keeping.new(key)
            assert keeping.store.write(replace(keeping.saving(held, 1), accounting="{no json")).applied
            end, status = ENDINGS[outcome]
            end(keeping, replace(held, last_op=keeping.get(key).last_op))
            assert keeping.get(key).status is status
        assert {row.accounting_text for row in history(keeping)} == {None}

    def test_s26_what_is_published_has_a_copy_of_the_accounting(self, bench: Workbench) -> None:
        held = bench.new("k")
        records = [
            replace(head(held, block(name, name), dataset=name), accounting_text=totals(held, accounting))
            for name, accounting in (("clean", LARGE), ("rejected", counted(2)))
        ]
        assert bench.complete(held, *records, head(held, block("none", "none"), dataset="none")).applied
        found = {each.dataset: each.accounting for each in bench.store.heads(bench.source, key="k")}
        assert found == {"clean": LARGE, "rejected": counted(2), "none": None}

    def test_s26_what_is_published_later_has_its_own_copy(self, bench: Workbench) -> None:
        for accounting in (LARGE, counted(2), None):
            held = bench.acquire("k") if bench.store.get(bench.source, "k") else bench.new("k")
            text = None if accounting is None else totals(held, accounting)
            assert bench.complete(held, replace(head(held, block("b1")), accounting_text=text)).applied
            assert [each.accounting for each in bench.store.heads(bench.source)] == [accounting]
            bench.act(Action.RESET, "k")

    def test_s26_a_retract_takes_the_copy_back_too(self, bench: Workbench) -> None:
        held = bench.new("k")
        assert bench.complete(held, replace(head(held, block("b1")), accounting_text=totals(held, LARGE))).applied
        bench.act(Action.RETRACT, "k")
        assert [each.accounting_text for each in bench.store.heads(bench.source)] == [None]

    def test_s26_what_was_saved_is_said_of_what_an_ending_without_counts_publishes(
        self, bench: Workbench, coordinators: Coordinators
    ) -> None:
        one = coordinators()
        bench.create("k")
        lease = one.save_progress_state(acquired(one.acquire_partition("k")), {"row": 1}, [block("b1")], counted(4))
        one.complete(lease)
        [published] = bench.store.heads(bench.source)
        assert published.accounting == counted(4)

    def test_s26_a_head_record_says_the_totals_after_the_ending_that_published_it(
        self, bench: Workbench, coordinators: Coordinators
    ) -> None:
        one = coordinators()
        bench.create("k")
        first = acquired(one.acquire_partition("k"))
        first = one.save_progress_state(first, {"row": 1}, counted=counted(3))
        one.fail(first, "boom", retry_after=MINUTE * 0)
        second = acquired(coordinators().acquire_partition("k"))
        two = coordinators()
        second = two.save_progress_state(second, {"row": 2}, [block("b1")], counted=counted(4))
        two.close(second, MINUTE, {"row": 2}, counted=counted(4))
        [published] = bench.store.heads(bench.source)
        assert published.accounting == counted(3) + counted(4)
        bench.clock.advance(MINUTE)
        third = acquired(coordinators().acquire_partition("k"))
        coordinators().complete(third, [block("b2", "other")])  # has counted nothing itself
        copies = {each.dataset: each.accounting for each in bench.store.heads(bench.source)}
        assert copies == {"clean": counted(7), "other": counted(7)}
        if parts_of(bench.store).history is not None:
            rows = [row.accounting for row in history(bench, "k")]
            assert rows == [counted(7), counted(7), counted(3)]
