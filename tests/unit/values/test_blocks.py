"""Blocks as stores keep them: many texts at once are what each of them is alone, the odd ones too."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.values.blocks import (
    MAX_ADDRESS_BYTES,
    MAX_BLOCKS_BYTES,
    MAX_DATASET_BYTES,
    MOST,
    Block,
    dump_blocks,
    load_blocks,
    load_each,
)
from airflow_coordination.values.documents import scanned
from airflow_coordination.values.in_bulk import made_of
from airflow_coordination.values.input_errors import InvalidInputError

PLAIN = Block("clean", "/a/_manifest.json", "d1", 3, 4)
FIELDS: list[Any] = ["clean", "/a/_manifest.json", "d1", 3, 4, None, "replace"]


def text(**fields: Any) -> str:
    """Return the text of one block, with some fields as they should not be."""
    names = ["dataset", "address", "digest", "rows", "bytes", "follows", "mode"]
    return json.dumps([[fields.get(name, value) for name, value in zip(names, FIELDS, strict=True)]])


ODD = {
    "none": None,
    "empty": "",
    "no blocks": "[]",
    "blanks": f" {json.dumps([FIELDS])}\n",
    "five fields": json.dumps([FIELDS[:5]]),
    "eight fields": json.dumps([[*FIELDS, 1]]),
    "no list of lists": json.dumps(FIELDS),
    "a list and a text": json.dumps([FIELDS, "x"]),
    "an object": '{"a":1}',
    "half": '[["clean","/a","d',
    "half of two": '[["clean","/a","d",1,2,null,"replace"]],[["x"',
    "more behind it": f"{json.dumps([FIELDS])}[]",
    "too long": dump_blocks([PLAIN]).replace("/a/", "/" + "a" * MAX_BLOCKS_BYTES),
    "too deep": text(follows=[["x"]]),
    "nested": text(mode=["append"]),
    "an empty dataset": text(dataset=""),
    "a long dataset": text(dataset="d" * (MAX_DATASET_BYTES + 1)),
    "a long address": text(address="a" * (MAX_ADDRESS_BYTES + 1)),
    "a long digest": text(digest="a" * (MAX_ADDRESS_BYTES + 1)),
    "NUL": text(digest="a\x00b"),
    "umlauts": text(address="/Zürich"),
    "many umlauts": text(dataset="ü" * 128),
    "a surrogate": text(address="/\udc80"),
    "a digest that is a number": text(digest=7),
    "negative rows": text(rows=-1),
    "negative bytes": text(bytes=-1),
    "too many rows": text(rows=MOST),
    "too many bytes": text(bytes=MOST),
    "rows in words": text(rows="3"),
    "half a row": text(rows=3.5),
    "no rows": text(rows=None),
    "true rows": text(rows=True),
    "no number": text(rows=float("nan")),
    "endless": '[["clean","/a","d",1e999,2,null,"replace"]]',
    "appended": text(mode="append", follows="d0"),
    "follows a number": text(follows=7),
    "no mode": text(mode=None),
}


def told(load: Any, texts: Any) -> object:
    """Return what is loaded, or how it is refused."""
    try:
        return load(texts)
    except InvalidInputError as error:
        return str(error)


@pytest.mark.parametrize("name", ODD)
def test_an_odd_one_among_many_is_what_it_is_alone(name: str) -> None:
    plain = dump_blocks([PLAIN])
    alone = told(load_blocks, ODD[name])
    expected = alone if isinstance(alone, str) else [(PLAIN,), alone, (PLAIN,)]
    assert told(load_each, [plain, ODD[name], plain]) == expected


def test_two_halves_never_make_a_whole() -> None:
    whole = dump_blocks([PLAIN])
    middle = whole.index(",")
    halves = [whole[:middle], f"{whole[middle + 1 :]},{whole}"]
    assert json.loads(f"[{','.join(halves)}]") == [[FIELDS], [FIELDS]]  # what a reader of all together would take
    with pytest.raises(InvalidInputError, match="corrupt in the store"):
        load_each(halves)


BLOCKS = st.builds(
    Block,
    st.text("abcü", min_size=1, max_size=9),
    st.text(min_size=1, max_size=9).filter(lambda address: "\x00" not in address and address.isprintable()),
    st.text("0123", min_size=1, max_size=9),
    st.integers(0, MOST - 1),
    st.integers(0, MOST - 1),
    st.none() | st.text("0123"),
    st.sampled_from(["replace", "append"]),
)


@given(st.lists(st.lists(BLOCKS, max_size=3).map(tuple), max_size=6))
def test_many_are_what_each_is(rows: list[tuple[Block, ...]]) -> None:
    texts = [dump_blocks(blocks) for blocks in rows]
    found = load_each(texts)
    assert found == rows == [load_blocks(each) for each in texts]
    assert [hash(each) for each in found] == [hash(each) for each in rows]


def test_plain_ones_are_taken_together(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_by_one(text: str) -> None:
        raise AssertionError(f"{text} is taken by itself")

    monkeypatch.setattr("airflow_coordination.values.blocks.load_blocks", one_by_one)
    texts = [dump_blocks(blocks) for blocks in ([PLAIN], [PLAIN, PLAIN], [], [PLAIN])]
    assert load_each(texts) == [(PLAIN,), (PLAIN, PLAIN), (), (PLAIN,)]
    assert load_each(["[]", "[]"]) == [(), ()]


def test_one_made_in_bulk_is_one() -> None:
    [[found]] = load_each([dump_blocks([PLAIN])])
    assert pickle.loads(pickle.dumps(found)) == copy.deepcopy(found) == copy.copy(found) == PLAIN
    assert repr(found) == repr(PLAIN)
    with pytest.raises(AttributeError):
        found.rows = 5  # type: ignore[misc]


def test_columns_of_several_lengths_are_refused() -> None:
    columns = [[value] for value in FIELDS]
    assert made_of(Block, columns) == [PLAIN]
    with pytest.raises(ValueError, match="several lengths"):
        made_of(Block, [*columns[:-1], []])
    with pytest.raises(ValueError, match="shorter"):
        made_of(Block, columns[:-1])


def test_nothing_is_scanned_of_what_is_too_long_or_nothing() -> None:
    assert scanned([], 9) is None
    assert scanned(["[[1]]"], 4) is None
    assert scanned(["[[1]]"], 5) == [[[1]]]
    assert scanned(["[" * 90_000], 90_000) is None
