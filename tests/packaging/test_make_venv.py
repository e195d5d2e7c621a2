"""scripts/make_venv.sh takes a Python that the package runs on, whatever its name, and says where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.house.tree import ROOT

SCRIPT = ROOT / "scripts" / "make_venv.sh"
PYTHON = """#!/bin/bash
[[ $1 == -c ]] || {{ echo "$(basename "$0") made it"; exit 1; }}
version="{version}"
[[ $2 == *format* ]] && echo "$version" || [[ " 3.11 3.12 3.13 3.14 " == *" $version "* ]]
"""
"""Says of itself to be of a version, and ends the script where it should make an environment."""


@pytest.fixture
def make(tmp_path):
    """Run the script elsewhere, where there are only these Pythons, by the version that each of them is."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (tmp_path / "scripts").mkdir()
    copy = shutil.copy(SCRIPT, tmp_path / "scripts")
    for tool in ("basename", "dirname", "rm"):
        (programs / tool).symlink_to(shutil.which(tool))

    def run(python="", **versions):
        for name, version in versions.items():
            program = programs / name.replace("_", ".")
            program.write_text(PYTHON.format(version=version))
            program.chmod(0o755)
        environment = {"PATH": str(programs), "PYTHON": python, "HOME": os.environ["HOME"]}
        ran = subprocess.run(["/bin/bash", copy], env=environment, capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout + ran.stderr

    return run


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_the_only_python_there_is_makes_it(make, version):
    code, said = make(python3=version)
    assert code == 1
    assert said.startswith("python3 made it\n")
    assert said.endswith(f"apt-get install python{version}-venv\n")


def test_the_python_that_ci_runs_comes_first_but_where_it_does_not_answer(make):
    assert make(python3_11="3.11", python3_13="3.13")[1].startswith("python3.11 made it\n")
    assert make(python3_11="broken", python3_13="3.13")[1].startswith("python3.13 made it\n")


def test_the_python_that_is_named_is_taken_or_refused_by_its_name(make):
    assert make("python3.14", python3_11="3.11", python3_14="3.14")[1].startswith("python3.14 made it\n")
    said = "Python 3.11, 3.12, 3.13 or 3.14 is needed, and 'python3.10' is none. Run: make PYTHON=/path/to/python3.11\n"
    assert make("python3.10", python3_10="3.10") == (1, said)


def test_where_there_is_none_it_says_what_to_do(make):
    code, said = make()
    assert (code, said.partition(", and ")[0]) == (1, "Python 3.11, 3.12, 3.13 or 3.14 is needed")
