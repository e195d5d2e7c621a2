"""The planner on a real store: which groups it makes claimable, when it does nothing, and what people read of it."""

from __future__ import annotations

import gc
import json
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.duties.compaction import planner as compaction
from airflow_coordination.duties.compaction import remembered, snapshot
from airflow_coordination.duties.compaction.plan import State
from airflow_coordination.duties.compaction.planner import COMPACT, Planner
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs.membership import by_key, interval_of, planned, planned_each
from airflow_coordination.planning.compaction.groups import GroupWork
from airflow_coordination.planning.intervals import ETERNITY
from airflow_coordination.protocol.beside.parts import StoreParts
from airflow_coordination.stores import open_store
from airflow_coordination.stores.calls import Call
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.input_errors import InvalidInputError, InvalidKeyError
from airflow_coordination.values.names import DUTIES
from tests.unit.duties.compaction.made import KEEP, config, planner, publish, work
from tests.upkeep import DATASET, SOURCE, Dataset, merged_source

JANUARY = "e000001|clean|2013-01-01T00:00:00Z|0"
FEBRUARY = "e000001|clean|2013-02-01T00:00:00Z|0"


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    return Dataset(open_store("memory://"), tmp_path)


def states(data: Dataset, *configs) -> dict[str, str]:
    made = planner(data).look(configs or [config()])
    return {task.key: f"{task.state}: {task.reason}" for task in made.tasks}


