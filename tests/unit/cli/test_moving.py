"""``export`` and ``import`` on the command line."""

from __future__ import annotations

import json

import pytest

from airflow_coordination.cli.standalone import main
from airflow_coordination.duties.configuring import set_config
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs.copies.locations import set_locations
from airflow_coordination.stores import open_store


@pytest.fixture
def there(tmp_path):
    """Another store, and its URL."""
    url = f"sqlite:///{tmp_path / 'there.db'}"
    store = open_store(url)
    store.setup()
    yield SourceCoordinator(store, "flights", "test"), url
    store.close()


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "flights.jsonl")


def test_a_source_moves(flights, cli, there, file, capsys):
    other, url = there
    flights.complete(flights.acquire_partition("2013-01"))
    flights.pausing.pause(by="ana", why="it moves")
    code, _, err = cli("export", "flights", file)
    assert code == 0
    assert f"Done: exported 3 partition(s) of source flights to {file}." in err
    assert "Leave the source paused here" in err
    assert main(["import", file, "--yes", "--by", "bob", "--store", url]) == 0
    err = capsys.readouterr().err
    assert "3 partition(s) of source flights, exported at" in err
    assert "Done: 3 of 3 partition(s) go on here." in err
    assert f"python -m airflow_coordination resume flights --store {url} --why '…'" in err
    assert other.counts() == flights.counts()
    assert other.pausing.current_pause().by == "bob"
    assert other.pausing.current_pause().why.startswith("import from sqlite:///")


def test_what_is_of_all_sources_stays_and_is_named(flights, cli, file, tmp_path):
    flights.pausing.pause(by="ana", why="it moves")
    cli("export", "flights", file)
    assert "is not in it" not in cli("export", "flights", f"{file}.2")[2]
    site = {"name": "hot", "root": str(tmp_path / "hot"), "capacity": "1GB"}
    set_locations(flights, json.dumps([site]), "ana", "a disk")
    set_config(flights, {"maxSegmentsToMove": 7}, "ana", "slower")
    code, _, err = cli("export", "flights", f"{file}.3")
    assert code == 0
    assert "The locations of copies are not in it" in err
    assert "The configuration of the duties is not in it" in err


def test_a_dry_run_changes_nothing(flights, cli, there, file, capsys):
    other, url = there
    flights.pausing.pause(by="ana", why="it moves")
    cli("export", "flights", file)
    assert main(["import", file, "--dry-run", "--store", url]) == 0
    assert "Dry run: would import them into sqlite:///" in capsys.readouterr().err
    assert not other.store.sources()


def test_what_is_different_is_named_and_left(flights, cli, there, file, capsys):
    other, url = there
    flights.pausing.pause(by="ana", why="it moves")
    cli("export", "flights", file)
    other.create_partitions(["2013-01", "2013-02"])
    other.complete(other.acquire_partition("2013-02"))
    assert main(["import", file, "--yes", "--store", url]) == 1
    err = capsys.readouterr().err
    assert "Done: 2 of 3 partition(s) go on here." in err
    assert "Error: partition '2013-02' was here already with another life, and is left as it is." in err


def test_other_default_rules_are_told(flights, cli, there, file, capsys):
    other, url = there
    set_rules(flights, None, '[{"type":"dropBeforeByPeriod","period":"P1M"}]', "eva", "a month is enough")
    flights.pausing.pause(by="ana", why="it moves")
    cli("export", "flights", file)
    assert main(["import", file, "--yes", "--store", url]) == 1
    err = capsys.readouterr().err
    assert "Done: 3 of 3 partition(s) go on here." in err
    assert "Error: the default rules of all datasets are others here than where it comes from" in err
    assert other.documents.all() == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("export", "flights", "{file}"), "Cannot move source 'flights': it is not paused."),
        (("export", "flight", "{file}"), "Did you mean 'flights'?"),
        (("import", "{file}", "--yes"), "cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_is_said(flights, cli, file, command, said):
    code, _, err = cli(*(word.format(file=file) for word in command))
    assert code == 1
    assert said in err


def test_it_asks_before_it_changes_anything(flights, cli, there, file, capsys):
    other, url = there
    flights.pausing.pause(by="ana", why="it moves")
    cli("export", "flights", file)
    assert main(["import", file, "--store", url]) == 1
    assert "is needed where there is no terminal to ask on" in capsys.readouterr().err
    assert not other.store.sources()
