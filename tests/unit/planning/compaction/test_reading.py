"""How a dataset is compacted, as Druid's users write it."""

from __future__ import annotations

import pytest

from airflow_coordination.planning.compaction.configuration import CompactionConfig
from airflow_coordination.planning.compaction.reading import MEANINGLESS, read_compaction
from airflow_coordination.values.input_errors import InvalidInputError


def read(said):
    return read_compaction("compaction", said, "clean")


@pytest.mark.parametrize(
    ("said", "config"),
    [
        ({}, CompactionConfig("clean")),
        (
            {
                "dataSource": "clean",
                "granularitySpec": {"segmentGranularity": "MONTH", "queryGranularity": None, "rollup": None},
                "skipOffsetFromLatest": "PT1H",
                "inputSegmentSizeBytes": 419430400,
                "tuningConfig": None,
                "taskPriority": None,
            },
            CompactionConfig("clean", granularity="MONTH", skip_offset_from_latest="PT1H", input_bytes=419430400),
        ),
        (
            {"dataset": "clean", "segmentGranularity": "DAY", "sortBy": ["carrier"], "granularitySpec": {}},
            CompactionConfig("clean", granularity="DAY", sort_by=["carrier"]),
        ),
        ({"enabled": False, "granularitySpec": None}, CompactionConfig("clean", enabled=False)),
    ],
)
def test_druid_s_form_is_read(said, config) -> None:
    found = read(said)
    assert CompactionConfig.from_json(found) == config
    assert read(found) == found


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ([], "compaction=[]: is no configuration of a dataset. Write such as"),
        (
            {"dataSource": "raw"},
            "compaction.dataSource='raw': is another dataset than 'clean', which it is to be for. Leave it out",
        ),
        ({"dataset": 1}, "compaction.dataset=1: is another dataset than 'clean'"),
        ({"sort": []}, "compaction.sort=[]: is unknown. Did you mean sortBy?"),
        (
            {"tuningConfig": {"partitionsSpec": {}}},
            "compaction.tuningConfig={'partitionsSpec': {}}: means nothing here: targetFileSize, maxRowsPerFile, sort"
            "By and compression say it. Leave it out",
        ),
        (
            {"granularitySpec": {"rollup": True}},
            "compaction.granularitySpec.rollup=True: means nothing here: rows are merged as they are. Leave it out",
        ),
        ({"granularitySpec": "DAY"}, "compaction.granularitySpec='DAY': is no object. Write {\"segmentGranularity\""),
        (
            {"granularitySpec": {"segmentGranularity": "DAY"}, "segmentGranularity": "DAY"},
            "compaction.granularitySpec={'segmentGranularity': 'DAY'}: says the granularity, and so does segmentG",
        ),
        ({"skipOffsetFromLatest": "1D"}, "compaction[clean].skip_offset_from_latest='1D': does not begin with P"),
    ],
)
def test_what_cannot_be_says_what_to_write(said, message) -> None:
    with pytest.raises(InvalidInputError) as refused:
        read(said)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("name", MEANINGLESS)
def test_what_means_nothing_here_is_refused_with_the_reason(name) -> None:
    with pytest.raises(InvalidInputError, match=rf"compaction.{name}=1: means nothing here: .{{10,}}\. Leave it out"):
        read({name: 1})
