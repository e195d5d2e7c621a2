"""Blocks on a file system: what becomes part of one, what its manifest says, what readers are told."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_coordination.leases import (
    Fence,
    InvalidInputError,
    InvalidKeyError,
    PartitionIdentifier,
    SourceCoordinator,
)
from airflow_coordination.outputs import Attempt, Block, Manifest, OutputError, Reference, published_manifests
from airflow_coordination.outputs.formats import TextOptions
from airflow_coordination.outputs.layout import partition_directory
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.storage import delete, list_files, normal_root, write_bytes

SOURCE = "flights|PARTITION"
HOSTILE = ["../../etc/passwd", "a" * 2048, "x/y\\z", "{{ conn.x.password }}", "‮gnp", "ä ö?*[", ".", "k=v", "<script>"]


def write(path: str, rows: int, name: str = "part-0.parquet") -> None:
    file = Path(path) / name
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"n": list(range(rows))}), file)


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    return Attempt(str(tmp_path), SOURCE, "2013-01", Fence(7, "abc"), "a store")


@pytest.fixture
def coordinator() -> SourceCoordinator:
    return SourceCoordinator(open_store("memory://"), source="flights", owner="a test")


def finished(attempt: Attempt, rows: int, **more: object) -> Block:
    block = attempt.open("clean")
    write(block.path, rows)
    return attempt.finish(block, **more)


def test_a_block_counts_rows_and_bytes_of_its_data_files_only(attempt: Attempt) -> None:
    block = attempt.open("clean")
    write(block.path, 3)
    write(block.path, 4, "year=2013/month=a%2Fb/part-1.parquet")
    for name in ("_SUCCESS", ".part-0.parquet.crc", "_temporary/0/part-9.parquet", "year=2013/_x/part-3.parquet"):
        (Path(block.path) / name).parent.mkdir(parents=True, exist_ok=True)
        (Path(block.path) / name).write_bytes(b"no data")
    made = attempt.finish(block)
    sizes = [file.stat().st_size for file in Path(block.path).rglob("part-[01].parquet")]
    assert (made.rows, made.bytes) == (7, sum(sizes))
    assert len(sizes) == 2


def test_e13_a_block_without_files_is_refused_where_spark_writes_one(attempt: Attempt) -> None:
    """E13: what was meant for it lies somewhere else, and the partition would be COMPLETED without its rows."""
    block = attempt.open("clean")
    write(block.path + "x", 3)
    with pytest.raises(OutputError) as caught:
        attempt.finish(block)
    assert str(caught.value) == (
        f"Cannot publish 'clean' of partition '2013-01' of source 'flights|PARTITION': {block.path} has no file, "
        "although Spark writes one of parquet even for no rows; it may be somewhere else. Write to block.path, or say "
        "lease.publish(…, allow_empty=True) where there may be nothing to write"
    )
    made = attempt.finish(block, allow_empty=True)
    assert (made.rows, made.bytes) == (0, 0)


@pytest.mark.parametrize(
    ("name", "file_format"), [("_a.parquet", "parquet"), ("p=1/.a.snappy.parquet", "parquet"), ("_a.txt.gz", "text")]
)
def test_e13_rows_in_files_that_readers_take_for_hidden(
    attempt: Attempt, caplog: pytest.LogCaptureFixture, name: str, file_format: str
) -> None:
    """E13: a file that another library wrote; the partition was COMPLETED without its rows."""
    block = attempt.open("clean")
    write(block.path, 3, name)
    Path(block.path, "_SUCCESS").touch()
    with pytest.raises(OutputError) as caught:
        attempt.finish(block, file_format=file_format)
    assert f"has no file but {name!r}, and what begins with _ or . is hidden from readers" in str(caught.value)
    write(block.path, 3, "part-0.parquet")
    attempt.finish(block, file_format=file_format)
    assert f"has {name!r}, which readers take for hidden" in caplog.text


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"a": {"b": {"c": {"d": 1}}}}, "would have a manifest that nobody can read: it is no manifest"),
        ({"a": float("nan")}, "would have a manifest that cannot be written (Out of range float"),
        ({"a": {1}}, "would have a manifest that cannot be written (Object of type set"),
    ],
)
def test_b8_a_manifest_that_nobody_could_read_is_not_written(attempt: Attempt, options: Any, problem: str) -> None:
    """B8: what readers refuse was published all the same, and then the whole dataset could not be read."""
    block = attempt.open("clean")
    write(block.path, 3)
    with pytest.raises(OutputError) as caught:
        attempt.finish(block, options=TextOptions(reading=options))
    assert problem in str(caught.value)
    assert not Path(block.path, "_manifest.json").exists()


@pytest.mark.parametrize(
    ("options", "file_format", "problem"),
    [
        ({"url": "jdbc:derby:x;create=true"}, "jdbc", "format='jdbc' is not a format readers know"),
        ({}, "org.apache.spark.sql.execution.datasources.v2.jdbc", "format="),
        ({"path": "/etc/passwd"}, "text", "options='path' is no option that readers of text know"),
        ({"__paths__": '["/etc/passwd"]'}, "json", "options='__paths__' is no option"),
        ({"fs.s3a.endpoint": "http://elsewhere"}, "csv", "options='fs.s3a.endpoint' is no option"),
        ({"pathGlobFilter": "x*"}, "csv", "options='pathGlobFilter' is no option"),
        ({"avroSchemaUrl": "http://elsewhere"}, "avro", "options='avroSchemaUrl' is no option"),
        ({"ignoreMissingFiles": "true"}, "csv", "options='ignoreMissingFiles' is no option"),
        ({"header": ["true"]}, "csv", "options=['true'] is no value of the option 'header'"),
    ],
)
def test_d9_a_manifest_asks_a_readers_spark_for_nothing_but_how_text_is_understood(
    attempt: Attempt, options: Any, file_format: str, problem: str
) -> None:
    """D9: the reader opened JDBC, made a database on its disk, and returned what was in it as published rows."""
    made = finished(attempt, 3)
    fields = json.loads(Path(made.address).read_bytes()) | {"format": file_format, "options": options}
    with pytest.raises(OutputError) as caught:
        Manifest.from_bytes(json.dumps(fields).encode(), made.address)
    assert f"asks for what is not read here: {problem}" in str(caught.value)
    block = attempt.open("clean")
    write(block.path, 3)
    with pytest.raises(OutputError, match="would have a manifest that nobody can read: it asks for what is not read"):
        attempt.finish(block, options=TextOptions(reading=options), file_format=file_format)


UDT = {"type": "udt", "class": "a.B", "pyClass": "os.path.join", "serializedClass": "gASV", "sqlType": "long"}
VECTOR = {"class": "org.apache.spark.ml.linalg.VectorUDT", "pyClass": "pyspark.ml.linalg.VectorUDT"}


@pytest.mark.parametrize(
    "kind",
    [
        UDT,
        {"type": "array", "elementType": UDT, "containsNull": True},
        {"type": "map", "keyType": "string", "valueType": UDT},
        {"type": "struct", "fields": [{"name": "x", "type": UDT, "nullable": True, "metadata": {}}]},
        {**UDT, **VECTOR},
        {"type": "udt", "class": "a.B", "pyClass": VECTOR["pyClass"]},
    ],
)
def test_d9_a_schema_brings_no_class_along(attempt: Attempt, kind: Any) -> None:
    """D9: pyspark unpickles the class of a type, and the JVM makes one of any name, as soon as a schema is read."""
    made = finished(attempt, 3)
    schema = {"type": "struct", "fields": [{"name": "n", "type": kind, "nullable": True, "metadata": {}}]}
    fields = json.loads(Path(made.address).read_bytes())
    for field in ({"version": 2, "schema": json.dumps(schema)}, {"schemas": [json.dumps(schema)]}):
        with pytest.raises(OutputError, match="a schema has a type of a class that is not Spark's own"):
            Manifest.from_bytes(json.dumps(fields | field).encode(), made.address)


def test_d9_sparks_own_classes_are_read(attempt: Attempt) -> None:
    """D9: vectors of Spark's machine learning are types with classes that every Spark has."""
    made = finished(attempt, 3)
    kind = {"type": "udt", **VECTOR, "sqlType": {"type": "struct", "fields": []}}
    schema = json.dumps({"type": "struct", "fields": [{"name": "n", "type": kind, "nullable": True, "metadata": {}}]})
    fields = json.loads(Path(made.address).read_bytes()) | {"version": 2, "schema": schema}
    assert Manifest.from_bytes(json.dumps(fields).encode(), made.address).schema == schema


