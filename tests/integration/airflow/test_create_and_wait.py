"""CreatePartitionsOperator and PartitionsSensor inside Airflow."""

import signal
import subprocess
import sys
from datetime import timedelta
from types import SimpleNamespace

import pytest

from airflow_coordination.hooks.identity import owner_of
from airflow_coordination.leases import (
    Checkpoint,
    InvalidInputError,
    Owner,
    PartitionIdentifier,
    PartitionStatus,
    SourceCoordinator,
)
from tests.unit.cli.on_a_store import publish

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def flights(store_url):
    from airflow_coordination.stores import open_store

    return SourceCoordinator(open_store(store_url), "flights", "test", max_failures=1)


@pytest.fixture
def run(run_dag, request):
    """Run one operator in a DAG of its own; return its state, what it pushed, and what it logged."""

    def run_operator(make):
        from airflow.sdk import DAG

        with DAG(request.node.name.replace("[", "_").replace("]", ""), schedule=None) as dag:
            make()
        [ti] = run_dag(dag).get_task_instances()
        return ti.state, ti.xcom_pull(task_ids=ti.task_id)

    return run_operator


KILLED_TRY = """
import os, signal, sys
from airflow_coordination import SourceCoordinator, open_store
SourceCoordinator(open_store(sys.argv[1]), "flights", sys.argv[2]).run_supplier(
    lambda state: os.kill(os.getpid(), signal.SIGKILL))
"""


def create(supplier, **arguments):
    from airflow_coordination.operators import CreatePartitionsOperator

    return lambda: CreatePartitionsOperator(task_id="create", source="flights", supplier=supplier, **arguments)


def test_s27_it_does_what_drivers_have_left_before_it_lists(run, flights, tmp_path, caplog) -> None:
    from airflow_coordination.duties.follow_ups import note_of
    from airflow_coordination.follow_ups import DeleteObjects, FollowUpRights

    file = tmp_path / "read.json"
    file.write_text("records")
    flights.create_partitions(["read", "broken"])
    lease = flights.acquire_partition("read")
    flights.complete(lease, then=note_of(DeleteObjects(str(file)), lease.partition, lease.fence, None))
    flights.complete(flights.acquire_partition("broken"), then="[{}]")
    rights = FollowUpRights(objects=str(tmp_path))
    state, pushed = run(create(lambda state: [] if file.exists() else ["new"], follow_up_rights=rights))
    assert (state, pushed["created"]) == ("success", 1)
    assert not file.exists()
    assert [note.key for note in flights.follow_ups.follow_ups()] == ["broken"]


def test_it_cleans_up_where_it_is_told_and_what_is_gone_is_a_parent_still(run, flights, caplog) -> None:
    flights.create_partitions(["p", PartitionIdentifier("c", parents=["p"])])
    for key in ("p", "c"):
        flights.complete(flights.acquire_partition(key))
    assert run(create(lambda state: []))[0] == "success"
    assert flights.partition("p") is not None
    state, pushed = run(create(lambda state: [], clean_after=0.001))
    assert (state, pushed["created"], flights.partition("p")) == ("success", 0, None)
    assert flights.looking.actions("p")[0]["by"].split("/")[3] == "create"
    state, pushed = run(create(lambda state: [PartitionIdentifier("d", parents=["p"])]))
    assert (state, pushed["created"], flights.partition("d").blocked) == ("success", 1, False)


def sensor(**arguments):
    from airflow_coordination.sensors import PartitionsSensor

    return lambda: PartitionsSensor(task_id="ready", source="flights", **arguments)


def test_a_supplier_creates_partitions_and_its_state_is_remembered(run, flights):
    def supplier(state):
        for month in range(state.get("last", 0) + 1, 4):
            yield PartitionIdentifier(f"2013-{month:02}", payload={"month": month})
        yield Checkpoint({"last": 3})

    state, pushed = run(create(supplier))
    assert (state, pushed) == ("success", {"created": 3, "existing": 0, "changed": [], "rival": None})
    assert flights.supplying.global_state() == {"last": 3}
    assert run(create(supplier))[1]["created"] == 0


def test_a_supplier_that_finds_nothing_succeeds_and_says_so(run, flights):
    assert run(create(lambda state: []))[0] == "success"


