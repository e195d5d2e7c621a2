"""The collector beside overlays: originals go when nobody needs them, and an overlay stays while somebody does."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.outputs import Collected, OutputError, collect, published, published_manifests
from airflow_coordination.outputs.heads import pages
from airflow_coordination.outputs.manifests import Reference
from airflow_coordination.outputs.merging import gathered
from airflow_coordination.outputs.origins import Merged, Origin
from airflow_coordination.outputs.overlays import Overlay, Overlays, merged_source
from airflow_coordination.outputs.schema_compatibility import SchemaCompatibility
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from tests.unit.outputs.test_overlays import OPEN, compacted, held, manifest_of
from tests.unit.outputs.test_overlays import published as publish
from tests.upkeep import DATASET, SOURCE, Dataset, group

NOW = timedelta(0)
HOUR = timedelta(hours=1)


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    return Dataset(open_store("memory://"), tmp_path)


def run(data: Dataset, source: str = SOURCE, **told: Any) -> Collected:
    given = {"older_than": NOW, "dry_run": False, "keep_originals": False, **told}
    return collect(data.store, source, data.root, **given)


def groups(data: Dataset, **told: Any) -> Collected:
    return run(data, merged_source(SOURCE), **told)


def filled(data: Dataset) -> None:
    for key, rows in {"a": "12", "b": "34", "c": "56"}.items():
        publish(data, key, rows)


def test_originals_stay_unless_it_is_told(data: Dataset) -> None:
    filled(data)
    compacted(data)
    found = collect(data.store, SOURCE, data.root, older_than=NOW, dry_run=False)
    assert (found.blocks, found.kept, found.errors) == (0, 3, ())


def test_s21_originals_go_and_every_row_is_read(data: Dataset) -> None:
    filled(data)
    publish(data, "c", "7", "append")
    compacted(data)
    publish(data, "a", "8", "append")
    publish(data, "d", "9")
    assert run(data, dry_run=True).blocks == 4
    found = run(data)
    assert (found.blocks, found.kept, found.errors) == (4, 2, ())
    assert data.rows() == Counter("123456789")
    assert (run(data).blocks, groups(data).blocks) == (0, 0)
    compacted(data)
    assert (run(data).blocks, groups(data).blocks) == (2, 1)
    assert data.rows() == Counter("123456789")


def test_s21_what_is_not_published_lets_no_original_go(data: Dataset) -> None:
    filled(data)
    coordinator = data.groups(**OPEN)
    lease = held(coordinator, group())
    data.merge(lease)
    assert run(data).blocks == 0
    coordinator.fail(lease, "stopped", retry_after=NOW)
    assert (run(data).blocks, groups(data).blocks) == (0, 1)
    assert data.rows() == Counter("123456")


def aged(root: Path) -> None:
    for path in root.rglob("*"):
        os.utime(path, (time.time() - 7 * 24 * 3600,) * 2)


def test_s21_originals_stay_as_long_as_one_may_read_who_began_before_the_overlay(tmp_path: Path) -> None:
    clock = FakeClock(datetime.now(UTC))
    data = Dataset(open_store("memory://", clock=clock), tmp_path)
    filled(data)
    clock.advance(5 * HOUR)
    compacted(data)
    clock.advance(HOUR)
    aged(tmp_path)
    assert run(data, older_than=HOUR).blocks == 0
    clock.advance(timedelta(microseconds=1))
    assert run(data, older_than=HOUR).blocks == 3
    assert data.rows() == Counter("123456")


def test_s21_a_block_that_is_saved_and_adds_to_a_covered_one_stays(data: Dataset) -> None:
    publish(data, "a", "12")
    [head] = data.heads()
    compacted(data)
    ingest = data.ingest(**OPEN)
    lease = held(ingest, "a")
    saved = data.block(lease, ["3"], "append", head.blocks[-1])
    ingest.give_up(ingest.save_progress_state(lease, {"at": 3}, [saved]))
    assert run(data).blocks == 1
    again = ingest.get_next_partition()
    assert again is not None
    ingest.complete(again)
    assert data.rows() == Counter("123")


def test_s21_overlays_of_all_datasets_count(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever dataset it is of, and however many pages they are on."""
    monkeypatch.setattr(pages, "PAGE", 1)
    filled(data)
    for part, key in enumerate("abc"):
        compacted(data, group(part), keys=[key])
    coordinator = data.groups(**OPEN)
    lease = held(coordinator, group(7))
    attempt = data.attempt(lease)
    blocks = [written(attempt, name) for name in ("apart", DATASET, "other")]
    coordinator.complete(lease, blocks)
    seen = published.read_overlays(data.store, SOURCE, None).row
    assert [overlay.manifest.dataset for overlay in seen] == [DATASET] * 3 + ["apart", DATASET, "other"]
    assert run(data).blocks == 3
    assert data.rows() == Counter("123456")