@pytest.mark.parametrize(
    "change",
    [
        {"rows": "3"},
        {"rows": True},
        {"rows": -1},
        {"key": 7},
        {"fence": None},
        {"files": [["part-0.parquet", "9", 3, 0]]},
        {"files": [["part-0.parquet", 9, 3, -1]]},
        {"files": [[7, 9, 3, 0]]},
        {"follows": [1, 2]},
        {"schemas": ["[]"]},
        {"schemas": ['{"type": "struct"}']},
        {"schemas": ['{"type": "struct", "fields": [{"name": "x", "type": {"type": "set"}}]}']},
        {"schemas": ["{" * 10_000]},
        {"schemas": 7},
        {"options": "header"},
        {"unknown": 1},
    ],
)
def test_d9_every_value_of_a_manifest_has_its_type(attempt: Attempt, change: dict[str, Any]) -> None:
    """D9: an error of ours that names the manifest, never a raw one, and never a guess."""
    made = finished(attempt, 3)
    fields = json.loads(Path(made.address).read_bytes()) | change
    with pytest.raises(OutputError, match=r"Cannot read a manifest: .*/_manifest\.json "):
        Manifest.from_bytes(json.dumps(fields).encode(), made.address)


def test_b8_a_file_whose_name_is_no_text_is_refused(attempt: Attempt) -> None:
    """B8: Spark cannot open it, so that the dataset could not be read."""
    block = attempt.open("clean")
    write(block.path, 3)
    os.rename(Path(block.path, "part-0.parquet"), os.fsencode(block.path) + b"/\xff.parquet")
    with pytest.raises(OutputError, match=r"\\udcff.parquet has a name that is not UTF-8"):
        attempt.finish(block)


