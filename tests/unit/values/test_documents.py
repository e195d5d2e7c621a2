"""JSON documents: limits, and what is never taken for "none" (promises S14, X6)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.testing.conformance.creation import HOSTILE_DOCUMENTS
from airflow_coordination.values import documents
from airflow_coordination.values.documents import (
    MAX_DEPTH,
    MAX_PAYLOAD_BYTES,
    MAX_PROGRESS_BYTES,
    decode_object,
    decode_progress,
    encode_payload,
    encode_progress,
)
from airflow_coordination.values.input_errors import PayloadError, ProgressStateError


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("document", HOSTILE_DOCUMENTS, ids=lambda document: ascii(document)[:40])
def test_s14_progress_goes_there_and_back(document: object) -> None:
    text = encode_progress(document)
    assert text is not None
    assert text.isascii()
    assert decode_progress(text) == document


def test_no_progress_is_none_both_ways() -> None:
    assert encode_progress(None) is None
    assert decode_progress(None) is None
    assert decode_object(None) == {}


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ({1: 2}, "has a key that is not text"),
        ({"a": [{None: 1}]}, "has a key that is not text"),
        (math.nan, "cannot be written as JSON"),
        ([math.inf], "cannot be written as JSON"),
        ({"set": {1}}, "cannot be written as JSON"),
        (object(), "cannot be written as JSON"),
        (nested(MAX_DEPTH + 1), "is nested deeper than 32 levels"),
        ("x" * (MAX_PROGRESS_BYTES - 1), f"has {MAX_PROGRESS_BYTES + 1} bytes of JSON, the limit is 262144"),
    ],
    ids=lambda value: type(value).__name__ if type(value) is object else ascii(value)[:40],
)
def test_s14_what_cannot_be_kept_is_refused_by_name(state: object, problem: str) -> None:
    with pytest.raises(ProgressStateError, match=problem) as refused:
        encode_progress(state)
    assert refused.value.field == "progress_state"


def test_x6_a_document_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ProgressStateError, match="nested deeper"):
        encode_progress(loop)


def test_x6_the_limits_themselves_are_allowed() -> None:
    assert encode_progress(nested(MAX_DEPTH)) is not None
    assert encode_progress("x" * (MAX_PROGRESS_BYTES - 2)) is not None
    assert encode_payload({"k": "x" * (MAX_PAYLOAD_BYTES - 8)}) is not None


@pytest.mark.parametrize("text", ["", "{", "nul", "{'a': 1}", "[" * 100_000])
def test_s14_corrupt_progress_is_an_error_never_none(text: str) -> None:
    with pytest.raises(ProgressStateError, match="is corrupt in the store"):
        decode_progress(text)


@pytest.mark.parametrize("text", ["[]", "1", '"text"', "false"])
def test_an_object_is_not_taken_from_other_values(text: str) -> None:
    with pytest.raises(ProgressStateError, match="is not a JSON object"):
        decode_object(text)


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ([1], "is list, not a JSON object"),
        ("text", "is str, not a JSON object"),
        ({1: 2}, "has a key that is not text"),
        ({"nan": math.nan}, "cannot be written as JSON"),
        ({"bytes": b""}, "cannot be written as JSON"),
        ({"k": "x" * (MAX_PAYLOAD_BYTES - 7)}, f"has {MAX_PAYLOAD_BYTES + 1} bytes of JSON, the limit is 4096"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_x6_a_payload_that_cannot_be_kept_is_refused_by_name(payload: Any, problem: str) -> None:
    with pytest.raises(PayloadError, match=problem) as refused:
        encode_payload(payload)
    assert refused.value.field == "payload"


def test_equal_payloads_are_equal_text_whatever_their_order() -> None:
    assert encode_payload({"a": 1, "b": {"d": 1, "c": 2}}) == encode_payload({"b": {"c": 2, "d": 1}, "a": 1})
    assert encode_payload(None) is None
    assert json.loads(encode_payload({}) or "null") == {}


def test_small_x2_each_name_of_an_object_is_compared_once() -> None:
    """A quadratic search took 22 seconds for 212 KB. What is counted is how often a name is compared, not time."""
    compared = 0

    class Name(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    names = [Name(number) for number in range(2_000)]
    with pytest.raises(ValueError, match="names '1999' twice"):
        documents._object([(name, 1) for name in [*names, Name(1_999)]])
    assert compared < 10 * len(names)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("NaN", "NaN is no number of JSON"),
        ('{"a": [-Infinity]}', "-Infinity is no number of JSON"),
        ("1e999", "1e999 is too large a number"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "names 'c' twice"),
        ("[" * 65, "nested deeper than 64 levels"),
        ("[" * 1_000_000, "nested deeper than 64 levels"),
        ("9" * 1_048_577, "1048577 bytes, the limit is 1048576"),
    ],
)
def test_b8_stored_progress_is_read_as_strictly_as_it_is_written(text: str, problem: str) -> None:
    """B8: Python reads more than JSON has, and as deep as its stack."""
    with pytest.raises(ProgressStateError) as caught:
        decode_progress(text)
    assert problem in str(caught.value)


def test_b8_brackets_in_text_are_no_levels() -> None:
    """B8: the look at the depth knows what a string is, however it is escaped."""
    state = {"a": "[" * 100, 'b"[\\': ['\\"' + "{" * 100, "\\", "x\n["], "c": ["}" * 100] * 3}
    assert decode_progress(encode_progress(state)) == state


def depth_of(text: str) -> int:
    """Return how deep a text goes, a character at a time."""
    deepest = depth = place = 0
    in_string = False
    while place < len(text):
        character = text[place]
        place += 2 if in_string and character == "\\" else 1
        if character == '"':
            in_string = not in_string
        elif not in_string:
            depth += (character in "[{") - (character in "]}")
            deepest = max(deepest, depth)
    return deepest


@given(st.text('[{]}"\\,:a\n', max_size=30))
def test_b8_whatever_the_text_its_depth_is_that_of_its_brackets(text: str) -> None:
    for limit in range(4):
        refused = False
        try:
            documents.parse(text, max_bytes=99, max_depth=limit)
        except ValueError as error:
            refused = str(error) == f"nested deeper than {limit} levels"
        assert refused is (depth_of(text) > limit)


def twice_as_wide(levels: int) -> list[Any]:
    """Return a list that is small in memory and has two to the power of ``levels`` elements as text."""
    wide: list[Any] = [1]
    for _ in range(levels):
        wide = [wide, wide]
    return wide


@pytest.mark.parametrize(
    "made",
    [
        lambda: {str(number): number for number in range(1_000_000)},
        lambda: [0] * 1_000_000,
        lambda: {"a": [{str(n): n} for n in range(1_000_000)]},
        lambda: twice_as_wide(30),
    ],
    ids=["keys", "elements", "objects", "shared"],
)
def test_b8_what_is_far_too_long_is_refused_without_writing_it_out(
    made: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B8: refusing a million keys took eight seconds, and two to the thirtieth power would have taken for ever.

    Made in the test: every process of a run reads this file, and would keep what stands in the list.
    """
    state = made()
    encoder = f"{encode_progress.__module__}._AS_GIVEN"
    monkeypatch.setattr(encoder, None)
    with pytest.raises(ProgressStateError, match="has more bytes of JSON than fit; the limit is 262144"):
        encode_progress(state)
