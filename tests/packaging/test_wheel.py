"""What a user installs."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from airflow_coordination import __version__
from tests.house.tree import PACKAGE, ROOT, tracked_files

INFO = f"airflow_coordination-{__version__}.dist-info"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel from the checkout."""
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(place), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(place.glob("*.whl"))


@pytest.fixture(scope="module")
def contents(wheel):
    """Return its files by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_wheel_holds_the_package_and_nothing_else(contents):
    """Every tracked file of the package, the type marker and migrations among them."""
    of_package = {str(path.relative_to(ROOT)) for path in tracked_files() if PACKAGE in path.parents}
    assert "airflow_coordination/py.typed" in contents
    assert of_package - contents.keys() == set()
    assert {name.partition("/")[0] for name in contents} == {
        "airflow_coordination",
        INFO,
    }


def test_wheel_carries_the_migrations(contents):
    """A store is set up from the wheel alone."""
    assert [name for name in contents if name.startswith("airflow_coordination/stores/") and "/versions/" in name]


def test_wheel_carries_the_example_as_it_is(contents):
    """``quickstart`` copies it from the installed package."""
    for name in ("sales.py", "sales_job.py", "sales_without_spark.py"):
        assert contents[f"airflow_coordination/examples/{name}"] == (PACKAGE / "examples" / name).read_text()


def test_metadata_says_what_the_project_file_says(contents):
    """The base has no Airflow in it, and Airflow finds the provider."""
    metadata = Parser().parsestr(contents[f"{INFO}/METADATA"])
    base = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert not [line for line in base if "airflow" in line or "spark" in line]
    assert metadata.get_all("Provides-Extra") == [
        "airflow",
        "amazon",
        "aws",
        "kafka",
        "opensearch",
        "postgres",
        "spark",
        "testing",
    ]
    assert metadata["License-Expression"] == "Apache-2.0"
    entry_points = contents[f"{INFO}/entry_points.txt"]
    assert "provider_info = airflow_coordination.get_provider_info:get_provider_info" in entry_points


def test_wheel_passes_the_general_checks(wheel):
    """No stray top levels, duplicates or bytecode; an index takes it and shows its long description."""
    for command in (["check-wheel-contents", "--config", ROOT / "pyproject.toml"], ["twine", "check", "--strict"]):
        program, *arguments = command
        said = subprocess.run(
            [Path(sys.executable).with_name(program), *arguments, wheel], capture_output=True, text=True, check=False
        )
        assert said.returncode == 0, said.stdout + said.stderr
