"""What is left to be done after endings, on the command line (promise S27)."""

from __future__ import annotations

import json

import pytest

from airflow_coordination.cli.subcommands import acting
from airflow_coordination.duties.follow_ups import note_of
from airflow_coordination.follow_ups import DeleteObjects
from tests.unit.cli.conftest import HOSTILE


@pytest.fixture
def left(flights, tmp_path):
    """Two files whose drivers have died before they were deleted."""
    files = []
    for key in ("2013-01", "2013-02"):
        file = tmp_path / f"{key}.json"
        file.write_text("records")
        lease = flights.acquire_partition(key)
        flights.complete(lease, then=note_of(DeleteObjects(str(file)), lease.partition, lease.fence, None))
        files.append(file)
    return files


FINISH = ("finish-actions", "flights")


def test_s27_all_that_is_left_is_done(left, flights, cli):
    code, out, err = cli(*FINISH, "--yes", "-o", "json")
    assert code == 0
    assert [(row["key"], row["tenure"]) for row in json.loads(out)] == [("2013-01", 1), ("2013-02", 1)]
    assert "Done: 2 of 2 note(s)." in err
    assert not any(file.exists() for file in left)
    assert "Nothing is left to be done after partitions that have ended." in cli(*FINISH)[2]


def test_s27_after_one_partition_only(left, flights, cli):
    assert "Done: 1 of 1 note(s)." in cli(*FINISH, "2013-02", "--yes")[2]
    assert [file.exists() for file in left] == [True, False]


def test_what_was_taken_back_while_a_person_thought_is_left_alone(left, flights, cli, monkeypatch):
    """Else the input of what is to be done again would go."""
    thinks = acting.agreed

    def meanwhile(*given):
        monkeypatch.setattr(acting, "agreed", thinks)
        cli(*FINISH, "2013-01", "--forget", "--yes", "--why", "it is read again")
        cli("reset", "flights", "2013-01", "--why", "a bug", "--yes")
        return thinks(*given)

    monkeypatch.setattr(acting, "agreed", meanwhile)
    code, _, err = cli(*FINISH, "--yes")
    assert (code, [file.exists() for file in left]) == (0, [True, False])
    assert "Done: 1 of 2 note(s). 1 were done or taken back by others meanwhile." in err


def test_a_parking_that_was_taken_back_meanwhile_is_followed_by_nothing(flights, tmp_path, cli, monkeypatch):
    file = tmp_path / "broken.json"
    file.write_text("records")
    lease = flights.acquire_partition("2013-01")
    flights.on_parked(lease, note_of(DeleteObjects(str(file)), lease.partition, lease.fence, None))
    flights.people.park("2013-01", "ana", "broken")
    thinks = acting.agreed

    def reopened(*given):
        flights.people.reopen("2013-01", "ana", "mended")
        return thinks(*given)

    monkeypatch.setattr(acting, "agreed", reopened)
    code, _, err = cli(*FINISH, "--yes")
    assert (code, file.exists()) == (0, True)
    assert "Done: 0 of 1 note(s). 1 were done or taken back by others meanwhile." in err


def test_a_dry_run_changes_nothing(left, flights, cli):
    code, _, err = cli(*FINISH, "--dry-run")
    assert (code, "Dry run: would do what 2 note(s) say, with the rights of this process." in err) == (0, True)
    assert "Dry run: would forget 2 note(s)." in cli(*FINISH, "--forget", "--why", "-", "--dry-run")[2]
    assert all(file.exists() for file in left)
    assert len(list(flights.follow_ups.follow_ups())) == 2


def test_what_fails_stays_and_is_named(left, flights, cli):
    left[0].write_text("written again")
    flights.complete(flights.get_next_partition(), then="[{}]")  # the third
    code, _, err = cli(*FINISH, "--yes")
    assert code == 1
    assert f"Left alone: {left[0]} was written again." in err
    assert f"Not done for {HOSTILE!a}: Cannot read a follow-up: it is not understood" in err
    assert "Done: 2 of 3 note(s)." in err
    assert [note.key for note in flights.follow_ups.follow_ups()] == [HOSTILE]


def test_a_note_that_can_never_be_done_is_forgotten(left, flights, cli):
    code, _, err = cli(*FINISH, "2013-01", "--forget", "--yes")
    assert (code, "Say why with --forget" in err, len(list(flights.follow_ups.follow_ups()))) == (1, True, 2)
    code, _, err = cli(*FINISH, "2013-01", "--forget", "--yes", "--by", "ana", "--why", "the bucket is gone")
    assert (code, "Done: forgot 1 note(s). What they say was not done." in err) == (0, True)
    assert [note.key for note in flights.follow_ups.follow_ups()] == ["2013-02"]
    assert all(file.exists() for file in left)
    told = json.loads(cli("history", "flights", "2013-01", "-o", "json")[1])[-1]
    assert (told["what"], told["who"], told["why"]) == ("forget", "ana", "the bucket is gone")


def test_s27_show_and_explain_say_what_is_left(left, flights, cli):
    shown = json.loads(cli("show", "flights", "2013-01", "-o", "json")[1])
    [left_to_do] = [row["value"] for row in shown if row["field"] == "to do after 1"]
    assert str(left[0]) in left_to_do
    said = cli("explain", "flights", "2013-01", "-o", "json")[1]
    assert "What was to follow at its source (then=) is not done yet." in said
    assert "airflow_coordination finish-actions flights 2013-01" in said
    cli(*FINISH, "--yes")
    assert "then=" not in cli("explain", "flights", "2013-01", "-o", "json")[1]


def test_f3_a_reset_names_what_is_left_to_do_and_both_ways_out(left, flights, cli):
    code, _, err = cli("reset", "flights", "2013-01", "--why", "a bug", "--dry-run")
    assert code == 1
    assert "Dry run: would reset 0 of 1" in err
    assert str(left[0])[:20] in err
    assert cli("reset", "flights", "2013-01", "--why", "a bug", "--yes")[0] == 1
    cli(*FINISH, "2013-01", "--forget", "--yes", "--why", "it is read again")
    assert cli("reset", "flights", "2013-01", "--why", "a bug", "--yes")[0] == 0
    cli(*FINISH, "--yes")
    assert [file.exists() for file in left] == [True, False]


def test_z11_what_follows_a_parking_is_shown_and_done(flights, tmp_path, cli):
    file = tmp_path / "broken.json"
    file.write_text("records")
    lease = flights.acquire_partition("2013-01")
    flights.on_parked(lease, note_of(DeleteObjects(str(file)), lease.partition, lease.fence, None))
    show = ("show", "flights", "2013-01", "-o", "json")
    assert "to do when parked" in {row["field"] for row in json.loads(cli(*show)[1])}
    assert "Nothing is left to be done" in cli(*FINISH)[2]
    flights.people.park("2013-01", "ana", "broken")
    fields = {row["field"] for row in json.loads(cli(*show)[1])}
    assert ("to do after 2" in fields, "to do when parked" in fields) == (True, False)
    assert "(on_parked) is not done yet" in cli("explain", "flights", "2013-01")[1]
    assert "Done: 1 of 1 note(s)." in cli(*FINISH, "--yes")[2]
    assert (file.exists(), flights.partition("2013-01").parked) == (False, True)