@pytest.mark.parametrize("dataset", [None, "", 7])
def test_b8_a_dataset_that_is_none_is_not_all_of_them(dataset: Any) -> None:
    """B8: ``None`` read all datasets as if they were one."""
    with pytest.raises(InvalidKeyError, match="dataset="):
        published_manifests(open_store("memory://"), "flights", dataset)


def test_e13_what_a_job_left_before_its_end_is_no_output(attempt: Attempt) -> None:
    """E13: a write that was never committed leaves its working directory; that is no sign of a write of no rows."""
    block = attempt.open("clean")
    write(block.path, 3, "_temporary/0/part-0.parquet")
    with pytest.raises(OutputError, match="has no file, although Spark writes one of parquet even for no rows"):
        attempt.finish(block)


@pytest.mark.parametrize(("file_format", "trace"), [("csv", None), ("json", None), ("parquet", "_SUCCESS")])
def test_e13_a_block_without_files_is_warned_about(
    attempt: Attempt, caplog: pytest.LogCaptureFixture, file_format: str, trace: str | None
) -> None:
    """E13: no rows may leave no file: in some formats, and where a write by partition columns found none."""
    block = attempt.open("clean")
    if trace:
        Path(block.path).mkdir()
        Path(block.path, trace).touch()
    assert attempt.finish(block, file_format=file_format).rows == 0
    assert f"{block.path} has no data file, so no rows are published" in caplog.text


@pytest.mark.parametrize(
    ("meddle", "problem"),
    [
        (lambda path: (path / "part-0.parquet").unlink(), "part-0.parquet is gone since its with-block was left"),
        (lambda path: (path / "part-0.parquet").write_bytes(b"PAR1"), "part-0.parquet has 4 bytes, not "),
        (lambda path: (path / "_manifest.json").unlink(), "_manifest.json is gone since"),
        (lambda path: (path / "_manifest.json").write_text("{}"), "_manifest.json has another content since"),
    ],
)
def test_e13_what_changes_after_the_with_block_is_found(attempt: Attempt, meddle, problem: str) -> None:
    """E13: a dataset that cannot be read any more must not be published."""
    finished(attempt, 3)
    block = finished(attempt, 3)
    write(str(Path(block.address).parent), 3, "part-late.parquet")
    attempt.check()
    meddle(Path(block.address).parent)
    with pytest.raises(OutputError) as caught:
        attempt.check()
    assert problem in str(caught.value)
    assert "Write to block.path inside its with-block only" in str(caught.value)


