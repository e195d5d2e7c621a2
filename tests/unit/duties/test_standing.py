"""The duties that every source has, each as it is run: in the limits and the order that they are given."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.duties.duty import run_duties
from airflow_coordination.duties.follow_ups import FollowUps, follow_up_what_is_left, note_of
from airflow_coordination.duties.standing import CleanUp, Retention, Sweep, observe
from airflow_coordination.follow_ups import DeleteObjects, FollowUpRights
from airflow_coordination.leases import InvalidInputError, PartitionIdentifier, SettingsError, SourceCoordinator
from airflow_coordination.leases.cleaning import CleanedUp, Purged
from airflow_coordination.protocol.results import Swept
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.errors import StoreUnavailableError

DAY = timedelta(days=1)


class Recording(ForwardingStore):
    """A store that notes which calls reach it, and may be away for one of them."""

    def __init__(self, store: InMemoryStore) -> None:
        super().__init__(store)
        self.calls: list[str] = []
        self.away = ""
        self.error: Exception = StoreUnavailableError("reach it", "connection refused")

    def forward(self, name, call):
        self.calls.append(name)
        if name == self.away:
            raise self.error
        return call()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def recorded(clock) -> Recording:
    return Recording(InMemoryStore(clock))


@pytest.fixture
def flights(recorded, clock) -> SourceCoordinator:
    return SourceCoordinator(recorded, "flights", "me", clock=clock)


def completed(flights: SourceCoordinator, *keys: str) -> None:
    flights.create_partitions([key for key in keys if flights.partition(key) is None])
    for key in keys:
        flights.complete(flights.acquire_partition(key))


def family(flights: SourceCoordinator, *parents: str) -> None:
    """Complete parents of a child that has begun."""
    flights.create_partitions([*parents, PartitionIdentifier("child", parents=parents)])
    completed(flights, *parents)
    flights.acquire_partition("child")


def test_a_sweep_reopens_what_is_due_up_to_its_limit(flights, clock) -> None:
    flights.create_partitions(["a", "b", "c"])
    for key in "abc":
        flights.close(flights.acquire_partition(key), timedelta(minutes=1))
    [early] = run_duties(flights, [Sweep()])
    assert early.result() == Swept()
    clock.advance(timedelta(minutes=2))
    first, second = run_duties(flights, [Sweep(limit=2), Sweep(limit=2)])
    assert (first.result().reopened, second.result().reopened) == (2, 1)


def test_a_look_is_a_sweep_and_what_it_leaves(flights, recorded, clock) -> None:
    flights.create_partitions(["a"])
    flights.close(flights.acquire_partition("a"), timedelta(minutes=1))
    clock.advance(timedelta(minutes=2))
    recorded.calls.clear()
    seen = observe(flights, 10)
    assert recorded.calls[:2] == ["sweep", "outlook"]
    assert (seen.swept.reopened, seen.claimable) == (1, 1)


@pytest.mark.parametrize("call", ["sweep", "outlook"])
def test_where_the_store_is_away_a_look_raises_what_it_says(flights, recorded, call) -> None:
    flights.create_partitions(["a"])
    recorded.away = call
    with pytest.raises(StoreUnavailableError, match="connection refused"):
        observe(flights, 10)


def test_a_source_that_nobody_knows_is_not_looked_at(flights) -> None:
    with pytest.raises(SettingsError, match="flights"):
        observe(flights, 10)


def test_a_clean_up_goes_through_all_portions(flights, recorded, clock) -> None:
    family(flights, "p1", "p2", "p3")
    completed(flights, "x")
    clock.advance(2 * DAY)
    clean_up = CleanUp(DAY, by="ana", why="grown", portion=2)
    [report] = run_duties(flights, [clean_up])
    assert (report.result(), report.stays) == (CleanedUp(("p1", "p2", "p3")), 0)
    assert [one.key for one in flights.partitions()] == ["child", "x"]
    [line] = flights.looking.actions("p3")
    assert (line["by"], line["why"]) == ("ana", "grown")


def test_a_dry_clean_up_changes_nothing(flights, clock) -> None:
    family(flights, "p1")
    clock.advance(2 * DAY)
    [report] = run_duties(flights, [CleanUp(DAY, dry_run=True)])
    assert report.result().keys == ("p1",)
    assert flights.partition("p1") is not None


def test_what_the_source_knows_no_more_goes_at_once(flights) -> None:
    completed(flights, "p1", "p2")
    [report] = run_duties(flights, [CleanUp(DAY, gone=["p2"])])
    assert report.result().keys == ("p2",)


def test_retention_goes_through_all_portions(flights, clock) -> None:
    completed(flights, "a", "b", "c", "d", "e")
    clock.advance(2 * DAY)
    completed(flights, "young")
    before = clock.now() - DAY
    dry, done, again = run_duties(
        flights,
        [
            Retention(before, "ana", "old", dry_run=True, portion=2),
            Retention(before, "ana", "old", portion=2),
            Retention(before, "ana", "old", portion=2),
        ],
    )
    assert [report.result() for report in (dry, done, again)] == [Purged(5), Purged(5), Purged()]
    assert [one.key for one in flights.partitions()] == ["young"]
    [line] = flights.looking.actions("e")
    assert (line["by"], line["why"]) == ("ana", "old")


class Busy(Recording):
    """A store in which somebody resets what was just read."""

    def forward(self, name, call):
        found = super().forward(name, call)
        if name == "page":
            other = SourceCoordinator(self.store, "flights", "other")
            for one in found:
                other.people.reset(one.key, by="ben", why="once more")
        return found


@pytest.mark.parametrize("what", ["clean-up of parents", "retention"])
def test_what_somebody_changes_meanwhile_stays_and_is_counted(clock, what) -> None:
    flights = SourceCoordinator(Busy(InMemoryStore(clock)), "flights", "me", clock=clock)
    completed(flights, "a", "b")
    clock.advance(2 * DAY)
    duty = CleanUp(DAY, gone=["a", "b"]) if what == CleanUp.name else Retention(clock.now() - DAY, "ana", "old")
    [report] = run_duties(flights, [duty])
    assert (report.duty, report.stays, report.error) == (what, 2, None)
    assert flights.partition("a") is not None


def test_a_wrong_setting_of_one_is_its_own_report(flights) -> None:
    completed(flights, "a")
    duties = [CleanUp(timedelta(0)), Retention(flights.store.now().replace(tzinfo=None), "ana", "old"), Sweep()]
    wrong_age, no_zone, swept = run_duties(flights, duties)
    for report, field in ((wrong_age, "clean_after"), (no_zone, "completed_before")):
        with pytest.raises(InvalidInputError, match=field):
            report.result()
    assert swept.result() == Swept()


def left_behind(flights: SourceCoordinator, *files: Path) -> None:
    """Complete a partition for each file, which is to be deleted afterwards, and die before that."""
    for file in files:
        file.write_text("records")
        flights.create_partitions([file.stem])
        lease = flights.acquire_partition(file.stem)
        flights.complete(lease, then=note_of(DeleteObjects(str(file)), lease.partition, lease.fence, None))


def test_the_notes_that_were_looked_at_are_done_and_no_other(flights, tmp_path) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    left_behind(flights, *files)
    looked_at = list(flights.follow_ups.follow_ups("a"))
    nobodys, mine, rest = run_duties(
        flights,
        [
            FollowUps(FollowUpRights()),
            FollowUps(FollowUpRights.of_a_person(), looked_at),
            FollowUps(FollowUpRights.of_a_person()),
        ],
    )
    assert [(each.result().done, each.stays) for each in (nobodys, mine, rest)] == [(0, 2), (1, 0), (1, 0)]
    assert not any(file.exists() for file in files)


def test_the_operator_is_told_what_is_done_and_what_stays(flights, tmp_path, caplog) -> None:
    left_behind(flights, tmp_path / "a.json", tmp_path / "b.json")
    with caplog.at_level(logging.INFO):
        follow_up_what_is_left(flights, FollowUpRights())
        follow_up_what_is_left(flights, FollowUpRights.of_a_person())
        follow_up_what_is_left(flights, FollowUpRights.of_a_person())
    of_a, of_b, both, done = caplog.messages
    assert of_a.startswith("What follows partition 'a' stays to be done: ")
    assert of_b.startswith("What follows partition 'b' stays to be done: ")
    assert both.startswith("2 follow-up(s) stay, 2 of them because nobody has allowed them here; `")
    assert done == "Source 'flights': 2 follow-up(s) were left by drivers, and are done."


@pytest.mark.parametrize("error", [StoreUnavailableError("read the follow-ups", "connection refused"), KeyError("url")])
def test_notes_that_cannot_be_looked_at_keep_no_supplier_from_running(flights, recorded, caplog, error) -> None:
    recorded.away, recorded.error = "follow_ups", error
    follow_up_what_is_left(flights, FollowUpRights())
    [said] = caplog.messages
    assert said == f"What follows partitions of source 'flights' could not be looked at: {error}"
