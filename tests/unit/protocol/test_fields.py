"""The list of fields is that of the values: a field that is in one only would be stored by nobody."""

from __future__ import annotations

from dataclasses import fields

import pytest

from airflow_coordination.protocol.fields import HEAD_FIELDS, HEAD_KEY, PARTITION_FIELDS, Field
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import HeadRecord

LISTS = [
    pytest.param(Partition, PARTITION_FIELDS, {"ring"}, id="partition"),
    pytest.param(HeadRecord, HEAD_FIELDS, set(), id="head record"),
]


@pytest.mark.parametrize(("value", "listed", "apart"), LISTS)
def test_every_field_is_listed_once(value: type, listed: tuple[Field, ...], apart: set[str]) -> None:
    names = [field.name for field in listed]
    assert sorted([*names, *apart]) == sorted(field.name for field in fields(value))
    assert len({field.column for field in listed}) == len(listed)


@pytest.mark.parametrize(("value", "listed", "apart"), LISTS)
def test_what_may_be_none_is_optional(value: type, listed: tuple[Field, ...], apart: set[str]) -> None:
    may_be_none = {field.name for field in fields(value) if "None" in str(field.type)} - apart
    assert may_be_none <= {field.name for field in listed if field.optional}


def test_the_key_of_a_head_record_is_among_its_fields() -> None:
    assert set(HEAD_KEY) < {field.name for field in HEAD_FIELDS}


def test_the_seed_s_names_become_columns() -> None:
    by_name = {field.name: field.column for field in PARTITION_FIELDS}
    assert by_name["ownership_timeout"] == "partition_ownership_timeout"
    assert by_name["closed_count"] == "closed_count"