def test_e13_a_chain_of_storages_is_no_output_root() -> None:
    """E13: with ``::`` fsspec would write elsewhere than Spark."""
    with pytest.raises(InvalidInputError, match=r'output_root=.*holds "::", with which fsspec chains storages'):
        normal_root("simplecache::s3a://bucket/out")


@pytest.mark.parametrize("name", ["a::b", "file::x", "*", "[a]"])
def test_e13_a_local_root_is_taken_literally(tmp_path: Path, name: str) -> None:
    """E13: files were looked for below another root than the one that was written to."""
    attempt = Attempt(normal_root(tmp_path / name), SOURCE, "k", Fence(1, "n"), "a store")
    assert finished(attempt, 3).rows == 3
    (tmp_path / "b").mkdir()
    (tmp_path / "a").mkdir()
    delete(str(tmp_path / name))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_e1_deleting_in_an_object_store_takes_no_address_for_a_pattern() -> None:
    """E1: beside Spark, fsspec's own ``rm`` looks for patterns, too."""
    for name in ("out[ab]", "outa", "outb"):
        write_bytes(f"memory://bucket/{name}/x", b"x")
    delete("memory://bucket/out[ab]")
    assert [len(list_files(f"memory://bucket/{name}")) for name in ("out[ab]", "outa", "outb")] == [0, 1, 1]


def test_files_of_another_format_are_refused_with_the_remedy(attempt: Attempt) -> None:
    block = attempt.open("clean")
    Path(block.path).mkdir(parents=True)
    (Path(block.path) / "part-0.csv").write_text("n\n1\n")
    with pytest.raises(OutputError) as caught:
        attempt.finish(block)
    assert "part-0.csv does not end as a Parquet file does" in str(caught.value)
    assert "publish(…, format=…)" in str(caught.value)


def test_a_footer_longer_than_the_first_read_is_understood(attempt: Attempt) -> None:
    block = attempt.open("clean")
    Path(block.path).mkdir(parents=True)
    wide = pa.table({f"a_rather_long_column_name_{i:05}": [1.5, 2.5] for i in range(2_000)})
    pq.write_table(wide, Path(block.path) / "part-0.parquet")
    assert attempt.finish(block).rows == 2


@pytest.mark.parametrize("key", HOSTILE)
def test_x5_keys_never_become_paths(tmp_path: Path, key: str) -> None:
    root = tmp_path / "out"
    attempt = Attempt(str(root), SOURCE, key, Fence(1, "n"), "a store")
    finished(attempt, 1)
    written = [path.relative_to(tmp_path) for path in tmp_path.rglob("*.parquet")]
    assert len(written) == 1
    assert written[0].parts[:2] == ("out", "_attempts")
    assert len(written[0].parts) == 6
    assert all(part.isascii() and len(part) < 120 for part in written[0].parts)


def test_different_partitions_never_share_a_directory(tmp_path: Path) -> None:
    pairs = [("a|b", "c"), ("a", "b|c"), ("a", "b"), ("a", "b "), ("a", "B"), ("a", "../b"), ("a|", "b"), ("a", "|b")]
    assert len({Attempt(str(tmp_path), *pair, Fence(1, "n"), "a store", "process").directory for pair in pairs}) == len(
        pairs
    )


def test_s12_two_processes_under_one_fence_have_directories_of_their_own(tmp_path: Path) -> None:
    first, second = (Attempt(str(tmp_path), SOURCE, "k", Fence(1, "n"), "a store") for _ in range(2))
    assert first.directory != second.directory


@pytest.mark.parametrize("dataset", ["", "nul\x00", "x" * 256])
def test_dataset_names_that_no_store_can_hold_are_refused(attempt: Attempt, dataset: str) -> None:
    with pytest.raises(InvalidKeyError, match="dataset="):
        attempt.open(dataset)


