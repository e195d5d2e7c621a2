"""Reading: pages, hints, counts, the outlook, who holds what; the sums of chunks that are kept for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_coordination.monitoring.states import word_of
from airflow_coordination.protocol.beside.chunk_sums import MAX_NUMBER, MAX_REASON, ChunkState, ChunkSums, ChunkTotals
from airflow_coordination.protocol.beside.key_ranges import KeyRange, KeyRanges
from airflow_coordination.protocol.partition import Partition, PartitionIdentifier
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.conformance.coordinator_cases import Coordinators
from airflow_coordination.testing.conformance.fixtures import MINUTE, TIMEOUT, Workbench, owner
from airflow_coordination.testing.crash import Fault, FaultyStore
from airflow_coordination.values.fence import Owner, Place
from airflow_coordination.values.status import PartitionStatus

S = PartitionStatus
SECOND = timedelta(seconds=1)


def pages(bench: Workbench, status: PartitionStatus | None, size: int) -> list[Partition]:
    """Return everything, read in pages."""
    found: list[Partition] = []
    while page := bench.store.page(bench.source, status, found[-1].key if found else None, size):
        assert len(page) <= size
        found += page
    return found


class Reading:
    """What the sensor, the command line and the board read; promise S18."""

    def test_pages_hold_everything_once_in_byte_order(self, bench: Workbench) -> None:
        keys = ["b", "a", "B", "é", "e\u0301", "\U0001f600", "￿", "a\u0001", "aa", "10", "9"]
        bench.create(*keys)
        assert bench.keys(pages(bench, None, 3)) == sorted(keys, key=str.encode)
        assert bench.keys(pages(bench, None, 1000)) == sorted(keys, key=str.encode)

    def test_pages_of_one_status(self, bench: Workbench) -> None:
        for number in range(3):
            for status in S:
                bench.bring(f"{status}-{number}", status)
        for status in S:
            expected = [f"{status}-{number}" for number in range(3)]
            assert bench.keys(pages(bench, status, 2)) == expected

    def test_d_pages_of_what_is_parked_and_of_what_is_not(self, bench: Workbench) -> None:
        """D: a sensor names the first parked ones, however many are closed besides."""
        for number in range(6):
            bench.close(bench.new(f"closed-{number}"), reopen_after=None if number % 2 else MINUTE)
        bench.create("free", "gone")
        bench.act(Action.DELETE, "gone")

        def keys(after: str | None, limit: int, parked: bool, status: S | None = None) -> list[str]:
            return bench.keys(bench.store.page(bench.source, status, after, limit, parked=parked))

        assert keys(None, 2, True) == ["closed-1", "closed-3"]
        assert keys("closed-1", 9, True) == ["closed-3", "closed-5"]
        assert keys(None, 2, False) == ["closed-0", "closed-2"]
        assert keys("closed-2", 9, False) == ["closed-4", "free"]
        assert keys("closed-2", 9, False, S.CLOSED) == ["closed-4"]

    def test_a_page_holds_whole_partitions(self, bench: Workbench) -> None:
        bench.save(bench.new("k"), {"row": 1})
        assert pages(bench, None, 9) == [bench.get("k")]

    def test_hints_come_in_the_acquisition_order_with_the_tokens_seen(self, bench: Workbench) -> None:
        bench.create("crashed", "closed", "delayed", "held", "new-2", "new-1")
        bench.acquire("crashed")
        bench.close(bench.acquire("closed"))
        bench.expire()
        bench.fail(bench.acquire("delayed"), delay=MINUTE)
        bench.acquire("held")
        expected = [("crashed", 1), ("closed", 1), ("new-2", 0), ("new-1", 0)]
        assert list(bench.store.claimable(bench.source, 100)) == expected
        assert list(bench.store.claimable(bench.source, 2)) == expected[:2]
        assert list(bench.store.claimable(bench.source, 100)) == expected
        assert bench.drained() == [key for key, _ in expected]

    def test_e17_hints_are_of_what_is_due(self, bench: Workbench) -> None:
        """E17: not of what is closed or delayed until later."""
        bench.close(bench.new("closed"))
        bench.give_up(bench.new("delayed"), MINUTE)
        assert list(bench.store.claimable(bench.source, 9)) == []
        bench.clock.advance(MINUTE)
        assert [key for key, _ in bench.store.claimable(bench.source, 9)] == ["closed", "delayed"]

    def test_counts_name_all_statuses(self, bench: Workbench) -> None:
        assert bench.store.counts(bench.source) == dict.fromkeys(S, 0)
        for number, status in enumerate(S):
            for repeated in range(number + 1):
                bench.bring(f"{status}-{repeated}", status)
        assert bench.store.counts(bench.source) == {status: number + 1 for number, status in enumerate(S)}

    def test_the_outlook_says_what_can_still_happen(self, bench: Workbench) -> None:
        assert bench.store.outlook(bench.source).next_due is None
        bench.create("new", "held", "closed", "delayed", "parked", "done", "gone")
        bench.acquire("held")
        bench.close(bench.acquire("closed"), reopen_after=2 * MINUTE)
        bench.fail(bench.acquire("delayed"), delay=MINUTE)
        bench.fail(bench.acquire("parked"), delay=None)
        bench.complete(bench.acquire("done"))
        bench.act(Action.DELETE, "gone")
        outlook = bench.store.outlook(bench.source)
        assert outlook.claimable >= 1
        assert (outlook.assigned, outlook.waiting, outlook.parked, outlook.completed) == (1, 2, 1, 1)
        assert outlook.next_due == bench.clock.now() + MINUTE

    @pytest.mark.parametrize("number", [1, 3, 49])
    def test_ranges_of_keys_say_where_what_is(self, bench: Workbench, number: int) -> None:
        """Each range is what its partitions are, one by one; all of them together are the source."""
        assert bench.ranges.key_ranges(bench.source, number) == KeyRanges([])
        bench.create("due", "lost", "gone", *(f"n{at}" for at in range(5)))
        bench.create(PartitionIdentifier("child", parents=["n0"]))
        bench.close(bench.acquire("due"), reopen_after=MINUTE)
        bench.acquire("lost")
        bench.clock.advance(TIMEOUT + SECOND)
        bench.acquire("n1")
        bench.close(bench.acquire("n0"), reopen_after=MINUTE)
        bench.fail(bench.acquire("n2"), delay=MINUTE)
        bench.fail(bench.acquire("n3"), delay=None)
        bench.complete(bench.acquire("n4"))
        bench.act(Action.DELETE, "gone")
        left, now = pages(bench, None, 1000), bench.clock.now()
        found = bench.ranges.key_ranges(bench.source, number)
        assert found.whole
        assert len(found.ranges) == min(number, len(left))
        for each in found.ranges:
            some = [one for one in left if each.first.encode() <= one.key.encode() <= each.last.encode()]
            assert (some[0].key, some[-1].key) == (each.first, each.last)
            assert KeyRange(first=each.first, last=each.last, **Counter(word_of(one, now) for one in some)) == each
            left = left[len(some) :]
        assert left == []

    def test_what_is_parked_is_read_backwards(self, bench: Workbench) -> None:
        for key in ("B", "a", "é", "gone", "x"):
            bench.close(bench.new(key), reopen_after=None)
        bench.close(bench.new("b"), reopen_after=MINUTE)
        bench.act(Action.DELETE, "gone")
        found = [bench.ranges.parked_before(bench.source, key) for key in ("é", "x", "b", "a", "B", "A")]
        assert found == ["x", "a", "a", "B", None, None]

    def test_the_outlook_of_nothing_but_a_lease(self, bench: Workbench) -> None:
        bench.new("held")
        outlook = bench.store.outlook(bench.source)
        assert (outlook.claimable, outlook.assigned) == (0, 1)
        assert outlook.next_due == bench.clock.now() + TIMEOUT

    def test_a_due_partition_counts_as_claimable_before_any_sweep(self, bench: Workbench) -> None:
        bench.close(bench.new("closed"))
        bench.clock.advance(MINUTE)
        outlook = bench.store.outlook(bench.source)
        assert outlook.claimable == 1
        assert outlook.overdue in (0, 1)  # 0 where counting is dear

    def test_b7_a_lease_that_has_ended_is_expired_and_held_no_more(self, bench: Workbench) -> None:
        bench.create("held", "lost")
        bench.acquire("lost")
        bench.clock.advance(TIMEOUT + SECOND)
        bench.acquire("held")
        outlook = bench.store.outlook(bench.source)
        assert (outlook.assigned, outlook.expired, outlook.overdue) in ((1, 1, 1), (2, 0, 0))  # where counting is dear

    def test_the_outlook_says_for_how_long_the_oldest_could_have_been_acquired(self, bench: Workbench) -> None:
        def age() -> timedelta | None:
            return bench.store.outlook(bench.source).oldest_claimable

        assert age() is None
        bench.create("first")
        assert age() == timedelta(0)
        bench.clock.advance(MINUTE)
        bench.create("second")
        assert age() == MINUTE
        held = bench.acquire("first")
        assert age() == timedelta(0)
        bench.clock.advance(SECOND)
        bench.complete(bench.acquire("second"))
        assert age() is None, "a lease is no work that waits"
        bench.give_up(held, MINUTE)
        assert age() is None, "nor is a delay that is not over"
        bench.clock.advance(MINUTE + SECOND)
        assert age() == SECOND, "since its delay was over, not since it was created"
        bench.sweep()
        assert age() == SECOND
        bench.give_up(bench.acquire("first"))
        assert age() == timedelta(0), "since it was given back"

    @pytest.mark.parametrize("swept", [False, True])
    def test_the_oldest_claimable_is_as_old_as_its_time(self, bench: Workbench, swept: bool) -> None:
        """A sweep makes nobody younger."""
        bench.close(bench.new("closed"), reopen_after=MINUTE)
        bench.clock.advance(MINUTE + SECOND)
        if swept:
            bench.sweep()
        assert bench.store.outlook(bench.source).oldest_claimable == SECOND
        bench.complete(bench.acquire("closed"))
        held = bench.new("lost")
        bench.renew(held, 2 * TIMEOUT)
        bench.clock.advance(2 * TIMEOUT + SECOND)
        if swept:
            bench.sweep()
        assert bench.store.outlook(bench.source).oldest_claimable == SECOND

    def test_the_oldest_claimable_is_looked_for_in_every_priority(self, bench: Workbench) -> None:
        """Of another source there is none; and the first of all is not always the oldest where reading is cheap."""
        bench.create(PartitionIdentifier("late", priority=5))
        bench.clock.advance(MINUTE)
        bench.create("urgent")
        outlook = bench.store.outlook(bench.source)
        assert outlook.oldest_claimable in (timedelta(0), MINUTE)  # 0 where reading is dear
        bench.complete(bench.acquire("urgent"))
        assert bench.store.outlook(bench.source).oldest_claimable == MINUTE
        assert bench.store.outlook("other|PARTITION").oldest_claimable is None

    def test_an_acquisition_is_found_by_its_nonce_while_it_lasts(self, bench: Workbench) -> None:
        held = bench.new("k")
        assert bench.store.find_nonce(bench.source, held.nonce) == held
        assert bench.store.find_nonce(bench.source, "another") is None
        assert bench.store.find_nonce("other|PARTITION", held.nonce) is None
        bench.give_up(held)
        assert bench.store.find_nonce(bench.source, held.nonce) is None

    def test_a_tasks_partitions_are_found_whatever_the_try_and_host(self, bench: Workbench) -> None:
        bench.create("a", "b", "c", "d")
        bench.acquire("a", by=owner("process", 1, "old"))
        bench.acquire("b", by=owner("process", 2, "new"))
        bench.acquire("c", by=owner("other", 1))
        bench.complete(bench.acquire("d", by=owner("process", 3)))
        found = bench.store.find_task(bench.source, owner("process", 9, "any").task)
        assert sorted(bench.keys(found)) == ["a", "b"]

    def test_e6_a_tasks_partitions_are_found_whether_it_says_where_it_is_or_not(self, bench: Workbench) -> None:
        bench.create("a", "b")
        task = ("flights", "scheduled__1", "process", 3)
        place = Place("production", "5f0c1d2e", "4711.88")
        bench.acquire("a", by=Owner.of_task("host", *task, 1))
        held = bench.acquire("b", by=Owner.of_task("host", *task, 1, place))
        assert sorted(bench.keys(bench.store.find_task(bench.source, Owner.of_task("any", *task, 2).task))) == [
            "a",
            "b",
        ]
        assert Owner(bench.get("b").owner or "").place == place
        assert bench.retake(held, by=Owner.of_task("new", *task, 2, place)).applied

    def test_sources_are_registered_by_name_and_refreshed(self, bench: Workbench) -> None:
        bench.store.register("b|PARTITION", {"dags": ["one"]})
        bench.store.register("a|PARTITION", {})
        bench.store.register("b|PARTITION", {"dags": ["one", "two"]})
        names = [name for name, _ in bench.store.sources()]
        assert names == ["a|PARTITION", "b|PARTITION"]
        assert dict(bench.store.sources())["b|PARTITION"] == {"dags": ["one", "two"]}

    def test_s18_the_store_keeps_its_id_through_another_set_up(self, bench: Workbench) -> None:
        before = bench.store.store_id
        bench.create("k")
        bench.store.setup()
        assert bench.store.store_id == before != ""
        assert bench.get("k").key == "k"

    def test_the_stores_clock_is_the_one_it_was_given(self, bench: Workbench) -> None:
        assert bench.store.now() == bench.clock.now()


FIRST = datetime(2013, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def day(number: int, dataset: str = "clean", **sums: Any) -> ChunkSums:
    """Return the sums of a day, counted from the first one."""
    start = FIRST + number * DAY
    return ChunkSums(dataset=dataset, chunk_start=start, chunk_end=start + DAY, **sums)


def full(number: int, dataset: str = "clean") -> ChunkSums:
    """Return sums of a day of which everything is known."""
    counts = dict.fromkeys(("rows", "dead_rows", "bytes_before", "bytes_now"), MAX_NUMBER // 100 - number)
    return day(
        number,
        dataset,
        state=ChunkState.PARTLY,
        heads=3,
        uncovered_heads=1,
        uncovered_bytes=7,
        files_before=9,
        files_now=2,
        merged_at=FIRST,
        reason="dead rows: 23 % of “clean”",
        epoch=2,
        group_key="e0002|clean|2013-01-01T00:00:00Z|0",
        **counts,
    )


class Summing:
    """The sums of chunks: a display, which the last writer writes."""

    def test_sums_are_read_as_they_were_written(self, bench: Workbench) -> None:
        """Also of what has no interval, of any time, and of what hardly anything is known."""
        forever = ChunkSums(dataset="clean", chunk_start=BEGINNING, chunk_end=END, state="of newer code")
        rows = [full(1), forever, ChunkSums(dataset="clean", reason="unbounded interval")]
        bench.chunks.put_chunks(bench.source, rows)
        now = bench.clock.now()
        expected = [replace(row, updated_at=now) for row in (forever, rows[0], rows[2])]
        assert list(bench.chunks.chunks(bench.source)) == expected
        assert list(bench.chunks.chunks("other|PARTITION")) == []

    def test_pages_hold_each_chunk_once_the_newest_first(self, bench: Workbench) -> None:
        datasets = ["clean", "B", "é", "clean-2"]
        rows = [day(number, dataset) for number in range(5) for dataset in datasets]
        rows += [ChunkSums(dataset=dataset) for dataset in datasets]
        bench.chunks.put_chunks(bench.source, rows)
        expected = sorted(rows, key=lambda row: (row.dataset.encode(), row.place))

        def read(dataset: str | None, size: int) -> list[ChunkSums]:
            found: list[ChunkSums] = []
            after: tuple[str, str] | None = None
            while page := bench.chunks.chunks(bench.source, dataset, after, size):
                assert len(page) <= size
                found += page
                after = page[-1].dataset, page[-1].place
            return [replace(row, updated_at=None) for row in found]

        for size in (1, 3, 1000):
            assert read(None, size) == expected
            for dataset in datasets:
                assert read(dataset, size) == [row for row in expected if row.dataset == dataset]
        newest = [row.chunk_start for row in read("clean", 1000)]
        assert newest == [*(FIRST + number * DAY for number in (4, 3, 2, 1, 0)), None]

    def test_the_last_writer_wins_whole(self, bench: Workbench) -> None:
        bench.chunks.put_chunks(bench.source, [full(1), full(2)])
        bench.clock.advance(MINUTE)
        bench.chunks.put_chunks(bench.source, [full(1), day(1, heads=0), day(3)])
        found = bench.chunks.chunks(bench.source)
        now = bench.clock.now()
        assert list(found) == [
            replace(day(3), updated_at=now),
            replace(full(2), updated_at=now - MINUTE),
            replace(day(1, heads=0), updated_at=now),
        ]

    def test_many_are_written_at_once(self, bench: Workbench) -> None:
        """More than one statement, transaction or page takes."""
        many = 1_203
        bench.chunks.put_chunks(bench.source, [day(number, heads=1) for number in range(many)])
        [totals] = bench.chunks.chunk_totals(bench.source)
        assert totals.chunks == totals.heads == many or not totals.whole
        assert len(bench.chunks.chunks(bench.source, "clean", None, 2 * many)) == many
        bench.chunks.forget_chunks(bench.source, "clean")
        assert list(bench.chunks.chunks(bench.source)) == []

    def test_totals_are_by_dataset_and_state(self, bench: Workbench) -> None:
        bench.chunks.put_chunks(bench.source, [full(1), full(4), day(2, heads=5), ChunkSums(dataset="b", rows=1)])
        assert list(bench.chunks.chunk_totals("other|PARTITION")) == []
        merged = full(1)
        now = bench.clock.now()
        other, fresh, partly = bench.chunks.chunk_totals(bench.source)
        assert list(bench.chunks.chunk_totals(bench.source, "b")) == [other]
        assert list(bench.chunks.chunk_totals(bench.source, "clean")) == [fresh, partly]
        assert list(bench.chunks.chunk_totals(bench.source, "cle")) == []
        assert other == ChunkTotals(dataset="b", state="fresh", chunks=1, rows=1, updated_at=now)
        start = FIRST + 2 * DAY
        assert fresh == ChunkTotals(
            dataset="clean", state="fresh", chunks=1, heads=5, first=start, last=start + DAY, updated_at=now
        )
        assert (partly.chunks, partly.heads, partly.uncovered_heads, partly.files_before) == (2, 6, 2, 18)
        assert (partly.first, partly.last, partly.merged_at) == (merged.chunk_start, FIRST + 5 * DAY, FIRST)
        assert partly.rows == 2 * (MAX_NUMBER // 100) - 5

    def test_totals_look_at_the_newest_of_each_dataset(self, bench: Workbench) -> None:
        """However many chunks the first dataset has, the others have their sums."""
        rows = [day(number, "a", heads=1) for number in range(300)]
        rows += [day(number, name, heads=1) for name in ("b", "c") for number in range(3)]
        bench.chunks.put_chunks(bench.source, rows)
        first, *others = bench.chunks.chunk_totals(bench.source)
        assert [(each.dataset, each.heads, each.whole) for each in others] == [("b", 3, True), ("c", 3, True)]
        assert first.last == FIRST + 300 * DAY
        assert (first.heads == 300) is first.whole

    def test_a_dataset_is_forgotten_whole_and_alone(self, bench: Workbench) -> None:
        bench.chunks.put_chunks(bench.source, [day(1), ChunkSums(dataset="clean"), day(1, "clean2"), day(1, "clea")])
        for _ in range(2):
            bench.chunks.forget_chunks(bench.source, "clean")
        assert [row.dataset for row in bench.chunks.chunks(bench.source)] == ["clea", "clean2"]

    def test_a_long_reason_is_cut_and_no_line_is_forged(self, bench: Workbench) -> None:
        bench.chunks.put_chunks(bench.source, [day(1, reason="over\x00the\nlimit" + "é" * 2 * MAX_REASON)])
        [found] = bench.chunks.chunks(bench.source)
        assert found.reason is not None
        assert found.reason.startswith("over\\x00the\\nlimité")
        assert len(found.reason) == MAX_REASON

    @pytest.mark.parametrize("fault", [Fault.UNAVAILABLE, Fault.NOT_APPLIED, Fault.APPLIED, Fault.APPLIED_LATE])
    def test_lost_answers_change_nothing(
        self, bench: Workbench, coordinators: Coordinators, store: PartitionStore, fault: Fault
    ) -> None:
        _ = bench.chunks
        faulty = FaultyStore(store, {1: fault, 3: fault}, only=("put_chunks", "forget_chunks"))
        one = coordinators(store=faulty)
        one.looking.chunks.put([full(1), full(2, "other")])
        assert [replace(row, updated_at=None) for row in one.looking.chunks.page()] == [full(1), full(2, "other")]
        one.looking.chunks.forget("other")
        faulty.deliver()
        assert [row.dataset for row in one.looking.chunks.page()][:1] == ["clean"]
        assert one.looking.chunks.are_kept


BEGINNING, END = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
