"""The example job that delivers files: every record is somewhere, and only then the file is gone (S13, S27)."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.protocol.follow_up import Place
from airflow_coordination.sinks import SinkNotReadyError
from airflow_coordination.sources import object_listing
from airflow_coordination.spark import drain, read_completed
from airflow_coordination.stores import open_store
from tests.house.tree import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.spark]
MALFORMED = [b"not a flight at all", b"2013,two,2"]


@pytest.fixture
def inbox(tmp_path, small_month) -> Path:
    """Two files of real flights, one of them with malformed lines."""
    folder = tmp_path / "inbox"
    folder.mkdir()
    header, *rows = small_month
    (folder / "a.csv").write_bytes(b"\n".join([header, *rows[:200], *MALFORMED]))
    (folder / "b.csv").write_bytes(b"\n".join([header, *rows[200:]]))
    return folder


@pytest.fixture
def deliver(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["deliveries_job.py", str(tmp_path / "united")])
    job = runpy.run_path(str(ROOT / "dags" / "deliveries_job.py"))["main"]
    store = open_store("memory://")

    def run(folder):
        return store, drain(
            job,
            store=store,
            source="deliveries",
            spark=spark,
            output_root=tmp_path / "out",
            max_leases=None,
            supplier=object_listing(folder, scan="once"),
        )

    return run


def test_every_record_is_somewhere_and_then_the_files_are_gone(deliver, inbox, spark, tmp_path, small_month) -> None:
    store, drained = deliver(inbox)
    assert (drained.completed, drained.failed) == (2, 0)
    assert list(inbox.iterdir()) == []
    flights = read_completed(spark, store=store, source="deliveries", dataset="delivered_flights")
    malformed = read_completed(spark, store=store, source="deliveries", dataset="malformed_lines")
    assert flights.count() == len(small_month) - 1
    lines = sorted(json.loads(row.record)["malformed"].encode() for row in malformed.collect())
    assert lines == sorted(MALFORMED)
    united = [json.loads(line) for file in (tmp_path / "united").rglob("*.jsonl") for line in file.open()]
    assert len(united) == flights.where("carrier = 'UA'").count() > 0
    counted, good = SourceCoordinator(store, "deliveries", "me").accounting(), len(small_month) - 1
    assert (counted.dead_lettered, counted.delivered_everywhere, counted.failed) == (len(MALFORMED), good, 0)
    assert counted.read == good + len(MALFORMED)


def test_a_file_stays_when_a_place_cannot_be_written(deliver, inbox, tmp_path) -> None:
    (tmp_path / "united").write_text("a file where a directory should be")
    with pytest.raises(SinkNotReadyError, match="is a file"):  # a mistake of set-up charges no partition (B4)
        deliver(inbox)
    assert sorted(file.name for file in inbox.iterdir()) == ["a.csv", "b.csv"]


def test_f4_who_lists_the_inbox_may_finish_what_a_driver_has_left_there(inbox, monkeypatch) -> None:
    """F4: a supplier that is a function allows nothing, so the file of a driver that died stayed for ever."""
    monkeypatch.setenv("AIRFLOW_VAR_FLIGHTS_INBOX", str(inbox))
    create = runpy.run_path(str(ROOT / "dags" / "deliveries.py"))["create"]
    rights = create.follow_up_rights.with_those_of(create.supplier, None)
    assert rights.allow(Place("objects", str(inbox / "a.csv")))
    assert not rights.allow(Place("objects", str(inbox.parent / "a.csv")))
    given = [each for each in create.supplier({}) if isinstance(each, PartitionIdentifier)]
    assert [each.payload["path"] for each in given] == [str(inbox / "a.csv"), str(inbox / "b.csv")]
