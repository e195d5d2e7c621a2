"""One partition again: it is reset, and a run of its DAG, in Airflow's own database, is triggered for it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from airflow_coordination.leases import Block, PartitionIdentifier, PartitionNotOwnedError, SourceCoordinator
from airflow_coordination.testing.conformance.creation import HOSTILE_KEYS
from airflow_coordination.values.asking import asked_for
from airflow_coordination.values.status import PartitionStatus
from tests.integration.airflow.setup import store_dag
from tests.integration.board.auth_managers import FAB, SIMPLE
from tests.integration.board.conftest import OPEN_DAG, OURS, TEAM_DAG
from tests.unit.typed import words

HERE = {"store": "coordination_default", "source": "flights|PARTITION"}
KEY = "a-secret-key"
ONLY_FAB = pytest.mark.parametrize("auth_manager", [FAB], indirect=True, scope="module")


@pytest.fixture(scope="module")
def auth_manager(request):
    """Airflow's simple one; a test may ask for FAB's, which knows people who edit and trigger nothing."""
    return getattr(request, "param", SIMPLE)


@pytest.fixture(scope="module")
def stored(airflow_database):
    """The team's DAG as a scheduler has found it; the other one is a row that no run can be made of."""
    from airflow.sdk import DAG

    with DAG(TEAM_DAG, schedule=None) as dag:
        pass
    store_dag(dag, "board_team")


@pytest.fixture(autouse=True)
def awake(stored):
    """No DAG is paused, and none has a run."""
    changed(TEAM_DAG), changed(OPEN_DAG)
    yield
    changed(TEAM_DAG), changed(OPEN_DAG)


def changed(dag, **fields):
    """Change what Airflow knows of a DAG, and forget its runs."""
    from airflow.models import DagRun
    from airflow.models.dag import DagModel
    from airflow.utils.session import create_session

    with create_session() as session:
        found = session.get(DagModel, dag)
        for name, value in {"is_paused": False, "is_stale": False, "has_import_errors": False, **fields}.items():
            setattr(found, name, value)
        session.query(DagRun).filter(DagRun.dag_id == dag).delete()


def runs():
    """Return what was triggered."""
    from airflow.models import DagRun
    from airflow.utils.session import create_session

    with create_session() as session:
        found = session.query(DagRun).filter(DagRun.dag_id.in_([TEAM_DAG, OPEN_DAG])).all()
        return [(run.dag_id, run.conf, run.triggering_user_name, run.triggered_by.value, run.state) for run in found]


@pytest.fixture
def post(client, token):
    def post(path="", who=("user", "ours"), key=KEY, **body):
        headers = OURS | {"Authorization": f"Bearer {token(who[0], [who[1]])}"}
        return client.post(f"/api/v1/actions/again{path}", headers=headers, json={**HERE, "key": key, **body})

    return post


@pytest.fixture
def again(post):
    """Do it as a person does: a dry run, then a click."""

    def again(key=KEY, why="the file was corrected", **given):
        tried = post("/dry-run", key=key, **given).json()
        answer = post(key=key, why=why, stamp=tried["stamp"], **given)
        assert answer.status_code == 200, answer.text
        return tried, answer.json()

    return again


@pytest.fixture
def completed(flights):
    """The partition has completed, and readers see its rows."""
    lease = flights.acquire_partition(KEY)
    flights.complete(lease, [Block("clean", "/out/1", "x", 1_234, 10)])
    return flights


def status(coordinator, key=KEY):
    return coordinator.partition(key).status


def test_a_dry_run_says_what_would_happen_and_changes_nothing(completed, post):
    found = post("/dry-run").json()
    assert found["sentences"] == [
        f"Partition 'a-secret-key' would be reset, then a run of DAG '{TEAM_DAG}' be triggered, whose tasks try it "
        "first.",
        "Readers keep its 1,234 row(s) of clean until the run has published others in their place.",
    ]
    assert (found["refusal"], found["dag"], found["dags"]) == (None, TEAM_DAG, [TEAM_DAG])
    assert asked_for(json.loads(found["conf"]), "flights|PARTITION") == KEY
    assert (status(completed), runs()) == (PartitionStatus.COMPLETED, [])


