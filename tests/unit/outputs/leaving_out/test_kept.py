"""Least and greatest values beside the index: kept by the digest of a manifest, and believed nowhere else."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_coordination.leases import InvalidInputError
from airflow_coordination.outputs import index_outputs, published_manifests
from airflow_coordination.outputs.index import LEAST, put
from airflow_coordination.outputs.leaving_out import kept
from airflow_coordination.outputs.leaving_out.conditions import Condition
from airflow_coordination.outputs.leaving_out.extremes import Extremes
from airflow_coordination.outputs.leaving_out.kept import chosen
from airflow_coordination.outputs.manifests import Reference, digest_of
from airflow_coordination.outputs.origins import Merged
from airflow_coordination.spark import explain_completed
from airflow_coordination.stores import open_store
from tests.upkeep import DATASET, SOURCE, Dataset

PARTITIONS = LEAST + 20
IDENTIFIER = "flights|PARTITION"


class Data(Dataset):
    """A dataset whose partitions publish two files of ten numbers each."""

    def publish(self, number: int, first: int | None = None, file_format: str = "parquet") -> None:
        ingest, key = self.ingest(max_failures=100), f"k{number:03}"
        ingest.create_partitions([key])
        if (lease := ingest.acquire_partition(key)) is None:
            ingest.people.reset(key, by="a test", why="again")
            lease = ingest.acquire_partition(key)
        attempt = self.attempt(lease)
        block = attempt.open(DATASET)
        Path(block.path).mkdir(parents=True)
        first = number * 20 if first is None else first
        for part in range(2):
            ids = pa.array(range(first + 10 * part, first + 10 * part + 10), pa.int64())
            pq.write_table(pa.table({"id": ids, "x": [0.5] * 10}), Path(block.path, f"part-{part}.parquet"))
        ingest.complete(lease, [attempt.finish(block, file_format=file_format)])

    def index(self, **how: Any) -> None:
        index_outputs(self.store, SOURCE, DATASET, **how)

    def explained(self, *pair: int | None, column: str = "id") -> tuple[int, int, int]:
        """Return how many files are read, left out and unknown."""
        found = explain_completed(store=self.store, source=SOURCE, dataset=DATASET, where={column: pair})
        assert found.files == found.read + found.left_out
        return found.read, found.left_out, found.unknown

    def excluded(self, least: int, greatest: int) -> set[str]:
        condition = Condition.of({"id": (least, greatest)})
        assert condition is not None
        manifests = published_manifests(self.store, SOURCE, DATASET)
        return chosen(IDENTIFIER, DATASET, manifests, condition).excluded

    def kept(self) -> list[Path]:
        return sorted(Path(self.root, "_index").rglob(f"*{kept.SUFFIX}"))


ALL = 2 * PARTITIONS


@pytest.fixture
def data(tmp_path: Path) -> Data:
    found = Data(open_store("memory://"), tmp_path)
    for number in range(PARTITIONS):
        found.publish(number)
    return found


@pytest.fixture
def footers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses of files whose footers were read."""
    found: list[str] = []
    read = kept.read_extremes

    def noted(address: str, size: int) -> Any:
        found.append(address)
        return read(address, size)

    monkeypatch.setattr(kept, "read_extremes", noted)
    return found


def test_without_an_index_everything_is_read(data: Data) -> None:
    assert data.explained(5, 5) == (ALL, 0, ALL)


def test_files_whose_values_are_outside_are_left_out(data: Data) -> None:
    data.index()
    assert data.explained(5, 5) == (1, ALL - 1, 0)
    assert data.explained(15, 25) == (3 - 1, ALL - 2, 0)
    assert data.explained(None, 39) == (4, ALL - 4, 0)
    assert data.explained(-5, None) == (ALL, 0, 0)
    assert len(data.excluded(5, 5)) == ALL - 1


def test_a_file_of_each_kind_is_read_though_none_matches(data: Data) -> None:
    """Or the rows would lack its columns."""
    data.index()
    assert data.explained(-5, -1) == (1, ALL - 1, 0)
    assert len(data.excluded(-5, -1)) == ALL


def test_columns_of_which_nothing_is_known_leave_nothing_out(data: Data) -> None:
    data.index()
    for column in ("x", "ID", "none"):
        assert data.explained(10**9, None, column=column) == (ALL, 0, ALL)


def test_footers_are_read_once(data: Data, footers: list[str]) -> None:
    data.index()
    assert len(set(footers)) == len(footers) == ALL
    footers.clear()
    data.index()
    assert footers == []
    data.publish(PARTITIONS)
    data.index(whole=False)
    assert len(footers) == 2
    assert data.explained(20 * PARTITIONS, None) == (2, ALL, 0)


def test_what_is_published_later_is_read_until_it_is_indexed(data: Data) -> None:
    data.index()
    data.publish(7, first=1_000_000)
    assert data.explained(1_000_005, 1_000_005) == (2, ALL - 2, 2)
    data.index()
    assert data.explained(1_000_005, 1_000_005) == (1, ALL - 1, 0)
    assert data.explained(7 * 20, 7 * 20 + 19) == (1, ALL - 1, 0), "what was replaced is not published any more"


def test_what_an_index_of_before_lacks_comes_with_the_next_whole_look(data: Data) -> None:
    data.index()
    for file in data.kept():
        file.unlink()
    data.index(whole=False)
    assert data.explained(5, 5) == (ALL, 0, ALL), "only what is new was looked at"
    data.index()
    assert data.explained(5, 5) == (1, ALL - 1, 0)


