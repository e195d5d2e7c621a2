"""A file of Java properties is read as Java reads it."""

from __future__ import annotations

from contextlib import suppress

import javaproperties
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.planning.duties.properties import MAX_BYTES, read_properties
from airflow_coordination.values.input_errors import SettingsError

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("# one=1\n! two=2\n   # three=3\n\n", {}),
        ("a=1\nb:2\nc 3\nd\t4\ne = 5\nf : 6\n", {"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": "6"}),
        ("a==1\nb=c:d e", {"a": "=1", "b": "c:d e"}),
        ("a", {"a": ""}),
        ("  a = 1 \r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ('groups=["one",\\\n   "two"]', {"groups": '["one","two"]'}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        (r"caf\u00e9=\u0031\t1", {"café": "1\t1"}),
        (r"a\ b\:c\=d=e\#f", {"a b:c=d": "e#f"}),
        ("\ufeffa=1", {"a": "1"}),
        ("# a comment ends with its line \\\na=1", {"a": "1"}),
    ],
)
def test_the_forms_of_java(text, values) -> None:
    assert read_properties("file", text).values == values


@given(st.dictionaries(TEXTS, TEXTS.map(str.strip)))
def test_what_is_written_is_read(values) -> None:
    assert read_properties("file", javaproperties.dumps(values, timestamp=False)).values == values


@given(st.text("ab=: \\\n\r\t#!u0031é", max_size=60))
def test_any_text_is_read_or_refused_by_name(text) -> None:
    with suppress(SettingsError):
        found = read_properties("file", text)
        assert all(isinstance(each, str) for pair in found.values.items() for each in pair)


def test_of_a_key_that_is_named_twice_the_last_counts_and_it_is_told() -> None:
    found = read_properties("file", "a=1\nb=2\na=3\na=4\n")
    assert (found.values, found.twice) == ({"a": "4", "b": "2"}, ("a",))


def test_what_is_no_such_file_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"file='\\\\u00g1': is no escape of four digits .*Write such as"):
        read_properties("file", r"a=\u00g1")
    with pytest.raises(SettingsError, match=rf"file='aaa.*': has {MAX_BYTES + 1} characters, the limit is {MAX_BYTES}"):
        read_properties("file", "a" * (MAX_BYTES + 1))
