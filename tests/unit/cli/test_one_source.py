"""``source``, ``errors``, ``audit``, and what ``list`` says of since when and of payloads."""

import json
from datetime import timedelta

import pytest

from airflow_coordination.cli.standalone import main
from airflow_coordination.duties.configuring import set_config
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import PartitionIdentifier
from airflow_coordination.monitoring.became import LOOKED_AT
from airflow_coordination.protocol.beside.ended_sums import SLOT, EndedSums, slot_of
from airflow_coordination.protocol.writes import Action


@pytest.fixture
def asked(cli):
    """Run a command; return its rows, and what it says beside them."""

    def run(*argv):
        code, out, err = cli(*argv, "flights", "-o", "json")
        assert code == 0, err
        return json.loads(out), err

    return run


@pytest.fixture
def failed(flights):
    """Three have failed in two ways, one of them again and again; one is held, one is done."""
    flights.create_partitions([f"k{number}" for number in range(6)])
    for key, error in (("k0", "no file 2013-01"), ("k1", "no file 2013-02"), ("k2", "out of memory")):
        flights.fail(flights.acquire_partition(key), error)
    flights.acquire_partition("k3")
    flights.complete(flights.acquire_partition("k4"))
    return flights


def test_b8_parked_errors_come_together_with_since_when(failed, asked):
    rows, said = asked("errors")
    assert [(row["partitions"], row["error"]) for row in rows] == [(2, "no file 2013-01"), (1, "out of memory")]
    first, last = (failed.partition(key).updated_at.isoformat(timespec="seconds") for key in ("k0", "k1"))
    assert (rows[0]["since"], rows[0]["last"]) == (first, last)
    assert "--status parked --error-alike 'no file #-#'" in said


def test_what_ended_is_told_by_five_minutes_and_who_has_counted_it(failed, asked, cli):
    start = slot_of(failed.store.now()) - 2 * SLOT
    stored = EndedSums(start=start, counted_to=start + SLOT, completed=3, failed=2, lost=1, rows=9, bytes=90)
    assert failed.store.put_ended_sums("flights|PARTITION", stored, None)
    [row], said = asked("ended")
    assert (row["from"], row["to"]) == tuple(each.isoformat(timespec="seconds") for each in (start, start + SLOT))
    assert (row["completed"], row["failed"], row["lost"], row["rows"], row["bytes"]) == (3, 2, 1, 9, 90)
    assert f"Counted from {start.isoformat()} to " in said
    assert "No duty has counted" not in said
    assert asked("ended", "--since", "1h")[0] == [row]
    assert "Write a number of hours" in cli("ended", "flights", "--since", "tonight")[2]


def test_what_ended_is_counted_from_the_history_where_no_duty_runs(failed, asked, monkeypatch):
    monkeypatch.setattr("airflow_coordination.monitoring.ended.LATE", timedelta(0))
    rows, said = asked("ended")
    assert (sum(row["completed"] for row in rows), sum(row["failed"] for row in rows)) == (1, 3)
    assert "No duty has counted of late: countEnded does" in said


def test_a_store_without_a_history_refuses_to_say_what_ended(failed, url, capsys):
    assert main(["ended", "flights", "--store", f"{url}?history_retention=off"]) == 1
    assert "Set history_retention in its configuration" in capsys.readouterr().err


def test_b8_errors_that_are_cut_are_counted(failed, asked):
    rows, said = asked("errors", "--limit", "1")
    assert (len(rows), "And 1 other error(s)" in said) == (1, True)


def test_b8_who_did_what_on_a_whole_source(failed, asked):
    failed.people.reopen("k0", by="ana", why="the file is there")
    failed.pausing.pause(by="bo", why="Spark is ill")
    failed.people.park("k0", by="ana", why="it is not")
    rows, _ = asked("audit", "--since", "1h")
    told = [(row["by"], row["action"], row["key"], row["why"]) for row in rows]
    assert told == [
        ("ana", "reopen", "k0", "the file is there"),
        ("bo", "pause", "", "Spark is ill"),
        ("ana", "park", "k0", "it is not"),
    ]
    assert [row["became"] for row in rows] == ["parked now", "still paused", "still parked"]
    for narrowed in (("--by", "bo"), ("--action", "pause"), ("--reach", "source"), ("--has", "SPARK")):
        assert [row["action"] for row in asked("audit", *narrowed)[0]] == ["pause"]
    assert len(asked("audit", "--reach", "one", "--has", "k0")[0]) == 2