def test_it_is_reset_and_its_dag_is_triggered_in_the_users_name(completed, again):
    _, result = again()
    assert (result["done"], result["dag"], result["typed"]) == (True, TEAM_DAG, None)
    assert result["sentence"] == f"Partition 'a-secret-key' was reset, and run {result['run']} was triggered."
    conf = {"coordination": {"source": "flights|PARTITION", "hint": KEY}}
    [(dag, given, by, through, state)] = runs()
    assert (dag, given, through, state) == (TEAM_DAG, conf, "ui", "queued")
    assert status(completed) is PartitionStatus.UNASSIGNED
    [row] = completed.store.audit("flights|PARTITION", KEY)
    assert (row["action"], row["by"], row["why"]) == ("reset", by, "the file was corrected")
    assert by.startswith("user-of-")


@pytest.mark.parametrize(
    ("of_dag", "said"),
    [
        ({"is_paused": True}, "is paused, so that nothing would run"),
        ({"is_stale": True}, "is no DAG that this Airflow finds"),
        ({"has_import_errors": True}, "has import errors"),
        ({"allowed_run_types": ["scheduled"]}, "allows no manual runs"),
    ],
)
def test_a_dag_that_would_not_run_is_named_and_nothing_is_reset(completed, again, of_dag, said):
    changed(TEAM_DAG, **of_dag)
    tried, result = again()
    changed(TEAM_DAG, allowed_run_types=None)
    assert f"DAG '{TEAM_DAG}' {said}" in tried["refusal"]
    assert (result["done"], result["sentence"]) == (False, tried["refusal"])
    assert (status(completed), runs()) == (PartitionStatus.COMPLETED, [])


def test_a_source_that_no_dag_makes_is_refused(completed, again):
    completed.supplying.register(dag_id="no_such_dag")
    tried, result = again(who=("admin", "ours"))
    assert "Airflow knows no DAG that makes the partitions of source 'flights'" in tried["refusal"]
    assert (result["done"], status(completed), runs()) == (False, PartitionStatus.COMPLETED, [])


def test_of_several_dags_one_is_chosen_and_no_other_one(completed, again):
    completed.supplying.register(dag_ids=[TEAM_DAG, OPEN_DAG])
    for dag, said in ((None, "choose one"), ("nowhere", "DAG 'nowhere' is none of those")):
        tried, result = again(dag=dag)
        assert (said in tried["refusal"], tried["dags"]) == (True, [OPEN_DAG, TEAM_DAG])
        assert (result["done"], status(completed), runs()) == (False, PartitionStatus.COMPLETED, [])
    assert again(dag=TEAM_DAG)[1]["done"]
    assert [dag for dag, *_ in runs()] == [TEAM_DAG]


@ONLY_FAB
def test_who_may_edit_and_not_trigger_resets_nothing(completed, client, token, post, auth_manager):
    for path, more in (("/dry-run", {}), ("", {"why": "w", "stamp": "x"})):
        answer = post(path, who=("editor", "ours"), **more)
        assert (answer.status_code, f"not trigger DAG '{TEAM_DAG}'" in answer.json()["detail"]) == (403, True)
    assert (status(completed), runs()) == (PartitionStatus.COMPLETED, [])
    assert "reset and run" not in offered(client, token, "editor")
    assert "reset" in offered(client, token, "editor")
    assert "reset and run" in offered(client, token, "user")
    assert post("/dry-run").json()["refusal"] is None


def offered(client, token, role):
    headers = {"Authorization": f"Bearer {token(role, ['ours'])}"}
    answer = client.get("/api/v1/partition", params={**HERE, "key": KEY}, headers=headers)
    return [offer["action"] for offer in answer.json()["offers"]]


def test_it_is_offered_to_who_may_do_it_only(completed, client, token):
    assert offered(client, token, "viewer") == []
    assert offered(client, token, "user")[-1] == "reset and run"
    completed.supplying.register(dag_id="no_such_dag")
    assert "reset and run" not in offered(client, token, "admin")


def test_what_airflow_does_not_take_can_be_typed(completed, again):
    """Airflow has a row of this DAG and nothing to make a run of."""
    completed.supplying.register(dag_id=OPEN_DAG)
    _, result = again()
    assert (result["done"], result["run"], runs()) == (True, None, [])
    assert f"Partition 'a-secret-key' was reset, and DAG '{OPEN_DAG}' was not triggered: " in result["sentence"]
    line = words(result["typed"])
    assert line[:5] == ["airflow", "dags", "trigger", OPEN_DAG, "--conf"]
    assert asked_for(json.loads(line[5]), "flights|PARTITION") == KEY
    assert status(completed) is PartitionStatus.UNASSIGNED


