"""Dead letters in the form of Data Prepper's queue in S3."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime

import pytest

from airflow_coordination.sinks import DataPrepperDeadLetters
from airflow_coordination.systems.sink import Unreadable
from airflow_coordination.testing.sinks import sink_task
from airflow_coordination.values.input_errors import InvalidInputError

KEY = re.compile(
    r"dlq-v2-source_flights-search-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json"
)
TASK = sink_task(source="source|flights", delivery="d1", attempt="a1", fence="7-aaaa")


def letters(path) -> list[dict]:
    document = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert list(document) == ["dlqObjects"]
    return document["dlqObjects"]


def test_key_and_fields_are_data_prepper_s(tmp_path):
    place = DataPrepperDeadLetters(str(tmp_path))
    writer = place.open(TASK)
    writer.write("search", [({"id": 1, "day": date(2013, 1, 2)}, "400 no"), ({"id": 2, "v": float("nan")}, "no JSON")])
    writer.write("search", [({"id": 3, "many": [{"v": float("inf")}]}, "no JSON")])
    [name] = names = writer.close()
    place.accept("d1", names)
    assert KEY.fullmatch(name)
    found = letters(tmp_path / name)
    assert found[0] == {
        "pluginId": "search",
        "pluginName": "search",
        "pipelineName": "source|flights",
        "failedData": {
            "indexId": "1",
            "message": "400 no",
            "document": {"id": 1, "day": "2013-01-02"},
            "source": "source|flights",
            "partition": "p",
            "fence": "7-aaaa",
        },
        "timestamp": found[0]["timestamp"],
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found[0]["timestamp"])
    assert [each["failedData"]["document"] for each in found[1:]] == [
        {"id": 2, "v": "nan"},
        {"id": 3, "many": [{"v": "inf"}]},
    ]


def test_d7_what_was_read_of_a_value_that_cannot_be_converted_is_kept(tmp_path):
    """Also where there is a number in it that JSON has not."""
    place = DataPrepperDeadLetters(str(tmp_path))
    writer = place.open(TASK)
    writer.write("search", [({"id": 1, "m": Unreadable("no key", [(float("nan"), b"\x00")])}, "column 'm': no key")])
    place.accept("d1", names := writer.close())
    [found] = letters(tmp_path / names[0])
    kept = {"unreadable": "no key", "raw": [["nan", "AA=="]]}
    assert found["failedData"]["document"] == {"id": 1, "m": kept}


def test_each_sink_has_a_file_of_its_own_as_its_name_says(tmp_path):
    place = DataPrepperDeadLetters(str(tmp_path), pipeline="nightly")
    writer = place.open(TASK)
    for sink in ("search", "table", "search"):
        writer.write(sink, [({"id": 1}, "no")])
    place.accept("d1", names := writer.close())
    assert [name.split("-")[:4] for name in names] == [["dlq", "v2", "nightly", each] for each in ("search", "table")]
    assert [len(letters(tmp_path / name)) for name in names] == [2, 1]


def test_a_task_without_refusals_leaves_nothing(tmp_path):
    assert DataPrepperDeadLetters(str(tmp_path)).open(TASK).close() == []
    assert list(tmp_path.iterdir()) == []


def test_s13_what_lost_and_speculative_tasks_wrote_is_not_seen(tmp_path):
    place = DataPrepperDeadLetters(str(tmp_path))
    names = []
    for _ in range(2):
        writer = place.open(TASK)
        writer.write("search", [({"id": 1}, "no")])
        names += writer.close()
    assert [path.name for path in tmp_path.iterdir()] == ["_pending"]
    place.accept("d1", names[1:])
    assert [path.name for path in tmp_path.iterdir()] == names[1:]


def test_letters_of_a_batch_that_is_delivered_again_are_there_twice(tmp_path):
    place = DataPrepperDeadLetters(str(tmp_path))
    for token in (8, 7):
        writer = place.open(sink_task(token=token, delivery=f"d{token}"))
        writer.write("search", [({"id": 1}, "no")])
        place.accept(f"d{token}", writer.close())
    assert len(list(tmp_path.glob("*.json"))) == 2


def test_the_prefix_tells_the_hour_in_utc(tmp_path):
    place = DataPrepperDeadLetters(str(tmp_path), "dlq-files/%{yyyy}/%{MM-dd}/%{HH}")
    writer = place.open(TASK)
    writer.write("search", [({"id": 1}, "no")])
    before = datetime.now(UTC)
    place.accept("d1", names := writer.close())
    hours = {f"dlq-files/{now:%Y/%m-%d/%H}" for now in (before, datetime.now(UTC))}
    assert any((tmp_path / hour / names[0]).is_file() for hour in hours)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"directory": ""}, "output_root"),
        ({"pipeline": ""}, "pipeline='': is empty"),
        ({"key_path_prefix": "../x"}, "key_path_prefix='../x': leads out of the directory"),
        ({"key_path_prefix": "a/%{mm}"}, "has 'mm' in a pattern of time. Use yyyy"),
        ({"key_path_prefix": "%{yyyy:MM}"}, "has ':' in a pattern of time"),
    ],
)
def test_bad_arguments(tmp_path, arguments, problem):
    with pytest.raises(InvalidInputError, match=problem):
        DataPrepperDeadLetters(**{"directory": str(tmp_path)} | arguments)
