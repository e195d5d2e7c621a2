"""CI has one Airflow: what the package takes from it was found in every other that the matrix has, too."""

from __future__ import annotations

import pytest

from tests.matrix.airflow_names import FOUND, keep, known, taken
from tests.matrix.cells import CELLS
from tests.matrix.steps import beyond

OF = {cell.airflow.version: cell.name for cell in CELLS if cell.airflow is not None}
"""The last cell of each version."""


@pytest.mark.parametrize("version", OF)
def test_what_is_taken_from_airflow_was_found_in_each_version_that_is_tried(version):
    unknown = taken(beyond=beyond(version)).keys() - known().get(version, set())
    assert not unknown, f"nobody has looked for these in Airflow {version}: make matrix CELL={OF[version]}"


@pytest.fixture
def package(tmp_path):
    (tmp_path / "ours").mkdir()
    return tmp_path / "ours"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from airflow.sdk import DAG, task as job", ["airflow.sdk:DAG", "airflow.sdk:task"]),
        ("import airflow.configuration", ["airflow.configuration:"]),
        ("def late():\n    from airflow.models.dag import DagModel", ["airflow.models.dag:DagModel"]),
        ("if TYPE_CHECKING:\n    from airflow.sdk import DAG", []),
        ("with suppress(ImportError, AttributeError):\n    from airflow.sdk import DAG", []),
        ("try:\n    from airflow.sdk import DAG\nexcept ImportError:\n    pass", []),
        ("try:\n    from airflow.sdk import DAG\nexcept OSError:\n    pass", ["airflow.sdk:DAG"]),
        ("from airflow_coordination import open_store\nfrom .airflow import DAG", []),
    ],
)
def test_a_name_is_seen_wherever_it_is_needed_and_not_where_it_is_done_without(package, text, names):
    (package / "one.py").write_text(text)
    assert list(taken(package)) == names
    assert taken(package, beyond=["ours.one"]) == {}


def test_what_a_version_has_takes_the_place_of_what_it_had(tmp_path):
    file = tmp_path / "names.tsv"
    assert keep("3.1", f"{FOUND}a:b\n{FOUND}a:c\nnoise\n", file) == 2
    assert keep("3.2", f"{FOUND}a:b\n", file) == 1
    assert keep("3.1", f"{FOUND}a:c\n", file) == 1
    assert known(file) == {"3.1": {"a:c"}, "3.2": {"a:b"}}
