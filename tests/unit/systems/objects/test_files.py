"""Files of JSON lines and Parquet."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_coordination.outputs import OutputError
from airflow_coordination.sinks import FileSink
from airflow_coordination.systems.sink import AnswerKind, Records
from airflow_coordination.testing.sinks import SinkConformance, deliver, sink_task
from airflow_coordination.values.input_errors import InvalidInputError


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "export"


def visible(directory: Path) -> list[Path]:
    return sorted(file for file in directory.glob("*") if not file.name.startswith("_"))


class TestJson(SinkConformance):
    bad_record: ClassVar = {"id": 3, "value": float("nan")}

    @pytest.fixture
    def sink(self, directory):
        return FileSink(str(directory))

    @pytest.fixture
    def stored(self, directory):
        def stored():
            lines = [line for file in visible(directory) for line in file.read_text().splitlines()]
            return [(record["id"], record["value"]) for record in map(json.loads, lines)]

        return stored


class TestParquet(SinkConformance):
    @pytest.fixture
    def sink(self, directory):
        return FileSink(str(directory), format="parquet")

    @pytest.fixture
    def stored(self, directory):
        def stored():
            rows = [row for file in visible(directory) for row in pq.read_table(file).to_pylist()]
            return [(row["id"], row["value"]) for row in rows]

        return stored


def test_values_have_a_form_in_json(directory):
    record = {
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "on": date(2026, 1, 2),
        "n": Decimal("1.50"),
        "b": b"\x00",
        "u": "é",
    }
    deliver(FileSink(str(directory)), [record])
    [file] = visible(directory)
    line = '{"at":"2026-01-02T00:00:00+00:00","on":"2026-01-02","n":"1.50","b":"AA==","u":"é"}\n'
    assert file.read_text() == line


@pytest.mark.parametrize("format", ["json", "parquet"])
def test_z4_only_the_columns_that_are_named_are_written(directory, format):
    sink = FileSink(str(directory), format=format, columns=("value",))
    deliver(sink, [{"id": 1, "value": "x"}])
    [file] = visible(directory)
    found = json.loads(file.read_text()) if format == "json" else pq.ParquetFile(file).read().to_pylist()[0]
    assert found == {"value": "x"}


def test_d7_a_value_that_has_no_place_in_parquet_is_refused_alone(directory):
    records = [{"id": "no number" if each == 42 else each, "value": "x"} for each in range(100)]
    answers = deliver(FileSink(str(directory), format="parquet"), records)
    assert [number for number, answer in enumerate(answers) if answer.kind is AnswerKind.REFUSED] == [42]
    [file] = visible(directory)
    assert pq.ParquetFile(file).metadata.num_rows == 99


TEXTS = pa.map_(pa.string(), pa.int64())
MAPS = {
    "numbers": (pa.map_(pa.int64(), pa.int64()), [(7, 1)], TEXTS, [("7", 1)]),
    "dates": (pa.map_(pa.date32(), pa.int64()), [(date(2013, 1, 1), 1)], TEXTS, [("2013-01-01", 1)]),
    "text": (TEXTS, [("a", 1)], TEXTS, [("a", 1)]),
    "large text": (pa.map_(pa.large_string(), pa.int64()), [("a", 1)], TEXTS, [("a", 1)]),
    "maps of maps": (
        pa.map_(pa.int64(), pa.map_(pa.float64(), pa.int64())),
        [(7, [(1.5, 1)])],
        pa.map_(pa.string(), TEXTS),
        [("7", [("1.5", 1)])],
    ),
    "lists": (pa.list_(pa.map_(pa.int64(), pa.int64())), [[(7, 1)], None], pa.list_(TEXTS), [[("7", 1)], None]),
    "structs": (
        pa.struct([("m", pa.map_(pa.int64(), pa.int64())), ("n", pa.int8())]),
        {"m": [(7, 1)], "n": 2},
        pa.struct([("m", TEXTS), ("n", pa.int8())]),
        {"m": [("7", 1)], "n": 2},
    ),
}


@pytest.mark.parametrize(("given", "value", "kind", "expected"), MAPS.values(), ids=MAPS)
def test_d7_maps_have_text_for_keys_in_parquet(directory, given, value, kind, expected):
    """Keys of another type were refused with each record, after the check had let them pass."""
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("m", given)])
    batch = pa.RecordBatch.from_pylist([{"id": 1, "m": value}, {"id": 2, "m": None}], schema)
    records = Records(batch)
    writer = (sink := FileSink(str(directory), format="parquet")).open(sink_task(schema=schema))
    assert [each.kind for each in writer.write([records[0], records[1]])] == [AnswerKind.DELIVERED] * 2
    sink.accept("d1", [writer.close()])
    [file] = visible(directory)
    table = pq.ParquetFile(file).read()
    assert table.schema.field("m").type.equals(kind)
    assert table.column("m").to_pylist() == [expected, None]


def test_d7_what_must_not_be_null_stays_so_in_the_maps_of_parquet(directory):
    item = pa.field("value", pa.int64(), nullable=False)
    schema = pa.schema([pa.field("m", pa.map_(pa.int64(), item), nullable=False), pa.field("id", pa.int64())])
    writer = (sink := FileSink(str(directory), format="parquet")).open(sink_task(schema=schema))
    assert writer.write([{"id": 1, "m": {"7": 1}}])[0].kind is AnswerKind.DELIVERED
    sink.accept("d1", [writer.close()])
    [file] = visible(directory)
    found = pq.ParquetFile(file).schema_arrow.field("m")
    assert (found.nullable, found.type.item_field.nullable) == (False, False)


def test_f6_what_a_delivery_that_failed_has_pending_can_be_forgotten(directory):
    sink = FileSink(str(directory))
    for delivery in ("d1", "d2"):
        writer = sink.open(sink_task(delivery=delivery))
        writer.write([{"id": 1}])
        writer.close()
    sink.forget("d1")
    assert [file.name for file in (directory / "_pending").iterdir()] == ["d2"], "another's is at work"
    sink.forget("d2")
    assert not (directory / "_pending").exists()


def test_f6_what_a_dead_driver_has_left_goes_after_a_week_and_nothing_else(directory):
    ages = {"0123abcd": 8, "89abcdef": 6, "a-users-own": 8}
    for name, days in ages.items():
        (place := directory / "_pending" / name).mkdir(parents=True)
        (place / "part.jsonl").write_text("{}")
        long_ago = time.time() - days * 86_400
        os.utime(place / "part.jsonl", (long_ago, long_ago))
    deliver(FileSink(str(directory)), [{"id": 1}])
    assert sorted(each.name for each in (directory / "_pending").iterdir()) == ["89abcdef", "a-users-own"]
    assert len(visible(directory)) == 1


def test_the_name_tells_the_fence_and_nothing_is_left_beside(directory):
    deliver(FileSink(str(directory)), [{"id": 1}], sink_task(fence="7-3f9c"))
    assert [file.name for file in directory.iterdir()] == ["part-7-3f9c-d1-a1.jsonl"]


def test_a_batch_that_is_delivered_again_has_further_files(directory):
    for delivery in ("d1", "d2"):
        deliver(FileSink(str(directory)), [{"id": 1}], sink_task(delivery=delivery))
    assert len(visible(directory)) == 2


def test_an_owner_that_lost_its_lease_may_still_add_files(directory):
    """Its driver looks at the lease before it moves files; what happens after that look cannot be kept out."""
    deliver(FileSink(str(directory)), [{"id": 1}], sink_task(token=8, fence="8-bbbb", delivery="d2"))
    deliver(FileSink(str(directory)), [{"id": 1}], sink_task(token=7, fence="7-aaaa"))
    assert [file.name[:13] for file in visible(directory)] == ["part-7-aaaa-d", "part-8-bbbb-d"]


def test_another_delivery_s_pending_files_stay(directory):
    """It may be another partition's, at work."""
    sink = FileSink(str(directory))
    other = sink.open(sink_task(delivery="d2"))
    other.write([{"id": 2}])
    deliver(sink, [{"id": 1}])
    sink.accept("d2", [other.close()])
    assert len(visible(directory)) == 2


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"directory": ""}, "output_root='': is no address"),
        ({"format": "xml"}, "format='xml': is no format of this sink. Give 'json' or 'parquet'"),
        ({"bulk_records": 0}, "bulk_records=0: is not a positive whole number"),
    ],
)
def test_bad_arguments(arguments, named):
    with pytest.raises(InvalidInputError, match=named):
        FileSink(**{"directory": "/tmp/x"} | arguments)


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="write a file"):
        FileSink(str(tmp_path / "file")).open(sink_task()).write([{"id": 1}])
