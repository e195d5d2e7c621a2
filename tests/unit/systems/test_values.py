"""Records of a batch as Python values: maps, and values that Python has not."""

from __future__ import annotations

import json
from datetime import date

import pyarrow as pa
import pytest

from airflow_coordination.systems.sink import Records, Unreadable, forgiving_json, unreadable_in

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


TEXT = pa.array([b"a\xffc"]).view(pa.string())
NO_TEXT = {"unreadable": "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 1: invalid start byte"}
LATE = BEYOND.slice(1)
NESTED = {
    "text": (TEXT, NO_TEXT | {"raw": "Yf9j"}),
    "large text": (TEXT.cast(pa.binary()).cast(pa.large_binary()).view(pa.large_string()), NO_TEXT | {"raw": "Yf9j"}),
    "time": (LATE, {"raw": "253402300800000000"}),
    "date": (pa.array([2_932_897], pa.int32()).cast(pa.date32()), {"raw": "2932897"}),
    "struct": (
        pa.StructArray.from_arrays([pa.array([1]), TEXT], ["good", "bad"]),
        {"raw": {"good": 1, "bad": NO_TEXT | {"raw": "Yf9j"}}},
    ),
    "list": (
        pa.ListArray.from_arrays([0, 2], pa.concat_arrays([pa.array(["x"]), TEXT])),
        {"raw": ["x", NO_TEXT | {"raw": "Yf9j"}]},
    ),
    "value of a map": (
        pa.MapArray.from_arrays([0, 1], pa.array([date(2026, 1, 1)]), TEXT),
        {"raw": [["2026-01-01", NO_TEXT | {"raw": "Yf9j"}]]},
    ),
    "key of a map": (
        pa.MapArray.from_arrays([0, 1], TEXT, pa.array([b"\x00"])),
        {"raw": [[NO_TEXT | {"raw": "Yf9j"}, "AA=="]]},
    ),
}


@pytest.mark.parametrize(("column", "kept"), NESTED.values(), ids=NESTED)
def test_d7_what_was_read_of_a_value_that_python_has_not_is_kept(column, kept):
    """It was ``Unreadable(reason=…)`` as text, which a column of text took for a value."""
    record = Records(pa.RecordBatch.from_arrays([pa.array([1]), column], names=["id", "v"]))[0]
    found = json.loads(forgiving_json(record))
    assert found == {"id": 1, "v": {"unreadable": found["v"]["unreadable"], **kept}}
    assert unreadable_in(record) == {"v": found["v"]["unreadable"]}


def test_d7_a_value_of_a_kind_that_nobody_knows_is_one_refusal_all_the_same():
    class Odd(pa.ExtensionType):
        def __init__(self):
            super().__init__(pa.string(), "odd")

        def __arrow_ext_serialize__(self):
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage, serialized):
            return cls()

    column = pa.ExtensionArray.from_storage(Odd(), TEXT)
    records = Records(pa.RecordBatch.from_arrays([column], names=["v"]))
    assert list(records.refusals([0], None)) == [0]
    assert json.loads(forgiving_json(records[0]))["v"] == NO_TEXT | {"raw": None}


@pytest.mark.parametrize("key", [float("nan"), float("inf")])
@pytest.mark.parametrize("within", ["itself", "a list"])
def test_d7_a_map_with_a_key_that_has_no_text_is_one_refusal(key, within):
    """It failed the Spark task, and so all records of it, each time."""
    maps = pa.array([[(1.5, 1)], [(key, 2)], None], pa.map_(pa.float64(), pa.int64()))
    column = maps if within == "itself" else pa.ListArray.from_arrays([0, 1, 2, 3], maps)
    records = Records(pa.RecordBatch.from_arrays([pa.array([1, 2, 3]), column], names=["id", "m"]))
    [(place, reason)] = records.refusals([0, 1, 2], None).items()
    assert (place, reason.startswith("column 'm': a key of a map has no form in JSON: ")) == (1, True)
    assert records.refusals([0, 1, 2], ["id"]) == {}, "its sink does not get it"
    assert records[0]["m"] == ({"1.5": 1} if within == "itself" else [{"1.5": 1}])
    assert isinstance(records[1]["m"], Unreadable)
    assert '"raw": [' in forgiving_json(records[1])