def written(attempt: Any, dataset: str) -> Any:
    opened = attempt.open(dataset)
    Path(opened.path).mkdir(parents=True)
    return attempt.finish(opened, file_format="json", merged=Merged(covers=()), allow_empty=True)


def let_go(data: Dataset, keys: list[str]) -> Path:
    """Publish a group without rows of others that it had, as a worker that does not check; return what it had."""
    before = data.overlays().row[0].manifest.directory
    coordinator = data.groups(**OPEN)
    lease = held(coordinator, group())
    manifest = data.merged(lease, data.overlays(), data.heads(keys))
    coordinator.complete(lease, [manifest.block("replace")])
    return Path(before)


def test_s21_a_replaced_overlay_stays_while_nothing_else_has_what_readers_need(data: Dataset) -> None:
    filled(data)
    compacted(data)
    assert run(data).blocks == 3
    before = let_go(data, ["b"])
    for dry_run in (True, False):
        found = groups(data, dry_run=dry_run)
        assert (found.blocks, found.kept) == (0, 2)
        [error] = found.errors
        assert error.startswith(f"{before} stays: nothing else has the rows of ")
        assert "'a'" in error
        assert " and of 1 more, which readers do not find. Reset them" in error
    assert (before / "_manifest.json").exists()
    assert (before.parent / "_attempt.json").exists()
    with pytest.raises(OutputError, match="is missing"):
        data.rows()
    publish(data, "a", "12")
    publish(data, "c", "56")
    found = groups(data)
    assert (found.blocks, found.kept, found.errors) == (1, 1, ())
    assert not before.parent.exists()
    assert data.rows() == Counter("123456")


def test_a_replaced_overlay_goes_while_originals_are_there(data: Dataset) -> None:
    filled(data)
    compacted(data)
    let_go(data, ["b"])
    found = groups(data)
    assert (found.blocks, found.errors) == (1, ())
    assert data.rows() == Counter("123456")


def test_a_replaced_overlay_stays_for_the_partition_that_it_names_only(data: Dataset) -> None:
    """What is lost of one partition is not what an overlay has of another one, whatever digest it says."""
    filled(data)
    compacted(data)
    run(data)
    coordinator = data.groups(**OPEN)
    lease = held(coordinator, group(1))
    lost = data.heads(["a"])[0].blocks[0].digest
    attempt = data.attempt(lease)
    opened = attempt.open(DATASET)
    Path(opened.path).mkdir(parents=True)
    attempt.finish(opened, file_format="json", merged=Merged(covers=(Origin(lost, "z"),)), allow_empty=True)
    coordinator.fail(lease, "stopped", retry_after=NOW)
    let_go(data, ["b", "c"])
    found = groups(data)
    assert (found.blocks, len(found.errors)) == (1, 1)
    assert not Path(opened.path).exists()


@pytest.mark.parametrize("source", [SOURCE, merged_source(SOURCE)])
def test_nothing_goes_by_overlays_that_cannot_be_read(data: Dataset, source: str) -> None:
    filled(data)
    compacted(data, group(1), keys=["a"])
    compacted(data)
    compacted(data)
    manifest = Path(data.overlays().row[1].manifest.address)
    content = manifest.read_bytes()
    manifest.write_text("{}")
    found = run(data, source)
    assert (found.blocks, found.kept) == (0, 3)
    [error] = found.errors
    assert "was changed after it was published" in error
    manifest.write_bytes(content)
    assert run(data, source).blocks == (3 if source == SOURCE else 1)


def test_while_an_overlay_is_young_a_partition_without_originals_is_left_alone(tmp_path: Path) -> None:
    """Its walk ends nowhere by the overlays that are old enough. That is no error: readers know the young one."""
    clock = FakeClock(datetime.now(UTC))
    data = Dataset(open_store("memory://", clock=clock), tmp_path)
    publish(data, "a", "12")
    compacted(data)
    clock.advance(HOUR)
    aged(tmp_path)
    assert run(data).blocks == 1
    publish(data, "a", "3", "append")
    compacted(data)
    clock.advance(HOUR)
    aged(tmp_path)
    assert (run(data, older_than=2 * HOUR).blocks, run(data, older_than=2 * HOUR).errors) == (0, ())
    assert run(data).blocks == 1
    assert data.rows() == Counter("123")