def test_a_changed_payload_is_reported_and_not_overwritten(run, flights):
    flights.create_partitions([PartitionIdentifier("a", payload={"v": 1})])
    state, pushed = run(create(lambda state: [PartitionIdentifier("a", payload={"v": 2})]))
    assert (state, pushed["changed"]) == ("success", ["a"])
    assert flights.partition("a").payload == {"v": 1}


def test_e6_while_a_rival_runs_the_supplier_it_fails_and_names_the_rival(run, flights, capsys):
    """E6: nothing was listed here, so it is no success."""
    rival = Owner.of_task("elsewhere", "other", "run", "create", -1, 1).text
    runs = []

    def outer(state):
        runs.append(run(create(lambda state: ["never"])))
        return ["a"]

    SourceCoordinator(flights.store, "flights", rival).run_supplier(outer)
    assert runs == [("failed", None)]
    assert flights.partition("never") is None
    assert (
        f"Nothing was listed: '{rival}' holds the lease of the supplier of source 'flights'" in capsys.readouterr().out
    )


def test_e6_the_next_try_of_a_killed_task_lists_at_once(flights, store_url):
    """E6: the first try is killed while its supplier runs; its lease would last for ten minutes."""
    from airflow_coordination.operators import CreatePartitionsOperator

    ti = SimpleNamespace(dag_id="sales", run_id="r", task_id="create", map_index=-1, try_number=1, stats_tags={})
    killed = subprocess.run([sys.executable, "-c", KILLED_TRY, store_url, owner_of({"ti": ti})], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert flights.counts()[PartitionStatus.UNASSIGNED] == 0
    task = CreatePartitionsOperator(task_id="create", source="flights", supplier=lambda state: ["a", "b"])
    ti.try_number = 2
    assert task.execute({"ti": ti})["created"] == 2
    assert flights.run_supplier(lambda state: []).ran  # its lease was given back


def test_a10_a_supplier_that_fails_does_not_register_its_source(run, flights):
    """A10: otherwise a sensor on the source takes "never listed" for "nothing to do"."""
    assert run(create(_raises))[0] == "failed"
    assert flights.store.sources() == []
    assert run(create(lambda state: []))[0] == "success"
    [(_, facts)] = flights.store.sources()
    assert facts["dag_ids"] == [facts["dag_id"]]


def test_a10_a_supplier_without_a_parameter_is_refused_where_it_is_written(flights):
    """A10: when the DAG file is read."""
    with pytest.raises(InvalidInputError, match=r"supplier='.*lambda.*': cannot be called with the global state"):
        create(lambda: ["a"])()


def test_a10_a_supplier_that_returns_nothing_fails_its_task(run, flights, capsys):
    """A10: somebody forgot the ``return``."""

    def forgetful(state):
        ["a"].sort()

    assert run(create(forgetful))[0] == "failed"
    assert "returned nothing and left the global state as it was" in capsys.readouterr().out


def _raises(state):
    raise ConnectionError("the listing failed")


def _unserialisable(state):
    state["when"] = object()
    return ["a"]


@pytest.mark.parametrize(
    "supplier", [_raises, _unserialisable, lambda state: [""], lambda state: 3], ids=["raises", "state", "key", "type"]
)
def test_a_broken_supplier_fails_its_task_and_frees_its_lease(run, flights, supplier):
    assert run(create(supplier))[0] == "failed"
    assert flights.run_supplier(lambda state: ["b"]).ran


def test_the_sensor_returns_hints_and_caps_them(run, flights):
    flights.create_partitions(["a", "b", "c"])
    state, hints = run(sensor(max_hints=2))
    assert state == "success"
    assert [flights.get_next_partition(hint=hint).key for hint in hints] == ["a", "b"]


def test_it_never_returns_more_hints_than_airflow_can_map(run, flights, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CORE__MAX_MAP_LENGTH", "1")
    flights.create_partitions(["a", "b"])
    assert len(run(sensor())[1]) == 1


@pytest.mark.parametrize("deferrable", [True, False])
def test_it_waits_until_a_closed_partition_opens_again(run, flights, deferrable):
    flights.create_partitions(["a"])
    flights.close(flights.get_next_partition(), reopen_after=timedelta(seconds=1))
    state, hints = run(sensor(deferrable=deferrable, poke_interval=0.2))
    assert state == "success"
    assert flights.get_next_partition(hint=hints[0]).key == "a"


def test_it_skips_when_nothing_can_become_claimable(run, flights):
    flights.create_partitions(["a"])
    flights.complete(flights.get_next_partition())
    assert run(sensor())[0] == "skipped"


def test_until_completed_waits_for_the_whole_source(run, flights):
    flights.create_partitions(["a"])
    flights.complete(flights.get_next_partition())
    assert run(sensor(until="completed"))[0] == "success"


@pytest.mark.parametrize("until", ["completed", "claimable"])
@pytest.mark.parametrize("wait", [True, False])
def test_a1_a_parked_partition_fails_every_sensor_that_may_not_ignore_it(run, flights, until, wait, capsys):
    """A1: never a success, never a skip; the log names it."""
    flights.create_partitions(["a"])
    flights.fail(flights.get_next_partition(), "no memory")
    assert run(sensor(until=until, wait=wait))[0] == "failed"
    assert "Parked: 'a' (no memory)" in capsys.readouterr().out


@pytest.mark.parametrize(("until", "state"), [("completed", "success"), ("claimable", "skipped")])
def test_a1_a_sensor_may_ignore_what_is_parked(run, flights, until, state):
    """A1."""
    flights.create_partitions(["a"])
    flights.fail(flights.get_next_partition(), "no memory")
    assert run(sensor(until=until, on_parked="ignore"))[0] == state


@pytest.mark.parametrize("how", [{"deferrable": True}, {"deferrable": False}], ids=["deferred", "poking"])
@pytest.mark.parametrize(("on_idle", "state"), [("fail", "failed"), ("succeed", "success")])
def test_e4_a_sensor_ends_when_nobody_takes_what_is_left(run, flights, how, on_idle, state, capsys):
    """E4: in the triggerer and in a worker."""
    flights.create_partitions(["a", "b"])
    assert run(sensor(until="completed", on_idle=on_idle, poke_interval=0.1, **how))[0] == state
    assert "2 can be acquired, but nobody takes them; 4 looks saw no acquisition" in capsys.readouterr().out


def test_e4_a_rescheduled_sensor_remembers_its_looks(flights, store_url):
    """E4: each look is a process of its own, which finds what the one before saw in Airflow's task state store."""
    from airflow.providers.common.compat.sdk import AirflowFailException

    flights.create_partitions(["a"])
    kept = {}

    class Store:
        get, set = kept.get, kept.__setitem__

    def look(try_number):
        ti = SimpleNamespace(dag_id="d", run_id="r", task_id="done", map_index=-1, try_number=try_number)
        one = sensor(until="completed", deferrable=False, mode="reschedule")()
        return bool(one.poke({"ti": ti, "task_state_store": Store}))

    assert [look(1) for _ in range(3)] == [False] * 3
    assert not look(2)  # a try of its own begins afresh
    assert [look(2) for _ in range(2)] == [False] * 2
    with pytest.raises(AirflowFailException, match="1 can be acquired, but nobody takes them"):
        look(2)


def test_a10_more_hints_than_airflow_maps_are_said_to_be_too_many(run, flights, monkeypatch, capsys):
    """A10: ``max_hints`` above ``[core] max_map_length`` gives fewer hints, and the log says how many could be had."""
    monkeypatch.setenv("AIRFLOW__CORE__MAX_MAP_LENGTH", "2")
    flights.create_partitions(["a", "b", "c"])
    assert len(run(sensor(max_hints=3))[1]) == 2
    said = capsys.readouterr().out
    assert "max_hints=3 is more than Airflow maps: [core] max_map_length is 2" in said
    assert "3 partitions can be acquired, 2 of them by the hints that this task returns" in said


def test_l9_two_sensors_on_one_source_do_no_harm(run, flights):
    """Promise L9: both sweep, one of them reopens, and both see it."""
    flights.create_partitions(["a"])
    flights.close(flights.get_next_partition(), reopen_after=timedelta(0))
    assert run(sensor())[1] == run(sensor())[1]
    assert flights.counts()[PartitionStatus.UNASSIGNED] == 1


def available(**arguments):
    from airflow_coordination.sensors import DatasetAvailableSensor

    said = {"task_id": "there", "source": "flights", "dataset": "clean", "poke_interval": 0.2}
    return lambda: DatasetAvailableSensor(**said | arguments)


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_sensor_waits_until_all_of_an_interval_is_there(run, flights, deferrable, capsys, monkeypatch):
    """What it waits for is published after its first look."""
    from airflow_coordination.outputs import availability as looking
    from airflow_coordination.triggers import dataset

    publish(flights, "2013-01-01")
    looks = []

    def look(*arguments):
        looks.append(looking.availability(*arguments))
        if len(looks) == 1:
            publish(flights, "2013-01-02")
        return looks[-1]

    monkeypatch.setattr(dataset, "availability", look)
    assert run(available(interval="2013-01-01/P2D", deferrable=deferrable))[0] == "success"
    assert [each.enough for each in looks] == [False, True]
    said = capsys.readouterr().out
    assert "50 % of 2013-01-01/2013-01-03 is there, 100 % are waited for. Missing: 2013-01-02/2013-01-03." in said


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_sensor_that_may_fail_softly_does_so_at_its_first_look_too(run, flights, deferrable):
    """Wherever it waits: a first look in deferrable mode failed the task, while a later one skipped it."""
    flights.create_partitions(["a"])
    flights.fail(flights.acquire_partition("a"), "broken")
    assert flights.partition("a").parked
    assert run(sensor(until="completed", soft_fail=True, deferrable=deferrable))[0] == "skipped"
    assert run(sensor(until="completed", deferrable=deferrable))[0] == "failed"


@pytest.mark.parametrize(
    ("other", "prefix", "said"),
    [
        ("flight", None, "source='flights': is unknown to store"),
        ("flights", "env-1", "partition_prefix=None: leads to 'flights|PARTITION', which store"),
    ],
    ids=["misspelt", "prefix"],
)
def test_a_sensor_says_that_nobody_has_created_its_source_yet(run, flights, capsys, monkeypatch, other, prefix, said):
    """And waits: somebody may, or a name is wrong."""
    from airflow_coordination.triggers import dataset

    SourceCoordinator(flights.store, other, "test", prefix).create_partitions(["a"])
    unknown = dataset._unknown

    def created_after_this_look(coordinator):
        told = unknown(coordinator)
        publish(flights, "2013-01-01")
        return told

    monkeypatch.setattr(dataset, "_unknown", created_after_this_look)
    assert run(available(interval="2013-01-01/P1D"))[0] == "success"
    assert said in capsys.readouterr().out


def test_a_sensor_takes_the_interval_of_the_run_and_refuses_what_is_none(run, flights, capsys):
    publish(flights, "2013-01-01")
    run_of = "{{ '2013-01-01T00:00:00+00:00' }}/{{ '2013-01-02T00:00:00+00:00' }}"
    assert run(available(interval=run_of))[0] == "success"


def test_a_sensor_refuses_a_template_that_is_no_interval(run, flights, capsys):
    assert run(available(interval="{{ 'tomorrow' }}"))[0] == "failed"
    assert "interval='tomorrow': has no slash" in capsys.readouterr().out


def test_a_supplier_never_goes_back_beyond_its_rules(run, flights, capsys):
    rules = [{"type": "dropBeforeByPeriod", "period": "P30D"}]
    made = create(lambda state: ["2013-01-01", "2913-01-01"], rules=rules, interval_from_key="%Y-%m-%d")
    state, pushed = run(made)
    assert (state, pushed["created"], pushed["dropped"]) == ("success", 1, 1)
    assert [each.key for each in flights.looking.each()] == ["2913-01-01"]
    said = capsys.readouterr().out
    assert "1 partitions were not created: rule 1, dropBeforeByPeriod P30D drops their interval." in said


def test_a_dag_of_every_operator_ends_well_when_there_is_nothing_to_do(run_dag, flights):
    """A skipped sensor skips the mapped task; what follows needs trigger_rule="none_failed"."""
    from airflow.sdk import DAG

    from airflow_coordination.operators import LeasedSparkSubmitOperator
    from airflow_coordination.sensors import PartitionsSensor

    with DAG("nothing", schedule=None) as dag:
        made = create(lambda state: [])()
        ready = sensor()()
        process = LeasedSparkSubmitOperator.partial(
            task_id="process", source="flights", application="job.py", conn_id="spark_local"
        ).expand(hint=ready.output)
        done = PartitionsSensor(task_id="done", source="flights", until="completed", trigger_rule="none_failed")
        made >> ready
        process >> done
    run = run_dag(dag)
    assert run.state == "success"
    assert {ti.task_id: ti.state for ti in run.get_task_instances()} == {
        "create": "success",
        "ready": "skipped",
        "process": "skipped",
        "done": "success",
    }
