"""What readers are told of published files that are not there, or are others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_coordination.leases import Fence
from airflow_coordination.outputs import Attempt, Manifest, OutputError, attempts
from airflow_coordination.outputs.attempts import check_published
from airflow_coordination.outputs.parquet import SPARK_SCHEMA

PARTITION = "Cannot read the output of partition 'k' of source 'flights|PARTITION': "


def write(file: Path, rows: int, start: int = 0) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"n": list(range(start, start + rows))}), file)


@pytest.fixture
def manifests(tmp_path: Path) -> list[Manifest]:
    attempt = Attempt(str(tmp_path), "flights|PARTITION", "k", Fence(7, "abc"), "a store")
    found = []
    for _ in range(3):
        block = attempt.open("clean")
        for name in ("part-0.parquet", "p=1/part-1.parquet"):
            write(Path(block.path, name), 3)
        made = attempt.finish(block)
        found.append(Manifest.from_bytes(Path(made.address).read_bytes(), made.address))
    return found


def test_e1_whole_files_are_well_and_cost_one_listing_a_block(manifests, monkeypatch: pytest.MonkeyPatch) -> None:
    """E1: the cost of a look is bounded, whatever the number of files."""
    listed, footers = [], []
    for name, told in (("list_files", listed), ("read_footer", footers)):
        asked = getattr(attempts, name)
        monkeypatch.setattr(attempts, name, lambda *given, a=asked, t=told: (t.append(given), a(*given))[1])
    check_published(manifests)
    assert sorted(address for [address] in listed) == sorted(each.directory for each in manifests)
    assert footers == []
    check_published(manifests, rows=True)
    assert (len(listed), len(footers)) == (6, 6)


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (lambda file: file.unlink(), "is missing"),
        (lambda file: file.write_bytes(file.read_bytes()[:-9]), "bytes, and {} were published"),
        (lambda file: write(file, 9), "bytes, and {} were published"),
    ],
)
def test_e1_files_that_are_gone_cut_or_replaced_are_named(manifests: list[Manifest], harm, problem: str) -> None:
    """E1: readers never looked at the published files."""
    file = Path(manifests[1].directory, "p=1/part-1.parquet")
    size = file.stat().st_size
    harm(file)
    with pytest.raises(OutputError) as caught:
        check_published(manifests)
    assert str(caught.value).startswith(f"{PARTITION}{file} ")
    assert problem.format(size) in str(caught.value)


def resized(manifest: Manifest, name: str, size: int) -> Manifest:
    files = tuple(replace(each, size=size) if each.path == name else each for each in manifest.files)
    return replace(manifest, files=files)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (pa.table({"n": [1, 2]}), "has 2 rows, and 3 were published"),
        (pa.table({"n": [1, 2, 3]}).replace_schema_metadata({SPARK_SCHEMA: "other"}), "has other columns"),
        (None, "does not end as a Parquet file does"),
    ],
)
def test_e1_what_has_the_published_size_is_told_by_its_footer_on_request(
    manifests: list[Manifest], table: pa.Table | None, problem: str
) -> None:
    """E1: sizes are compared always, rows and columns where somebody asks."""
    file = Path(manifests[0].directory, "part-0.parquet")
    if table is None:
        file.write_bytes(b"x" * file.stat().st_size)
    else:
        pq.write_table(table, file)
    published = [resized(manifests[0], "part-0.parquet", file.stat().st_size), *manifests[1:]]
    check_published(published)
    with pytest.raises(OutputError, match=problem) as caught:
        check_published(published, rows=True)
    assert str(caught.value).startswith(f"{PARTITION}{file} ")
