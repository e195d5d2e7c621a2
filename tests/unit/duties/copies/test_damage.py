"""Copies that are not where they were made: a disk was full or went away, or somebody has deleted what lay there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from airflow_coordination.duties.copies import group, snapshot
from airflow_coordination.duties.copies.lost import lost_of
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs.copies import making
from airflow_coordination.outputs.copies.locations import MARKER
from airflow_coordination.protocol.beside.documents import LOST_LOCATIONS
from airflow_coordination.stores import open_store
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import everybody
from tests.copying import DAYS, Copying, Duties


@pytest.fixture
def days(tmp_path) -> Copying:
    store = open_store(f"sqlite:///{tmp_path / 'c.db'}")
    store.setup()
    days = Copying(store, tmp_path / "out")
    days.place(tmp_path / "hot-1", tmp_path / "hot-2", tier="hot", archive=[tmp_path / "cold"])
    days.publish(*DAYS)
    return days


@pytest.fixture
def duties(days) -> Duties:
    return Duties(days)


def emptied(location: Path) -> None:
    """Delete all that lies in a location but its marker."""
    for each in location.iterdir():
        if each.is_dir():
            shutil.rmtree(each)
    assert (location / MARKER).exists()


def test_what_was_deleted_in_a_location_is_copied_there_anew(days, duties, tmp_path) -> None:
    days.want(archive=1)
    duties.settle()
    emptied(tmp_path / "cold")
    duties.later(days=1, minutes=1)
    duties.settle()
    assert days.rows_in("archive") == days.rows()


def test_a_copy_is_not_dropped_because_of_one_that_was_deleted(days, duties, tmp_path) -> None:
    days.want(hot=2)
    duties.settle()
    emptied(tmp_path / "hot-2")
    days.want(hot=1)
    duties.settle()
    assert days.rows_in("hot") == days.rows()


def test_nothing_is_dropped_that_a_location_was_relied_on_for_which_is_lost_meanwhile(
    days, duties, tmp_path, monkeypatch
) -> None:
    days.want(hot=2)
    duties.settle()
    days.want(hot=1)
    duties.run()  # sees what is too much
    before, real = days.copied(), group.drops

    def lost_after(look: object) -> object:
        found = real(look)
        (tmp_path / "hot-2").rename(tmp_path / "away")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(group, "drops", lost_after)
        ran = duties.run("unloadUnused")["unloadUnused"]
    assert (days.copied(), ran.said) == (before, "3 copies may go in the next run")
    (tmp_path / "away").rename(tmp_path / "hot-2")
    duties.settle()
    assert len(days.copied()) == 3
    assert days.rows_in("hot") == days.rows()


def test_a_location_that_is_lost_while_it_is_read_is_not_taken_for_damaged(days, duties, tmp_path, monkeypatch) -> None:
    days.want(archive=1)
    duties.settle()
    days.publish("2013-01-04")  # so that all is looked at

    def gone_before(*args: object) -> object:
        if (tmp_path / "cold").exists():
            (tmp_path / "cold").rename(tmp_path / "away")
        return real(*args)

    real = snapshot.copies_in
    monkeypatch.setattr(snapshot, "copies_in", gone_before)
    assert duties.run("runRules")["runRules"].counts["segment/assigned/count"] == 1  # only the new day


def test_a_disk_that_goes_while_a_copy_is_made_gets_nothing_published(days, duties, tmp_path, monkeypatch) -> None:
    days.want(archive=1)
    duties.run()
    real = making.copied_file

    def unmounted(*args: object, **more: object) -> str:
        if not (tmp_path / "away").exists():
            (tmp_path / "cold").rename(tmp_path / "away")
        return real(*args, **more)

    monkeypatch.setattr(making, "copied_file", unmounted)
    done = days.work()
    assert days.copied() == []
    assert "was lost meanwhile" in done.errors[0][1]


def test_files_that_went_below_a_mount_are_missed_when_the_disk_is_back(days, duties, tmp_path, monkeypatch) -> None:
    days.want(archive=1)
    duties.run()
    real, cold, away = making.copied_file, tmp_path / "cold", tmp_path / "away"

    def unmounted(*args: object, **more: object) -> str:
        cold.rename(away)
        try:
            return real(*args, **more)
        finally:
            shutil.rmtree(cold)
            away.rename(cold)

    monkeypatch.setattr(making, "copied_file", unmounted)
    done = days.work()
    assert days.copied() == []
    assert "is missing" in done.errors[0][1]


def test_a_full_disk_is_named_and_not_the_file_that_was_read(days, duties, tmp_path, monkeypatch) -> None:
    days.want(archive=1)
    duties.run()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(making, "_write", full)
    told = days.work().errors[0][1]
    assert "No space left on device" in told
    assert f": {tmp_path / 'cold'}/" in told
    assert days.copied() == []


@pytest.mark.parametrize("said", ["null", "[]", '{"cold": ["2026-01-01T00:00:00", "it has no zone"]}'])
def test_what_says_nothing_of_lost_locations_is_refused_by_name(days, said) -> None:
    days.ingest().documents.change(LOST_LOCATIONS, lambda _: said, "by hand", "a test", everybody(None))
    with pytest.raises(InvalidInputError, match="does not say which locations are lost"):
        lost_of(days.ingest().documents.newest(LOST_LOCATIONS, everybody(None)))


def test_a_source_with_too_long_a_name_for_copies_is_named(days, duties) -> None:
    SourceCoordinator(days.store, "f" * 240, "somebody").create_partitions(["a"])
    days.want(hot=1)
    [told] = [each for each in duties.run("runRules")["runRules"].warnings if "too long" in each]
    assert told.startswith("nothing of source 'ffff")
