"""``config …``: read, set, compared and remembered."""

from __future__ import annotations

import io
import json

import pytest

from airflow_coordination.duties.configuring import set_config
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.planning.duties.configuration import DynamicConfig
from airflow_coordination.protocol.beside.documents import CONFIGURATION
from airflow_coordination.stores import open_store
from airflow_coordination.values.names import ALL, everybody
from tests.unit.cli.on_a_store import cli_on


@pytest.fixture
def coordinator() -> SourceCoordinator:
    store = open_store("memory://")
    store.setup()
    return SourceCoordinator(store, ALL, "owner")


@pytest.fixture
def config(coordinator, capsys):
    typed = cli_on(coordinator.store, capsys)
    return lambda name, *options: typed("config", name, *options)


@pytest.fixture
def put(config):
    return lambda *options: config("set", *options, "--why", "a test", "--by", "ana", "-y", "-o", "json")


def test_everything_is_the_default_before_anybody_has_set_it(config) -> None:
    code, out, err = config("get")
    assert code == 0
    assert json.loads(out) == DynamicConfig().to_json()
    assert err == "Nobody has set anything: these are the defaults.\n"


def test_keys_are_set_by_words_of_json_or_plain_ones(put, config) -> None:
    words = ("maxSegmentsToMove=10", "pauseCoordination=true", "locationGrace=PT5M", "decommissioningNodes=a,b")
    code, out, err = put(*words)
    assert code == 0
    assert [each["key"] for each in json.loads(out)] == [
        "maxSegmentsToMove",
        "decommissioningNodes",
        "pauseCoordination",
        "locationGrace",
    ]
    assert "Note: pauseCoordination is true: no duty does anything until it is false." in err
    assert "version 1. It is in force from the next run of each group." in err
    code, out, err = config("get")
    found = json.loads(out)
    assert (found["maxSegmentsToMove"], found["locationGrace"]) == (10, "PT5M")
    assert found["decommissioningNodes"] == ["a", "b"]
    assert err.startswith("Version 1, by ana at ")
    put('killDataSourceWhitelist=["flights/clean"]', "maxSegmentsToMove=null")
    found = json.loads(config("get")[1])
    assert (found["maxSegmentsToMove"], found["killDataSourceWhitelist"]) == (5, ["flights/clean"])


def test_keys_are_set_from_a_file_and_from_standard_input(put, config, tmp_path, monkeypatch) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"maxSegmentsToMove": 7}')
    assert put("--file", str(file))[0] == 0
    monkeypatch.setattr("sys.stdin", io.StringIO('{"massLossPercent": 70}'))
    assert put("--file", "-")[0] == 0
    found = json.loads(config("get")[1])
    assert (found["maxSegmentsToMove"], found["massLossPercent"]) == (7, 70)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "changes=[]: name nothing. Write KEY=VALUE, such as maxSegmentsToMove=10, or KEY=null for the default"),
        (("maxSegmentsToMove",), "changes='maxSegmentsToMove': has no key and value. Write KEY=VALUE"),
        (("=1",), "changes='=1': has no key and value"),
        (("maxSegmentsToMove=1", "maxSegmentsToMove=2"), "config.maxSegmentsToMove='2': is named twice"),
        (("maxSegmentsToMove=many",), "config.maxSegmentsToMove='many': is no whole number"),
        (("maxSegmentToMove=1",), "Did you mean 'maxSegmentsToMove'?"),
        (("max_segments_to_move=1",), "Write maxSegmentsToMove"),
        (("smartSegmentLoading=true",), "means nothing here"),
        (("maxSegmentsToMove=1", "--file", "x"), "is named beside keys. Give the one or the other"),
        (("--file", "nowhere.json"), "cannot be read"),
        (("maxSegmentsToMove=1", "--seen", "3"), "version=3: is no version of the configuration that is kept"),
    ],
)
def test_what_cannot_be_set_says_what_to_write(put, coordinator, words, message) -> None:
    code, _, err = put(*words)
    assert code == 1
    assert message in err
    assert coordinator.documents.all() == []


def test_a_file_that_is_no_json_is_named(put, tmp_path) -> None:
    file = tmp_path / "config.json"
    file.write_text("maxSegmentsToMove=1")
    code, _, err = put("--file", str(file))
    assert code == 1
    assert "config='maxSegmentsToMove=1': is no JSON" in err


