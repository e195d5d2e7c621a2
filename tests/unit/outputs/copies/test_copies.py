"""Copies made by their worker, and read from their tier: the same rows as published, or an error that says why not."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.duties.retention.hiding import hide
from airflow_coordination.outputs.collector import collect
from airflow_coordination.outputs.copies.making import copied_file
from airflow_coordination.outputs.copies.reading import tier_manifests
from airflow_coordination.outputs.manifests import COPY, Manifest
from airflow_coordination.outputs.published import published_manifests
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.status import PartitionStatus
from tests.copying import COPIED, DAYS, Copying
from tests.upkeep import DATASET, SOURCE

MONTH = "2013-01-01/2013-01-04"


@pytest.fixture(params=["memory", "sqlite"])
def days(request, tmp_path) -> Copying:
    store = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'c.db'}")
    store.setup()
    days = Copying(store, tmp_path / "out")
    days.place(tmp_path / "hot-1", tmp_path / "hot-2", tier="hot", archive=[tmp_path / "cold"])
    days.publish(*DAYS)
    return days


def test_a_copy_gives_exactly_the_rows_that_are_published(days, tmp_path) -> None:
    key = days.ask("hot-1", MONTH)
    done = days.work()
    assert (done.completed, done.errors) == (1, ())
    assert days.rows_in("hot") == days.rows()
    assert len(days.rows()) == 6
    here = str(tmp_path / "hot-1")
    assert all(manifest.directory.startswith(here) for manifest in tier_manifests(days.store, SOURCE, DATASET, "hot"))
    [head] = days.store.heads(f"{COPIED}|PARTITION", DATASET, key)
    assert len(head.blocks) == 1
    assert head.bytes == sum(manifest.size for manifest in published_manifests(days.store, SOURCE, DATASET))
    assert (head.interval_start.isoformat()[:10], head.interval_end.isoformat()[:10]) == ("2013-01-01", "2013-01-04")


def test_files_are_copied_byte_for_byte(days, tmp_path) -> None:
    days.ask("hot-1", MONTH)
    days.work()

    def data(root: Path) -> list[tuple[str, bytes]]:
        return sorted((file.name, file.read_bytes()) for file in root.rglob("part-*"))

    assert data(tmp_path / "hot-1") == data(days.out)


def test_what_is_merged_is_copied_and_met_as_it_is_at_the_published_place(days) -> None:
    days.merge_all()
    days.publish(DAYS[1], word="new")  # so that only some origins of the overlay are met
    days.ask("hot-1", MONTH)
    days.work()
    assert days.rows_in("hot") == days.rows()
    assert sum(count for row, count in days.rows_in("hot").items() if row.startswith("new")) == 2
    assert [manifest.met for manifest in tier_manifests(days.store, SOURCE, DATASET, "hot") if manifest.merged] == [
        frozenset({0, 2})
    ]


def test_a_copy_of_originals_stays_right_when_they_are_merged(days) -> None:
    days.ask("hot-1", MONTH)
    days.work()
    days.merge_all()
    assert days.rows_in("hot") == days.rows()


def test_a_chain_is_copied_with_all_that_it_follows(days) -> None:
    ingest = days.ingest()
    [head] = days.store.heads(f"{SOURCE}|PARTITION", DATASET, DAYS[0])
    ingest.people.reset(DAYS[0], "a test", "more")
    lease = ingest.acquire_partition(DAYS[0])
    ingest.complete(lease, [days.block(lease, ["more"], "append", head.blocks[0])], interval=f"{DAYS[0]}/P1D")
    days.ask("hot-1", MONTH)
    days.work()
    assert days.rows_in("hot") == days.rows()
    assert len(days.rows()) == 7


def test_what_has_no_interval_is_in_the_chunk_of_all_times(days) -> None:
    ingest = days.ingest()
    ingest.create_partitions(["odd"])
    lease = ingest.acquire_partition("odd")
    ingest.complete(lease, [days.block(lease, ["odd"])])
    days.ask("hot-1", MONTH)
    days.work()
    with pytest.raises(OutputError, match="has no copy of partition odd"):
        days.rows_in("hot")
    days.ask("hot-1", "eternity")
    assert days.work().completed == 1
    assert days.rows_in("hot") == days.rows()


def test_readers_of_a_tier_are_told_what_is_missing_and_who_has_it(days) -> None:
    for day in DAYS:
        days.ask("cold", f"{day}/P1D")
    days.ask("hot-1", f"{DAYS[0]}/P1D")
    days.work()
    assert days.rows_in("archive") == days.rows()
    with pytest.raises(OutputError) as told:
        days.rows_in("hot")
    assert "has no copy of 2013-01-02/2013-01-03, 2013-01-03/2013-01-04" in told.value.problem
    assert "tier='archive' has all of it" in told.value.remedy
    days.publish(DAYS[2], word="new")
    with pytest.raises(OutputError) as told:
        days.rows_in("archive")
    assert told.value.problem == "has no copy of 2013-01-03/2013-01-04"
    assert "tier=" not in told.value.remedy.replace("tier=…", "")


def test_copies_in_several_locations_of_a_tier_are_read_together(days) -> None:
    for location, day in zip(("hot-1", "hot-2", "hot-1"), DAYS, strict=True):
        days.ask(location, f"{day}/P1D")
    days.work()
    assert days.rows_in("hot") == days.rows()


def test_a_tier_that_no_location_is_of_is_refused(days) -> None:
    with pytest.raises(InvalidInputError, match=r"tiers with some: archive, hot"):
        days.rows_in("cool")


def test_a_lost_location_is_named_and_its_copies_are_there_when_it_is_back(days, tmp_path) -> None:
    days.ask("hot-1", MONTH)
    days.ask("cold", MONTH)
    days.work()
    (tmp_path / "hot-1").rename(tmp_path / "away")
    with pytest.raises(OutputError) as told:
        days.rows_in("hot")
    assert "location hot-1 cannot be read" in told.value.problem
    assert "tier='archive' has all of it" in told.value.remedy
    assert sum(days.rows().values()) == 6
    (tmp_path / "away").rename(tmp_path / "hot-1")
    assert days.rows_in("hot") == days.rows()


def test_what_lies_below_the_marker_of_another_location_is_not_read(days, tmp_path) -> None:
    days.ask("hot-1", MONTH)
    days.work()
    marker = tmp_path / "hot-1" / "_location.json"
    marker.write_text(marker.read_text().replace("hot-1", "hot-9"))
    with pytest.raises(OutputError, match="says that it is another one"):
        days.rows_in("hot")


def test_nothing_is_copied_into_a_location_that_cannot_be_read(days, tmp_path) -> None:
    shutil.rmtree(tmp_path / "hot-1")
    (tmp_path / "hot-1").mkdir()
    key = days.ask("hot-1", MONTH)
    done = days.work()
    assert (done.given_up, done.completed) == (1, 0)
    assert days.copy_of(key).status is PartitionStatus.UNASSIGNED
    assert list((tmp_path / "hot-1").iterdir()) == []


def test_what_is_hidden_is_not_copied(days, tmp_path) -> None:
    parts_of(days.store).enabling.enable_branches()
    hide(days.ingest(), DATASET, f"{DAYS[0]}/P1D", "ana", "old")
    days.ask("hot-1", MONTH)
    days.work()
    assert days.rows_in("hot") == days.rows()
    assert len(days.rows()) == 4
    assert len(list((tmp_path / "hot-1").rglob("part-*"))) == 2


def test_a_copy_made_anew_takes_the_place_of_the_one_before_at_its_ending(days) -> None:
    key = days.ask("hot-1", MONTH)
    days.work()
    before = set(days.rows_in("hot"))
    days.publish(DAYS[0], word="new")
    days.copies().people.reset(key, "a test", "stale")
    with pytest.raises(OutputError):
        days.rows_in("hot")
    assert len([row for row in before if row.startswith("row")]) == 6
    days.work()
    assert days.rows_in("hot") == days.rows()


def test_the_collector_leaves_what_readers_of_a_copy_need_and_takes_the_rest(days, tmp_path) -> None:
    key = days.ask("hot-1", MONTH)
    days.work()
    root, none = tmp_path / "hot-1", timedelta(0)
    assert collect(days.store, COPIED, root, older_than=none, dry_run=False).blocks == 0
    days.copies().people.reset(key, "a test", "once more")
    days.work()
    done = collect(days.store, COPIED, root, older_than=none, dry_run=False)
    assert done.blocks == 4  # the first copy: three days and its manifest
    assert days.rows_in("hot") == days.rows()
    days.copies().people.retract(key, "a test", "not wanted")
    assert collect(days.store, COPIED, root, older_than=none, dry_run=False).blocks == 4
    assert not list(root.rglob("part-*"))
    assert sum(days.rows().values()) == 6


def test_a_file_that_was_changed_is_not_copied(days) -> None:
    file = next(days.out.rglob("part-*"))
    file.write_bytes(file.read_bytes() + b"\n")
    key = days.ask("hot-1", MONTH)
    done = days.work()
    assert (done.completed, done.failed) == (0, 1)
    assert "were published" in days.copy_of(key).last_error


def test_a_file_that_arrives_otherwise_is_refused(tmp_path, monkeypatch) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_bytes(b"rows")
    monkeypatch.setattr("airflow_coordination.outputs.copies.making._write", lambda taken, part: taken.write(b"rots"))
    with pytest.raises(OutputError, match="is not what was written there"):
        copied_file("copy", str(source), str(target), 4)


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(OutputError, match="is missing"):
        copied_file("copy", str(tmp_path / "a"), str(tmp_path / "b"), 4)


def test_the_manifest_of_a_copy_keeps_those_it_has_copied_as_they_are(days) -> None:
    key = days.ask("hot-1", MONTH)
    days.work()
    [head] = days.store.heads(f"{COPIED}|PARTITION", DATASET, key)
    address = head.blocks[0].address
    content = Path(address).read_bytes()
    manifest = Manifest.from_bytes(content, address)
    assert manifest.to_bytes() == content
    assert f'"version":{COPY}'.encode() in content
    published = {block.digest for each in days.heads() for block in each.blocks}
    assert {piece.digest for piece in manifest.copied} == published
    assert len(manifest.directories) == 4
    for odd in (b'["_block=../x-1"', b'["other"'):
        with pytest.raises(OutputError, match="is no manifest"):
            Manifest.from_bytes(content.replace(f'["{manifest.copied[0].directory}"'.encode(), odd), address)
