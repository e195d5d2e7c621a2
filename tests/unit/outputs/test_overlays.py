"""Overlays: readers find the same rows with them and without, whatever partitions publish meanwhile (promise S21)."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.leases import Lease, SourceCoordinator
from airflow_coordination.outputs import Manifest, OutputError, collect
from airflow_coordination.outputs.manifests import Reference
from airflow_coordination.outputs.origins import Merged, Origin
from airflow_coordination.outputs.overlays import NONE, Overlay, Overlays, met
from airflow_coordination.outputs.published import read_overlays
from airflow_coordination.stores import open_store
from airflow_coordination.values.blocks import Block, Mode
from airflow_coordination.values.input_errors import InvalidKeyError
from tests.upkeep import DATASET, SOURCE, Dataset, group

OPEN = {"max_failures": 100}


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    return Dataset(open_store("memory://"), tmp_path)


def held(coordinator: SourceCoordinator, key: str) -> Lease:
    if coordinator.create_partitions([key]).existing:
        coordinator.people.reset(key, by="a test", why="again")
    lease = coordinator.get_next_partition()
    assert lease is not None
    assert lease.key == key
    return lease


def published(data: Dataset, key: str, rows: str, mode: Mode = "replace") -> Block:
    ingest = data.ingest(**OPEN)
    lease = held(ingest, key)
    before = [block for head in data.heads([key]) for block in head.blocks]
    block = data.block(lease, list(rows), mode, before[-1] if before and mode == "append" else None)
    ingest.complete(lease, [block])
    return block


def compacted(data: Dataset, key: str = group(), keys: list[str] | None = None) -> Manifest:
    groups = data.groups(**OPEN)
    lease = held(groups, key)
    manifest = data.merge(lease, keys)
    groups.complete(lease, [manifest.block("replace")])
    return manifest


def without_originals(data: Dataset) -> None:
    """Delete what is covered, as a collector without a margin does."""
    overlays = data.overlays()
    covered = {origin.digest for overlay in overlays.row for origin in overlay.covers}
    for path in data.root.rglob("_manifest.json"):
        found = Manifest.from_bytes(path.read_bytes(), str(path))
        if not found.merged and found.block("replace").digest in covered:
            for file in path.parent.iterdir():
                file.unlink()


def test_s21_rows_are_the_same_from_an_overlay(data: Dataset) -> None:
    published(data, "a", "12")
    published(data, "b", "3")
    published(data, "b", "4", "append")
    compacted(data)
    without_originals(data)
    assert data.rows() == Counter("1234")


def test_s21_beside_ingest_exactly_what_is_published_is_read(data: Dataset) -> None:
    for key, rows in {"a": "12", "b": "34", "c": "56", "d": "78"}.items():
        published(data, key, rows)
    compacted(data)
    published(data, "a", "x")
    published(data, "b", "y", "append")
    data.ingest().people.retract("c", by="a test", why="wrong")
    published(data, "e", "z")
    without_originals(data)
    assert data.rows() == Counter("x34y78z")
    compacted(data)
    without_originals(data)
    assert data.rows() == Counter("x34y78z")


def test_s21_until_its_ending_an_overlay_counts_for_nobody(data: Dataset) -> None:
    published(data, "a", "12")
    lease = held(data.groups(**OPEN), group())
    data.merge(lease)
    assert data.overlays().row == ()
    assert data.rows() == Counter("12")


def test_s21_an_overlay_that_lets_go_of_what_readers_meet_is_refused(data: Dataset) -> None:
    published(data, "a", "12")
    published(data, "b", "34")
    compacted(data)
    published(data, "a", "5", "append")
    lease = held(data.groups(**OPEN), group())
    with pytest.raises(OutputError, match=r"would no longer stand for a block of .*'a'.*which readers meet"):
        data.merge(lease, keys=["b"])


def test_s21_another_group_of_its_epoch_is_not_relied_on_and_one_of_a_later_epoch_is(data: Dataset) -> None:
    published(data, "a", "12")
    published(data, "b", "34")
    compacted(data)
    compacted(data, group(part=1), keys=["a"])
    groups = data.groups(**OPEN)
    lease = held(groups, group())
    with pytest.raises(OutputError, match="would no longer stand for"):
        data.merge(lease, keys=["b"])
    compacted(data, group(epoch=2), keys=["a"])
    groups.complete(lease, [data.merge(lease, keys=["b"]).block("replace")])
    without_originals(data)
    assert data.rows() == Counter("1234")


def test_s21_a_group_of_an_old_epoch_is_given_up_when_later_ones_have_everything(data: Dataset) -> None:
    published(data, "a", "12")
    published(data, "b", "34")
    compacted(data)
    compacted(data, group(epoch=2), keys=["a"])
    lease = held(data.groups(**OPEN), group())
    assert data.give_up(lease) is None
    compacted(data, group(epoch=2))
    empty = data.give_up(lease)
    assert empty is not None
    data.groups(**OPEN).complete(lease, [empty.block("replace")])
    without_originals(data)
    assert [len(overlay.covers) for overlay in data.overlays().row] == [0, 2]
    assert data.rows() == Counter("1234")


def test_readers_read_overlays_before_heads_and_those_of_earlier_epochs_first(data: Dataset) -> None:
    published(data, "a", "1")
    compacted(data, group(epoch=2))
    compacted(data, group(epoch=1))
    compacted(data, group(epoch=10))
    assert [overlay.key for overlay in data.overlays().row] == [group(epoch=1), group(epoch=2), group(epoch=10)]


def test_what_was_published_lately_is_left_out_when_asked(data: Dataset) -> None:
    published(data, "a", "1")
    before = data.store.now()
    compacted(data)
    assert read_overlays(data.store, SOURCE, DATASET, published_before=before).row == ()
    later = data.store.now().replace(year=before.year + 1)
    assert len(read_overlays(data.store, SOURCE, DATASET, published_before=later).row) == 1


def test_a_digest_of_another_partition_covers_nothing() -> None:
    overlay = Overlay("g", manifest_of(Origin("d1", "a", 1)))
    assert Overlays((overlay,)).place(Reference("x", "d1"), "b") is None


def manifest_of(*origins: Origin) -> Manifest:
    merged = Merged(covers=origins, merged_with={"sortBy": ["a"]}, chunk="2013-01-01/2013-02-01", part=3)
    return Manifest(source="~merged/s", key="g", dataset=DATASET, fence="1-x", directory="/x", merged=merged, rows=3)


def test_rows_that_count_are_those_of_the_origins_that_were_met() -> None:
    manifest = manifest_of(Origin("d1", "a", 1), Origin("d2", "b", 2))
    overlays = Overlays((Overlay("g", manifest),))
    first, second = (overlays.place(Reference("x", digest), key) for digest, key in (("d1", "a"), ("d2", "b")))
    assert first
    assert second
    assert [(each.met, each.rows_met) for each in met([second])] == [(frozenset({1}), 2)]
    assert [(each.met, each.rows_met) for each in met([first, second])] == [(None, 3)]


def test_a_manifest_keeps_what_it_stands_for() -> None:
    manifest = manifest_of(Origin("d1", "a", 1, 2, 3), Origin("d2", "b", 0, 0, 4), Origin("d1", "a"))
    assert Manifest.from_bytes(manifest.to_bytes(), "/x/_manifest.json") == manifest
    assert json.loads(manifest.to_bytes())["version"] == 4
    assert Manifest.from_bytes(manifest_of().to_bytes(), "/x/_manifest.json") == manifest_of()


@pytest.mark.parametrize(
    "odd",
    [
        {"covers": [["d", "k", -1, 0, 0]]},
        {"covers": [["d", "k", 1]]},
        {"covers": [[1, "k", 1, 0, 0]]},
        {"covers": [["d", "k", 1, 0, 0], ["e", "k", True, 0, 0]]},
        {"covers": [["d", "k", 1, 0, 0], ["e", "k", 1, 0, 0.5]]},
        {"covers": [["d", "k", 1, 0, 0], ["e", None, 1, 0, 0]]},
        {"covers": [["d", "k", 1, 0, 0, 0]]},
        {"covers": [{"d": 1}]},
        {"covers": [["d", "k", 1, 0, 0], 7]},
        {"covers": None},
        {"origin": 1},
        {"merged_with": []},
        {"part": True},
        {"chunk": None},
        {"met": [1]},
    ],
)
def test_b8_a_manifest_that_stands_for_nonsense_is_one_clear_error(odd: dict[str, object]) -> None:
    content = json.dumps(json.loads(manifest_of(Origin("d", "k", 1)).to_bytes()) | odd).encode()
    with pytest.raises(OutputError, match="is no manifest"):
        Manifest.from_bytes(content, "/x/_manifest.json")


LONGEST = "s" * 242
"""The longest name of a source that coordinators take: ``|GLOBAL_STATE`` follows it."""


@pytest.mark.parametrize(("prefix", "longest"), [(None, 237), ("p", 235), ("a|b", 231)])
def test_a_source_with_too_long_a_name_for_one_beside_it_has_no_overlays(
    data: Dataset, monkeypatch: pytest.MonkeyPatch, prefix: str | None, longest: int
) -> None:
    """Nobody can have created it, so nobody is asked."""
    asked: list[str] = []
    monkeypatch.setattr(data.store, "heads", lambda source, **_: asked.append(source) or [])
    assert read_overlays(data.store, "s" * (longest + 1), None, prefix) is NONE
    assert asked == []
    assert read_overlays(data.store, "s" * longest, None, prefix).row == ()
    assert [len(each) for each in asked] == [255]
    with pytest.raises(InvalidKeyError, match="the limit is 255"):
        read_overlays(data.store, "s" * (longest + 9), None, prefix)


def test_a_source_with_too_long_a_name_is_read_and_collected_as_before(
    data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.upkeep.SOURCE", LONGEST)
    block = published(data, "a", "1")
    data.ingest().people.reset("a", by="a test", why="again")
    published(data, "a", "2")
    assert data.rows() == Counter("2")
    found = collect(data.store, LONGEST, data.root, older_than=timedelta(0), dry_run=False, keep_originals=False)
    assert (found.blocks, found.errors) == (1, ())
    assert not (data.root / block.address).exists()
