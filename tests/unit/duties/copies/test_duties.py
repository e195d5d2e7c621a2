"""The duties about copies on real files: what rules want is there, what is needed stays, and a loss costs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_coordination.duties.branches.beginning import begin
from airflow_coordination.duties.branches.selection import Selection
from airflow_coordination.duties.copies import lost as lost_module
from airflow_coordination.duties.copies.group import load_copies
from airflow_coordination.duties.copies.lost import lost_of
from airflow_coordination.duties.groups.hiding import RunRules
from airflow_coordination.duties.groups.registry import configured, named, resolved
from airflow_coordination.duties.groups.round import Round
from airflow_coordination.duties.groups.running import GroupRunner
from airflow_coordination.duties.retention.hiding import hide
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs.collector import collect
from airflow_coordination.outputs.copies import making
from airflow_coordination.outputs.published import published_manifests
from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.protocol.beside.documents import LOST_LOCATIONS
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.testing.crash import FaultyStore
from airflow_coordination.values.names import everybody
from tests.copying import COPIED, DAYS, Copying, Duties
from tests.upkeep import DATASET, SOURCE

MOST_STATEMENTS = 10
CHUNKS = [f"{day}/{after}" for day, after in zip(DAYS, [*DAYS[1:], "2013-01-04"], strict=True)]


@pytest.fixture(params=["memory", "sqlite"])
def days(request, tmp_path) -> Copying:
    store = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'c.db'}")
    store.setup()
    days = Copying(FaultyStore(store), tmp_path / "out")
    days.place(tmp_path / "hot-1", tmp_path / "hot-2", tier="hot", archive=[tmp_path / "cold"])
    days.publish(*DAYS)
    return days


@pytest.fixture
def duties(days) -> Duties:
    return Duties(days)


@contextmanager
def no_byte_copied(monkeypatch) -> Iterator[None]:
    """Let no file be opened to be copied."""

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a byte was copied")

    with monkeypatch.context() as patched:
        patched.setattr(making, "copied_file", refused)
        yield


def lost(days: Copying) -> list[str]:
    return sorted(lost_of(days.ingest().documents.newest(LOST_LOCATIONS, everybody(None))))


def test_rules_say_in_how_many_locations_of_a_tier_each_chunk_is(days, duties) -> None:
    days.want(hot=2, archive=1)
    duties.settle()
    assert days.copied() == sorted((location, chunk) for location in ("hot-1", "hot-2", "cold") for chunk in CHUNKS)
    assert days.rows_in("hot") == days.rows_in("archive") == days.rows()


def test_the_newest_is_asked_for_first_and_further_copies_are_held_back(days) -> None:
    days.want(hot=1, archive=1)
    duties = Duties(days, replication_throttle_limit=1)
    ran = duties.run("runRules")["runRules"]
    assert ran.counts["segment/assigned/count"] == 4  # three first ones, and one beside them
    first = days.copies().get_next_partition()
    assert first.key.endswith(CHUNKS[2])


def test_a_run_with_nothing_to_do_asks_a_few_things_and_nothing_of_heads(days, duties) -> None:
    days.want(hot=2, archive=1)
    duties.settle()
    days.store.calls.clear()
    assert {ran.said for ran in duties.run().values()} == {"nothing is new"}
    assert len(days.store.calls) <= MOST_STATEMENTS
    assert not {"heads", "page", "get"}.intersection(days.store.calls)


def test_what_was_published_anew_is_copied_anew_in_its_place(days, duties) -> None:
    days.want(hot=1, archive=1)
    duties.settle()
    before = days.copied()
    days.publish(DAYS[1], word="new")
    with pytest.raises(OutputError, match="has no copy of 2013-01-02"):
        days.rows_in("archive")
    duties.settle()
    assert days.copied() == before
    assert days.rows_in("archive") == days.rows_in("hot") == days.rows()


def test_what_was_merged_is_copied_as_a_whole_and_the_days_go_when_that_is_there(days, duties) -> None:
    days.want(archive=1)
    duties.settle()
    days.merge_all()
    for _ in range(3):  # nobody makes the month
        duties.run()
        assert days.rows_in("archive") == days.rows()
    duties.settle()
    assert days.copied() == [("cold", "2013-01-01/2013-01-04")]
    assert days.rows_in("archive") == days.rows()


@pytest.mark.parametrize("odd", [(), ("odd",)], ids=["", "beside what has no interval"])
@pytest.mark.parametrize("open_ones", [["eternity"], ["../2013-01-02", "2013-01-01/.."]], ids=["one", "two"])
def test_where_intervals_are_open_to_both_sides_the_dataset_is_copied_whole_before_its_days_go(
    days, duties, open_ones, odd
) -> None:
    days.want(archive=1)
    duties.settle()
    days.publish_for(None, *odd)
    for interval in open_ones:
        days.publish_for(interval, f"open {interval}")
    for _ in range(3):  # nobody makes it
        duties.run()
        assert days.copied() == [("cold", chunk) for chunk in CHUNKS]
    duties.settle()
    assert days.copied() == [("cold", "../..")]
    assert days.rows_in("archive") == days.rows()
    assert len(days.rows()) == 6 + len(open_ones) + len(odd)


@pytest.mark.parametrize("odd", [(), ("odd",)], ids=["", "beside what has no interval"])
def test_a_copy_of_the_whole_dataset_goes_when_those_of_its_days_are_there_again(days, duties, odd) -> None:
    days.want(archive=1)
    days.publish_for(None, *odd)
    days.publish_for("eternity", "all")
    duties.settle()
    assert days.copied() == [("cold", "../..")]
    days.ingest().people.retract("all", "a test", "of the wrong time")
    for _ in range(3):  # nobody makes the days
        duties.later(days=1, hours=1)  # a retraction is no ending, and is seen after a day
        duties.run()
        assert days.rows_in("archive") == days.rows()
    duties.settle()
    assert days.copied() == [("cold", "../..")] * len(odd) + [("cold", chunk) for chunk in CHUNKS]
    assert days.rows_in("archive") == days.rows()


def test_a_copy_of_what_had_no_interval_waits_for_nobody(days, duties) -> None:
    days.publish_for(None, "odd")
    days.want(archive=1)
    duties.settle()
    days.ingest().people.retract("odd", "a test", "wrong")
    days.publish(*DAYS, word="new")
    for _ in range(3):  # nobody makes the days anew
        duties.run()
    assert days.copied() == [("cold", chunk) for chunk in CHUNKS]


def test_a_copy_goes_when_two_runs_have_seen_that_it_is_too_much(days, duties) -> None:
    days.want(hot=2)
    duties.settle()
    days.want(hot=1)
    assert duties.run("unloadUnused")["unloadUnused"].said == "3 copies may go in the next run"
    assert len(days.copied()) == 6
    assert duties.run("unloadUnused")["unloadUnused"].said == "dropped 3 copies"
    assert len(days.copied()) == 3
    assert days.rows_in("hot") == days.rows()


def test_a_change_of_tiers_makes_the_new_copies_before_the_old_go(days, duties) -> None:
    days.want(hot=1)
    duties.settle()
    days.want(archive=1)
    for _ in range(3):
        duties.run()  # nobody makes what is asked for
        assert days.rows_in("hot") == days.rows()
    duties.settle()
    assert days.copied() == [("cold", chunk) for chunk in CHUNKS]
    assert days.rows_in("archive") == days.rows()


def test_what_is_hidden_loses_its_copies_and_the_collector_takes_their_files(days, duties, tmp_path) -> None:
    days.want(hot=1)
    duties.settle()
    parts_of(days.store).enabling.enable_branches()
    hide(days.ingest(), DATASET, f"{DAYS[0]}/P1D", "ana", "old")
    duties.settle()
    assert sorted(chunk for _, chunk in days.copied()) == CHUNKS[1:]
    for root in (tmp_path / "hot-1", tmp_path / "hot-2"):
        collect(days.store, COPIED, root, older_than=timedelta(0), dry_run=False)
    assert len([*tmp_path.glob("hot-*/**/part-*")]) == 2
    assert days.rows_in("hot") == days.rows()


def test_a_chunk_in_which_a_branch_has_begun_is_left_alone(days, duties) -> None:
    parts_of(days.store).enabling.enable_branches()
    begin(days.ingest(), Selection(keys=(DAYS[0],)), "ana", "again")
    days.want(hot=1)
    duties.settle()
    assert sorted(chunk for _, chunk in days.copied()) == CHUNKS[1:]


def test_no_room_drops_nothing_and_says_what_waits(days, tmp_path) -> None:
    size = sum(head.bytes for head in days.heads()) // len(DAYS)
    days.place(tmp_path / "hot-1", tmp_path / "hot-2", tier="hot", archive=[tmp_path / "cold"], capacity=size)
    days.want(archive=1)
    duties = Duties(days)
    duties.run()
    assert days.work().completed == 1
    ran = duties.run()["runRules"]
    assert ran.counts["tier/full/count"] == 2
    assert any(
        "tierFull: tier archive has no room for 2 copies, such as flights/clean 2013-01-02/2013-01-03" in each
        for each in ran.warnings
    )
    assert days.copied() == [("cold", CHUNKS[2])]  # the newest


def test_a_drained_location_gets_nothing_and_what_it_has_goes_elsewhere_first(days) -> None:
    days.want(hot=1)
    Duties(days).settle()
    assert {location for location, _ in days.copied()} == {"hot-1", "hot-2"}
    duties = Duties(days, decommissioning_nodes=("hot-1", "hot-9"))
    ran = duties.run()
    assert any("'hot-9', no location" in each for each in ran["runRules"].warnings)
    assert days.rows_in("hot") == days.rows()
    duties.settle()
    assert {location for location, _ in days.copied()} == {"hot-2"}
    assert days.rows_in("hot") == days.rows()


def test_balancing_makes_the_new_copy_before_the_old_goes(days, tmp_path) -> None:
    days.place(tmp_path / "hot-1", tier="hot", archive=[tmp_path / "cold"])
    more = tuple(f"2013-02-0{number}" for number in range(1, 6))
    days.publish(*more)
    days.want(hot=1)
    Duties(days).settle()
    days.place(tmp_path / "hot-1", tmp_path / "hot-2", tier="hot", archive=[tmp_path / "cold"])
    duties = Duties(days, max_segments_to_move=2)
    moved = duties.run()["balanceSegments"]
    assert moved.counts["segment/moved/count"] == 2
    assert f"seed {moved.counts['segment/moved/seed']}" in moved.said
    waits = duties.run()["balanceSegments"]
    assert (waits.said, waits.counts["segment/moved/count"]) == ("2 earlier move(s) are under way", 0)
    assert len(days.copied()) == 8
    duties.settle(20)
    assert [sum(place == name for place, _ in days.copied()) for name in ("hot-1", "hot-2")] == [4, 4]
    assert days.rows_in("hot") == days.rows()


def test_within_the_grace_nothing_is_copied_and_back_in_time_all_counts_again(
    days, duties, tmp_path, monkeypatch
) -> None:
    days.want(hot=1, archive=1)
    duties.settle()
    published, before = days.rows(), days.copied()
    (tmp_path / "cold").rename(tmp_path / "away")
    (tmp_path / "cold").mkdir()  # the empty directory below a mount
    with no_byte_copied(monkeypatch):
        ran = duties.run()
        assert lost(days) == ["cold"]
        assert any("location cold cannot be read since" in each for each in ran["runRules"].warnings)
        duties.later(minutes=14)
        duties.settle()
        assert days.copied() == before
        assert days.rows() == published
        with pytest.raises(OutputError) as told:
            days.rows_in("archive")
        assert "has no copy of 2013-01-01/2013-01-02, 2013-01-02/2013-01-03, 2013-01-03/2013-01-04" in str(told.value)
        assert "location cold cannot be read" in str(told.value)
        assert "tier='hot' has all of it" in str(told.value)
        (tmp_path / "cold").rmdir()
        (tmp_path / "away").rename(tmp_path / "cold")
        duties.settle()
        duties.later(hours=1)
        duties.settle()
    assert lost(days) == []
    assert days.copied() == before
    assert days.rows_in("archive") == days.rows() == published


def test_too_late_copies_are_made_elsewhere_and_what_comes_back_is_too_much(days, duties, tmp_path) -> None:
    days.want(hot=1)
    duties.settle()
    [gone] = {location for location, chunk in days.copied() if chunk == CHUNKS[0]}
    published = days.rows()
    (tmp_path / gone).rename(tmp_path / "away")
    duties.run()
    duties.later(minutes=16)
    duties.settle()
    assert days.rows_in("hot") == days.rows() == published  # all of it is in the other location
    other = ({"hot-1", "hot-2"} - {gone}).pop()
    assert {(other, chunk) for chunk in CHUNKS} <= set(days.copied())
    (tmp_path / "away").rename(tmp_path / gone)
    duties.run()
    assert days.rows_in("hot") == published
    runs = duties.settle(20)
    assert days.rows_in("hot") == days.rows() == published
    assert len(days.copied()) == 3
    assert lost(days) == []
    assert any("dropped" in run["unloadUnused"].said for run in runs)


def test_a_location_that_comes_back_with_other_files_stays_lost(days, duties, tmp_path) -> None:
    days.want(archive=1)
    duties.settle()
    (tmp_path / "cold").rename(tmp_path / "away")
    duties.run()
    file = next((tmp_path / "away").rglob("part-*"))
    file.write_bytes(b"")
    (tmp_path / "away").rename(tmp_path / "cold")
    ran = duties.run()["runRules"]
    assert lost(days) == ["cold"]
    assert any("location cold" in each for each in ran.warnings)


def test_a_location_that_is_left_out_keeps_its_copies_until_others_are_there(days, duties, tmp_path) -> None:
    days.want(hot=1)
    duties.settle()
    days.place(tmp_path / "hot-2", tier="hot", archive=[tmp_path / "cold"])
    duties.settle()
    assert days.copied() == [("hot-2", chunk) for chunk in CHUNKS]
    assert days.rows_in("hot") == days.rows()


def test_nothing_is_done_where_nobody_has_said_a_location(tmp_path) -> None:
    store = open_store("memory://")
    store.setup()
    days = Copying(store, tmp_path / "out")
    days.publish(*DAYS)
    assert {ran.said for ran in Duties(days).run().values()} == {"nobody has said a location"}


def test_a_dry_run_changes_nothing(days, duties) -> None:
    days.want(hot=2, archive=1)
    ran = duties.run(dry_run=True)
    assert ran["runRules"].said == "would ask for 9 copies"
    assert days.copies().partitions() == []
    duties.settle()
    days.want(hot=1)
    duties.run()
    assert duties.run(dry_run=True)["unloadUnused"].said == "would drop 4 copies" or len(days.copied()) == 9


def test_a_copy_that_fails_is_told_and_asked_for_again(days, duties) -> None:
    days.want(archive=1)
    file = next(days.out.rglob("part-*"))
    was = file.read_bytes()
    file.write_bytes(b"changed, and longer than before, so that its size differs")
    duties.run()
    days.work()
    days.publish("2013-03-01")  # so that something is new
    ran = duties.run()["runRules"]
    [failed] = [partition for partition in days.copies().partitions() if partition.failures]
    assert any(f"copy {failed.key} has failed, and is tried again" in each for each in ran.warnings)
    days.copies().people.park(failed.key, "ana", "enough")
    file.write_bytes(was)
    duties.settle()
    assert days.rows_in("archive") == days.rows()


def test_a_leader_that_wakes_up_late_drops_nothing_that_a_newer_one_relies_on(days, duties) -> None:
    """S25: two plans, each of which would drop what the other keeps; only one of them goes through."""
    from airflow_coordination.duties.copies.snapshot import read_source
    from airflow_coordination.duties.copies.steps import Steps
    from airflow_coordination.planning.copies.deciding import Drop

    days.want(hot=2)
    duties.settle()
    days.want(hot=1)
    name = ("flights", DATASET, parse_interval("chunk", CHUNKS[0]))
    late, newer = (Steps([read_source(days.ingest(), (), whole=True)], by) for by in ("late", "newer"))
    newer.drop(Drop(name=name, location="hot-2", why="too much", relies_on=((name, "hot-1"),)))
    late.drop(Drop(name=name, location="hot-1", why="too much", relies_on=((name, "hot-2"),)))
    assert (len(newer.done.dropped), len(late.done.dropped), late.done.moved_on) == (1, 0, 1)
    assert ("hot-1", CHUNKS[0]) in days.copied()
    assert ("hot-2", CHUNKS[0]) not in days.copied()


def test_rules_that_only_say_tiers_need_no_store_that_keeps_older_code_out(days, duties) -> None:
    """``runRules`` asks for copies where it may hide nothing; what it would hide it says."""
    days.want(hot=1)
    left = None

    def ran():
        nonlocal left
        round = Round(cluster=duties.cluster(), by="runRules", remembered=left)
        found = RunRules().run(round)
        left = found.left
        return found

    found = ran()
    assert (found.said, found.warnings) == ("nothing to hide; asked for 3 copies", ())
    assert days.work().completed == 3
    days.rule(
        {"type": "dropByInterval", "interval": CHUNKS[0]}, {"type": "loadForever", "tieredReplicants": {"hot": 1}}
    )
    [warning] = ran().warnings
    assert "the rules of source flights hide nothing" in warning
    assert days.rows_in("hot") == days.rows()


def test_copies_of_sources_that_others_serve_take_room_too(days, tmp_path) -> None:
    days.want(archive=1)
    Duties(days).settle()
    used = sum(manifest.size for manifest in published_manifests(days.store, SOURCE, DATASET))
    other = SourceCoordinator(days.store, "trains", "a test")
    other.create_partitions(["one"])
    lease = other.acquire_partition("one")
    other.complete(lease, [days.block(lease, ["a row"])], interval="2013-01-01/P1D")
    set_rules(other, DATASET, '[{"type": "loadForever", "tieredReplicants": {"archive": 1}}]', "a test", "tiers")
    days.place(tmp_path / "hot-1", tmp_path / "hot-2", tier="hot", archive=[tmp_path / "cold"], capacity=used)
    cluster = replace(Duties(days).cluster(), only={"trains"})
    ran = load_copies(Round(cluster=cluster, by="runRules"))
    assert (ran.counts["segment/assigned/count"], ran.counts["tier/full/count"]) == (0, 1)


def test_of_a_location_that_is_back_only_a_sample_is_read(days, duties, tmp_path, monkeypatch) -> None:
    days.publish(*(f"2013-02-0{number}" for number in range(1, 9)))
    days.want(archive=1)
    duties.settle()
    (tmp_path / "cold").rename(tmp_path / "away")
    duties.run()
    (tmp_path / "away").rename(tmp_path / "cold")
    looked = []
    real = lost_module.check_published
    monkeypatch.setattr(lost_module, "check_published", lambda row: looked.append(row) or real(row))
    duties.run("runRules")
    assert (len(looked), lost(days)) == (lost_module.SAMPLE, [])


def test_a_whole_group_with_locations_asks_ten_things_where_nothing_is_new(days) -> None:
    """Done when 8: the lease, the documents, the list of sources, and what is new in the source and its copies."""
    days.want(hot=2, archive=1)
    Duties(days).settle()
    duties = configured({"druid.coordinator.startDelay": "PT0S"})
    group = resolved(named(duties, "HistoricalManagementDuties"))
    runner = GroupRunner(days.store, "a test", start_delay=duties.start_delay)
    for _ in range(2):
        assert runner.run(group).ran
        runner.run_now(group.name, "ana", "again")
    days.store.calls.clear()
    found = runner.run(group)
    assert all(result.idle for result in found.state.duties.values()), found.state.duties
    assert len(days.store.calls) <= MOST_STATEMENTS, days.store.calls
    assert not {"heads", "page", "get"}.intersection(days.store.calls)