def test_readers_follow_a_chain_from_its_newest_block(attempt: Attempt, coordinator: SourceCoordinator) -> None:
    lease = taken(coordinator)
    first = finished(attempt, 3)
    lease = coordinator.save_progress_state(lease, {"done": 1}, [first])
    second = finished(attempt, 4, follows=Reference(first.address, first.digest))
    third = finished(attempt, 5, follows=Reference(second.address, second.digest))
    coordinator.complete(lease, [second, third])
    [head] = coordinator.store.heads(SOURCE)
    assert [(block.digest, block.rows) for block in head.blocks] == [(third.digest, 12)]
    assert [m.rows for m in published_manifests(coordinator.store, "flights", "clean")] == [3, 4, 5]


def test_s12_blocks_that_two_others_follow_are_read_once(attempt: Attempt, coordinator: SourceCoordinator) -> None:
    lease = taken(coordinator)
    first = finished(attempt, 3)
    followers = [finished(attempt, n, follows=Reference(first.address, first.digest)) for n in (1, 2)]
    coordinator.complete(lease, followers)
    assert sorted(m.rows for m in published_manifests(coordinator.store, "flights", "clean")) == [1, 2, 3]


def test_a_missing_manifest_names_partition_file_and_remedy(attempt: Attempt, coordinator: SourceCoordinator) -> None:
    block = finished(attempt, 1)
    coordinator.complete(taken(coordinator), [block])
    Path(block.address).unlink()
    with pytest.raises(OutputError) as caught:
        published_manifests(coordinator.store, "flights", "clean")
    assert str(caught.value) == (
        f"Cannot read the output of partition '2013-01' of source 'flights|PARTITION': {block.address} is missing. "
        "Restore the file from a backup, or reset the partition to produce its output again"
    )


def test_s12_a_changed_manifest_is_refused(attempt: Attempt, coordinator: SourceCoordinator) -> None:
    block = finished(attempt, 1)
    coordinator.complete(taken(coordinator), [block])
    fields = json.loads(Path(block.address).read_bytes())
    Path(block.address).write_text(json.dumps(fields | {"files": []}))
    with pytest.raises(OutputError, match="was changed after it was published"):
        published_manifests(coordinator.store, "flights", "clean")


def test_more_partitions_than_a_page_are_all_read(tmp_path: Path, coordinator: SourceCoordinator) -> None:
    keys = [f"p{i:04}" for i in range(1_003)]
    coordinator.create_partitions(PartitionIdentifier(key) for key in keys)
    while lease := coordinator.get_next_partition():
        attempt = Attempt(str(tmp_path), SOURCE, lease.key, lease.fence, coordinator.store.store_id)
        coordinator.complete(lease, [attempt.finish(attempt.open("clean"), allow_empty=True)])
    assert [m.key for m in published_manifests(coordinator.store, "flights", "clean")] == keys


def test_blocks_work_in_an_object_store(coordinator: SourceCoordinator) -> None:
    attempt = Attempt(normal_root("memory://bucket/out/"), SOURCE, "2013-01", Fence(1, "n"), "a store")
    coordinator.complete(taken(coordinator), [attempt.finish(attempt.open("clean"), allow_empty=True)])
    [manifest] = published_manifests(coordinator.store, "flights", "clean")
    assert manifest.directory.startswith("memory://bucket/out/_attempts/")


def test_roots_become_absolute() -> None:
    assert normal_root("file:///data/out/") == "/data/out"
    assert normal_root(Path("/data//out")) == "/data/out"
    assert normal_root("s3a://bucket/out/") == normal_root("s3a://bucket//a/.././out//") == "s3a://bucket/out"
    assert normal_root("s3a://bucket") == normal_root("s3a://bucket//") == "s3a://bucket"
    assert normal_root("hdfs:///data/out") == "hdfs:///data/out"
    assert Path(normal_root("out")).is_absolute()


def taken(coordinator: SourceCoordinator):
    coordinator.create_partitions(["2013-01"])
    lease = coordinator.get_next_partition()
    assert lease is not None
    return lease


