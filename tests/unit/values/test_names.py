"""Keys and source identifiers: what is refused, and with which words (promise S15)."""

from __future__ import annotations

import pytest

from airflow_coordination.testing.conformance.creation import HOSTILE_KEYS
from airflow_coordination.values.input_errors import InvalidKeyError
from airflow_coordination.values.names import MAX_KEY_BYTES, MAX_SOURCE_BYTES, check_key, compose_source


@pytest.mark.parametrize("key", HOSTILE_KEYS, ids=ascii)
def test_s15_hostile_keys_are_allowed_as_they_are(key: str) -> None:
    assert check_key(key) == key


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("", "key='': is empty. Give 1 to 2048 bytes of text"),
        ("a\x00b", r"key='a\x00b': contains NUL, which PostgreSQL cannot store. Remove the character"),
        ("\ud800", r"key='\ud800': contains a lone surrogate. Give text that UTF-8 can encode"),
        (7, "key=7: is int, not text. Give a string"),
        (None, "key=None: is NoneType, not text. Give a string"),
        (b"k", "key=b'k': is bytes, not text. Give a string"),
    ],
    ids=ascii,
)
def test_s15_other_keys_are_refused_by_name(key: object, message: str) -> None:
    with pytest.raises(InvalidKeyError) as refused:
        check_key(key)
    assert str(refused.value) == message


@pytest.mark.parametrize("character", ["x", "é", "\U0001f600"])
def test_s15_the_limit_counts_bytes(character: str) -> None:
    fits = character * (MAX_KEY_BYTES // len(character.encode()))
    assert check_key(fits) == fits
    with pytest.raises(InvalidKeyError, match=r"has 20\d\d bytes of UTF-8, the limit is 2048. Use a shorter key"):
        check_key(fits + "x")


def test_a_source_is_composed_as_in_data_prepper() -> None:
    assert compose_source("flights", None, "PARTITION") == "flights|PARTITION"
    assert compose_source("flights", "prod", "GLOBAL_STATE") == "prod|flights|GLOBAL_STATE"


@pytest.mark.parametrize("first", [("a|b", None), ("b", "a"), ("a%7Cb", None), ("a", "b|"), ("|", "%"), ("%", "|")])
@pytest.mark.parametrize("second", [("a|b", None), ("b", "a"), ("a%7Cb", None), ("a", "b|"), ("|", "%"), ("%", "|")])
def test_s15_different_parts_give_different_identifiers(
    first: tuple[str, str | None], second: tuple[str, str | None]
) -> None:
    composed = [compose_source(source, prefix, "PARTITION") for source, prefix in (first, second)]
    assert (composed[0] == composed[1]) is (first == second)


@pytest.mark.parametrize(
    ("source", "prefix", "field"),
    [
        ("", None, "source"),
        ("flights", "", "partition_prefix"),
        ("a\x00", None, "source"),
        ("x" * MAX_SOURCE_BYTES, None, "source"),
        ("x" * 200, "y" * 200, "source"),
        (None, None, "source"),
    ],
)
def test_a_source_that_cannot_be_composed_names_the_field(source: str, prefix: str | None, field: str) -> None:
    with pytest.raises(InvalidKeyError) as refused:
        compose_source(source, prefix, "PARTITION")
    assert refused.value.field == field
