"""``compaction …`` on a store: people see what is merged and why, begin it, and give it up."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.duties.compaction.planner import COMPACT
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.values.names import DUTIES
from tests.unit.duties.compaction.made import KEEP, config, publish, work
from tests.upkeep import Dataset

CONFIG = json.dumps(config().to_json())
NAMED = ("flights",)
JANUARY = "e000001|clean|2013-01-01T00:00:00Z|0"


@pytest.fixture
def data(url: str, tmp_path: Path):
    store = open_store(url)
    store.setup()
    found = Dataset(store, tmp_path / "output")
    publish(found, "2013-01-03", "2013-02-01", "odd")
    yield found
    store.close()


def rows(cli, name: str, *more: str) -> list[dict]:
    code, out, err = cli("compaction", name, *NAMED, *more, "-o", "json")
    assert code == 0, err
    return json.loads(out)


def test_a_plan_is_shown_and_carried_out_when_it_is_agreed_to(data, cli) -> None:
    code, out, err = cli(
        "compaction", "plan", *NAMED, "--config", CONFIG, "--max-slots", "1", "--dry-run", "-o", "json"
    )
    assert code == 0
    assert [(row["chunk"], row["state"], row["reason"]) for row in json.loads(out)] == [
        ("2013-02-01/2013-03-01", "created", "never compacted: 1 of 1"),
        ("2013-01-01/2013-02-01", "waits for a slot", "never compacted: 1 of 1"),
    ]
    assert "Dry run: would make 1 group(s) of source flights claimable. Nothing was changed." in err
    assert data.groups().partitions() == []
    code, _, err = cli("compaction", "plan", *NAMED, "--config", CONFIG, "--max-slots", "1", "--yes")
    assert (code, err) == (0, "Done: 1 group(s) of source flights are claimable.\n")
    assert len(data.groups().partitions()) == 1


def test_the_next_plan_is_made_as_the_last_one(data, cli) -> None:
    code, _, err = cli("compaction", "plan", *NAMED, "--yes")
    assert code == 1
    assert "nothing has been planned yet. Run PlanCompactionOperator, or `compaction set`" in err
    cli("compaction", "plan", *NAMED, "--config", CONFIG, "--max-slots", "1", "--yes")
    work(data)
    [row] = rows(cli, "plan", "--yes")
    assert (row["chunk"], row["state"], row["group"]) == ("2013-01-01/2013-02-01", "created", JANUARY)


def test_what_is_no_configuration_is_refused(data, cli) -> None:
    code, _, err = cli("compaction", "plan", *NAMED, "--config", "{clean", "--yes")
    assert code == 1
    assert "--config='{clean': is no JSON" in err
    code, _, err = cli("compaction", "plan", *NAMED, "--config", '{"dataset": "clean", "sort": []}', "--yes")
    assert code == 1
    assert "--config.sort=[]: is unknown. Did you mean sortBy?" in err


def test_while_somebody_else_plans_it_says_who(data, cli) -> None:
    other = SourceCoordinator(data.store, DUTIES, "somebody else")
    other.create_partitions([f"{COMPACT}|flights"])
    other.acquire_partition(f"{COMPACT}|flights")
    code, _, err = cli("compaction", "plan", *NAMED, "--config", CONFIG, "--yes")
    assert code == 1
    assert "somebody else plans until 20" in err


def test_status_says_how_far_it_is_and_what_has_failed(data, cli) -> None:
    cli("compaction", "plan", *NAMED, "--config", CONFIG, "--max-slots", "2", "--yes")
    [row] = rows(cli, "status")
    assert (row["dataset"], row["percent"], row["awaiting_partitions"], row["under_way"]) == ("clean", 0.0, 2, 2)
    groups = data.groups(**KEEP)
    groups.complete(groups.get_next_partition())
    for _ in range(4):
        groups.fail(groups.acquire_partition(JANUARY), "no space left", timedelta(0))
    code, out, err = cli("compaction", "status", *NAMED, "-o", "json")
    [row] = json.loads(out)
    assert (code, row["waits_after_failures"], row["left_by_its_worker"]) == (0, 1, 1)
    assert f"{JANUARY}: failed 4 times with no space left, next try at 20" in err


def test_each_chunk_is_explained(data, cli) -> None:
    cli("compaction", "plan", *NAMED, "--config", CONFIG, "--max-slots", "1", "--yes")
    work(data)
    assert {(row["chunk"], row["reason"], row["state"]) for row in rows(cli, "explain")} == {
        ("2013-02-01/2013-03-01", "nothing to do", ""),
        ("2013-01-01/2013-02-01", "never compacted: 1 of 1", "created"),
        ("../..", "unbounded interval", ""),
    }


def test_off_gives_everything_up_after_looking_whether_the_originals_are_there(data, cli) -> None:
    cli("compaction", "plan", *NAMED, "--config", CONFIG, "--max-slots", "2", "--yes")
    work(data)
    before = data.rows()
    command = ("compaction", "off", *NAMED, "clean", "--why", "not needed")
    code, _, err = cli(*command, "--dry-run")
    assert code == 0
    assert "Dry run: would give up 2 group(s) of dataset clean of source flights: readers go back to 2 original" in err
    assert len(data.overlays().row) == 2
    code, _, err = cli(*command, "--yes", "--by", "ana")
    assert code == 0
    assert "Done: gave up 2 group(s). Take the dataset out of PlanCompactionOperator(configs=), too." in err
    assert (data.rows(), data.overlays().row) == (before, ())


def test_what_is_merged_is_not_retracted_by_hand(data, cli) -> None:
    cli("compaction", "plan", *NAMED, "--config", CONFIG, "--max-slots", "2", "--yes")
    work(data)
    code, _, err = cli("retract", "~merged/flights", JANUARY, "--why", "because", "--yes")
    assert code == 1
    assert "Use `compaction off flights`" in err


def test_now_names_what_has_rows_of_a_partition(data, cli) -> None:
    cli("compaction", "plan", *NAMED, "--config", CONFIG, "--max-slots", "2", "--yes")
    code, _, err = cli("compaction", "run", *NAMED, "--output-root", str(data.root), "--now", "2013-01-03")
    assert code == 1
    assert "key='2013-01-03': has no rows in what is merged" in err


def test_a_plan_for_a_source_with_too_long_a_name_is_refused(data, cli) -> None:
    name = "s" * 242
    SourceCoordinator(data.store, name, "me").create_partitions(["k"])
    code, _, err = cli("compaction", "plan", name, "--config", CONFIG, "--yes")
    assert code == 1
    assert "is 8 byte(s) too long for a source beside it, ~merged/<source>, in which groups are merged. Leave it" in err
