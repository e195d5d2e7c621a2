"""The types of partition columns, of what several publishers told and wrote (E12)."""

import json
from types import SimpleNamespace

import pytest

from airflow_coordination.spark.file_scans import partition_types


def block(value, kind=None):
    field = {"name": "p", "type": kind, "nullable": True, "metadata": {}}
    schemas = [json.dumps({"type": "struct", "fields": [field]})] if kind else []
    return SimpleNamespace(
        schemas=lambda: schemas, zone=None, merged=None, files=[SimpleNamespace(path=f"p={value}/part-0.parquet")]
    )


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([block("7", "integer"), block("8", "integer")], "integer"),
        ([block("1099511627776", "long"), block("7", "integer")], "long"),
        ([block("7", "integer"), block("01234")], "string"),
        ([block("7", "integer"), block("xtext")], "string"),
        ([block("0.1", "double"), block("0.5", "float")], "double"),
        ([block("0.0001")], "string"),
    ],
)
def test_e12_a_partition_columns_type_keeps_every_value(blocks, expected):
    """E12: the type that the last one told was taken for all, whatever the others had written."""
    for ordered in (blocks, blocks[::-1]):
        found = partition_types(ordered)["p"]
        assert {"int": "integer", "bigint": "long"}.get(str(found), str(found)) == expected
