"""A configuration that makes no sense is refused by field, value and remedy."""

from __future__ import annotations

import pytest

from airflow_coordination.planning.buckets import granularity
from airflow_coordination.planning.compaction.configuration import by_dataset
from airflow_coordination.planning.periods import parse_period
from airflow_coordination.values.input_errors import InvalidInputError
from tests.unit.planning.compaction.made import config


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target_file_size": 0}, r"compaction\[clean\]\.target_file_size=0: is no whole number above zero. Give 1"),
        ({"target_file_size": -5}, "target_file_size=-5: is no whole number above zero"),
        ({"target_file_size": True}, "target_file_size=True: is no whole number above zero"),
        ({"input_bytes": 0}, "input_bytes=0: is no whole number above zero"),
        ({"max_rows_per_file": 1.5}, "max_rows_per_file=1.5: is no whole number above zero"),
        (
            {"target_file_size": 11, "input_bytes": 10},
            r"target_file_size=11: is more than input_bytes, 10, so that no run could .* Give a smaller file",
        ),
        (
            {"skip_offset_from_latest": parse_period("o", "-P1D", negative=True)},
            r"skip_offset_from_latest='-P1D': goes backwards. Give P0D for no offset",
        ),
        (
            {"compression": "rar"},
            "compression='rar': is no codec that is written. Use one of gzip, lz4, none, snappy, zstd",
        ),
        ({"sort_by": "carrier"}, "sort_by='carrier': is no list of columns, each once. Give such as"),
        ({"sort_by": ["a", "a"]}, "is no list of columns, each once"),
        ({"also": {"rollup": {1, 2}}}, r"spec=.*cannot be written as JSON .*Give texts, finite numbers"),
        ({"also": {"share": float("nan")}}, "cannot be written as JSON"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        config(**settings)


def test_the_spec_is_what_the_configuration_says_and_nothing_else():
    assert config().spec == {}
    said = config(
        granularity=granularity("g", "day"),
        target_file_size=5,
        sort_by=["a"],
        compression="zstd",
        also={"rollup": True},
    )
    assert said.spec == {
        "segmentGranularity": "DAY",
        "targetFileSize": 5,
        "sortBy": ["a"],
        "compression": "zstd",
        "rollup": True,
    }


def test_a_dataset_has_one_configuration():
    one = config()
    assert by_dataset([one, config("other")])["clean"] is one
    with pytest.raises(InvalidInputError, match="has two configurations, and which one counts nobody could tell"):
        by_dataset([one, config()])