def test_b8_what_became_of_many_is_told_of_the_first(failed, asked):
    failed.create_partitions([f"n{number:03}" for number in range(LOOKED_AT + 1)])
    for number in range(LOOKED_AT + 1):
        failed.people.act(Action.PARK, f"n{number:03}", "ana", "all at once", batch="b")
    [row], said = asked("audit")
    assert row["became"] == "100 still parked (of the first 100)"
    assert "looked at for 100 partitions only" in said


def test_what_was_set_is_told_with_what_it_was_before(failed, asked, cli):
    for period, by in (("P1M", "ana"), ("P2M", "dora")):
        set_rules(failed, "clean", json.dumps([{"type": "dropBeforeByPeriod", "period": period}]), by, f"{period} do")
    set_config(failed, {"maxSegmentsToMove": 9}, "joe", "slow")
    first, second = asked("audit", "--settings")[0]
    assert (first["by"], first["source"], first["set"]) == ("ana", "flights", "the rules of clean, version 1")
    assert first["changed"] == '[0] nothing → {"type": "dropBeforeByPeriod", "period": "P1M"}'
    assert (second["changed"], second["why"]) == ('[0].period "P1M" → "P2M"', "P2M do")
    assert [row["by"] for row in asked("audit", "--settings", "--by", "dora")[0]] == ["dora"]
    assert asked("audit", "--settings", f"--since={failed.store.now() + timedelta(hours=1)}")[0] == []
    for given in ("--reach=source", "--action=pause"):
        code, _, err = cli("audit", "flights", "--settings", given)
        assert (code, "does not narrow what was set" in err) == (1, True)
    code, out, _ = cli("audit", "--settings", "-o", "json")
    assert (code, json.loads(out)[-1]["set"]) == (0, "the configuration of the duties, version 1")


def test_b8_a_reach_that_is_none_is_named(failed, cli, capsys):
    with pytest.raises(SystemExit) as refused:
        cli("audit", "flights", "--reach", "all")
    assert refused.value.code == 2
    assert "--reach: invalid choice: 'all'" in capsys.readouterr().err


def test_b8_an_age_that_is_none_is_named(failed, cli):
    code, _, err = cli("audit", "flights", "--since", "tonight")
    assert (code, "--since='tonight': is no time" in err) == (1, True)


def test_b8_who_paused_a_source_and_why(failed, asked):
    failed.pausing.pause(by="bo", why="Spark is ill")
    rows, said = asked("source")
    told = {row["field"]: row["value"] for row in rows}
    assert (told["paused"], told["parked"], told["assigned"], told["owners"]) == (True, 3, 1, "1")
    assert "by 'bo', who said 'Spark is ill'" in told["paused_or_resumed_last"]
    assert "errors flights" in said


def test_b8_a_list_says_since_when(failed, asked):
    rows = {row["key"]: row for row in asked("list")[0]}
    assert rows["k0"]["since"] == failed.partition("k0").updated_at.isoformat(timespec="seconds")
    assert rows["k3"]["since"] is not None


def test_b8_a_group_is_found_by_an_object_s_name(flights, asked):
    payload = {"base": "s3a://b/day/", "objects": ["Zürich.csv", "b.csv"]}
    flights.create_partitions([PartitionIdentifier("group-1", payload=payload), PartitionIdentifier("group-2")])
    assert [row["key"] for row in asked("list", "--payload-like", "zürich.csv")[0]] == ["group-1"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("s3a://b/day/b.csv", ["group-1"]),
        ("day/Zürich", ["group-1"]),
        ("s3a://b/night/b.csv", ["group-2"]),
        ("day/c.csv", []),
    ],
)
def test_b8_a_group_is_found_by_the_whole_address_of_an_object(flights, asked, text, found):
    for number, base in enumerate(("s3a://b/day/", "s3a://b/night/"), 1):
        payload = {"base": base, "names": ["Zürich.csv", "b.csv"], "bytes": 9}
        flights.create_partitions([PartitionIdentifier(f"group-{number}", payload=payload)])
    flights.create_partitions([PartitionIdentifier("odd", payload={"base": 1, "names": "b.csv"})])
    assert [row["key"] for row in asked("list", "--payload-like", text)[0]] == found


def test_a_pipe_gets_each_key_in_one_piece(flights, cli):
    key = f"s3a|bucket|{'landing/' * 60}part-0.parquet"
    flights.create_partitions([key])
    flights.acquire_partition(key)
    assert key in cli("list", "flights")[1]
    assert key in cli("owners", "flights")[1]
