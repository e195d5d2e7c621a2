"""Duties on the board: what each group did, its configuration with its history, and what people do to them."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import timedelta

import pytest

from airflow_coordination.board import visibility
from airflow_coordination.duties.configuring import read_config, set_config
from airflow_coordination.duties.groups.round import Ran
from airflow_coordination.duties.groups.running import Group, GroupRunner
from airflow_coordination.duties.groups.told import NEVER_RUN, NOTHING_LOST
from airflow_coordination.outputs.copies.locations import set_locations
from airflow_coordination.planning.duties.configuration import KEYS
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.beside.documents import CONFIGURATION, LOCATIONS, LOST_LOCATIONS
from airflow_coordination.testing.crash import FaultyStore
from airflow_coordination.values.names import everybody
from airflow_coordination.values.program import BY_PYTHON
from tests.integration.board.conftest import OURS

HERE = {"store": "coordination_default"}
OWNER = "scheduler-2/upkeep/scheduled__2026-11-25T03:00:00+00:00/duties/-1/1"
NOW = timedelta(0)


class Said:
    """A duty that says something, or fails."""

    def __init__(self, name, **ran):
        self.name, self.ran = name, ran

    def run(self, round):
        if "said" not in self.ran:
            raise OSError(f"S3 answers SlowDown {HOSTILE}")
        return Ran(**self.ran)


HOSTILE = "<script>globalThis.hacked = 1</script>"
RULES = Said("runRules", said="hid 3 intervals", counts={"segment/dropped/count": 3}, warnings=("look at clean",))
IDLE = Said("killUnused", said="nothing is new", idle=True)
BROKEN = Said("killStalePending")


def group(name, *duties, period=timedelta(minutes=5)):
    return Group(name=name, period=period, duties=duties, arguments={})


@pytest.fixture
def runner(store):
    return GroupRunner(store, OWNER, start_delay=NOW)


@pytest.fixture
def led(runner):
    """Two groups with a run each, then one more of the one in which a duty fails."""
    management, indexing = group("HistoricalManagementDuties", RULES), group("IndexingServiceDuties", IDLE, BROKEN)
    runner.run(management)
    runner.run(indexing)
    runner.run_now(indexing.name, "ana", "w")
    runner.run(indexing)
    return runner


@pytest.fixture
def admin(client, token):
    client.headers.update({"Authorization": f"Bearer {token('admin', [])}", **OURS})
    return client


def read(client, path, **parameters):
    answer = client.get(f"/api/v1/{path}", params={**HERE, **parameters})
    assert answer.status_code == 200, answer.text
    return answer.json()


def send(client, path, status=200, **body):
    answer = client.post(f"/api/v1/{path}", json={**HERE, **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def test_groups_say_what_each_duty_did_and_what_failed_stands_first(admin, led):
    page = read(admin, "duties")
    assert [each["name"] for each in page["groups"]] == ["IndexingServiceDuties", "HistoricalManagementDuties"]
    assert (page["source"], page["more"], page["empty"]) == ("~duties|PARTITION", False, None)
    failing, well = page["groups"]
    assert (failing["standing"], failing["troubled"], failing["runs"], failing["term"]) == (
        "failed",
        True,
        ["failed"] * 2,
        2,
    )
    idle, broken = failing["duties"]
    assert (idle["outcome"], idle["said"]) == ("nothing to do", "nothing is new")
    assert (broken["outcome"], broken["fails"]) == ("failed", 2)
    assert (well["standing"], well["period"], well["runs"]) == ("done", 300, ["done"])
    [rules] = well["duties"]
    assert (rules["counts"], rules["warnings"]) == ({"segment/dropped/count": 3}, ["look at clean"])
    assert well["leader"] is None
    assert well["last_leader"]["task"]["dag"] == "upkeep"
    [trouble] = page["troubles"]
    assert trouble["sentence"].startswith("killStalePending of IndexingServiceDuties failed 2 times in a row: OSError")
    assert trouble["then"].endswith(NOTHING_LOST)
    assert trouble["at"] == failing["due"]
    assert well["offers"][0]["typed"] == (
        "airflow coordination reopen '~duties' 'group|HistoricalManagementDuties' --why '…'"
    )


def test_where_no_group_was_ever_run_it_says_what_starts_them(admin, store):
    page = read(admin, "duties")
    assert (page["groups"], page["empty"]) == ([], NEVER_RUN)
    assert page["starting"] == "airflow coordination duties run"
    assert "duty_dags()" in page["how"]


def test_every_key_says_its_value_its_default_and_what_has_set_it(admin, runner):
    assert {key["version"] for key in read(admin, "config")["keys"]} == {None}
    set_config(runner.duties, {"maxSegmentsToMove": 10}, "ana", "hot2 is new")
    set_config(runner.duties, {"locationGrace": "PT30M", "maxSegmentsToMove": 20}, "bob", "it is slow")
    set_config(runner.duties, {"locationGrace": None}, "bob", "it is fast again")
    page = read(admin, "config")
    keys = {key["name"]: key for key in page["keys"]}
    assert list(keys) == list(KEYS)
    moves, grace = keys["maxSegmentsToMove"], keys["locationGrace"]
    assert (moves["value"], moves["default"], moves["version"], moves["ours"]) == (20, 5, 2, False)
    assert (grace["value"], grace["default"], grace["version"], grace["ours"]) == ("PT15M", "PT15M", None, True)
    assert (page["version"], page["author"], page["comment"]) == (3, "bob", "it is fast again")
    assert page["looked_at_all"]


def test_the_history_says_who_has_set_what_and_why_page_by_page(admin, runner):
    for moves in range(1, 6):
        set_config(runner.duties, {"maxSegmentsToMove": moves * 10}, "ana", f"try {moves}")
    first = read(admin, "config/history", limit=2)
    assert [(each["version"], each["comment"]) for each in first["versions"]] == [(5, "try 5"), (4, "try 4")]
    assert first["versions"][0]["changes"] == [{"key": "maxSegmentsToMove", "old": 40, "new": 50}]
    assert first["versions"][0]["values"]["maxSegmentsToMove"] == 50
    assert first["before"] == 4
    last = read(admin, "config/history", limit=3, before=4)
    assert ([each["version"] for each in last["versions"]], last["before"]) == ([3, 2, 1], None)
    assert read(admin, "config/history", before=1) == {"versions": [], "before": None, "typed": first["typed"]}


def test_the_command_for_the_whole_history_is_of_the_program_that_is_there(admin, runner, monkeypatch):
    """It was written into the page, where Airflow 3.1 has no such command."""
    before = read(admin, "config/history")["typed"]
    assert before.startswith("airflow coordination config history")
    monkeypatch.setattr(remedies, "shell_of", lambda store: remedies.Shell(BY_PYTHON))
    assert read(admin, "config/history")["typed"] == "python -m airflow_coordination config history"


def test_a_change_is_partial_in_the_users_name_and_for_a_reason(admin, runner):
    set_config(runner.duties, {"maxSegmentsToMove": 10}, "ana", "hot2 is new")
    done = send(admin, "config", changes={"massLossPercent": 100}, seen=1, why="it paused too often")
    assert (done["done"], done["version"]) == (True, 2)
    assert (
        done["sentence"] == "Version 2: massLossPercent from 50 to 100. It is in force from the next run of each group."
    )
    assert done["notes"] == ["massLossPercent is 100: no loss of workers ever holds a source back"]
    now = read_config(runner.duties)
    assert (now.author, now.comment) == ("admin-of-[]", "it paused too often")
    assert (now.config.max_segments_to_move, now.config.mass_loss_percent) == (10, 100)
    again = send(admin, "config", changes={"massLossPercent": 100}, seen=2, why="w")
    assert (again["sentence"], again["version"]) == ("There was nothing to change.", 2)


def test_what_somebody_else_has_set_meanwhile_is_not_written_over(admin, runner):
    set_config(runner.duties, {"maxSegmentsToMove": 10}, "ana", "hot2 is new")
    refused = send(admin, "config", changes={"maxSegmentsToMove": 7}, seen=0, why="w")
    assert refused["done"] is False
    assert "maxSegmentsToMove from 5 to 10, by ana" in refused["sentence"]
    assert read_config(runner.duties).version == 1
    beside = send(admin, "config", changes={"balanceThreshold": 7}, seen=0, why="w")
    assert (beside["done"], beside["version"]) == (True, 2)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"maxSegmentToMove": 9}, "maxSegmentsToMove"),
        ({"maxSegmentsToMove": "9"}, "is no whole number from 0 to"),
        ({"smartSegmentLoading": True}, "means nothing here"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(admin, runner, changes, said):
    refused = send(admin, "config", changes=changes, seen=0, why="w")
    assert (refused["done"], said in refused["sentence"], refused["version"]) == (False, True, 0)
    assert read_config(runner.duties).version == 0


def test_a_reason_is_required(admin, led):
    for why in ("", "  "):
        assert "why" in send(admin, "config", 422, changes={"maxSegmentsToMove": 9}, seen=0, why=why)["detail"]
        send(admin, "duties/run-now", 422, group="HistoricalManagementDuties", why=why)
    assert read_config(led.duties).version == 0


def test_a_group_that_waits_is_let_go_on_once_and_audited(admin, led):
    done = send(admin, "duties/run-now", group="HistoricalManagementDuties", why="a new rule")
    assert done == {"done": True, "sentence": "HistoricalManagementDuties is run by whoever runs groups next."}
    [found] = [each for each in read(admin, "duties")["groups"] if each["name"] == "HistoricalManagementDuties"]
    assert (found["due"], found["offers"]) == (None, [])
    audit = led.store.audit("~duties|PARTITION", "group|HistoricalManagementDuties")
    assert [(each["action"], each["by"], each["why"]) for each in audit] == [("reopen", "admin-of-[]", "a new rule")]
    assert led.run(group("HistoricalManagementDuties", RULES)).ran


def test_a_group_that_runs_is_not_let_go_on(admin, led):
    assert led.duties.acquire_partition("group|IndexingServiceDuties") is None
    led.run_now("IndexingServiceDuties", "ana", "w")
    assert led.duties.acquire_partition("group|IndexingServiceDuties")
    refused = send(admin, "duties/run-now", group="IndexingServiceDuties", why="w")
    assert (refused["done"], "it is ASSIGNED; reopen needs" in refused["sentence"]) == (False, True)
    running = read(admin, "duties")["groups"][0]
    assert (running["standing"], running["leader"]["owner"], running["offers"]) == ("running", OWNER, [])


def test_a_name_that_no_store_can_hold_is_refused(admin, runner):
    name = r'["\ud800"]'
    said = (
        f'{{"store": "coordination_default", "changes": {{"killDataSourceWhitelist": {name}}}, "seen": 0, "why": "w"}}'
    )
    refused = admin.post("/api/v1/config", content=said, headers={"Content-Type": "application/json"}).json()
    assert (refused["done"], "a lone surrogate" in refused["sentence"]) == (False, True)


def test_a_group_that_nobody_has_run_is_not_made_by_a_click(admin, led):
    refused = send(admin, "duties/run-now", group="IndexingDuties", why="w")
    assert refused == {
        "done": False,
        "sentence": "Nobody has run a group IndexingDuties here yet; the first run of a group makes it.",
    }
    assert list(led.states()) == ["HistoricalManagementDuties", "IndexingServiceDuties"]


def test_a_corrupt_configuration_is_said_and_never_taken_for_the_default(admin, led):
    said, source = '{"maxSegmentsToMove": "many"}', everybody(None)
    led.duties.documents.change(CONFIGURATION, lambda _: said, "ana", "by hand", source)
    config, history = read(admin, "config"), read(admin, "config/history")
    [version] = history["versions"]
    assert (config["keys"], version["author"], version["values"]) == ([], "ana", {})
    for found in (config, version):
        assert "config.maxSegmentsToMove" in found["problem"]
    assert config["typed"].startswith("airflow coordination config set --replace")
    page = read(admin, "duties")
    assert page["troubles"][0]["sentence"].startswith("No duty does anything: the configuration cannot be read. ")
    assert len(page["groups"]) == 2


def test_locations_are_listed_with_what_is_lost_and_what_is_draining(admin, runner, tmp_path):
    assert read(admin, "duties")["locations"] == []
    sites = [{"name": name, "root": f"file://{tmp_path}/{name}", "tier": "hot", "capacity": 1000} for name in "ab"]
    set_locations(runner.duties, json.dumps(sites), "ana", "w")
    set_config(runner.duties, {"decommissioningNodes": ["b"]}, "ana", "w")
    said = json.dumps({"a": ["2026-11-25T03:00:00+00:00", "no marker"]})
    runner.duties.documents.change(LOST_LOCATIONS, lambda _: said, "runRules", "lost", everybody(None))
    page = read(admin, "duties")
    lost, draining = page["locations"]
    assert (lost["name"], lost["lost_since"], lost["why"]) == ("a", "2026-11-25T03:00:00Z", "no marker")
    assert (draining["name"], draining["draining"], draining["lost_since"]) == ("b", True, None)
    assert page["counting"] == "airflow coordination copies status '…' --locations"


def test_locations_that_cannot_be_read_hide_no_group(admin, led):
    led.duties.documents.change(LOCATIONS, lambda _: "{", "ana", "by hand", everybody(None))
    page = read(admin, "duties")
    assert page["troubles"][-1]["sentence"].startswith("Where copies may lie cannot be read. ")
    assert len(page["groups"]) == 2


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("duties", ["document", "document", "document", "history", "now", "page"]),
        ("config", ["document_history", "document_history", "now"]),
        ("config/history", ["document_history", "document_history", "now"]),
    ],
)
def test_a_look_asks_for_few_rows_and_no_head_records(admin, led, store, monkeypatch, path, asked):
    set_config(led.duties, {"maxSegmentsToMove": 10}, "ana", "w")
    counting = FaultyStore(store)
    monkeypatch.setattr(visibility, "opened", lambda connection: nullcontext(counting))
    read(admin, path)
    assert sorted(counting.calls) == asked
