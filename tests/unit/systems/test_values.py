"""Records of a batch as Python values: maps, and values that Python has not."""

from __future__ import annotations

from datetime import date

import pyarrow as pa

from airflow_coordination.systems.sink import Records

BEYOND = pa.array([0, 253_402_300_800_000_000], pa.int64()).cast(pa.timestamp("us"))
MAP = pa.map_(pa.string(), pa.int64())


def test_d7_maps_are_objects_wherever_they_are():
    columns = {
        "m": pa.array([[("a", 1)], None], MAP),
        "s": pa.array([{"k": [("z", 1)]}, None], pa.struct([("k", MAP)])),
        "l": pa.array([[[("a", 1)], None], []], pa.list_(MAP)),
        "d": pa.array([[(date(2026, 1, 1), [("a", 1)])], []], pa.map_(pa.date32(), MAP)),
        "n": pa.array([[(1, "x")], []], pa.map_(pa.int32(), pa.string())),
    }
    records = Records(pa.RecordBatch.from_pydict(columns))
    assert records[0] == {
        "m": {"a": 1},
        "s": {"k": {"z": 1}},
        "l": [{"a": 1}, None],
        "d": {"2026-01-01": {"a": 1}},
        "n": {"1": "x"},
    }
    assert records[1] == {"m": None, "s": None, "l": [], "d": {}, "n": {}}


def test_d7_a_value_that_python_has_not_is_one_refusal():
    records = Records(pa.RecordBatch.from_pydict({"id": [1, 2], "at": BEYOND}))
    [(place, reason)] = records.refusals([0, 1], None).items()
    assert (place, reason.startswith("column 'at': ")) == (1, True)
    assert records.refusals([0, 1], ["id"]) == {}, "its sink does not get it"
    assert (records[0]["at"].year, records[1]["id"]) == (1970, 2)


def test_d7_text_that_is_no_utf_8_is_one_refusal():
    text = pa.array([b"good", b"\xff"]).view(pa.string())
    assert list(Records(pa.RecordBatch.from_pydict({"t": text})).refusals([0, 1], None)) == [1]
