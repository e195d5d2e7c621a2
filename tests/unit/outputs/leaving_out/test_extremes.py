"""What a footer says of a column bounds what Spark reads of it, or is not taken."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.outputs.leaving_out.conditions import Condition
from airflow_coordination.outputs.leaving_out.extremes import MAX_TEXT, Extremes, read_extremes

DAY = dt.date(2026, 1, 31)
MOMENT = dt.datetime(2026, 1, 31, 12, 30, 15, 123456, tzinfo=dt.UTC)
MICROS = int(MOMENT.timestamp()) * 1_000_000 + 123456


def said(path: Path, columns: dict[str, Any], **how: Any) -> dict[str, list[Any]]:
    """Return what is taken of a file that is written like this."""
    file = path / "x.parquet"
    pq.write_table(pa.table(columns), file, **how)
    return {name: each.said() for name, each in read_extremes(str(file), file.stat().st_size).items()}


@pytest.mark.parametrize(
    ("column", "kind", "least", "greatest"),
    [
        (pa.array([3, None, -7, 5], pa.int64()), "whole", -7, 5),
        (pa.array([3, -7], pa.int32()), "whole", -7, 3),
        (pa.array([-128, 127], pa.int8()), "whole", -128, 127),
        (pa.array([-(2**63), 2**63 - 1], pa.int64()), "whole", -(2**63), 2**63 - 1),
        (pa.array(["b", None, "ä", "a", "\U0001f600"]), "text", "a", "\U0001f600"),
        (pa.array(["", "\x00"]), "text", "", "\x00"),
        (pa.array([DAY, None, dt.date(1970, 1, 2)]), "day", 1, 20484),
        (pa.array([MOMENT], pa.timestamp("us", "UTC")), "instant", MICROS, MICROS),
        (pa.array([MOMENT], pa.timestamp("ms", "Asia/Tokyo")), "instant", MICROS - 456, MICROS - 456),
    ],
    ids=["long", "int", "byte", "widest", "text", "empty text", "day", "instant", "milliseconds"],
)
def test_columns_of_which_it_counts(tmp_path: Path, column: Any, kind: str, least: Any, greatest: Any) -> None:
    assert said(tmp_path, {"c": column}) == {"c": [kind, least, greatest]}


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.0, float("nan"), 2.0]),
        pa.array([-0.0, 0.0], pa.float32()),
        pa.array([Decimal("1.10"), Decimal("-2.00")]),
        pa.array([1, 2**31], pa.uint32()),
        pa.array([1, 2**63], pa.uint64()),
        pa.array([True, False]),
        pa.array([b"a", b"b"]),
        pa.array([MOMENT.replace(tzinfo=None)], pa.timestamp("us")),
        pa.array([dt.time(1)]),
        pa.array([None, None], pa.int64()),
        pa.array([], pa.int64()),
        pa.array([{"a": 1}]),
        pa.array([[1, 2]]),
        pa.array(["x" * (MAX_TEXT + 1)]),
        pa.array([dt.date(1582, 10, 4), DAY]),
        pa.array([MOMENT, dt.datetime(1899, 1, 1, tzinfo=dt.UTC)], pa.timestamp("us", "UTC")),
    ],
    ids=str,
)
def test_columns_of_which_it_does_not(tmp_path: Path, column: Any) -> None:
    assert said(tmp_path, {"c": column, "other": pa.array([7] * len(column), pa.int64())}).keys() <= {"other"}


def test_times_of_nanoseconds_and_int96_are_not_taken(tmp_path: Path) -> None:
    column = pa.array([MOMENT], pa.timestamp("ns", "UTC"))
    assert said(tmp_path, {"c": column}, version="2.6") == {}
    assert said(tmp_path, {"c": column}, use_deprecated_int96_timestamps=True) == {}


def test_all_row_groups_count_and_one_that_says_nothing_spoils_it(tmp_path: Path) -> None:
    many = pa.array([*range(100), 1_000, *range(100)])
    assert said(tmp_path, {"c": many}, row_group_size=50) == {"c": ["whole", 0, 1_000]}
    with_nulls = pa.array([1, 2, None, None], pa.int64())
    assert said(tmp_path, {"c": with_nulls, "d": [1, 2, 3, 4]}, row_group_size=2) == {"d": ["whole", 1, 4]}


def test_a_file_without_statistics_says_nothing(tmp_path: Path) -> None:
    assert said(tmp_path, {"c": [1, 2], "d": [1, 2]}, write_statistics=["d"]) == {"d": ["whole", 1, 2]}
    assert said(tmp_path, {"c": [1, 2]}, write_statistics=False) == {}


def test_names_that_differ_by_case_only_are_not_told_apart(tmp_path: Path) -> None:
    assert said(tmp_path, {"C": [1], "c": [2], "d": [3]}) == {"d": ["whole", 3, 3]}


def test_columns_inside_others_shift_nothing(tmp_path: Path) -> None:
    nested = pa.array([{"b": 1, "c": [5, 6], "d": {"b": 7}}])
    found = said(tmp_path, {"a": [1], "n": nested, "b": [2], "m": pa.array([[("k", 1)]], pa.map_("string", "int64"))})
    assert found == {"a": ["whole", 1, 1], "b": ["whole", 2, 2]}


def test_what_is_no_parquet_file_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    for content in (
        b"",
        b"PAR1",
        b"x" * 100,
        b"x" * 92 + b"\xff\xff\x00\x00PAR1",
        b"\x19" * 92 + b"\x08\x00\x00\x00PAR1",
    ):
        file.write_bytes(content)
        assert read_extremes(str(file), len(content)) == {}
    with pytest.raises(FileNotFoundError):
        read_extremes(str(tmp_path / "gone"), 100)


@pytest.mark.parametrize(
    "other",
    [None, {}, ["whole", 1], ["whole", 1, "2"], ["whole", 2, 1], ["whole", True, 2], ["float", 1, 2], ["text", 1, 2]],
)
def test_what_was_said_otherwise_is_not_taken(other: Any) -> None:
    assert Extremes.parsed(other) is None
    assert Extremes.parsed(["whole", 1, 2]) == Extremes("whole", 1, 2)


@given(changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_footer_that_is_no_footer_says_nothing_and_stops_nobody(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    """Whoever writes an index reads footers that others have written."""
    file = tmp_path_factory.getbasetemp() / "changed.parquet"
    pq.write_table(pa.table({"n": [1, 2], "t": ["a", "b"], "s": [{"x": 1}, None]}), file, row_group_size=1)
    content = bytearray(file.read_bytes())
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for place, byte in changes:
        content[start + place % (len(content) - 8 - start)] = byte
    file.write_bytes(content)
    assert isinstance(read_extremes(str(file), len(content)), dict)


texts = st.text(max_size=5)
numbers = st.integers(-20, 20)


@given(
    rows=st.lists(st.tuples(st.none() | numbers, st.none() | texts), min_size=1, max_size=12),
    whole=st.tuples(st.none() | numbers, st.none() | numbers),
    text=st.tuples(st.none() | texts, st.none() | texts),
    size=st.integers(1, 5),
)
def test_whatever_is_left_out_has_no_row_that_matches(
    tmp_path_factory: pytest.TempPathFactory, rows: list, whole: tuple, text: tuple, size: int
) -> None:
    """The promise of ``where=``: a file is only left out when none of its rows would be found in it."""
    where = {name: pair for name, pair in (("n", whole), ("t", text)) if any(each is not None for each in pair)}
    where = {name: pair for name, pair in where.items() if None in pair or pair[0] <= pair[1]}
    condition = Condition.of(where or {"n": (0, None)})
    assert condition is not None
    table = pa.table(
        {"n": pa.array([n for n, _ in rows], pa.int64()), "t": pa.array([t for _, t in rows], pa.string())}
    )
    file = tmp_path_factory.getbasetemp() / "example.parquet"
    pq.write_table(table, file, row_group_size=size)
    found = read_extremes(str(file), file.stat().st_size)

    def matches(row: dict[str, Any]) -> bool:
        return all(
            row[each.column] is not None
            and (each.least is None or row[each.column] >= each.least)
            and (each.greatest is None or row[each.column] <= each.greatest)
            for each in condition.row
        )

    if condition.excludes(found):
        assert not any(matches(row) for row in table.to_pylist())
