"""``compaction get``, ``set`` and ``history``."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from airflow_coordination.stores import open_store
from tests.unit.duties.compaction.made import config, publish
from tests.upkeep import Dataset

BOTH = ("flights", "--dataset", "clean")
MONTHS = {"segmentGranularity": "MONTH", "skipOffsetFromLatest": "P0D", "intervalFromKey": "%Y-%m-%d"}


@pytest.fixture
def data(url: str, tmp_path: Path):
    store = open_store(url)
    store.setup()
    found = Dataset(store, tmp_path / "output")
    publish(found, "2013-01-03", "2013-02-01")
    yield found
    store.close()


@pytest.fixture
def put(cli, monkeypatch):
    def put(said, *options: str):
        monkeypatch.setattr("sys.stdin", io.StringIO(said if isinstance(said, str) else json.dumps(said)))
        return cli("compaction", "set", *BOTH, "-", "--why", "small files", "--by", "ana", "-y", *options)

    return put


def test_it_is_set_read_remembered_and_planned_by(data, put, cli, tmp_path) -> None:
    code, out, err = cli("compaction", "get", *BOTH)
    assert (code, out, err) == (0, "{}\n", "Nobody has set how dataset clean of source flights is compacted.\n")
    code, _, err = put({"dataSource": "clean", **MONTHS})
    assert code == 0
    assert "Done: set how dataset clean of source flights is compacted, version 1. It is in force from the next" in err
    code, out, err = cli("compaction", "get", *BOTH)
    assert json.loads(out) == config().to_json()
    assert "Version 1 of how dataset clean of source flights is compacted, by ana at " in err
    rows = json.loads(cli("compaction", "plan", "flights", "--dry-run", "-o", "json")[1])
    assert [row["chunk"] for row in rows] == ["2013-02-01/2013-03-01", "2013-01-01/2013-02-01"]
    file = tmp_path / "clean.json"
    file.write_text('{"enabled": false}')
    assert cli("compaction", "set", *BOTH, str(file), "--why", "off", "-y")[0] == 0
    found = json.loads(cli("compaction", "history", *BOTH, "-o", "json")[1])
    assert [(each["version"], each["comment"]) for each in found] == [(2, "off"), (1, "small files")]
    assert len(json.loads(cli("compaction", "history", *BOTH, "--limit", "1", "-o", "json")[1])) == 1
    assert json.loads(cli("compaction", "history", *BOTH, "--interval", "2013/P1Y", "-o", "json")[1]) == []


def test_without_a_document_it_is_as_it_was_compacted_last(data, cli) -> None:
    cli("compaction", "plan", "flights", "--config", json.dumps(config().to_json()), "--yes")
    code, out, err = cli("compaction", "get", *BOTH)
    assert (code, json.loads(out)) == (0, config().to_json())
    assert err == "Nobody has set how dataset clean of source flights is compacted: it is as it was compacted last.\n"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("{", "is no JSON"),
        ({"sort": []}, "compaction.sort=[]: is unknown. Did you mean sortBy?"),
        ({"taskPriority": 25}, "means nothing here: ingest never waits for compaction"),
    ],
)
def test_what_cannot_be_and_a_dry_run_change_nothing(data, put, said, message) -> None:
    code, _, err = put(said)
    assert code == 1
    assert message in err
    code, _, err = put(MONTHS, "--dry-run")
    assert code == 0
    assert "Dry run: would set how dataset clean of source flights is compacted to {" in err
    assert data.ingest().documents.all() == []
