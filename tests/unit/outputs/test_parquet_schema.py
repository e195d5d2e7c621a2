"""The schema of Parquet files that Spark did not write, out of their footers."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_coordination.leases import Fence
from airflow_coordination.outputs import Attempt, OutputError
from airflow_coordination.outputs.layout import values_in
from airflow_coordination.outputs.parquet import FooterError, footer_length, parse_footer, read_footer
from airflow_coordination.outputs.schemas import fit

LISTED = {"type": "array", "elementType": "long", "containsNull": True}
FOREIGN = {
    "b": (pa.bool_(), "boolean"),
    "i8": (pa.int8(), "byte"),
    "i16": (pa.int16(), "short"),
    "i32": (pa.int32(), "integer"),
    "i64": (pa.int64(), "long"),
    "u8": (pa.uint8(), "short"),
    "u16": (pa.uint16(), "integer"),
    "u32": (pa.uint32(), "long"),
    "u64": (pa.uint64(), "decimal(20,0)"),
    "f": (pa.float32(), "float"),
    "d": (pa.float64(), "double"),
    "s": (pa.string(), "string"),
    "ls": (pa.large_string(), "string"),
    "dict": (pa.dictionary(pa.int32(), pa.string()), "string"),
    "bin": (pa.binary(), "binary"),
    "fixed": (pa.binary(4), "binary"),
    "dec": (pa.decimal128(10, 2), "decimal(10,2)"),
    "wide": (pa.decimal128(38, 10), "decimal(38,10)"),
    "date": (pa.date32(), "date"),
    "us": (pa.timestamp("us", "UTC"), "timestamp"),
    "ms": (pa.timestamp("ms", "Europe/Berlin"), "timestamp"),
    "ntz": (pa.timestamp("us"), "timestamp_ntz"),
    "list": (pa.list_(pa.int64()), LISTED),
    "map": (
        pa.map_(pa.string(), pa.list_(pa.int64())),
        {"type": "map", "keyType": "string", "valueType": LISTED, "valueContainsNull": True},
    ),
    "struct": (
        pa.struct([("x", pa.int64()), ("y", pa.list_(pa.int64()))]),
        {
            "type": "struct",
            "fields": [
                {"name": name, "type": kind, "nullable": True, "metadata": {}}
                for name, kind in (("x", "long"), ("y", LISTED))
            ],
        },
    ),
}


def foreign_table() -> pa.Table:
    return pa.table({name: pa.array([None], kind) for name, (kind, _) in FOREIGN.items()})


def schema_in(file: Path, table: pa.Table, **how: object) -> dict[str, object] | None:
    pq.write_table(table, file, **how)
    text = read_footer(str(file), file.stat().st_size).schema
    return None if text is None else {column["name"]: column["type"] for column in json.loads(text)["fields"]}


def test_d8_every_type_that_others_write(tmp_path: Path) -> None:
    """D8: such blocks were not compared at all; that Spark says the same is seen beside Spark."""
    expected = {name: kind for name, (_, kind) in FOREIGN.items()}
    assert schema_in(tmp_path / "f.parquet", foreign_table()) == expected
    assert schema_in(tmp_path / "old.parquet", foreign_table(), version="1.0") == expected


def test_d8_a_column_of_nulls_has_no_type_and_fits_all(tmp_path: Path) -> None:
    """D8: it made the whole dataset unreadable."""
    assert schema_in(tmp_path / "f.parquet", pa.table({"n": pa.nulls(2), "x": [1, 2]})) == {"n": "void", "x": "long"}
    assert fit("void", "string")
    assert fit("decimal(3,1)", "void")


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.float16()])
def test_d8_what_only_spark_can_tell_is_left_to_it(tmp_path: Path, kind: pa.DataType) -> None:
    """D8: other versions of Spark read it in another way, or not."""
    assert schema_in(tmp_path / "f.parquet", pa.table({"t": pa.array([None], kind)})) is None
    assert schema_in(tmp_path / "g.parquet", pa.table({"l": [[1]]}), use_compliant_nested_type=False) == {"l": LISTED}


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (pa.table({"t": pa.array([None], pa.timestamp("ns"))}), "has times of nanoseconds in 't', which Spark does"),
        (
            pa.table({"t": pa.array([None], pa.time64("ns"))}),
            "has times of the day in other units than microseconds in 't'",
        ),
        (
            pa.table({"t": pa.array([None], pa.time32("ms"))}),
            "has times of the day in other units than microseconds in 't'",
        ),
        (pa.table({"u": pa.array([None], pa.uuid())}), "has UUIDs in 'u', which Spark does not read"),
        (pa.table({"d": pa.array([None], pa.decimal256(50, 3))}), "has decimals of 50 digits in 'd', and Spark reads"),
        (pa.table({"id": [1], "Id": [2]}), "has two columns 'id' and 'Id', which Spark takes for one"),
        (pa.Table.from_arrays([[1], [2]], ["id", "id"]), "has two columns 'id' and 'id', which Spark takes for one"),
        (
            pa.table({"s": pa.array([None], pa.struct([("x", pa.int8()), ("X", pa.int8())]))}),
            "has two columns 'x' and 'X' in 's', which Spark takes for one",
        ),
        (pa.table({"l": pa.array([[]], pa.list_(pa.null()))}), "has nothing but nulls of no type in l.'element'"),
        (pa.table({"s": pa.array([None], pa.struct([("x", pa.null())]))}), "has nothing but nulls of no type in s.'x'"),
    ],
)
def test_d8_what_no_reader_gets_from_spark_is_refused_when_it_is_published(
    tmp_path: Path, table: pa.Table, problem: str
) -> None:
    """D8: it was published, and nobody could read the dataset any more."""
    attempt = Attempt(str(tmp_path), "s|PARTITION", "k", Fence(1, "n"), "a store")
    block = attempt.open("d")
    Path(block.path).mkdir(parents=True)
    pq.write_table(table, Path(block.path, "part-0.parquet"))
    with pytest.raises(OutputError) as caught:
        attempt.finish(block)
    assert problem in str(caught.value)
    assert "Write Parquet that Spark reads into block.path" in str(caught.value)


@pytest.mark.parametrize(
    ("directory", "problem"),
    [
        (
            "city=Z%C3%BCrich",
            "where letters are escaped byte by byte, which Spark reads as other letters. Write letters",
        ),
        (
            "a=1/city=",
            "where a value is empty, which Spark does not read. Write __HIVE_DEFAULT_PARTITION__ for a value",
        ),
    ],
)
def test_what_spark_reads_otherwise_in_directories_is_refused(tmp_path: Path, directory: str, problem: str) -> None:
    """pandas and pyarrow write such: their cities came back as other ones."""
    attempt = Attempt(str(tmp_path), "s|PARTITION", "k", Fence(1, "n"), "a store")
    block = attempt.open("d")
    file = Path(block.path, directory, "part-0.parquet")
    file.parent.mkdir(parents=True)
    pq.write_table(pa.table({"n": [1]}), file)
    with pytest.raises(OutputError) as refused:
        attempt.finish(block)
    assert f"has rows in '{directory}/part-0.parquet', {problem}" in str(refused.value)


def test_letters_beyond_ascii_may_stand_as_they_are(tmp_path: Path) -> None:
    assert values_in("city=Z\u00fcrich/a%3Ab=%20x/p=__HIVE_DEFAULT_PARTITION__/part-0") == {
        "city": "Z\u00fcrich",
        "a:b": " x",
        "p": None,
    }
    assert values_in("city=Z%FCrich/part-0") == {"city": "Z\u00fcrich"}, "as Spark reads it"


def test_a_damaged_footer_is_an_error_of_its_file_whatever_the_damage(tmp_path: Path) -> None:
    """A byte that says another type than is expected there ended in a TypeError without a file's name."""
    file = tmp_path / "f.parquet"
    pq.write_table(foreign_table(), file)
    whole = file.read_bytes()
    for at in range(len(whole) - footer_length(whole), len(whole) - 8):
        for byte in (0x00, 0xFF, whole[at] ^ 0x15):
            with suppress(FooterError):
                parse_footer(whole[:at] + bytes([byte]) + whole[at + 1 :])


