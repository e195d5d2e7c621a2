"""Branches inside Airflow: a month is replaced while ingest goes on and a reader polls; events come when it shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.duties.branches.beginning import begin
from airflow_coordination.duties.branches.retiring import retire
from airflow_coordination.duties.branches.selection import Selection
from airflow_coordination.duties.branches.showing import publish, roll_back, status
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store
from tests.backfills import Month, Poller, parts

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
WHO = ("ana", "late data")
DAYS = [f"2013-01-{day:02}" for day in range(1, 32)]
OLD = Counter(f"{day} old" for day in DAYS)
NEW = Counter(f"{day} new" for day in DAYS)


@pytest.fixture
def month(store_url: str, tmp_path: Path) -> Month:
    found = Month(open_store(store_url), tmp_path / "output")
    found.filled(*range(1, 32))
    return found


def of_days(name: str, work: Callable[[Month, str], None], root: Path, store_url: str, **told: Any) -> Any:
    """Return a DAG that replaces the month by the operators, with plain Python in the place of Spark."""
    from airflow.sdk import DAG, Asset, get_current_context, task

    from airflow_coordination.hooks.coordination import CoordinationHook
    from airflow_coordination.hooks.identity import owner_of
    from airflow_coordination.operators import BeginBranchOperator, PublishBranchOperator
    from airflow_coordination.sensors import PartitionsSensor

    given = {"source": "flights", "retries": 0}
    with DAG(name, schedule=None, default_args=given) as dag:
        start = BeginBranchOperator(task_id="begin", interval="2013-01/P1M", why="late data")
        ready = PartitionsSensor(task_id="ready", max_hints=2, wait=False)

        @task
        def process(hint: str) -> None:
            month = Month(open_store(store_url), root)
            month.c = CoordinationHook().coordinator("flights", owner_of(get_current_context()))
            while (lease := month.c.get_next_partition(hint=hint)) is not None:
                work(month, lease.key)
                month.c.complete(lease, [month.counted(lease, [f"{lease.key} new"])], interval=f"{lease.key}/P1D")

        show = PublishBranchOperator(
            task_id="publish",
            branch=start.output["branch"],
            why="late data",
            outlets=[Asset("flights")],
            trigger_rule="none_failed",
            **told,
        )
        start >> ready
        process.expand(hint=ready.output) >> show
    return dag


def events(run: Any) -> list[dict[str, Any]]:
    """Return what the asset events of a run carry."""
    from airflow.models.asset import AssetEvent
    from airflow.utils.session import create_session

    with create_session() as session:
        return [event.extra for event in session.query(AssetEvent).filter_by(source_run_id=run.run_id).all()]


def test_s22_a_month_is_replaced_while_ingest_goes_on_and_a_reader_polls(run_dag, month, store_url) -> None:
    """Done when: the old, then the new; late rows exactly once; rolled back the old, but for what published since."""
    ingest, late = Month(open_store(store_url), month.root), set()

    def beside(_: Month, key: str) -> None:
        ingest.create(f"late {key}")
        lease = ingest.held(f"late {key}")
        ingest.c.complete(lease, [ingest.counted(lease, [f"late {key}"])])
        late.add(f"late {key}")

    with Poller(month) as reader:
        run = run_dag(of_days("replace_a_month_here", beside, month.root, store_url))
    assert run.state == "success"
    assert len(late) == 31
    found = [parts(each, late) for each in reader.seen]
    replaced = [each for each, _ in found]
    first_new = next(number for number, each in enumerate(replaced) if each != OLD)
    assert first_new > 1, "late rows were seen while the month was old"
    assert all(each == OLD for each in replaced[:first_new])
    assert all(each == NEW for each in replaced[first_new:])
    counts = [len(there) for _, there in found]
    assert counts == sorted(counts)
    assert counts[-1] == 31
    assert events(run) == [{"branch": 1, "partitions": DAYS}]

    month.c.people.reset(DAYS[4], *WHO)
    month.work(DAYS[4], ["since"], interval=f"{DAYS[4]}/P1D")
    with Poller(month) as reader:
        assert roll_back(month.c, 1, *WHO).kept == (DAYS[4],)
    back = OLD - Counter([f"{DAYS[4]} old"]) + Counter(["since"])
    assert [parts(each, late)[0] for each in reader.seen] == [
        NEW - Counter([f"{DAYS[4]} new"]) + Counter(["since"]),
        back,
    ]


def test_a_check_that_raises_publishes_nothing_and_tells_nobody(run_dag, month, store_url) -> None:
    def refuse(look: Any) -> None:
        raise ValueError(f"{len(look.changed)} partitions would change")

    run = run_dag(of_days("refused", lambda *_: None, month.root, store_url, check=refuse))
    states = {ti.task_id: ti.state for ti in run.get_task_instances()}
    assert (states["process"], states["publish"]) == ("success", "failed")
    assert month.read() == OLD
    assert month.read(1) == NEW
    assert events(run) == []
    [found] = status(month.c)
    assert (found.branch.state, found.waits_for) == ("begun", "")


def test_a_killed_try_goes_on_with_its_branch(run_dag, month, store_url, monkeypatch) -> None:
    from airflow.sdk import DAG

    from airflow_coordination.duties.branches import beginning
    from airflow_coordination.operators import BeginBranchOperator, PublishBranchOperator

    resets = []
    one = beginning._into

    def dies_once(coordinator: SourceCoordinator, *rest: Any) -> bool:
        resets.append(rest)
        if len(resets) == 5:
            raise OSError("killed")
        return one(coordinator, *rest)

    monkeypatch.setattr(beginning, "_into", dies_once)
    with DAG("dies_once", schedule=None, default_args={"retries": 1, "retry_delay": timedelta(0)}) as dag:
        start = BeginBranchOperator(task_id="begin", source="flights", everything=True, why="late data")
        PublishBranchOperator(task_id="publish", source="flights", branch=start.output["branch"], why="x", retries=0)
    run = run_dag(dag)
    states = {ti.task_id: (ti.state, ti.try_number) for ti in run.get_task_instances()}
    assert states == {"begin": ("success", 2), "publish": ("failed", 1)}
    [found] = status(month.c)
    assert (found.branch.expected, found.branch.by) == (31, f"dies_once/{run.run_id}/begin")


@pytest.fixture
def flights(store_url: str, tmp_path: Path) -> Month:
    found = Month(open_store(store_url), tmp_path / "output")
    found.create("a", "b")
    return found


@pytest.mark.parametrize("aside", [False, True])
def test_a_task_that_has_worked_in_a_branch_tells_nobody(process, flights, aside) -> None:
    """The event comes when the branch shows: before that there is nothing new for those who wait for it."""
    from airflow.models.asset import AssetEvent
    from airflow.sdk import Asset
    from airflow.utils.session import create_session

    begin(flights.c, Selection(keys=("a" if aside else "b",)), *WHO, even_if_it_never_ran=True)
    ti = process("print('hello')", complete_on_success=True, outlets=[Asset("flights")])
    assert (ti.state, flights.c.partition("a").branch) == ("success", 1 if aside else None)
    with create_session() as session:
        found = session.query(AssetEvent).filter_by(source_run_id=ti.run_id).all()
        assert [event.extra for event in found] == ([] if aside else [{"partitions": ["a"]}])


def test_s22_hours_become_days_in_airflow(run_dag, store_url, tmp_path) -> None:
    """Done when: hourly partitions replaced by daily ones: no row is there twice or missing at any poll."""
    from airflow.sdk import DAG, task

    from airflow_coordination.operators import BeginBranchOperator, CreatePartitionsOperator, PublishBranchOperator

    month = Month(open_store(store_url), tmp_path / "output")
    hours = [f"2013-01-{day:02}T{hour:02}" for day in (1, 2) for hour in range(24)]
    month.create(*hours)
    for hour in hours:
        month.work(hour, [f"row of {hour}"])

    def days(state: dict[str, Any]) -> list[str]:
        return ["2013-01-01", "2013-01-02"]

    with DAG("days", schedule=None, default_args={"source": "flights"}) as dag:
        start = BeginBranchOperator(task_id="begin", nothing=True, why="days are enough")
        create = CreatePartitionsOperator(task_id="create", supplier=days, branch=start.output["branch"])

        @task
        def work(number: int) -> None:
            daily = Month(open_store(store_url), month.root)
            for day in days({}):
                daily.work(day, [f"row of {hour}" for hour in hours if hour.startswith(day)])
            retire(daily.c, number, Selection(prefix="2013-01-01T"), *WHO)
            retire(daily.c, number, Selection(prefix="2013-01-02T"), *WHO)

        show = PublishBranchOperator(task_id="publish", branch=start.output["branch"], why="days are enough")
        start >> create >> work(start.output["branch"]) >> show
    every = Counter(f"row of {hour}" for hour in hours)
    with Poller(month) as reader:
        run = run_dag(dag)
    assert run.state == "success"
    assert reader.seen == [every]
    manifests = {head.dataset for head in month.store.heads("flights|PARTITION") if head.blocks}
    assert manifests == {"clean", "~1~clean"}
    roll_back(month.c, 1, *WHO)
    assert month.read() == every


def test_a_branch_that_shows_already_is_published_once(run_dag, month) -> None:
    from airflow.sdk import DAG, Asset

    from airflow_coordination.operators import PublishBranchOperator

    begin(month.c, Selection(keys=(DAYS[0],)), *WHO)
    month.work(DAYS[0], ["new"])
    publish(month.c, 1, *WHO)
    with DAG("again", schedule=None) as dag:
        PublishBranchOperator(task_id="publish", source="flights", branch="1", why="x", outlets=[Asset("flights")])
    run = run_dag(dag)
    assert run.state == "success"
    assert events(run) == [{"branch": 1, "partitions": [DAYS[0]]}]
    assert len(month.c.documents.history("view")) == 3
