"""Head records and history: moved and written by the ending, alive after everything else is gone (X11)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.writes import AcquireNext, Action, SetInterval
from airflow_coordination.testing.conformance.endings import ENDINGS
from airflow_coordination.testing.conformance.fixtures import MINUTE, Workbench, block, fence, head, owner, without_time
from airflow_coordination.testing.forwarding import there
from airflow_coordination.testing.history.past_tenures import unremembered
from airflow_coordination.values.status import Outcome, PartitionStatus


class Heads:
    """An ending's head records; promise S12 as far as the store keeps it."""

    def test_s12_an_ending_moves_the_head_record_in_the_same_step(self, bench: Workbench) -> None:
        held = bench.new("k")
        record = head(held, block("b1"), block("b2"), op="op-1")
        assert bench.complete(held, record).applied
        stored = bench.store.heads(bench.source, "clean")
        assert [without_time(found) for found in stored] == [record]
        assert stored[0].published_at == bench.clock.now()

    def test_s12_a_refused_ending_moves_nothing(self, bench: Workbench) -> None:
        zombie = bench.new("k")
        bench.expire()
        held = bench.acquire()
        assert not bench.complete(zombie, head(zombie, block("zombie"))).applied
        assert list(bench.store.heads(bench.source)) == []
        bench.complete(held, head(held, block("b1")))
        assert not bench.complete(zombie, head(zombie, block("zombie"))).applied
        assert [found.blocks for found in bench.store.heads(bench.source)] == [(block("b1"),)]

    def test_a_head_record_holds_every_field_of_its_blocks(self, bench: Workbench) -> None:
        held = bench.new("k")
        whole = block("b2", rows=7, follows="b1", mode="append")
        bench.complete(held, head(held, whole))
        assert bench.store.heads(bench.source)[0].blocks == (whole,)

    def test_a_later_publication_replaces_the_record(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.complete(held, head(held, block("b1")))
        bench.act(Action.RESET, "k")
        bench.clock.advance(MINUTE)
        again = bench.acquire()
        record = head(again, block("b2"), op="op-2")
        bench.complete(again, record)
        stored = bench.store.heads(bench.source, "clean", "k")
        assert [without_time(found) for found in stored] == [record]
        assert stored[0].published_at == bench.clock.now()

    def test_one_ending_publishes_to_several_datasets(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.complete(held, head(held, block("b1")), head(held, block("b2", "rejected"), dataset="rejected"))
        assert {found.dataset for found in bench.store.heads(bench.source, key="k")} == {"clean", "rejected"}
        assert [found.dataset for found in bench.store.heads(bench.source, "rejected")] == ["rejected"]
        assert list(bench.store.heads(bench.source, "absent")) == []

    def test_a_close_publishes_too_and_a_failure_leaves_what_is_there(self, bench: Workbench) -> None:
        held = bench.new("k")
        publishing = bench.ending(
            held,
            Outcome.CLOSED,
            PartitionStatus.CLOSED,
            delay=MINUTE,
            clear_staged=True,
            heads=(head(held, block("b1")),),
        )
        bench.store.write(publishing)
        bench.clock.advance(MINUTE)
        bench.fail(bench.acquire())
        assert [found.blocks for found in bench.store.heads(bench.source)] == [(block("b1"),)]

    def test_a_head_record_survives_reset_delete_and_a_new_life(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.complete(held, head(held, block("b1")))
        before = list(bench.store.heads(bench.source))
        for action in (Action.RESET, Action.DELETE):
            bench.act(action, "k")
            assert list(bench.store.heads(bench.source)) == before
        bench.create("k")
        assert list(bench.store.heads(bench.source)) == before

    def test_head_records_come_in_pages_by_key_in_byte_order(self, bench: Workbench) -> None:
        keys = ["b", "a", "Z", "é", "zz", "\U0001f600", "￿", "a/b", "%"]
        for key in keys:
            held = bench.new(key)
            bench.complete(held, head(held, block(key)))
        expected = sorted(keys, key=str.encode)
        seen: list[str] = []
        while page := bench.store.heads(bench.source, "clean", after=seen[-1] if seen else None, limit=2):
            assert len(page) <= 2
            seen += [found.key for found in page]
        assert seen == expected
        assert [found.key for found in bench.store.heads(bench.source)] == expected

    def test_e3_no_head_record_is_missed_however_many_a_partition_has(self, bench: Workbench) -> None:
        """E3: pages that end inside a partition go on there, for one partition, one dataset and a whole source."""
        datasets = sorted(("a", "é", "zz", "%", "\U0001f600", "d" * 255), key=str.encode)
        for key in ("k", "k2", "l"):
            held = bench.new(key)
            bench.complete(held, *(head(held, block(name, name), dataset=name) for name in datasets))
        everything = [(key, name) for key in ("k", "k2", "l") for name in datasets]

        def read(dataset: str | None = None, key: str | None = None) -> list[tuple[str, str]]:
            found = every_head(bench.store, bench.source, dataset=dataset, key=key, limit=4)
            return [(each.key, each.dataset) for each in found]

        assert read() == everything
        assert read(key="k") == [place for place in everything if place[0] == "k"]
        assert read(dataset="zz") == [place for place in everything if place[1] == "zz"]
        assert read(key="k2", dataset="zz") == [("k2", "zz")]
        assert read(key="absent") == []

    def test_a_head_record_holds_its_interval(self, bench: Workbench) -> None:
        """Rows may be of any time: before 1970, to the microsecond, and without an end."""
        for number, (start, end) in enumerate(((DAY, DAY + SHORT), (BEFORE_1970, DAY), (FIRST, LAST))):
            held = bench.new(f"k{number}")
            bench.complete(held, replace(head(held, block("b")), interval_start=start, interval_end=end))
            [found] = bench.store.heads(bench.source, key=held.key)
            assert (found.interval_start, found.interval_end) == (start, end)

    def test_a_later_publication_replaces_the_interval_too(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.complete(held, replace(head(held, block("b1")), interval_start=DAY, interval_end=DAY + SHORT))
        bench.act(Action.RESET, "k")
        bench.complete(again := bench.acquire(), head(again, block("b2"), op="op-2"))
        [found] = bench.store.heads(bench.source)
        assert (found.interval_start, found.interval_end) == (None, None)

    def test_a_retract_leaves_the_interval(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.complete(held, replace(head(held, block("b1")), interval_start=DAY, interval_end=DAY + SHORT))
        bench.act(Action.RETRACT, "k")
        [found] = bench.store.heads(bench.source)
        assert (found.blocks, found.interval_start, found.interval_end) == ((), DAY, DAY + SHORT)

    def test_head_records_within_an_interval_are_those_that_overlap_it_or_have_none(self, bench: Workbench) -> None:
        """Half open, so that what only touches it lies outside; pages are full until the last."""
        for number in range(6):
            held = bench.new(f"k{number}")
            start = DAY + number * timedelta(hours=1)
            known = replace(head(held, block("b")), interval_start=start, interval_end=start + timedelta(hours=1))
            bench.complete(held, known if number != 5 else head(held, block("b")))
        held = bench.new("other")
        bench.complete(held, head(held, block("b", "rejected"), dataset="rejected"))

        def within(start: timedelta, end: timedelta, limit: int = 100, **narrowed: Any) -> list[str]:
            found = every_head(
                bench.store, bench.source, limit=limit, within=Within(DAY + start, DAY + end), **narrowed
            )
            return [each.key for each in found]

        hour, none = timedelta(hours=1), ["k5", "other"]
        assert within(hour, 2 * hour) == ["k1", *none]
        assert within(2 * hour - SHORT, 3 * hour + SHORT) == ["k1", "k2", "k3", *none]
        assert within(-9 * hour, timedelta(0)) == none
        assert within(-9 * hour, 9 * hour) == ["k0", "k1", "k2", "k3", "k4", *none]
        assert within(3 * hour, 9 * hour, limit=1) == ["k3", "k4", *none]
        assert within(3 * hour, 9 * hour, limit=1, dataset="clean") == ["k3", "k4", "k5"]
        assert within(3 * hour, 4 * hour, key="k3") == ["k3"]
        assert within(3 * hour, 4 * hour, key="k4") == []

    def test_a_person_says_the_interval_of_what_they_saw_once(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.complete(held, head(held, block("b1"), op="op-1"), head(held, block("b2"), dataset="rejected"))
        [seen] = bench.store.heads(bench.source, "clean")
        bench.clock.advance(MINUTE)
        write = saying(seen, DAY)
        intervals = there(parts_of(bench.store).head_intervals)
        assert intervals.set_interval(write)
        after = replace(seen, interval_start=DAY, interval_end=DAY + SHORT)
        assert not intervals.set_interval(write), "the same again"
        assert list(bench.store.heads(bench.source, "clean")) == [after]
        assert [each.interval_start for each in bench.store.heads(bench.source, "rejected")] == [None]
        [audited] = bench.store.audit(bench.source, "k")
        assert (audited["action"], audited["by"], audited["why"]) == ("set interval", "ana", "it is known")
        assert intervals.set_interval(saying(after, BEFORE_1970, op="op-3"))
        [found] = bench.store.heads(bench.source, "clean")
        assert found == replace(seen, interval_start=BEFORE_1970, interval_end=BEFORE_1970 + SHORT)

    def test_a_person_who_saw_something_else_says_nothing(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.complete(held, head(held, block("b1"), op="op-1"))
        [seen] = bench.store.heads(bench.source)
        before = replace(seen, interval_start=DAY, interval_end=DAY + SHORT)
        for other in (
            replace(seen, op="another"),
            replace(seen, key="absent"),
            replace(seen, dataset="absent"),
            replace(seen, source="other|PARTITION"),
            before,
        ):
            assert not there(parts_of(bench.store).head_intervals).set_interval(saying(other, BEFORE_1970))
        assert list(bench.store.heads(bench.source)) == [seen]
        assert bench.store.audit(bench.source, "k") == []

    def test_head_records_of_sources_are_apart(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.complete(held, head(held, block("b1")))
        assert list(bench.store.heads("other|PARTITION")) == []


DAY = datetime(2013, 1, 2, tzinfo=UTC)
BEFORE_1970 = datetime(1900, 1, 1, tzinfo=UTC)
FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
SHORT = timedelta(microseconds=1)


@dataclass(frozen=True)
class Within:
    """What head records are looked for in."""

    start: datetime
    end: datetime


def saying(seen: HeadRecord, start: datetime, op: str = "op-2") -> SetInterval:
    """Return the step in which a person says that rows are of a short time."""
    return SetInterval(
        source=seen.source,
        dataset=seen.dataset,
        key=seen.key,
        seen_op=seen.op,
        seen_start=seen.interval_start,
        seen_end=seen.interval_end,
        start=start,
        end=start + SHORT,
        op=op,
        by="ana",
        why="it is known",
    )


SPARK = '{"application":"app-1"}'


def history(bench: Workbench, key: str | None = None, limit: int = 100) -> list[PastTenure]:
    """Return the rows of a partition or the source, the newest first."""
    return list(bench.history.history(bench.source, key, limit))


class Remembering:
    """Promise X11, for stores that say that they keep a history."""

    @pytest.mark.parametrize("outcome", ENDINGS)
    def test_x11_each_ending_is_a_row(self, keeping: Workbench, outcome: Outcome) -> None:
        held, since = keeping.new("k", by=owner("process", host="node-7")), keeping.clock.now()
        keeping.clock.advance(MINUTE)
        held = keeping.save(held, 1)
        end, status = ENDINGS[outcome]
        end(keeping, held)
        [row] = history(keeping, "k")
        assert (row.source, row.key, row.fence) == (keeping.source, "k", fence(held))
        assert (row.owner, row.acquired_at) == (owner("process", host="node-7").text, since)
        assert (row.outcome, row.status_after, row.ended_at) == (outcome, status, keeping.clock.now())
        assert (row.rows, row.bytes) == (0, 0)
        assert not list(unremembered(keeping.store, keeping.source))

    def test_x11_taking_over_an_expired_lease_is_one(self, keeping: Workbench, starts_are_kept: bool) -> None:
        keeping.new("k")
        for take in (
            lambda: keeping.acquire(),
            lambda: keeping.acquire("k"),
            lambda: keeping.hinted("k", keeping.get("k").token),
        ):
            held = keeping.get("k")
            keeping.expire()
            take()
            row = history(keeping, "k")[0]
            assert (row.fence, row.outcome, row.status_after) == (fence(held), Outcome.LOST, PartitionStatus.ASSIGNED)
            assert row.owner == held.owner
            assert row.acquired_at == held.acquired_at or not starts_are_kept
        assert not list(unremembered(keeping.store, keeping.source))

    def test_x11_a_refused_ending_is_none(self, keeping: Workbench) -> None:
        held = keeping.new("k")
        ended = keeping.completing(held)
        assert keeping.store.write(ended).applied
        assert not keeping.store.write(ended).applied
        assert not keeping.fail(held).applied
        assert len(history(keeping)) == 1

    def test_x11_an_ending_under_an_old_fence_is_none(self, keeping: Workbench) -> None:
        old = keeping.new("k")
        keeping.give_up(old)
        keeping.acquire("k")
        assert not keeping.complete(old).applied
        assert not keeping.store.act(keeping.acting(Action.RELEASE, old)).applied
        assert not keeping.sweep().total
        assert [row.fence for row in history(keeping)] == [fence(old)]

    def test_x11_an_ending_that_has_missed_a_write_is_none(self, keeping: Workbench) -> None:
        old = keeping.new("k")
        now = keeping.save(old, 1)
        assert not keeping.fail(old).applied
        assert history(keeping) == []
        keeping.complete(now)
        assert [row.outcome for row in history(keeping)] == [Outcome.COMPLETED]

    def test_x11_what_is_done_to_nobodys_partition_is_none(self, keeping: Workbench) -> None:
        keeping.create("k")
        for action in (Action.PARK, Action.REOPEN, Action.RESET, Action.DELETE):
            keeping.act(action, "k")
        assert history(keeping) == []

    def test_x11_completing_one_and_acquiring_an_expired_one_are_two(self, keeping: Workbench) -> None:
        lost = keeping.begin(keeping.new("lost", by=owner("other"))).partition
        keeping.expire()
        mine = keeping.new("mine")
        following = AcquireNext(source=keeping.source, tenancy=keeping.tenancy(), key=None)
        answer = keeping.fused.complete_and_acquire(keeping.completing(mine), following)
        assert answer.next is not None
        assert answer.next.key == "lost"
        [of_lost], [of_mine] = history(keeping, "lost"), history(keeping, "mine")
        assert (of_lost.outcome, of_lost.owner) == (Outcome.LOST, owner("other").text)
        assert (of_mine.outcome, of_mine.owner) == (Outcome.COMPLETED, owner().text)
        assert lost is not None
        assert of_lost.acquired_at == lost.acquired_at

    def test_x11_what_was_published_and_why_it_failed_is_in_it(self, keeping: Workbench) -> None:
        held = keeping.new("k")
        keeping.fail(held, error="x" * 600)
        held = keeping.acquire("k")
        keeping.store.write(replace(keeping.completing(held), rows=7, bytes=70))
        done, failed = history(keeping, "k")
        assert (done.rows, done.bytes, done.error) == (7, 70, None)
        assert (failed.rows, failed.bytes, failed.error) == (0, 0, "x" * 500)

    def test_x11_the_drivers_words_are_in_it(self, keeping: Workbench, starts_are_kept: bool) -> None:
        held = keeping.new("k")
        assert held.owner_details is None
        begun = keeping.begin(held, owner_details=SPARK).partition
        assert begun is not None
        assert begun.owner_facts == ({"application": "app-1"} if starts_are_kept else {})
        keeping.give_up(begun)
        assert history(keeping)[0].owner_facts == {"application": "app-1"}
        now = keeping.get("k")
        assert (now.owner_details, now.acquired_at) == (None, None)

    def test_x11_a_later_try_that_watches_is_the_owner(self, keeping: Workbench) -> None:
        held = keeping.new("k", by=owner(try_number=1))
        keeping.adopt(held, owner(try_number=2, host="other"))
        keeping.complete(held)
        assert history(keeping)[0].owner == owner(try_number=2, host="other").text

    def test_x11_the_newest_come_first(self, keeping: Workbench) -> None:
        keeping.create("a", "b")
        for key in ("a", "b", "a", "b", "a"):
            keeping.give_up(keeping.acquire(key))
            keeping.clock.advance(timedelta(seconds=1))
        assert [row.key for row in history(keeping, limit=4)] == ["a", "b", "a", "b"]
        assert [row.token for row in history(keeping, "a", limit=2)] == [3, 2]

    def test_x11_a_deleted_partition_and_its_next_life_share_one(self, keeping: Workbench) -> None:
        keeping.complete(keeping.new("k"))
        keeping.act(Action.DELETE, "k")
        held = keeping.new("k")
        keeping.fail(held)
        assert [row.outcome for row in history(keeping, "k")] == [Outcome.FAILED, Outcome.COMPLETED]

    def test_x11_suppliers_are_in_none(self, keeping: Workbench) -> None:
        state = Workbench(keeping.store, keeping.clock, "flights|GLOBAL_STATE")
        state.give_up(state.new("k"))
        state.acquire("k")
        keeping.expire()
        state.acquire("k")
        assert history(state) == []
