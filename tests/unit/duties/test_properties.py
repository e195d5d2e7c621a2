"""A file of Druid's properties makes groups of duties."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_coordination.duties.properties import read_duties
from airflow_coordination.planning.duties.groups import duties_of
from airflow_coordination.values.input_errors import SettingsError

GROUP = """\
druid.service=druid/coordinator
druid.coordinator.startDelay=PT1S
druid.coordinator.dutyGroups=["mine"]
druid.coordinator.mine.duties=["compactSegments", \\
                               "own"]
druid.coordinator.mine.period=PT1M
druid.coordinator.mine.period=PT2M
"""


@pytest.fixture
def file(tmp_path) -> Path:
    file = tmp_path / "runtime.properties"
    file.write_text(GROUP, encoding="utf-8")
    return file


def test_a_file_makes_groups_and_tells_what_it_names_twice(file) -> None:
    for path in (file, str(file)):
        found = read_duties(path, ["own"])
        assert (found.groups[-1].name, found.groups[-1].duties) == ("mine", ("compactSegments", "own"))
        assert found.groups[-1].period.total_seconds() == 120
        assert found.warnings == (f"druid.coordinator.mine.period is named twice in {file}: the last one counts",)


def test_a_mapping_and_no_file_need_none() -> None:
    assert read_duties({"druid.coordinator.startDelay": "PT1S"}).start_delay.total_seconds() == 1
    assert read_duties("") == read_duties(" ") == duties_of({})


def test_a_file_that_cannot_be_read_is_named(tmp_path) -> None:
    with pytest.raises(SettingsError, match=r"duties_properties='.*: cannot be read \(.*Name a file of prop"):
        read_duties(tmp_path / "nowhere")
    latin = tmp_path / "latin"
    latin.write_bytes(b"a=\xe9")
    with pytest.raises(SettingsError, match=r"cannot be read \('utf-8' codec.* in UTF-8"):
        read_duties(latin, name="--properties")