def test_s24_who_adds_to_what_is_gone_goes_on(data: Dataset) -> None:
    publish(data, "a", "12")
    compacted(data)
    run(data)
    publish(data, "a", "3", "append")
    publish(data, "a", "4", "append")
    assert data.rows() == Counter("1234")
    publish(data, "a", "5")
    assert data.rows() == Counter("5")


def between(store: PartitionStore, source: str, happens: Callable[[], object]) -> None:
    """Let something happen after the next read of head records of a source."""
    heads = store.heads

    def reads(*given: Any, **named: Any) -> Any:
        found = heads(*given, **named)
        if given[0].startswith(source) and vars(store).pop("heads", None):
            happens()
        return found

    store.heads = reads  # type: ignore[method-assign]


def test_s21_a_reader_reads_overlays_before_head_records(data: Dataset) -> None:
    """The other way round it would follow a block that is gone, and that the later overlay does not name any more."""
    publish(data, "a", "12")
    compacted(data)
    run(data)

    def goes_on() -> None:
        publish(data, "a", "3", "append")
        compacted(data)

    between(data.store, "", goes_on)
    assert data.rows() == Counter("123")


def test_where_two_overlays_cover_a_block_the_later_epoch_has_it() -> None:
    first, second = (Overlay(name, manifest_of(Origin("d", "a", 1))) for name in ("one", "two"))
    place = Overlays((first, second)).place(Reference("x", "d"), "a")
    assert place
    assert place.overlay is second


def test_where_its_overlays_stand_for_nothing_any_more_a_dataset_is_as_before(data: Dataset) -> None:
    filled(data)
    compacted(data)
    collect(data.store, SOURCE, data.root, older_than=NOW, dry_run=False)
    let_go(data, [])
    assert groups(data).blocks == 1
    assert data.rows() == Counter("123456")
    assert all(not manifest.merged for manifest in published_manifests(data.store, SOURCE, DATASET))


def test_s24_who_adds_to_what_is_gone_writes_its_trail_without_a_word(
    data: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    """Each eighth tenure writes one: to the block behind which an overlay has the rows, or none at all."""
    for row in range(12):
        publish(data, "a", [str(row)], "append")
    compacted(data)
    assert run(data).blocks == 12
    for row in range(12, 24):
        publish(data, "a", [str(row)], "append")
    compacted(data, group(1))
    assert run(data).blocks == 12
    publish(data, "a", ["24"], "append")  # its attempt is the 25th
    trails = [len(json.loads(trail.read_text())) for trail in data.root.rglob("_trail.json")]
    assert (trails, caplog.messages) == ([], [])
    for row in range(25, 33):
        publish(data, "a", [str(row)], "append")
    assert [len(json.loads(trail.read_text())) for trail in data.root.rglob("_trail.json")] == [7]
    assert caplog.messages == []
    assert data.rows() == Counter(map(str, range(33)))


def schema_of(kind: str) -> str:
    fields = [{"name": "row", "type": kind, "nullable": True, "metadata": {}}]
    return json.dumps({"fields": fields, "type": "struct"})


def told(data: Dataset, key: str, kind: str) -> None:
    """Add a block with the schema of its rows, compared as every driver does."""
    ingest = data.ingest(**OPEN)
    lease = held(ingest, key)
    published_before = [block for head in data.heads([key]) for block in head.blocks]
    follows = Reference(published_before[-1].address, published_before[-1].digest) if published_before else None
    attempt = data.attempt(lease)
    opened = attempt.open(DATASET)
    Path(opened.path).mkdir(parents=True)
    compare = SchemaCompatibility(data.store).check
    given: dict[str, Any] = {"file_format": "json", "allow_empty": True, "schema": schema_of(kind)}
    ingest.complete(lease, [attempt.finish(opened, mode="append", follows=follows, accept=compare, **given)])


def test_s24_types_are_compared_with_those_of_an_overlay_where_originals_are_gone(
    data: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    """Of what the partition itself adds to, and of others; without a word where they fit."""
    told(data, "a", "long")
    told(data, "b", "long")
    coordinator = data.groups(**OPEN)
    lease = held(coordinator, group())
    attempt = data.attempt(lease)
    opened = attempt.open(DATASET)
    Path(opened.path).mkdir(parents=True)
    merged = Merged(covers=gathered(data.heads(), data.overlays()).origins)
    schema = schema_of("long")
    coordinator.complete(
        lease, [attempt.finish(opened, file_format="json", merged=merged, schema=schema, allow_empty=True)]
    )
    assert run(data).blocks == 2
    for key in ("b", "d"):
        with pytest.raises(OutputError, match=f"is string in partition '{key}' and long in partition 'e000001"):
            told(data, key, "string")
    told(data, "a", "integer")
    told(data, "c", "long")
    assert caplog.messages == []
