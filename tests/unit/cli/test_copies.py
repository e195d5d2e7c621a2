"""``copies …`` on a store and real files: where chunks lie, what waits and why, made here, and collected."""

from __future__ import annotations

import json

import pytest

from airflow_coordination.duties.groups.deleting import KillStalePending
from airflow_coordination.duties.groups.round import Round
from airflow_coordination.stores import open_store
from airflow_coordination.transfer.exporting import export
from airflow_coordination.values.input_errors import SettingsError
from tests.copying import COPIED, DAYS, Copying, Duties
from tests.unit.cli.on_a_store import cli_on
from tests.upkeep import DATASET

FLIGHTS = ("flights",)


@pytest.fixture
def days(tmp_path) -> Copying:
    store = open_store(f"sqlite:///{tmp_path / 'c.db'}")
    store.setup()
    days = Copying(store, tmp_path / "out")
    days.place(tmp_path / "hot-1", tmp_path / "hot-2", tier="hot", archive=[tmp_path / "cold"])
    days.publish(*DAYS)
    days.want(hot=1, archive=1)
    return days


@pytest.fixture
def typed(days, capsys):
    return cli_on(days.store, capsys)


def chunks(typed) -> list[dict]:
    code, out, _ = typed("copies", "status", *FLIGHTS, "-o", "json")
    assert code == 0
    return json.loads(out)


def test_status_says_where_each_chunk_lies_and_what_waits(days, typed, tmp_path) -> None:
    newest, *_ = chunks(typed)
    assert (newest["dataset"], newest["chunk"], newest["there"]) == (DATASET, "2013-01-03/2013-01-04", "")
    assert "the next run of runRules asks for cold, hot-" in newest["waits"]
    duties = Duties(days)
    duties.run("runRules")
    assert {(each["pending"].count(","), each["waits"]) for each in chunks(typed)} == {(1, "")}
    duties.settle()
    assert {(each["there"].count(","), each["pending"], each["waits"]) for each in chunks(typed)} == {(1, "", "")}
    days.publish(DAYS[0], word="new")
    assert [each["stale"].count(",") for each in chunks(typed) if each["stale"]] == [1]
    (tmp_path / "cold").rename(tmp_path / "away")
    duties.run("runRules")
    _, out, err = typed("copies", "status", *FLIGHTS, "--locations", "-o", "json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert (rows["cold"]["copies"], rows["cold"]["tier"], rows["cold"]["capacity"]) == (3, "archive", 1_000_000)
    assert rows["cold"]["lost_since"] is not None
    assert rows["hot-1"]["lost_since"] is None
    _, _, err = typed("copies", "status", *FLIGHTS)
    assert "cold (tier archive): " in err
    assert ", lost since " in err


def test_status_says_what_a_tier_has_no_room_for(days, typed, tmp_path) -> None:
    days.place(tmp_path / "hot-1", tmp_path / "hot-2", tier="hot", archive=[tmp_path / "cold"], capacity=1)
    assert {each["waits"] for each in chunks(typed)} == {"no room in tier archive; no room in tier hot"}


def test_copies_are_made_here_without_spark(days, typed) -> None:
    Duties(days).run("runRules")
    code, _, err = typed("copies", "run", *FLIGHTS, "--max-copies", "2")
    assert (code, "made 2 copies" in err) == (0, True)
    code, _, err = typed("copies", "run", *FLIGHTS)
    assert (code, "made 4 copies" in err) == (0, True)
    assert days.rows_in("hot") == days.rows_in("archive") == days.rows()


def test_a_copy_that_cannot_be_made_is_an_error(days, typed) -> None:
    next(days.out.rglob("part-*")).write_bytes(b"")
    Duties(days).run("runRules")
    code, _, err = typed("copies", "run", *FLIGHTS)
    assert (code, "Error: " in err) == (1, True)
    assert any("has failed 1 time(s)" in each["waits"] for each in chunks(typed))


def test_files_of_dropped_copies_go_when_people_want_it(days, typed, tmp_path) -> None:
    duties = Duties(days)
    duties.settle()
    days.want(hot=1, archive=0)
    duties.settle()
    code, out, _ = typed("copies", "collect", *FLIGHTS, "--older-than", "0d", "--dry-run", "-o", "json")
    assert (code, {row["location"]: row["blocks"] for row in json.loads(out)}["cold"]) == (0, 6)
    assert len(list((tmp_path / "cold").rglob("part-*"))) == 3
    _, _, err = typed("copies", "collect", *FLIGHTS, "--older-than", "0d", "-y")
    assert "Done: deleted" in err
    assert list((tmp_path / "cold").rglob("part-*")) == []
    assert days.rows_in("hot") == days.rows()
    (tmp_path / "cold").rename(tmp_path / "away")
    code, _, err = typed("copies", "collect", *FLIGHTS, "-y")
    assert (code, "location cold cannot be read from here" in err) == (1, True)


def test_the_collector_among_the_duties_takes_them_too(days, tmp_path) -> None:
    duties = Duties(days, millis_to_wait_before_deleting=0)
    duties.settle()
    days.want(hot=1, archive=0)
    duties.settle()
    round = Round(cluster=duties.cluster(), by="killStalePending", arguments={"olderThan": "P0D"})
    ran = KillStalePending().run(round)
    assert ran.counts["kill/pending/files"] > 0
    assert "nothing is collected but copies" in ran.said
    assert list((tmp_path / "cold").rglob("part-*")) == []
    assert days.rows_in("hot") == days.rows()


def test_copies_are_not_exported_but_made_anew(days, tmp_path) -> None:
    with pytest.raises(SettingsError, match="copies are made anew"):
        export(days.copies(), tmp_path / "file")
    assert not (tmp_path / "file").exists()
    assert COPIED == "~copies/flights"
