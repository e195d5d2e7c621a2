"""Reading: pages, hints, counts, the outlook, who holds what."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.protocol.partition import Partition, PartitionIdentifier
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.conformance.fixtures import MINUTE, TIMEOUT, Workbench, owner
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
