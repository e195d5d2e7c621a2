"""The program that messages name is one that is there."""

import subprocess
import sys

import pytest

from airflow_coordination.values.program import BY_PYTHON, PROGRAM, WITH_AIRFLOW, installed_airflow, program


@pytest.mark.parametrize(
    ("airflow", "named"),
    [
        ((3, 1), BY_PYTHON),
        ((3, 2), WITH_AIRFLOW),
        ((3, 10), WITH_AIRFLOW),
        ((4, 0), WITH_AIRFLOW),
        (None, WITH_AIRFLOW),
    ],
)
def test_airflow_takes_our_commands_from_3_2_on(airflow, named):
    assert program(airflow) == named


def test_the_version_is_that_of_the_airflow_that_is_loaded():
    from airflow import __version__

    assert ".".join(map(str, installed_airflow() or ())) == ".".join(__version__.split(".")[:2])


@pytest.mark.skipif(installed_airflow() is None, reason="the line needs Airflow")
def test_the_named_program_answers(tmp_path):
    """It runs as a person would type it; ``python`` is the one that runs this."""
    words = ["-m", "airflow", *PROGRAM[1:]] if PROGRAM == WITH_AIRFLOW else list(PROGRAM[1:])
    command = [sys.executable, *words, "list", "--help"]
    ran = subprocess.run(command, capture_output=True, text=True, env={"AIRFLOW_HOME": str(tmp_path)}, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "--conn-id" in ran.stdout