def test_what_is_needed_no_more_goes(data: Data) -> None:
    data.index()
    for number in range(PARTITIONS):
        data.publish(number, first=1_000 * number)
    data.index()
    lines = [json.loads(line) for file in data.kept() for line in gzip.decompress(file.read_bytes()).splitlines()]
    now = {block.digest for head in data.head_records() for block in head.blocks}
    assert {line["manifest"] for line in lines} == now


def rewritten(file: Path, change: Any) -> None:
    """Put other lines into a file of values, under the name that they then have."""
    lines = [change(json.loads(line)) for line in gzip.decompress(file.read_bytes()).splitlines()]
    file.unlink()
    put(str(file.parent), [json.dumps(line).encode() for line in lines], kept.SUFFIX)


def test_values_of_another_manifest_are_never_believed(data: Data) -> None:
    """Of a block that was replaced, with files of the same names: its digest is another one."""
    data.index()
    [before] = data.kept()
    content = before.read_bytes()
    data.publish(0, first=500_000)
    data.index()
    for file in data.kept():
        file.unlink()
    before.write_bytes(content)
    assert data.explained(500_000, 500_000) == (2, ALL - 2, 2)


@pytest.mark.parametrize(
    "change",
    [
        lambda line: {**line, "manifest": "0" * 64},
        lambda line: {**line, "manifest": 7},
        lambda line: {**line, "files": {f"other-{path}": each for path, each in line["files"].items()}},
        lambda line: {**line, "files": {path: {"id": ["whole", 5]} for path in line["files"]}},
        lambda line: {**line, "files": {path: {"id": ["whole", "5", "6"]} for path in line["files"]}},
        lambda line: {**line, "files": {path: ["id"] for path in line["files"]}},
        lambda line: {**line, "files": []},
        lambda line: ["manifest"],
        lambda line: {},
    ],
)
def test_lines_that_say_something_else_leave_nothing_out(data: Data, change: Any) -> None:
    data.index()
    [file] = data.kept()
    rewritten(file, change)
    assert data.explained(10**9, None) == (ALL, 0, ALL)


def test_a_file_that_was_changed_or_cut_off_is_not_read(data: Data) -> None:
    """Its name has the digest of what was written."""
    data.index()
    [file] = data.kept()
    content = file.read_bytes()
    lines = gzip.decompress(content).replace(b'["whole",0,9]', b'["whole",7,9]')
    for broken in (content[: len(content) // 2], b"", gzip.compress(lines)):
        file.write_bytes(broken)
        assert data.explained(5, 5) == (ALL, 0, ALL)
    file.write_bytes(content)
    assert data.explained(5, 5) == (1, ALL - 1, 0)


def test_a_file_that_is_gone_before_it_is_looked_at_is_read(data: Data) -> None:
    """The reader says then what is missing."""
    gone = Path(published_manifests(data.store, SOURCE, DATASET)[3].directory, "part-1.parquet")
    gone.unlink()
    data.index()
    assert data.explained(10**9, None) == (1, ALL - 1, 1)
    assert str(gone) not in data.excluded(10**9, 10**9)


def test_a_chain_is_known_link_by_link(data: Data) -> None:
    ingest = data.ingest()
    head = next(each for each in data.head_records() if each.key == "k000")
    [block] = head.blocks
    ingest.people.reset("k000", by="a test", why="again")
    lease = ingest.acquire_partition("k000")
    assert lease is not None
    attempt = data.attempt(lease)
    opened = attempt.open(DATASET)
    Path(opened.path).mkdir(parents=True)
    pq.write_table(pa.table({"id": [900_000], "x": [0.5]}), Path(opened.path, "more.parquet"))
    more = attempt.finish(opened, mode="append", follows=Reference(block.address, block.digest))
    ingest.complete(lease, [more])
    data.index()
    assert data.explained(900_000, None) == (1, ALL, 0)
    assert data.explained(5, 5) == (1, ALL, 0)


def test_a_column_that_is_in_directories_does_not_count_in_files(data: Data) -> None:
    """A reader takes what the directory says."""
    ingest = data.ingest()
    ingest.create_partitions(["z"])
    lease = ingest.acquire_partition("z")
    assert lease is not None
    attempt = data.attempt(lease)
    block = attempt.open(DATASET)
    place = Path(block.path, "ID=777777")
    place.mkdir(parents=True)
    pq.write_table(pa.table({"id": pa.array([1], pa.int64()), "x": [0.5]}), place / "part-0.parquet")
    ingest.complete(lease, [attempt.finish(block)])
    data.index()
    assert str(place / "part-0.parquet") not in data.excluded(777_777, 777_777)
    assert len(data.excluded(777_777, 777_777)) == ALL


def test_files_of_overlays_and_of_unknown_schemas_are_read(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is said of them."""
    data.index()
    condition = Condition.of({"id": (10**9, None)})
    assert condition is not None
    plain = published_manifests(data.store, SOURCE, DATASET)
    known = {key: {"id": Extremes("whole", 0, 1)} for key in (file.path for file in plain[0].files)}
    untold = replace(plain[0], files=tuple(replace(file, schema=None) for file in plain[0].files))
    overlay = replace(plain[0], merged=Merged(covers=()))
    for manifest, number in ((plain[0], 2), (untold, 0), (overlay, 0), (replace(plain[0], format="json"), 0)):
        known_of = {digest_of(manifest.to_bytes()): known}
        monkeypatch.setattr(kept, "kept_values", lambda *_, values=known_of: values)
        assert len(chosen(IDENTIFIER, DATASET, [manifest], condition).excluded) == number


def test_it_refuses_what_is_no_range(data: Data) -> None:
    with pytest.raises(InvalidInputError, match="is no pair"):
        explain_completed(store=data.store, source=SOURCE, dataset=DATASET, where={"id": 7})  # type: ignore[dict-item]
