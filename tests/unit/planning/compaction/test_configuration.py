"""A configuration that makes no sense is refused by field, value and remedy."""

from __future__ import annotations

import json

import pytest

from airflow_coordination.planning.buckets import granularity
from airflow_coordination.planning.compaction.configuration import CompactionConfig, Oversize, by_dataset
from airflow_coordination.planning.periods import parse_period
from airflow_coordination.values.input_errors import InvalidInputError
from tests.unit.planning.compaction.made import config


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"target_file_size": 0},
            r"compaction\[clean\]\.target_file_size=0: is no whole number above zero. Give a whole",
        ),
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
        ({"sort_by": [1]}, "is no list of columns, each once"),
        ({"granularity": "FORTNIGHT"}, r"compaction\[clean\].granularity='FORTNIGHT': is no granularity. Use SECOND"),
        ({"skip_offset_from_latest": "1D"}, "skip_offset_from_latest='1D': does not begin with P. Write P1D"),
        ({"target_file_size": "256 mega"}, "target_file_size='256 mega': is no size. Give .* such as 256MiB"),
        ({"oversize": "drop"}, "oversize='drop': is unknown. Use one of skip, split"),
        ({"straddling": "both"}, "straddling='both': is unknown. Use one of together, each"),
        ({"dead_rows_percent": 101}, "dead_rows_percent=101: is no whole number from 0 to 100. Give such as 20"),
        ({"dead_rows_percent": True}, "dead_rows_percent=True: is no whole number from 0 to 100"),
        ({"dataset": ""}, "compaction.dataset='': is empty"),
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


def test_texts_are_read_as_people_write_them():
    read = CompactionConfig(
        "clean", granularity="MONTH", skip_offset_from_latest="P1D", target_file_size="256MiB", oversize="split"
    )
    assert read.granularity == granularity("g", "month")
    assert str(read.skip_offset_from_latest) == "P1D"
    assert (read.target_file_size, read.oversize) == (256 * 2**20, Oversize.SPLIT)


SAID = [
    {},
    {"granularity": "PT6H", "skip_offset_from_latest": "P0D", "input_bytes": "1GB", "target_file_size": 5},
    {"max_rows_per_file": 7, "sort_by": ["a", "b"], "compression": "zstd", "also": {"rollup": [1, None]}},
    {"oversize": "split", "straddling": "each", "interval_from_key": "%Y-%m", "dead_rows_percent": 0, "enabled": False},
]


@pytest.mark.parametrize("settings", SAID)
def test_a_configuration_is_the_same_when_it_is_read_back(settings):
    made = CompactionConfig("clean", **settings)
    assert CompactionConfig.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_what_is_left_out_is_not_written():
    assert CompactionConfig("clean").to_json() == {"dataset": "clean"}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ([], r"config=\[\]: is no configuration of a dataset"),
        ({"granularity": "DAY"}, "is no configuration of a dataset. Give an object with its dataset"),
        ({"dataset": "clean", "sortby": ["a"]}, "config.sortby=.*: is unknown. Did you mean sortBy"),
        ({"dataset": "clean", "zzz": 1}, "config.zzz=1: is unknown. Known are dataset, segmentGranularity"),
    ],
)
def test_what_is_no_configuration_is_refused(said, message):
    with pytest.raises(InvalidInputError, match=message):
        CompactionConfig.from_json(said)


@pytest.mark.parametrize(
    ("change", "another"),
    [
        ({"granularity": "MONTH"}, True),
        ({"input_bytes": 5}, False),
        ({"input_bytes": 5, "oversize": "split"}, True),
        ({"straddling": "each"}, True),
        ({"sort_by": ["a"], "compression": "zstd", "dead_rows_percent": 5, "interval_from_key": "%Y"}, False),
    ],
)
def test_an_epoch_begins_where_other_blocks_would_be_merged_together(change, another):
    assert (CompactionConfig("clean", **change).chunking != CompactionConfig("clean").chunking) is another