WITHOUT_PYARROW = """
import shutil, sys
sys.modules["pyarrow"] = None  # any import of it is refused
from airflow_coordination.leases import Fence
from airflow_coordination.outputs import Attempt
from airflow_coordination.outputs.attempts import check_published
from airflow_coordination.outputs.manifests import Manifest
from airflow_coordination.systems.objects.storage import read_bytes
attempt = Attempt(sys.argv[1], "s|PARTITION", "k", Fence(1, "n"), "a store")
block = attempt.open("d")
shutil.copytree(sys.argv[2], block.path)
made = attempt.finish(block)
manifest = Manifest.from_bytes(read_bytes(made.address), made.address)
check_published([manifest], rows=True)
[file] = manifest.files
print(file.rows, file.schema)
"""


def test_a_driver_without_pyarrow_publishes_parquet(tmp_path: Path) -> None:
    """Spark's own distribution and images have none, and only the archive of this package is sent there."""
    written = tmp_path / "written"
    written.mkdir()
    pq.write_table(pa.table({"x": [1, 2]}), written / "part-0.parquet")
    command = [sys.executable, "-c", WITHOUT_PYARROW, str(tmp_path / "out"), str(written)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows, schema = done.stdout.split(" ", 1)
    assert (rows, [each["type"] for each in json.loads(schema)["fields"]]) == ("2", ["long"])
