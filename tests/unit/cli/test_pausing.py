"""``pause`` and ``resume``, and what the other commands say of a paused source."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

PAUSE = ("pause", "flights", "--why", "Spark is ill", "--by", "ana")
RESUME = ("resume", "flights", "--why", "it is well", "--by", "bob")


def test_x12_a_source_is_paused_and_resumed(flights, cli):
    flights.acquire_partition("2013-01")
    code, out, err = cli(*PAUSE, "--yes", "-o", "json")
    assert code == 0
    [row] = json.loads(out)
    assert (row["source"], row["paused"], row["claimable"], row["assigned"]) == ("flights", False, 2, 1)
    assert (row["held"], row["expired"], row["delayed"]) == (1, 0, 0)
    assert "Done: source flights was paused at " in err
    assert "by 'ana', who said 'Spark is ill'." in err
    assert "1 partition(s) are held; their owners finish, and acquire no other." in err
    assert flights.get_next_partition() is None
    code, _, err = cli(*RESUME, "--yes")
    assert code == 0
    assert "Done: source flights was resumed at " in err
    assert flights.get_next_partition() is not None


def test_a_dry_run_changes_nothing(flights, cli):
    code, _, err = cli(*PAUSE, "--dry-run")
    assert code == 0
    assert "Dry run: would pause source flights. Nothing was changed." in err
    assert not flights.pausing.current_pause().paused


def test_a_pause_for_a_time_says_until_when(flights, cli):
    code, _, err = cli(*PAUSE, "--for", "PT2H", "--yes")
    assert code == 0
    pause = flights.pausing.current_pause()
    assert pause.until - pause.at == timedelta(hours=2)
    assert f" until {pause.until.isoformat(timespec='seconds')} by 'ana'" in err
    fields = {row["field"]: row["value"] for row in json.loads(cli("source", "flights", "-o", "json")[1])}
    assert " until " in fields["paused_or_resumed_last"]
    assert cli(*PAUSE, "--yes")[0] == 0
    assert flights.pausing.current_pause().unending


@pytest.mark.parametrize(
    ("given", "said"),
    [("2h", "--for='2h': "), ("PT0S", "--for='PT0S': "), ("P1M", "has months or years"), ("-PT1H", "--for='-PT1H'")],
)
def test_what_is_no_time_is_refused(flights, cli, given, said):
    code, _, err = cli(*PAUSE, f"--for={given}", "--yes")
    assert code == 1
    assert said in err
    assert not flights.pausing.current_pause().paused


@pytest.mark.parametrize("dry", ["--dry-run", "--yes"])
def test_it_is_refused_when_it_is_so_already(flights, cli, dry):
    code, _, err = cli(*RESUME, dry)
    assert code == 1
    assert "Cannot resume source 'flights': it was never paused." in err
    flights.pausing.pause(by="ana", why="first")
    code, _, err = cli(*PAUSE, dry)
    assert code == 1
    assert "Cannot pause source 'flights': it was paused at" in err
    assert "by 'ana', who said 'first'." in err


def test_it_needs_a_source_that_is_known_a_reason_and_somebody_to_ask(flights, cli):
    code, _, err = cli("pause", "flight", "--why", "why", "--yes")
    assert code == 1
    assert "Did you mean 'flights'?" in err
    code, _, err = cli("pause", "flights", "--why", " ", "--yes")
    assert code == 1
    assert "why=' ': is empty. Say who acts and why" in err
    code, _, err = cli("pause", "flights", "--why", "why")
    assert code == 1
    assert "--yes=False: is needed where there is no terminal to ask on" in err
    assert not flights.pausing.current_pause().paused


def test_it_is_refused_when_somebody_resumed_since_it_was_shown(flights, url, monkeypatch, capsys):
    from airflow_coordination.cli.standalone import main

    flights.pausing.pause(by="ana", why="first")

    def confirmed(question, store):
        flights.pausing.resume(by="ana", why="over")
        flights.pausing.pause(by="eve", why="second")
        return True

    monkeypatch.setattr("airflow_coordination.cli.subcommands.acting.confirmed", confirmed)
    assert main([*RESUME, "--store", url]) == 1
    assert "it was meanwhile paused at" in capsys.readouterr().err
    assert flights.pausing.current_pause().by == "eve"


def test_the_other_commands_say_that_it_is_paused(flights, cli):
    flights.pausing.pause(by="ana", why="Spark is ill")
    assert [row["paused"] for row in json.loads(cli("status", "-o", "json")[1])] == [True]
    assert [row["paused"] for row in json.loads(cli("sources", "-o", "json")[1])] == [True]
    assert "by 'ana', who said 'Spark is ill'" in cli("watch", "flights", "--looks", "1")[1]
    assert 'coordination_source_paused{source="flights",partition_prefix=""} 1' in cli("metrics")[1]
    told = cli("explain", "flights", "2013-01")[1]
    assert "could be acquired, but its source was paused at" in " ".join(told.split())
