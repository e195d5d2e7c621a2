"""While groups are under way or wait for a slot, nothing is read until one ends; and no plan would begin anything."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.duties.compaction.plan import State
from airflow_coordination.duties.compaction.planner import COMPACT, Planner
from airflow_coordination.duties.compaction.together import run_together
from airflow_coordination.leases import Lease, SourceCoordinator
from airflow_coordination.planning.compaction.slots import CompactionSlots
from airflow_coordination.planning.intervals import interval_of
from airflow_coordination.planning.view import changing
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.database import Database
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.names import DUTIES
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import EPOCH
from tests.unit.duties.compaction.made import config, planner, publish, work
from tests.upkeep import DATASET, SOURCE, Dataset, merged_source

JANUARY, FEBRUARY, MARCH = (f"e000001|clean|2013-0{month}-01T00:00:00Z|0" for month in (1, 2, 3))
WHO = {"by": "a test", "why": "a try"}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def data(tmp_path: Path, clock: FakeClock) -> Dataset:
    return Dataset(open_store("memory://", clock=clock), tmp_path)


def begun(data: Dataset) -> None:
    """Let one of three groups begin."""
    publish(data, "2013-01-03", "2013-02-01", "2013-03-01")
    assert planner(data, slots=1).run([config()]).begun == (MARCH,)


@pytest.mark.parametrize("months", [3, 9])
def test_what_is_under_way_and_what_waits_cost_eight_statements_and_no_head_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, months: int
) -> None:
    store = open_store(f"sqlite:///{tmp_path}/c.db")
    store.setup()
    data = Dataset(store, tmp_path)
    publish(data, *(f"2013-0{month + 1}-0{day + 1}" for month in range(months) for day in range(4)))
    one = planner(data, slots=1)
    assert len(one.run([config()]).begun) == 1
    sent: list[tuple[str, int]] = []
    fetch = Database.fetch

    def counted(self, call, statement, parameters):
        rows = fetch(self, call, statement, parameters)
        sent.append((statement.text, len(rows)))
        return rows

    monkeypatch.setattr(Database, "fetch", counted)
    for _ in range(2):
        sent.clear()
        done = one.run([config()])
        assert (done.plan, done.still[DATASET].under_way, done.still[DATASET].waiting) == (None, 1, months - 1)
        assert len(sent) <= 8, sent
        assert not [text for text, _ in sent if "coordination_heads" in text], sent
        assert sum(rows for text, rows in sent if "coordination_history" not in text) <= 4, sent
        assert sum(rows for _, rows in sent) <= 2 * 100 + 4, sent
    monkeypatch.undo()
    work(data)
    assert len(one.run([config()]).begun) == 1


def test_a_run_that_reads_nothing_says_of_what_waits_what_the_last_one_has_said(data: Dataset) -> None:
    begun(data)
    looked = planner(data, slots=1).run([config()], full=True).plan
    found = planner(data, slots=1).run([config()]).still[DATASET]
    far = looked.progress[DATASET]
    assert [task.state for task in looked.tasks] == [State.UNDER_WAY, State.NO_SLOT, State.NO_SLOT]
    assert (found.under_way, found.waiting, found.percent) == (1, 2, round(far.percent, 1))
    assert (found.awaiting_bytes, found.compacted_bytes) == (far.awaiting.bytes, far.compacted.bytes)
    assert found.awaiting_bytes > 0


def _ends(data: Dataset) -> None:
    assert work(data) == [MARCH]


def _fails(data: Dataset) -> None:
    groups = data.groups()
    groups.fail(groups.get_next_partition(), "no space left", timedelta(0))


def _is_parked(data: Dataset) -> None:
    data.groups().people.park(MARCH, **WHO)


def _is_published(data: Dataset) -> None:
    publish(data, "2013-01-04")


def _a_worker_comes(data: Dataset) -> None:
    data.groups().workers.join(7)


def _a_branch_begins(data: Dataset) -> None:
    month = interval_of("interval", "2013-01/P1M")
    step = lambda view: changing.begun(view, {"keys": []}, month, "a test", "why", EPOCH)[0]  # noqa: E731
    data.ingest().documents.change_view(step, "a test", "why")


@pytest.mark.parametrize(
    "happens",
    [_ends, _fails, _is_parked, _is_published, _a_worker_comes, _a_branch_begins],
    ids=lambda each: each.__name__.strip("_"),
)
def test_everything_is_looked_at_when_something_may_go_on(data: Dataset, happens: Callable[[Dataset], None]) -> None:
    begun(data)
    assert planner(data, slots=1).run([config()]).plan is None
    happens(data)
    assert planner(data, slots=1).run([config()]).plan is not None


def test_once_a_day_everything_is_looked_at_whatever_waits(data: Dataset, clock: FakeClock) -> None:
    begun(data)
    clock.advance(timedelta(hours=23))
    assert planner(data, slots=1).run([config()]).plan is None
    clock.advance(timedelta(hours=1))
    assert planner(data, slots=1).run([config()]).plan is not None


def test_with_more_slots_and_with_another_configuration_too(data: Dataset) -> None:
    begun(data)
    assert planner(data, slots=1).run([config()]).plan is None
    assert planner(data, slots=2).run([config()]).begun == (FEBRUARY,)
    assert planner(data, slots=2).run([config()]).plan is None
    assert planner(data, slots=2).run([config(compression="zstd")]).plan is not None


def test_a_worker_that_has_taken_a_group_is_no_news(data: Dataset) -> None:
    begun(data)
    groups = data.groups()
    lease = groups.get_next_partition()
    groups.renew(lease)
    assert planner(data, slots=1).run([config()]).plan is None


def test_a_group_that_has_begun_again_is_no_news(data: Dataset) -> None:
    begun(data)
    work(data)
    publish(data, "2013-03-02")
    assert planner(data, slots=1).run([config()]).begun == (MARCH,)
    assert data.groups().partition(MARCH).status is not PartitionStatus.COMPLETED
    assert planner(data, slots=1).run([config()]).plan is None


def test_what_has_failed_is_looked_at_each_time(data: Dataset) -> None:
    begun(data)
    _is_parked(data)
    planner(data, slots=1).run([config()])
    for _ in range(2):
        states = [task.state for task in planner(data, slots=1).run([config()]).plan.tasks]
        assert State.FAILED in states, states


def test_after_earlier_code_has_planned_everything_is_looked_at(data: Dataset) -> None:
    begun(data)
    duties = SourceCoordinator(data.store, DUTIES, "earlier code")
    lease = duties.acquire_partition(f"{COMPACT}|{SOURCE}")
    state = lease.partition.progress_state
    assert [len(known) for known in state["datasets"].values()] == [6], "earlier code reads them by place"
    del state["still"]
    duties.save_progress_state(lease, state)
    duties.give_up(lease)
    assert planner(data, slots=1).run([config()]).plan is not None
    assert planner(data, slots=1).run([config()]).plan is None


def test_sources_that_share_slots_go_on_when_a_group_of_any_ends(data: Dataset) -> None:
    other = SourceCoordinator(data.store, "trips", "a test")
    slot = CompactionSlots(max_slots=1)
    begun(data)
    work(data)

    def together(*names: str) -> dict[str, tuple[str, ...] | None]:
        planners = {Planner(SourceCoordinator(data.store, name, "a test"), slot): {DATASET: config()} for name in names}
        return {name: each.begun if each.plan else None for name, each in run_together(planners, slot).items()}

    other.create_partitions(["2013-04-01"])
    lease = other.acquire_partition("2013-04-01")
    other.complete(lease, [data.block(lease, "12")])
    april = "e000001|clean|2013-04-01T00:00:00Z|0"
    assert together(SOURCE, "trips") == {SOURCE: (), "trips": (april,)}
    assert together(SOURCE, "trips") == {SOURCE: None, "trips": None}
    groups = SourceCoordinator(data.store, merged_source("trips"), "a test")
    groups.complete(groups.get_next_partition())
    assert together(SOURCE, "trips") == {SOURCE: (FEBRUARY,), "trips": ()}


def test_a_source_that_cannot_be_planned_when_its_turn_comes_is_looked_at_each_time(data: Dataset) -> None:
    begun(data)
    work(data)
    other = SourceCoordinator(data.store, "trips", "a test")
    slot = CompactionSlots(max_slots=1)

    def together():
        planners = {Planner(each, slot): {DATASET: config()} for each in (data.ingest(), other)}
        return run_together(planners, slot)

    other.create_partitions(["2013-04-01"])
    lease = other.acquire_partition("2013-04-01")
    other.complete(lease, [data.block(lease, "12")])
    assert len(together()["trips"].begun) == 1
    assert together()[SOURCE].still[DATASET].waiting == 2
    [overlay] = data.overlays().row
    Path(overlay.manifest.directory, "_manifest.json").rename(data.root / "away")
    groups = SourceCoordinator(data.store, merged_source("trips"), "a test")
    groups.complete(groups.get_next_partition())
    for _ in range(3):
        assert isinstance(together()[SOURCE].error, OutputError)
    (data.root / "away").rename(Path(overlay.manifest.directory, "_manifest.json"))
    assert together()[SOURCE].begun == (FEBRUARY,)


def test_a_source_that_is_compacted_no_more_keeps_no_slot(data: Dataset) -> None:
    one, other = planner(data, slots=1), Planner(SourceCoordinator(data.store, "trips", "a test"))
    slot = CompactionSlots(max_slots=1)
    begun(data)
    for planners in ([one, other], [one]):
        assert run_together({each: {DATASET: config()} for each in planners}, slot)[SOURCE].plan is not None
        assert run_together({each: {DATASET: config()} for each in planners}, slot)[SOURCE].plan is None


def _failing(groups: SourceCoordinator) -> Callable[[Lease], object]:
    return lambda lease: groups.fail(lease, "no", timedelta(0))


class _Chance:
    """What may happen to a dataset and its groups, drawn by chance."""

    def __init__(self, data: Dataset, clock: FakeClock, seed: int) -> None:
        self._data, self._clock, self._random = data, clock, random.Random(seed)

    def step(self) -> None:
        """Let something happen, or nothing; a person's hand is rare, since what has failed is looked at each time."""
        often = [self._publish, self._end, self._wait, self._work, self._nothing] * 3
        self._random.choice([*often, self._nothing, self._park])()

    def _publish(self) -> None:
        publish(self._data, f"2013-0{self._random.randint(1, 9)}-{self._random.randint(10, 28)}")

    def _park(self) -> None:
        going = [each for each in self._data.groups().looking.each() if each.status is not PartitionStatus.COMPLETED]
        for group in [each for each in going if not each.parked][:1]:
            self._data.groups().people.park(group.key, **WHO)

    def _end(self) -> None:
        groups = self._data.groups()
        end = self._random.choice([groups.complete, groups.give_up, groups.give_up, _failing(groups)])
        if (lease := groups.get_next_partition()) is not None:
            end(lease)

    def _wait(self) -> None:
        self._clock.advance(timedelta(minutes=self._random.randint(1, 60)))

    def _work(self) -> None:
        work(self._data)

    def _nothing(self) -> None:
        """Let a run follow the other."""


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_where_it_is_not_looked_nothing_would_begin(
    data: Dataset, clock: FakeClock, seed: int
) -> None:
    chance, still = _Chance(data, clock, seed), 0
    publish(data, *(f"2013-0{month}-01" for month in range(1, 7)))
    for _ in range(25):
        would = [task.key for task in planner(data, slots=2).look([config()]).begins]
        done = planner(data, slots=2).run([config()])
        assert list(done.begun) == would
        still += bool(done.still)
        chance.step()
    assert still