def test_each_chunk_with_something_new_gets_a_group_the_newest_first(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-01-04", "2013-02-01")
    done = planner(data).run([config()])
    assert done.begun == (FEBRUARY, JANUARY)
    groups = data.groups()
    payload = groups.partition(JANUARY).payload
    assert GroupWork.from_payload(payload).config == config()
    assert payload["chunk"] == "2013-01-01/2013-02-01"
    assert work(data) == [FEBRUARY, JANUARY]
    assert data.rows() == Counter({"1": 3, "2": 3})


def test_when_all_is_merged_nothing_is_to_be_done(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-02-01")
    planner(data).run([config()])
    work(data)
    assert planner(data).run([config()]).plan.tasks == ()
    assert planner(data).run([config()]).plan is None
    [found] = planner(data).look().progress.values()
    assert found.percent == 100


def test_only_the_chunk_in_which_something_was_published_is_merged_again(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-02-01")
    planner(data).run([config()])
    work(data)
    publish(data, "2013-01-09")
    publish(data, "2013-01-03", rows="3", mode="append")
    done = planner(data).run([config()])
    assert done.begun == (JANUARY,)
    [entry] = [each for each in data.groups().looking.actions(JANUARY) if each["action"] == "reset"]
    assert (entry["by"], entry["why"]) == (COMPACT, "never compacted: 2 of 2")
    work(data)
    assert data.rows() == Counter({"1": 3, "2": 3, "3": 1})


def test_at_most_so_many_groups_are_claimable_or_held(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-02-01", "2013-03-01")
    first = planner(data, slots=1).run([config()])
    assert first.begun == ("e000001|clean|2013-03-01T00:00:00Z|0",)
    assert [task.state for task in first.plan.tasks] == [State.CREATE, State.NO_SLOT, State.NO_SLOT]
    second = planner(data, slots=1).run([config()], full=True)
    assert second.begun == ()
    assert [task.state for task in second.plan.tasks] == [State.UNDER_WAY, State.NO_SLOT, State.NO_SLOT]
    work(data)
    assert planner(data, slots=1).run([config()]).begun == (FEBRUARY,)


def test_what_is_too_new_is_left_for_ingest(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-02-01")
    done = planner(data).run([config(skip_offset_from_latest="P1D")])
    assert done.begun == (JANUARY,)
    assert [str(group.reason) for group in done.plan.found.left] == ["inside the offset"]


def test_without_an_interval_a_partition_is_in_no_chunk_and_the_reason_says_so(data: Dataset) -> None:
    publish(data, "2013-01-03", "odd")
    done = planner(data).run([config()])
    assert [(group.heads[0].name, str(group.reason)) for group in done.plan.found.left] == [
        ("odd", "unbounded interval")
    ]


def test_another_planner_is_named_and_nothing_is_done(data: Dataset) -> None:
    publish(data, "2013-01-03")
    other = SourceCoordinator(data.store, DUTIES, "somebody else")
    other.create_partitions([f"{COMPACT}|{SOURCE}"])
    lease = other.acquire_partition(f"{COMPACT}|{SOURCE}")
    done = planner(data).run([config()])
    assert (done.rival, done.rival_until, done.plan) == ("somebody else", lease.expires_at, None)
    other.give_up(lease)
    assert planner(data).run([config()]).begun == (JANUARY,)


def test_a_dry_run_shows_what_would_begin_and_changes_nothing(data: Dataset) -> None:
    publish(data, "2013-01-03")
    made = planner(data).look([config()])
    assert [(task.key, task.state, task.reason) for task in made.tasks] == [
        (JANUARY, State.CREATE, "never compacted: 1 of 1")
    ]
    assert data.store.counts(f"{merged_source(SOURCE)}|PARTITION") == data.store.counts("nothing|PARTITION")
    with pytest.raises(InvalidInputError, match=r"nothing has been planned yet\. Run PlanCompactionOperator"):
        planner(data).look()


def test_another_way_of_merging_is_a_reason_in_the_same_epoch(data: Dataset) -> None:
    publish(data, "2013-01-03")
    planner(data).run([config()])
    work(data)
    changed = config(compression="zstd")
    assert states(data, changed) == {JANUARY: "begun again: configuration changed: compression: nothing → zstd"}
    assert planner(data).run([changed]).begun == (JANUARY,)
    assert GroupWork.from_payload(data.groups().partition(JANUARY).payload).config == changed
    work(data)
    assert planner(data).look([changed]).tasks == ()


def test_other_chunks_begin_an_epoch_and_the_groups_of_the_old_one_are_given_up(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-02-01")
    planner(data).run([config()])
    work(data)
    years = config(granularity="YEAR")
    done = planner(data).run([years])
    year = "e000002|clean|2013-01-01T00:00:00Z|0"
    assert done.begun == (year,)
    assert done.plan.tasks[0].reason == "configuration changed: other blocks belong together than before"
    work(data)
    done = planner(data).run([years])
    assert set(done.begun) == {JANUARY, FEBRUARY}
    assert all(GroupWork.from_payload(data.groups().partition(key).payload).is_given_up for key in done.begun)
    work(data)
    assert {one.key: len(one.covers) for one in data.overlays().row} == {JANUARY: 0, FEBRUARY: 0, year: 2}
    assert planner(data).look([years]).tasks == ()
    assert data.rows() == Counter({"1": 2, "2": 2})


def test_a_chunk_above_the_limit_is_merged_in_parts_that_stay(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-01-04", "2013-01-05", rows=["x" * 200])
    [size] = {head.bytes for head in data.heads()}
    parts = config(oversize="split", input_bytes=5 * size // 2)
    done = planner(data).run([parts])
    assert done.begun == (JANUARY, JANUARY[:-1] + "1")
    work(data)
    assert {one.key: [origin.key for origin in one.covers] for one in data.overlays().row} == {
        JANUARY: ["2013-01-03", "2013-01-04"],
        JANUARY[:-1] + "1": ["2013-01-05"],
    }
    assert planner(data).look([parts]).tasks == ()
    publish(data, "2013-01-04", rows="9")
    assert [task.key for task in planner(data).look([parts]).tasks] == [JANUARY]


@pytest.mark.parametrize(("percent", "tasks"), [(20, 1), (49, 1), (50, 0), (100, 0)])
def test_a_chunk_of_which_too_much_is_dead_is_merged_again(data: Dataset, percent: int, tasks: int) -> None:
    publish(data, "2013-01-03", "2013-01-04")
    planner(data).run([config()])
    work(data)
    data.ingest().people.retract("2013-01-03", by="a test", why="wrong")
    found = planner(data).look([config(dead_rows_percent=percent)]).tasks
    assert [task.reason for task in found] == ["dead rows 50 %"] * tasks
    if tasks:
        planner(data).run([config(dead_rows_percent=percent)], full=True)
        assert work(data) == [JANUARY]
        assert planner(data).look([config()]).tasks == ()


def fail(data: Dataset, clock: FakeClock, error: str = "no space left", group: str = JANUARY) -> None:
    groups = SourceCoordinator(data.store, merged_source(SOURCE), "a worker", clock=clock, **KEEP)
    for _ in range(4):
        lease = groups.get_next_partition()
        groups.fail(lease, error, timedelta(0))
    assert groups.partition(group).parked


def test_a_group_that_has_failed_waits_longer_each_time_and_at_once_when_something_is_new(tmp_path: Path) -> None:
    clock = FakeClock()
    data = Dataset(open_store("memory://", clock=clock), tmp_path)
    publish(data, "2013-01-03")
    every = timedelta(minutes=10)
    planner(data, period=every).run([config()])
    fail(data, clock)
    [task] = planner(data, period=every).run([config()]).plan.tasks
    assert task.state is State.FAILED
    assert task.detail.startswith("failed 4 times with no space left, next try at ")
    clock.advance(timedelta(minutes=10))
    assert planner(data, period=every).run([config()]).begun == (JANUARY,)
    fail(data, clock)
    clock.advance(timedelta(minutes=10))
    [task] = planner(data, period=every).run([config()]).plan.tasks
    assert task.detail.startswith("failed 8 times with no space left, next try at ")
    publish(data, "2013-01-04")
    assert planner(data, period=every).run([config()]).begun == (JANUARY,)
    work(data)
    assert planner(data, period=every).run([config()]).plan.remembered.parked == {}


def test_what_has_failed_takes_no_slot_from_what_has_not_and_is_tried_when_nothing_else_waits(tmp_path: Path) -> None:
    clock = FakeClock()
    data = Dataset(open_store("memory://", clock=clock), tmp_path)
    publish(data, "2013-01-03", "2013-02-01", "2013-03-01")
    march = "e000001|clean|2013-03-01T00:00:00Z|0"
    assert planner(data, slots=1).run([config()]).begun == (march,)
    fail(data, clock, group=march)
    clock.advance(timedelta(hours=1))
    assert planner(data, slots=1).run([config()]).begun == (FEBRUARY,)
    work(data)
    done = planner(data, slots=1).run([config()])
    assert [task.state for task in done.plan.tasks] == [State.NO_SLOT, State.CREATE]
    assert done.begun == (JANUARY,)
    work(data)
    assert planner(data, slots=1).run([config()]).begun == (march,)


def test_of_groups_that_have_failed_as_many_are_remembered_as_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "MOST_PARKED", 1)
    clock = FakeClock()
    data = Dataset(open_store("memory://", clock=clock), tmp_path)
    publish(data, "2013-01-03", "2013-02-01")
    planner(data, slots=1).run([config()])
    fail(data, clock, group=FEBRUARY)
    planner(data, slots=1).run([config()])
    fail(data, clock)
    clock.advance(timedelta(hours=1))
    assert set(planner(data).run([config()]).begun) == {FEBRUARY, JANUARY}
    assert len(planner(data).remembered().parked) == 1


def test_a_group_that_found_nothing_to_do_is_not_asked_the_same_again(data: Dataset) -> None:
    publish(data, "2013-01-03")
    planner(data).run([config()])
    groups = data.groups(**KEEP)
    groups.complete(groups.get_next_partition())
    assert states(data) == {JANUARY: "left by its worker: never compacted: 1 of 1"}
    publish(data, "2013-01-03", rows="7")
    assert states(data) == {JANUARY: "begun again: never compacted: 1 of 1"}


def test_a_group_that_somebody_has_changed_meanwhile_is_left_for_the_next_run(
    data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(data, "2013-01-03")
    planner(data).run([config()])
    work(data)
    publish(data, "2013-01-04")
    one = planner(data)
    plan_as_seen = one.planned

    def then_somebody(*arguments, **more):
        made = plan_as_seen(*arguments, **more)
        data.groups().people.reset(JANUARY, by="somebody", why="at once")
        return made

    monkeypatch.setattr(one, "planned", then_somebody)
    done = one.run([config()])
    assert (done.begun, done.moved) == ((), (JANUARY,))
    assert planner(data).remembered().datasets[DATASET].waits


def test_it_remembers_datasets_that_it_was_not_asked_about(data: Dataset) -> None:
    publish(data, "2013-01-03")
    planner(data).run([config(), config_of("daily")])
    planner(data).run([config()], full=True)
    assert set(planner(data).remembered().datasets) == {DATASET, "daily"}


def config_of(dataset: str):
    return type(config()).from_json(config().to_json() | {"dataset": dataset})


def test_two_configurations_of_one_dataset_are_refused_before_anything_is_asked(data: Dataset) -> None:
    with pytest.raises(InvalidInputError, match="has two configurations"):
        planner(data).run([config(), config(granularity="DAY")])


def test_what_is_remembered_is_json_and_the_same_when_read_back(data: Dataset) -> None:
    publish(data, "2013-01-03")
    planner(data).run([config()])
    kept = Planner(data.ingest()).remembered()
    assert type(kept).from_json(json.loads(json.dumps(kept.to_json()))) == kept
    assert kept.configs() == [config()]


def test_when_nothing_is_new_three_statements_are_sent(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/c.db")
    store.setup()
    data = Dataset(store, tmp_path)
    publish(data, "2013-01-03")
    planner(data).run([config()])
    work(data)
    planner(data).run([config()])
    sent: list[str] = []
    with store.database.connected(Call("listen")) as connected:
        connected.connection.set_trace_callback(sent.append)
    again = planner(data)
    assert again.run([config()]).plan is None
    statements = [text for text in sent if text.split()[0] not in ("BEGIN", "COMMIT")]
    assert len(statements) <= 3, statements
    publish(data, "2013-01-04")
    assert again.run([config()]).begun == (JANUARY,)


def test_where_a_store_has_no_history_everything_is_looked_at(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(data, "2013-01-03")
    planner(data).run([config()])
    work(data)
    planner(data).run([config()])
    monkeypatch.setattr(type(data.store), "parts", lambda self: StoreParts())
    assert planner(data).run([config()]).plan is not None


def test_once_a_day_everything_is_looked_at(tmp_path: Path) -> None:
    clock = FakeClock()
    data = Dataset(open_store("memory://", clock=clock), tmp_path)
    publish(data, "2013-01-03")
    planner(data).run([config()])
    work(data)
    planner(data).run([config()])
    clock.advance(timedelta(hours=23))
    assert planner(data).run([config()]).plan is None
    clock.advance(timedelta(hours=1))
    assert planner(data).run([config()]).plan is not None


def test_what_one_run_has_seen_is_news_for_another_dataset(data: Dataset) -> None:
    publish(data, "2013-01-03")
    planner(data).run([config_of("daily")])
    planner(data).run([config_of("daily")])
    assert planner(data).run([config_of("daily")]).plan is None
    assert planner(data).run([config()]).begun == (JANUARY,)


def test_where_something_lies_in_two_chunks_only_the_group_with_work_begins(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-02-02")
    planner(data).run([config()])
    work(data)
    publish(data, "2013-01-31", interval="2013-01-31/2013-02-02")
    done = planner(data).run([config()])
    assert [(task.key, str(task.work.chunk)) for task in done.plan.tasks] == [(JANUARY, "2013-01-01/2013-03-01")]
    work(data)
    assert {one.key: [origin.key for origin in one.covers] for one in data.overlays().row} == {
        JANUARY: ["2013-01-03", "2013-01-31"],
        FEBRUARY: ["2013-02-02"],
    }
    publish(data, "2013-02-02", rows="9")
    [task] = planner(data).look([config()]).tasks
    assert (task.key, str(task.work.chunk)) == (FEBRUARY, "2013-02-01/2013-03-01")
    work(data)
    assert data.rows() == Counter({"1": 2, "2": 2, "9": 1})


def test_what_newer_code_has_planned_with_keeps_nobody_from_planning(data: Dataset) -> None:
    publish(data, "2013-01-03")
    planner(data).run([config()])
    work(data)
    duties = SourceCoordinator(data.store, DUTIES, "newer code")
    lease = duties.acquire_partition(f"{COMPACT}|{SOURCE}")
    state = lease.partition.progress_state
    state["datasets"][DATASET][1]["later"] = 1
    duties.save_progress_state(lease, state)
    duties.give_up(lease)
    with pytest.raises(InvalidInputError, match=r"planner\.config\.later=1: is unknown"):
        planner(data).look()
    done = planner(data).run([config()])
    assert (done.plan.tasks, done.plan.remembered.datasets[DATASET].epoch) == ((), 1)


@pytest.mark.parametrize(("prefix", "longest"), [(None, 234), ("p", 232)])
def test_a_source_whose_name_is_too_long_for_one_beside_it_is_refused(data: Dataset, prefix, longest) -> None:
    def of(length: int) -> Planner:
        return Planner(SourceCoordinator(data.store, "s" * length, "a test", prefix))

    assert of(longest).groups.source == merged_source("s" * longest)
    said = r"source='ss.*: is 2 byte\(s\) too long for a source beside it, ~merged/<source>, .* a shorter name"
    with pytest.raises(InvalidKeyError, match=said):
        of(longest + 2)


def test_planned_together_each_is_as_planned_alone(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-01-04")
    planner(data).run([config()])
    work(data)
    publish(data, "2013-01-04", mode="append")
    publish(data, "2013-01-05")
    heads = [head for page in data.standing().pages() for head in page]
    intervals = [interval_of(head, "%Y-%m-%d") or ETERNITY for head in heads]
    shares = by_key(data.overlays(), 1)
    alone = [planned(head, each, shares.get(head.key)) for head, each in zip(heads, intervals, strict=True)]
    assert planned_each(heads, intervals, shares) == alone
    assert [head.merged_with is None for head in alone] == [False, True, True]
    assert planned_each([], [], shares) == []


def test_nobody_searches_for_dead_cycles_while_it_looks(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for module, name in ((snapshot, "read_overlays"), (compaction, "plan")):
        real = getattr(module, name)
        noted = lambda *given, real=real: (seen.append(gc.isenabled()), real(*given))[1]  # noqa: E731
        monkeypatch.setattr(module, name, noted)
    publish(data, "2013-01-03")
    planner(data).run([config()])
    assert seen == [False, False]
    assert gc.isenabled()
