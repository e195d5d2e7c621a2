"""Built-in duties on real sources: what they do, and how little they ask where nothing is new."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.duties.compaction.configured import set_compaction
from airflow_coordination.duties.compaction.planner import Planner
from airflow_coordination.duties.groups import counting
from airflow_coordination.duties.groups.compacting import CompactSegments
from airflow_coordination.duties.groups.counting import CollectStats, CountEnded
from airflow_coordination.duties.groups.deleting import KillStalePending, KillUnused
from airflow_coordination.duties.groups.hiding import RunRules
from airflow_coordination.duties.groups.round import Cluster, GroupDuty, Ran, Round
from airflow_coordination.duties.retention.hiding import hide
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import Block, SourceCoordinator
from airflow_coordination.leases.viewing import ended
from airflow_coordination.leases.viewing.ended import EndedBook
from airflow_coordination.outputs import OutputError, index
from airflow_coordination.planning.compaction.configuration import by_dataset
from airflow_coordination.planning.compaction.slots import CompactionSlots
from airflow_coordination.planning.duties.configuration import DynamicConfig
from airflow_coordination.planning.periods import Period
from airflow_coordination.planning.unused.deleting import Margins
from airflow_coordination.protocol.beside.documents import LOCATIONS
from airflow_coordination.stores import open_store
from airflow_coordination.testing.crash import FaultyStore
from airflow_coordination.values.names import everybody
from tests.backfills import Month
from tests.unit.duties.compaction.made import config
from tests.upkeep import DATASET, SOURCE

WHO = ("ana", "why")
DAY = timedelta(days=1)
MOST_STATEMENTS = 10
KEEP_2013_LATE = [{"type": "loadByInterval", "interval": "2013-01-02/2013-02-01"}, {"type": "dropForever"}]
AT_ONCE = Margins(duration_to_retain=Period(), buffer=Period(), i_know=True)


@pytest.fixture
def month(tmp_path: Path) -> Month:
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    store.setup()
    month = Month(FaultyStore(store), tmp_path)
    month.c.supplying.register_dag("a_dag")
    return month


class Scheduler:
    """Runs one duty again and again, as its group does."""

    def __init__(self, month: Month, duty: GroupDuty, **more: object) -> None:
        self._month, self._duty, self._more, self.left = month, duty, more, None

    def run(self, after: timedelta = timedelta(0), config: DynamicConfig | None = None, **arguments: str) -> Ran:
        now = self._month.store.now() + after
        led = {"led_since": now - DAY, **self._more}
        said = {"config": config or DynamicConfig(), "period": timedelta(minutes=5), **led}
        cluster = Cluster(store=self._month.store, owner="duties", now=now, **said)
        self._month.store.calls.clear()
        round = Round(cluster=cluster, by=self._duty.name, arguments=arguments, remembered=self.left)
        found = self._duty.run(round)
        self.left = json.loads(json.dumps(found.left)) if found.left is not None else self.left
        return found

    @property
    def calls(self) -> list[str]:
        """The calls to the store of the last run, each of which is a statement."""
        return list(self._month.store.calls)


def rules(month: Month, said: list[dict[str, str]]) -> None:
    set_rules(month.c, DATASET, json.dumps(said), *WHO)


def test_rules_hide_what_was_published_once_and_then_nothing_is_asked(month):
    month.filled(1, 2, 3)
    rules(month, KEEP_2013_LATE)
    scheduler = Scheduler(month, RunRules())
    found = scheduler.run()
    assert found.counts["segment/hidden/count"] == 1
    assert f"{SOURCE}/{DATASET}" in found.said
    assert set(month.read()) == {"2013-01-02 old", "2013-01-03 old"}
    again = scheduler.run()
    assert (again.idle, again.said) == (True, "nothing is new")
    assert len(scheduler.calls) <= MOST_STATEMENTS
    assert "heads" not in scheduler.calls


@pytest.mark.parametrize("news", ["published", "ruled", "by default", "viewed", "a day later"])
def test_rules_are_applied_again_when_something_is_new(month, news):
    month.filled(2, 3)
    rules(month, KEEP_2013_LATE)
    scheduler = Scheduler(month, RunRules())
    scheduler.run()
    assert "heads" not in (scheduler.run(), scheduler.calls)[1]
    if news == "published":
        month.filled(1)
    if news == "ruled":
        rules(month, [{"type": "dropForever"}])
    if news == "by default":
        set_rules(month.c, None, json.dumps([{"type": "loadForever"}]), *WHO)
    if news == "viewed":
        hide(month.c, DATASET, "2013-01-03/P1D", *WHO)
    scheduler.run(after=DAY if news == "a day later" else timedelta(0))
    assert "heads" in scheduler.calls


def test_rules_are_applied_again_when_time_alone_drops_something(month):
    now = month.store.now()
    yesterday = f"{(now - DAY).date().isoformat()}T00:00:00Z/P1D"
    month.create("k")
    month.work("k", ["k old"], interval=yesterday)
    rules(month, [{"type": "loadByPeriod", "period": "PT2H", "includeFuture": False}, {"type": "dropForever"}])
    scheduler = Scheduler(month, RunRules())
    hidden = scheduler.run().counts["segment/hidden/count"]
    until = scheduler.left["hiding"][SOURCE][1]
    midnight = int(now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp() * 1e6)
    two_hours = 2 * 3_600_000_000
    if not hidden:
        assert midnight <= until - two_hours <= midnight + 1, "when the day is wholly two hours ago"
    else:
        assert until <= int((now + DAY).timestamp() * 1e6) + 5_000_000


def test_a_dry_run_of_rules_changes_nothing(month):
    month.filled(1, 2)
    rules(month, KEEP_2013_LATE)
    scheduler = Scheduler(month, RunRules(), dry_run=True)
    assert scheduler.run().counts["segment/hidden/count"] == 1
    assert scheduler.run().counts["segment/hidden/count"] == 1
    assert "set_document" not in scheduler.calls
    assert len(month.read()) == 2


def test_rules_that_say_nothing_of_a_partition_are_a_warning(month):
    month.filled(1)
    rules(month, [{"type": "dropByInterval", "interval": "2014/P1Y"}])
    set_rules(month.c, None, "[]", *WHO)
    found = Scheduler(month, RunRules()).run()
    assert found.warnings == (f"no rule applies to 1 partition(s) of {SOURCE}/{DATASET}: they are left as they are",)


def test_corrupt_rules_of_one_source_keep_no_other_from_being_served(month, tmp_path):
    month.filled(1, 2)
    rules(month, KEEP_2013_LATE)
    broken = SourceCoordinator(month.store, "a broken one", "me")
    broken.supplying.register_dag("a_dag")
    broken.create_partitions(["k"])
    broken.complete(broken.acquire_partition("k"), [Block(DATASET, "file:///nowhere/_manifest.json", "0" * 64, rows=1)])
    broken.documents.change(f"rules/{DATASET}", lambda _: "{", *WHO)
    scheduler = Scheduler(month, RunRules())
    found = scheduler.run()
    assert len(found.errors) == 1
    assert found.errors[0].startswith("a broken one: InvalidInputError")
    assert found.counts["segment/hidden/count"] == 1
    assert scheduler.run().counts["segment/hidden/count"] == 0, "the other one is remembered"


def test_locations_that_are_corrupt_keep_nothing_from_being_hidden(month):
    month.filled(1, 2)
    rules(month, KEEP_2013_LATE)
    month.c.documents.change(LOCATIONS, lambda _: "{", *WHO, source=everybody(None))
    scheduler = Scheduler(month, RunRules())
    found = scheduler.run()
    assert found.counts["segment/hidden/count"] == 1
    assert len(found.errors) == 1
    assert "locations" in found.errors[0]
    assert scheduler.run().counts["segment/hidden/count"] == 0, "it is remembered"


def test_the_purge_is_off_by_default(month):
    month.filled(1)
    hide(month.c, DATASET, "2013-01-01/P1D", *WHO)
    found = Scheduler(month, KillUnused()).run()
    assert "kill.on" in found.said
    assert month.store.calls == []


def test_the_purge_takes_what_was_hidden_and_then_waits_for_its_period(month):
    month.filled(1, 2)
    hide(month.c, DATASET, "2013-01-01/P1D", *WHO)
    scheduler = Scheduler(month, KillUnused(), margins=AT_ONCE)
    assert scheduler.run().counts["kill/unused/count"] == 1
    assert scheduler.run().idle
    assert len(scheduler.calls) <= 1
    hide(month.c, DATASET, "2013-01-02/P1D", *WHO)
    assert scheduler.run().idle, "its period is not over"
    assert scheduler.run(after=DAY).counts["kill/unused/count"] == 1


def test_the_purge_goes_on_at_once_while_more_is_left(month):
    month.filled(1, 2, 3)
    hide(month.c, DATASET, "2013-01/P1M", *WHO)
    one = Margins(duration_to_retain=Period(), buffer=Period(), most=1, i_know=True)
    scheduler = Scheduler(month, KillUnused(), margins=one)
    assert [scheduler.run().counts["kill/unused/count"] for _ in range(4)] == [1, 1, 1, 0]


def test_the_purge_leaves_datasets_that_are_not_in_the_list(month):
    month.filled(1)
    hide(month.c, DATASET, "2013-01-01/P1D", *WHO)
    scheduler = Scheduler(month, KillUnused(), margins=AT_ONCE)
    assert scheduler.run(config=DynamicConfig(kill_data_source_whitelist=("other",))).idle
    scheduler.left = None
    allowed = DynamicConfig(kill_data_source_whitelist=(f"{SOURCE}/{DATASET}",))
    assert scheduler.run(config=allowed).counts["kill/unused/count"] == 1


@pytest.mark.parametrize("duty", [KillUnused(), KillStalePending()])
def test_nothing_is_deleted_before_the_group_was_led_for_long_enough(month, duty):
    month.filled(1)
    hide(month.c, DATASET, "2013-01-01/P1D", *WHO)
    now = month.store.now()
    scheduler = Scheduler(month, duty, margins=AT_ONCE, led_since=now, output_root=str(month.root))
    found = scheduler.run()
    assert "deletes nothing before" in found.said
    assert month.store.calls == []


def test_files_that_nobody_follows_go_once_in_a_period(month):
    [key] = month.filled(1)
    month.c.people.reset(key, *WHO)
    month.work(key, ["new"])
    scheduler = Scheduler(month, KillStalePending(), output_root=str(month.root))
    dead = scheduler.run(olderThan="PT0S")
    assert dead.counts["kill/pending/files"] > 0
    assert "bytes" in dead.said
    again = scheduler.run(olderThan="PT0S")
    assert again.idle
    assert len(scheduler.calls) <= 1


def test_without_an_output_root_nothing_is_collected_and_that_is_said(month):
    found = Scheduler(month, KillStalePending()).run()
    assert found.idle
    assert "outputRoot" in found.warnings[0]


def test_a_duty_s_argument_that_is_no_length_of_time_is_named(month):
    scheduler = Scheduler(month, KillStalePending(), output_root=str(month.root))
    with pytest.raises(Exception, match=r"killStalePending\.olderThan.*months.*P30D"):
        scheduler.run(olderThan="P1M")


class Trips(Month):
    """The same days of another source."""

    def ingest(self, **settings: object) -> SourceCoordinator:
        return SourceCoordinator(self.store, "trips", self.owner, **settings)


@pytest.fixture
def two_sources(month, tmp_path) -> list[Planner]:
    """January of one source and February of another one, both of which have been planned once, without a slot."""
    month.filled(1, 2)
    trips = Trips(month.store, tmp_path)
    trips.create("2013-02-01")
    trips.work("2013-02-01", ["new"], interval="2013-02-01/P1D")
    trips.c.supplying.register_dag("a_dag")
    planners = [Planner(each.c, CompactionSlots()) for each in (month, trips)]
    for planner in planners:
        with planner.leased() as lease:
            planner.carried_out(planner.prepared(lease, by_dataset([config()])), 0)
    return planners


def begun(planners: list[Planner]) -> list[list[str]]:
    return [[group.key for group in planner.groups.looking.each()] for planner in planners]


def test_compaction_begins_with_the_newest_of_all_sources(month, two_sources):
    assert begun(two_sources) == [[], []]
    scheduler = Scheduler(month, CompactSegments())
    assert scheduler.run(capacity="10").counts["compact/task/count"] == 1
    assert list(map(len, begun(two_sources))) == [0, 1], "February, of the other source"
    assert scheduler.run(capacity="10").counts["compact/task/count"] == 0, "the one slot is taken"
    assert scheduler.run(capacity="20").counts["compact/task/count"] == 1
    assert list(map(len, begun(two_sources))) == [1, 1]


def test_a_dry_run_of_compaction_says_what_would_begin(month, two_sources):
    found = Scheduler(month, CompactSegments(), dry_run=True).run(capacity="20")
    assert found.said == "would make 2 group(s) claimable"
    assert begun(two_sources) == [[], []]


def test_a_plan_adds_what_is_new_to_the_index_of_what_it_has_looked_at(month, two_sources, monkeypatch, tmp_path):
    monkeypatch.setattr(index, "LEAST", 1)
    scheduler = Scheduler(month, CompactSegments())
    scheduler.run(capacity="100")
    first = sorted(tmp_path.rglob("_index/**/*.gz"))
    assert len(first) == 2, "one of each source"
    scheduler.run(capacity="100")
    assert sorted(tmp_path.rglob("_index/**/*.gz")) == first


def test_a_plan_that_may_not_write_the_index_is_a_plan(month, two_sources, monkeypatch, caplog, tmp_path):
    def refuse(address, content):
        raise OutputError("write a file", address, "is denied", "Allow it")

    monkeypatch.setattr(index, "LEAST", 1)
    monkeypatch.setattr(index, "write_bytes", refuse)
    assert Scheduler(month, CompactSegments()).run(capacity="100").counts["compact/task/count"] == 2
    assert caplog.text.count("is left as it was") == 2
    assert not list(tmp_path.rglob("_index"))


def test_where_nothing_is_new_compaction_asks_little(month, two_sources):
    scheduler = Scheduler(month, CompactSegments())
    scheduler.run(capacity="100")
    for planner in two_sources:
        for group in planner.groups.looking.each():
            planner.groups.people.finish(group.key, *WHO)
    scheduler.run(capacity="100")
    found = scheduler.run(capacity="100")
    assert found.said == "nothing is new"
    assert len(scheduler.calls) <= MOST_STATEMENTS
    assert "heads" not in scheduler.calls


def test_a_source_that_cannot_be_planned_keeps_no_other_from_it(month, two_sources):
    long = SourceCoordinator(month.store, "l" * 240, "me")
    long.supplying.register_dag("a_dag")
    set_compaction(month.c, DATASET, json.dumps({"skipOffsetFromLatest": "P0D"}), *WHO)
    month.c.documents.change(f"compaction/{DATASET}", lambda _: "{", *WHO)
    found = Scheduler(month, CompactSegments()).run(capacity="20")
    assert len(found.errors) == 1
    assert found.errors[0].startswith(f"{SOURCE}: InvalidInputError")
    assert list(map(len, begun(two_sources))) == [0, 1], "that of the other source"


def test_a_source_whose_overlays_cannot_be_read_keeps_no_other_from_being_planned(month, two_sources, monkeypatch):
    broken = OutputError("read", "file:///gone", "is missing", "Restore it")

    def missing(planner, lease, configs, *, full=False):
        if planner.coordinator.source == SOURCE:
            raise broken
        return prepared(planner, lease, configs, full=full)

    prepared = Planner.prepared
    monkeypatch.setattr(Planner, "prepared", missing)
    found = Scheduler(month, CompactSegments()).run(capacity="20")
    assert found.errors == (f"{SOURCE}: OutputError: {broken}",)
    assert list(map(len, begun(two_sources))) == [0, 1]


def test_without_a_configuration_there_is_nothing_to_compact(month):
    month.filled(1)
    assert Scheduler(month, CompactSegments()).run().said == "no dataset says how it is compacted"


def test_places_that_are_no_number_are_named(month):
    with pytest.raises(Exception, match=r"compactSegments\.capacity.*many.*Give 0 or more"):
        Scheduler(month, CompactSegments()).run(capacity="many")


def test_what_ended_is_counted_once_and_a_run_goes_on_where_the_one_before_ended(month, monkeypatch):
    month.filled(1, 2, 3)
    scheduler, book = Scheduler(month, CountEnded()), month.c.looking.ended
    assert scheduler.run().counts["ended/behind/count"] == 0
    assert not any(row.completed for row in book.newest(9)), "it ended just now"
    monkeypatch.setattr(ended, "LATE", timedelta(0))
    monkeypatch.setattr(counting, "MOST_PORTIONS", 1)
    monkeypatch.setattr(EndedBook.count_on, "__defaults__", (2, None))
    runs = [scheduler.run() for _ in range(5)]
    assert [runs[place].counts["ended/behind/count"] for place in (0, -1)] == [1, 0]
    assert (runs[-1].idle, runs[-1].said) == (True, "nothing to count"), "a row says up to when, nothing ended"
    assert {run.said for run in runs if not run.idle} >= {"counted 1 ending(s)"}
    assert sum(row.completed for row in book.newest(1000)) == 3
    assert set(scheduler.calls) == {"sources", "ended_sums", "ended_between", "put_ended_sums"}
    assert len(scheduler.calls) <= 5
    scheduler.run(after=counting.SELDOM)
    assert "forget_ended_sums" in scheduler.calls


def test_a_dry_run_counts_nothing(month):
    month.filled(1)
    assert Scheduler(month, CountEnded(), dry_run=True).run().said == "nothing to count"
    assert month.c.looking.ended.newest(9) == []


def test_where_no_history_is_kept_there_is_nothing_to_count(tmp_path):
    store = open_store(f"sqlite:///{tmp_path}/none.db?history_retention=off")
    store.setup()
    month = Month(FaultyStore(store), tmp_path)
    month.filled(1)
    ran = Scheduler(month, CountEnded()).run()
    assert (ran.said, ran.errors) == ("nothing to count", ())


def test_what_there_is_is_counted_with_zeros(month):
    month.filled(1, 2)
    scheduler = Scheduler(month, CollectStats())
    found = scheduler.run()
    assert found.counts["partition/completed/count"] == 2
    assert found.counts["partition/closed/count"] == 0
    assert found.said == "1 source(s) with 2 partition(s)"
    assert len(scheduler.calls) <= MOST_STATEMENTS