def tampered(attempt: Attempt, coordinator: SourceCoordinator, **changes: object) -> None:
    """Publish a block whose manifest says something else, digest and all, as a hostile driver could."""
    coordinator.create_partitions(["2013-01"])
    lease = taken(coordinator)
    block = finished(attempt, 2)
    manifest = Path(block.address)
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | changes))
    digest = hashlib.sha256(manifest.read_bytes()).hexdigest()
    coordinator.complete(lease, [replace(block, digest=digest)])


@pytest.mark.parametrize(
    "path", ["../../../../etc/passwd", "/etc/passwd", "a/../../x", "a//x", "./x", "..", "", "year=1/./x"]
)
def test_b8_a_manifest_names_files_below_its_own_directory_only(
    attempt: Attempt, coordinator: SourceCoordinator, path: str
) -> None:
    """B8: a reader would have been led to any file that it may read."""
    tampered(attempt, coordinator, files=[[path, 1, 1, 0]])
    with pytest.raises(OutputError, match="names a file outside its own directory: "):
        published_manifests(coordinator.store, "flights", "clean")


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "/etc/_manifest.json",
        "{root}/_attempts/{other}/_attempt=1-n-p/_block=clean-1/_manifest.json",
        "{root}/_attempts/{own}/_attempt=1-n-p/_block=clean-1/x.json",
        "{root}/../_attempts/{own}/_attempt=1-n-p/_block=clean-1/_manifest.json",
        "{root}/_attempts/{own}/../_attempt=1-n-p/_block=clean-1/_manifest.json",
        "http://example.org/_attempts/{own}/_attempt=1-n-p/_block=clean-1/_manifest.json",
    ],
)
def test_b8_a_manifest_follows_manifests_of_its_partition_only(
    attempt: Attempt, coordinator: SourceCoordinator, tmp_path: Path, address: str
) -> None:
    """B8: nor to any manifest."""
    own, other = (partition_directory(SOURCE, key) for key in ("2013-01", "2013-02"))
    tampered(attempt, coordinator, follows=[address.format(root=tmp_path, own=own, other=other), "0" * 64])
    with pytest.raises(OutputError, match="follows something that is no manifest of this partition: "):
        published_manifests(coordinator.store, "flights", "clean")


def test_b8_a_chain_may_go_on_below_an_earlier_output_root(tmp_path: Path, coordinator: SourceCoordinator) -> None:
    """B8: an output root that was moved between two passes is no attack."""
    coordinator.create_partitions(["2013-01"])
    first, second = (
        Attempt(str(tmp_path / root), SOURCE, "2013-01", Fence(number, "n"), "a store")
        for number, root in enumerate(("before", "now"), 1)
    )
    earlier = finished(first, 2)
    later = finished(second, 3, follows=Reference(earlier.address, earlier.digest))
    coordinator.complete(taken(coordinator), [later])
    assert [manifest.rows for manifest in published_manifests(coordinator.store, "flights", "clean")] == [2, 3]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"[" * 100_000, "nested deeper than"),
        (b'{"a":' * 100_000, "nested deeper than"),
        (b'{"version":1,"version":1}', "names 'version' twice"),
        (b'{"version":NaN}', "NaN is no number of JSON"),
        (b'{"version":1e999}', "1e999 is too large a number"),
        (b'{"version":1}', "is no manifest"),
        (b"[]", "is no manifest"),
        (b"\xff", "is no manifest"),
        (b'{"version":6}', "was written by newer code"),
    ],
)
def test_b8_what_is_no_manifest_is_one_clear_error(content: bytes, problem: str) -> None:
    """B8: a deep one raised RecursionError, a strange one TypeError."""
    with pytest.raises(OutputError) as caught:
        Manifest.from_bytes(content, "/x/_manifest.json")
    assert problem in str(caught.value)


def test_b8_sizes_are_limited_before_anything_is_parsed(monkeypatch: pytest.MonkeyPatch, attempt: Attempt) -> None:
    """B8: of manifests that are read, and of those that are written."""
    monkeypatch.setattr("airflow_coordination.outputs.manifests.MAX_MANIFEST_BYTES", 100)
    with pytest.raises(OutputError, match="101 bytes, the limit is 100"):
        Manifest.from_bytes(b"?" * 101, "/x/_manifest.json")
    with pytest.raises(OutputError, match=r"would have a manifest of \d+ bytes, the limit is 100"):
        finished(attempt, 2)
