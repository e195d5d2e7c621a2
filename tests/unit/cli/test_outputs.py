"""``outputs collect`` and ``store enable outputs`` on the command line, on a dataset that was compacted."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs import index
from airflow_coordination.outputs.enabling import enabling_of
from airflow_coordination.outputs.overlays import merged_source
from airflow_coordination.protocol.beside.parts import StoreParts
from airflow_coordination.stores import open_store
from airflow_coordination.stores.calls import THROUGH_OVERLAYS
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.input_errors import SettingsError
from tests.unit.outputs.test_keeping import filled, let_go
from tests.unit.outputs.test_overlays import compacted, published
from tests.upkeep import DATASET, SOURCE, Dataset


@pytest.fixture
def data(url, tmp_path) -> Dataset:
    store = open_store(url)
    store.setup()
    data = Dataset(store, tmp_path / "out")
    filled(data)
    compacted(data)
    compacted(data)
    return data


@pytest.fixture
def collect(cli, data):
    """Run the command; return exit code, rows by source and standard error."""

    def run(*options: str) -> tuple[int, dict[str, Any], str]:
        given = (SOURCE, "--output-root", str(data.root), "--older-than", "0h", "-o", "json")
        code, out, err = cli("outputs", "collect", *given, *options)
        return code, {row["source"]: row for row in json.loads(out)}, err

    return run


def enabled(data: Dataset) -> bool:
    return enabling_of(data.store).outputs_enabled()


def test_a_dry_run_counts_both_sources_and_deletes_nothing(collect, data):
    code, rows, err = collect("--dry-run")
    assert code == 0
    assert {source: (row["blocks"], row["kept"]) for source, row in rows.items()} == {
        SOURCE: (0, 3),
        merged_source(SOURCE): (1, 1),
    }
    assert f"Dry run: would delete 1 block(s) of source flights below {data.root}. Nothing was changed." in err
    assert "Blocks that were merged stay, because older code reads them." in err
    assert f"`python -m airflow_coordination store enable outputs --store {data.store.reference}` lets them go" in err
    assert collect("--dry-run")[1] == rows


def test_originals_go_when_outputs_are_enabled(collect, cli, data):
    code, rows, err = collect("--yes")
    assert (code, rows[SOURCE]["blocks"], rows[merged_source(SOURCE)]["blocks"]) == (0, 0, 1)
    assert "Done: deleted 1 block(s)" in err
    assert cli("store", "enable", "outputs", "--yes")[0] == 0
    code, rows, err = collect("--yes", "--keep-originals")
    assert (code, rows[SOURCE]["blocks"]) == (0, 0)
    code, rows, err = collect("--yes")
    assert (code, rows[SOURCE]["blocks"]) == (0, 3)
    assert "older code" not in err
    assert "Done: deleted 3 block(s)" in err
    assert data.rows() == Counter("123456")


def test_where_there_is_nobody_to_ask_nothing_is_deleted(collect, cli, data):
    given = (SOURCE, "--output-root", str(data.root), "--older-than", "0h")
    code, _, err = cli("outputs", "collect", *given)
    assert code == 1
    assert "Add --yes, or --dry-run" in err
    assert collect("--yes")[1][merged_source(SOURCE)]["blocks"] == 1
    code, _, err = cli("outputs", "collect", *given)
    assert (code, "There is nothing to delete." in err) == (0, True)


def test_what_a_person_should_look_at_is_an_error(collect, cli, data):
    cli("store", "enable", "outputs", "--yes")
    collect("--yes")
    let_go(data, ["b"])
    code, rows, err = collect("--yes")
    assert (code, rows[merged_source(SOURCE)]["errors"]) == (1, 1)
    assert "Error: " in err
    assert " stays: nothing else has the rows of " in err


def test_an_age_that_is_none_is_refused(cli, data):
    code, _, err = cli("outputs", "collect", SOURCE, "--output-root", "x", "--older-than", "soon")
    assert (code, "--older-than" in err) == (1, True)


def test_s16_outputs_are_enabled_once_and_stay_so(cli, data):
    code, _, err = cli("store", "enable", "outputs", "--dry-run")
    assert (code, enabled(data)) == (0, False)
    assert f"Dry run: would enable outputs in store {data.store.store_id}. Nothing was changed." in err
    assert "Those that run already do not look again." in err
    assert "The oldest tenure" not in err
    code, _, err = cli("store", "enable", "outputs", "--yes")
    assert (code, enabled(data)) == (0, True)
    assert f"Done: outputs are enabled in store {data.store.store_id} at " in err
    code, _, err = cli("store", "enable", "outputs", "--yes")
    assert (code, enabled(data)) == (0, True)
    assert "Outputs are enabled already in store " in err
    data.store.setup()
    assert enabled(data)


def test_s16_a_migration_leaves_outputs_enabled(data):
    """From a schema that knows of it to a later one: what a person has said is not for a migration to take back."""
    assert isinstance(data.store, SqlStore)
    data.store.enable_outputs()
    with data.store.database.setting_up() as connection:
        connection.exec_driver_sql(f"UPDATE coordination_meta SET schema_version = {THROUGH_OVERLAYS - 1}")
    data.store.setup()
    assert enabled(data)


def findings(cli, *options: str) -> list[tuple[str, str]]:
    _, out, _ = cli("doctor", "-o", "json", *options)
    return [(row["verdict"], row["found"]) for row in json.loads(out) if row["check"] == "published output"]


@pytest.mark.parametrize("options", [(), (SOURCE,)])
def test_doctor_looks_through_overlays(collect, cli, data, options):
    """An original that is gone is nothing; where a walk ends nowhere, its manifest is named."""
    lost = data.heads(["c"])[0].blocks[0].address
    data.store.enable_outputs()
    assert collect("--yes")[1][SOURCE]["blocks"] == 3
    published(data, "a", "7", "append")
    [(verdict, found)] = findings(cli, *options)
    assert (verdict, found[:25]) == ("ok", "readers understand the " + ("3 " if not options else "2 "))
    let_go(data, ["a", "b"])
    [(verdict, found)] = findings(cli, *options)
    assert (verdict, found) == ("wrong", f"readers refuse {lost}: it is missing")
    overlay = data.overlays().row[0].manifest.address
    Path(overlay).unlink()
    said = [found for _, found in findings(cli, SOURCE)]
    assert said[0] == f"readers refuse {overlay}: it is missing"
    assert f"readers refuse {lost}: it is missing" in said


def test_a_retract_says_where_rows_are_left(cli, data):
    code, _, err = cli("retract", SOURCE, "b", "a", "--why", "they asked", "--yes")
    assert code == 0
    assert "Rows of 'a' and of 1 more are left in what was merged, where no reader meets them." in err
    run = f"python -m airflow_coordination compaction run flights --store {data.store.reference}"
    assert f"They go when that is merged again: {run} --output-root ROOT --now a; then collect." in err
    published(data, "d", "8")
    _, _, err = cli("retract", SOURCE, "d", "--why", "they asked", "--yes")
    assert "what was merged" not in err
    manifest = Path(data.overlays().row[0].manifest.address)
    manifest.write_text("{}")
    _, _, err = cli("retract", SOURCE, "c", "--why", "they asked", "--yes")
    assert "Done: retract 1 of 1" in err
    assert "Whether rows are left in what was merged cannot be seen: " in err


def test_the_age_of_the_oldest_tenure_is_told(cli, data):
    ingest = data.ingest()
    ingest.create_partitions(["held"])
    assert ingest.get_next_partition() is not None
    _, _, err = cli("store", "enable", "outputs", "--dry-run")
    assert "The oldest tenure has been running for 0 h 0 min: is its driver of this version?" in err


def test_names_of_users_that_begin_as_ours_are_in_the_way(cli, data):
    """Earlier versions let them; what is ours is not named."""
    data.store.register("~mine|PARTITION", {})
    ingest = SourceCoordinator(data.store, "odd", "me")
    ingest.create_partitions(["k"])
    lease = ingest.get_next_partition()
    assert lease is not None
    ingest.complete(lease, [Block("~clean", "/out/x", "d", 1, 1), Block("clean", "/out/y", "e", 1, 1)])
    code, _, err = cli("store", "enable", "outputs", "--yes")
    assert (code, enabled(data)) == (1, False)
    assert "names that begin with ~, which are kept: dataset '~clean' of source 'odd', source '~mine'. Publish" in err


def test_a_store_from_elsewhere_keeps_its_originals():
    class Elsewhere(ForwardingStore):
        def parts(self) -> StoreParts:
            return StoreParts()

    store = Elsewhere(open_store("memory://"))
    with pytest.raises(SettingsError, match="cannot keep older code out, so originals stay"):
        enabling_of(store)


def test_in_memory_twins_of_a_store_know_of_each_other():
    store = open_store("memory://twins")
    enabling_of(store).enable_outputs()
    assert enabling_of(open_store("memory://twins")).outputs_enabled()
    assert not enabling_of(open_store("memory://")).outputs_enabled()


@pytest.mark.parametrize(("length", "sources"), [(230, 2), (242, 1)])
def test_a_source_with_too_long_a_name_to_be_merged_is_collected_alone(cli, data, length, sources):
    name = "s" * length
    SourceCoordinator(data.store, name, "me").create_partitions(["k"])
    given = (name, "--output-root", str(data.root), "--older-than", "0h", "-o", "json")
    code, out, _ = cli("outputs", "collect", *given, "--dry-run")
    assert (code, [row["source"] for row in json.loads(out)]) == (0, [name, merged_source(name)][:sources])


def test_an_index_is_written_and_told(cli, data, monkeypatch):
    """Of a dataset all of which is merged, readers meet the overlay only."""
    monkeypatch.setattr(index, "LEAST", 1)
    code, out, err = cli("outputs", "index", SOURCE, "--dataset", DATASET, "-o", "json")
    rows = json.loads(out)
    assert (code, err) == (0, "")
    assert [(row["manifests"], row["added"], row["files"]) for row in rows] == [(0, 0, 0), (1, 1, 1)]
    assert Path(rows[1]["directory"]).is_dir()
    code, out, _ = cli("outputs", "index", SOURCE, "--dataset", DATASET, "-o", "json")
    assert [row["added"] for row in json.loads(out)] == [0, 0]


def test_of_few_manifests_there_is_no_index(cli, data):
    code, out, err = cli("outputs", "index", SOURCE, "--dataset", DATASET, "-o", "json")
    assert (code, json.loads(out)) == (0, [])
    assert err.startswith(f"Dataset {DATASET} has fewer than 100 manifests below any output root")
    assert not list(data.root.rglob("_index"))