def test_hostile_keys_come_to_the_run_as_they_are(flights, again):
    flights.create_partitions(HOSTILE_KEYS)
    for key in HOSTILE_KEYS:
        assert again(key)[1]["done"], key
    assert {asked_for(conf, "flights|PARTITION") for _, conf, *_ in runs()} == set(HOSTILE_KEYS)


@pytest.mark.parametrize(("key", "status_code"), [("nowhere", 404), ("a\x00b", 422), ("", 422), ("ä" * 2_000, 422)])
def test_what_is_no_partition_is_refused(flights, post, key, status_code):
    assert post("/dry-run", key=key).status_code == status_code
    assert post(key=key, why="w", stamp="x").status_code == status_code
    assert runs() == []


def test_of_two_at_once_one_does_it(completed, post):
    stamp, both = post("/dry-run").json()["stamp"], Barrier(2)

    def click(why):
        both.wait()
        return post(why=why, stamp=stamp).json()

    with ThreadPoolExecutor(2) as people:
        results = list(people.map(click, ["mine", "yours"]))
    assert sorted(result["done"] for result in results) == [False, True]
    [refused] = [result["sentence"] for result in results if not result["done"]]
    assert "it changed meanwhile and is UNASSIGNED now" in refused
    assert refused.endswith("No run was triggered.")
    assert len(runs()) == 1


def test_a_partition_that_has_moved_on_is_left_alone(flights, post):
    stamp = post("/dry-run").json()["stamp"]
    flights.complete(flights.acquire_partition(KEY))
    result = post(why="w", stamp=stamp).json()
    assert (result["done"], "is COMPLETED now" in result["sentence"]) == (False, True)
    assert (status(flights), runs()) == (PartitionStatus.COMPLETED, [])


def test_whose_it_is_loses_it_and_is_said(flights, again):
    lease = flights.acquire_partition(KEY)
    tried, result = again()
    assert "'somebody' holds it and loses it; what that still writes does not count." in tried["sentences"]
    assert result["done"]
    with pytest.raises(PartitionNotOwnedError):
        flights.complete(lease, [Block("clean", "/out/1", "x", 1, 1)])
    assert (status(flights), len(runs())) == (PartitionStatus.UNASSIGNED, 1)


def test_a_source_that_is_paused_is_named(completed, again):
    completed.pausing.pause("ana", "the rates are wrong")
    tried, result = again()
    assert "Source 'flights' was paused" in tried["refusal"]
    assert "the run would get no partition of it" in tried["refusal"]
    assert (result["done"], status(completed), runs()) == (False, PartitionStatus.COMPLETED, [])


def test_what_waits_for_its_parents_is_named(flights, again):
    flights.create_partitions([PartitionIdentifier("child", parents=[KEY])])
    tried, result = again("child")
    assert tried["refusal"] == f"Partition 'child' waits for '{KEY}': no run takes it before that has completed."
    assert (result["done"], runs()) == (False, [])


def test_what_goes_on_without_it_is_named(completed, post):
    completed.create_partitions([PartitionIdentifier("child", parents=[KEY])])
    assert post("/dry-run").json()["sentences"][-1] == "What was released after it goes on: 'child'."


@pytest.mark.parametrize(
    ("more", "field"), [({"why": ""}, "why"), ({"why": "w", "by": "ben"}, "by"), ({"why": "w", "conf": "{}"}, "conf")]
)
def test_without_a_reason_or_with_more_than_is_asked_nothing_is_done(completed, post, more, field):
    stamp = post("/dry-run").json()["stamp"]
    answer = post(stamp=stamp, **more)
    assert (answer.status_code, field in answer.text) == (422, True)
    assert (status(completed), runs()) == (PartitionStatus.COMPLETED, [])


def test_a_parked_one_begins_afresh(flights, again):
    hasty = SourceCoordinator(flights.store, "flights", "somebody", max_failures=1)
    hasty.fail(hasty.acquire_partition(KEY), "OutOfMemory")
    assert again()[1]["done"]
    assert (status(flights), flights.partition(KEY).failures) == (PartitionStatus.UNASSIGNED, 0)