def test_a_dry_run_and_what_is_so_already_change_nothing(put, config, coordinator) -> None:
    code, out, err = put("maxSegmentsToMove=10", "--dry-run")
    assert (code, json.loads(out)) == (0, [{"key": "maxSegmentsToMove", "old": 5, "new": 10}])
    assert "Dry run: would set maxSegmentsToMove from 5 to 10. Nothing was changed." in err
    assert "There is nothing to change." in put("maxSegmentsToMove=5")[2]
    assert coordinator.documents.all() == []


def test_who_was_slower_is_told(put, coordinator) -> None:
    set_config(coordinator, {"maxSegmentsToMove": 20}, "bob", "much to move")
    code, _, err = put("maxSegmentsToMove=10", "--seen", "0")
    assert code == 1
    assert "maxSegmentsToMove from 5 to 20, by bob at " in err
    assert "(version 1: much to move). Nothing was changed." in err
    assert put("massLossPercent=70", "--seen", "0")[0] == 0
    code, _, err = put("maxSegmentsToMove=5", "--seen", "0")
    assert (code, "Nothing was changed." in err) == (1, True)


def test_history_by_count_and_by_interval_and_the_difference_of_two_versions(put, config) -> None:
    put("maxSegmentsToMove=10")
    put("maxSegmentsToMove=20", "locationGrace=PT1M")
    rows = json.loads(config("history", "-o", "json")[1])
    assert [(each["version"], each["author"], each["comment"]) for each in rows] == [
        (2, "ana", "a test"),
        (1, "ana", "a test"),
    ]
    assert rows[0]["changed"] == 'maxSegmentsToMove from 10 to 20; locationGrace from "PT15M" to "PT1M"'
    assert [each["version"] for each in json.loads(config("history", "--limit", "1", "-o", "json")[1])] == [2]
    assert json.loads(config("history", "--interval", "2013/P1Y", "-o", "json")[1]) == []
    assert len(json.loads(config("history", "--interval", "2013/P900Y", "-o", "json")[1])) == 2
    code, out, err = config("diff", "0", "1", "-o", "json")
    assert (code, json.loads(out)) == (0, [{"key": "maxSegmentsToMove", "old": 5, "new": 10}])
    assert err == "From version 0 to version 1.\n"
    assert [each["key"] for each in json.loads(config("diff", "1", "-o", "json")[1])] == [
        "maxSegmentsToMove",
        "locationGrace",
    ]
    code, _, err = config("diff", "7")
    assert code == 1
    assert "is no version of the configuration that is kept" in err


def test_a_corrupt_configuration_is_replaced_and_its_author_is_named(put, config, coordinator) -> None:
    put("maxSegmentsToMove=10")
    source = everybody(coordinator.partition_prefix)
    coordinator.documents.change(CONFIGURATION, lambda _: '{"newKey": 1}', "eve", "newer code", source)
    assert config("get")[0] == 1
    assert put("maxSegmentsToMove=20")[0] == 1
    code, out, err = put("maxSegmentsToMove=20", "--replace", "--dry-run")
    assert (code, json.loads(out)) == (0, [{"key": "maxSegmentsToMove", "old": 5, "new": 20}])
    assert "Version 2, by eve (newer code), cannot be read: config.newKey='newKey': is not an option here" in err
    assert config("get")[0] == 1, "nothing was changed"
    assert put("maxSegmentsToMove=20", "--replace", "--seen", "1")[0] == 1
    code, _, err = put("maxSegmentsToMove=20", "--replace")
    assert code == 0
    assert "Done: replaced version 2 of the configuration, version 3." in err
    assert json.loads(config("get")[1])["maxSegmentsToMove"] == 20
    _, out, _ = config("history", "-o", "json")
    assert [each["changed"] is None for each in json.loads(out)] == [True, False, False]
    assert json.loads(out)[1]["changed"].startswith("cannot be read: config.newKey")
    code, out, _ = put("balanceThreshold=4", "--replace")
    assert [each["key"] for each in json.loads(out)] == ["maxSegmentsToMove", "balanceThreshold"]
