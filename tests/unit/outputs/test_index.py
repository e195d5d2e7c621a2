"""The index of a dataset spares readers the manifests, and whatever becomes of it, they find the same rows."""

from __future__ import annotations

import gzip
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.outputs import OutputError, collect, index, published
from airflow_coordination.outputs.index import LEAST, MOST_FILES
from airflow_coordination.outputs.published import index_outputs
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.storage import read_many
from tests.upkeep import DATASET, SOURCE, Dataset, group

KEYS = [f"k{number:03}" for number in range(LEAST + 20)]


class Data(Dataset):
    """A dataset whose partitions publish one row, and then another one."""

    def publish(self, *keys, row="first", mode="replace"):
        ingest = self.ingest(max_failures=100)
        ingest.create_partitions(keys)
        for key in keys:
            if (lease := ingest.acquire_partition(key)) is None:
                ingest.people.reset(key, by="a test", why="again")
                lease = ingest.acquire_partition(key)
            append = mode == "append"
            follows = next(block for head in self.heads([key]) for block in head.blocks) if append else None
            ingest.complete(lease, [self.block(lease, [f"{key} {row}"], mode, follows)])

    def merge_all(self):
        groups = self.groups()
        groups.create_partitions([group()])
        lease = groups.acquire_partition(group())
        manifest = self.merge(lease)
        groups.complete(lease, [manifest.block("replace")])

    def index(self):
        return index_outputs(self.store, SOURCE, DATASET)

    def files(self):
        return sorted(Path(self.root, "_index").rglob("*.gz"))


@pytest.fixture
def data(tmp_path):
    found = Data(open_store("memory://"), tmp_path)
    found.publish(*KEYS)
    return found


@pytest.fixture
def opened(monkeypatch):
    """The addresses of manifests that are read."""
    found = []

    def counted(addresses):
        found.extend(addresses)
        return read_many(addresses)

    monkeypatch.setattr(published, "read_many", counted)
    return found


ALL = Counter(f"{key} first" for key in KEYS)


def test_readers_open_no_manifest_that_the_index_has(data, opened):
    assert data.rows() == ALL
    assert len(opened) == len(KEYS)
    [told] = [each for each in data.index() if each.manifests]
    assert (told.manifests, told.added, told.files) == (len(KEYS), len(KEYS), 1)
    opened.clear()
    assert data.rows() == ALL
    assert opened == []


def test_what_is_published_later_is_read_where_it_is_and_then_added(data, opened):
    data.index()
    data.publish("k000", row="second")
    data.publish("k001", row="more", mode="append")
    opened.clear()
    rows = (ALL - Counter(["k000 first"])) + Counter(["k000 second", "k001 more"])
    assert data.rows() == rows
    assert len(opened) == 2
    told = data.index()[0]
    assert (told.manifests, told.added, told.files) == (len(KEYS) + 2, 2, 2)
    opened.clear()
    assert data.rows() == rows
    assert opened == []


def test_an_index_that_is_up_to_date_stays_as_it_is(data):
    data.index()
    before = [(file, file.stat().st_mtime_ns) for file in data.files()]
    assert data.index()[0].added == 0
    assert [(file, file.stat().st_mtime_ns) for file in data.files()] == before


def test_an_index_of_many_files_is_written_anew_as_one(data):
    data.index()
    for number in range(MOST_FILES):
        data.publish("k000", row=str(number))
        data.index()
    assert len(data.files()) == 1
    data.publish(*KEYS, row="all anew")
    assert data.index()[0].manifests == len(KEYS), "what is needed no more went"
    assert data.rows() == Counter(f"{key} all anew" for key in KEYS)


def test_overlays_are_in_an_index_of_their_own(data, opened, monkeypatch):
    monkeypatch.setattr(index, "LEAST", 1)
    data.merge_all()
    told = data.index()
    assert [each.manifests for each in told] == [0, 1], "of what is merged no reader meets the original"
    opened.clear()
    assert data.rows() == ALL
    assert opened == []


@pytest.mark.parametrize(
    "broken",
    [
        lambda file: file.unlink(),
        lambda file: file.write_bytes(b"no gzip"),
        lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
        lambda file: file.write_bytes(gzip.compress(b'{"files":[]}\n' * 3)),
        lambda file: file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()).replace(b"k00", b"k11"))),
    ],
    ids=["deleted", "no gzip", "cut off", "other lines", "changed lines"],
)
def test_an_index_that_is_broken_hides_nothing_and_adds_nothing(data, broken):
    data.index()
    [file] = data.files()
    broken(file)
    assert data.rows() == ALL
    data.index()
    assert data.rows() == ALL


def test_a_storage_that_refuses_the_index_only_costs_time(data, monkeypatch):
    data.index()
    monkeypatch.setattr(index, "list_files", _refused)
    assert data.rows() == ALL
    with pytest.raises(OutputError, match="is denied"):
        data.index()


def _refused(address):
    raise OutputError("list a directory", address, "is denied", "Allow it")


def test_a_manifest_of_older_code_is_kept_as_it_was_written(data, opened, monkeypatch):
    """Its bytes are others than this code would write of it."""
    monkeypatch.setattr(index, "digest_of", lambda content, real=index.digest_of: real(content))
    written = published.Manifest.to_bytes
    monkeypatch.setattr(published.Manifest, "to_bytes", lambda manifest: written(manifest).replace(b"1", b"01"))
    data.index()
    monkeypatch.undo()
    opened_now = []
    monkeypatch.setattr(published, "read_many", lambda addresses: [*map(opened_now.append, addresses)])
    assert data.rows() == ALL
    assert opened_now == []


def test_few_manifests_are_read_without_looking_for_an_index(tmp_path, monkeypatch):
    few = Data(open_store("memory://"), tmp_path)
    few.publish(*KEYS[: LEAST - 1])
    monkeypatch.setattr(index, "list_files", _refused)
    assert sum(few.rows().values()) == LEAST - 1


def test_the_collector_leaves_the_index_and_deletes_what_only_the_index_knows_still(data):
    data.index()
    files = data.files()
    data.publish("k000", row="second")
    found = collect(data.store, SOURCE, str(data.root), older_than=timedelta(0), dry_run=False)
    assert (found.blocks, found.errors) == (1, ())
    assert data.files() == files
    assert data.rows() == (ALL - Counter(["k000 first"])) + Counter(["k000 second"])


def test_who_looks_whether_all_is_there_asks_for_the_manifests(data, opened):
    data.index()
    heads = data.heads()
    opened.clear()
    published.walks(published.starts_of(heads))
    assert len(opened) == len(KEYS)


def test_what_nobody_looks_for_is_not_written_and_its_storage_is_not_asked(tmp_path, monkeypatch):
    few = Data(open_store("memory://"), tmp_path)
    few.publish(*KEYS[: LEAST - 1])
    monkeypatch.setattr(published, "read_many", _refused)
    monkeypatch.setattr(index, "list_files", _refused)
    assert few.index() == []
    assert few.files() == []


def test_a_storage_that_does_not_answer_is_asked_once_and_not_for_each_manifest(data, opened, monkeypatch):
    monkeypatch.setattr(index, "list_files", _refused)
    opened.clear()
    with pytest.raises(OutputError, match="is denied"):
        index_outputs(data.store, SOURCE, DATASET, whole=False)
    assert opened == []
