"""What README says to install, by plain pip into an environment that has nothing; and what it says to run there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, steps

RUNNER = Path(__file__).with_name("run_page.py")
WITHIN = 600
"""Seconds for pip. It downloads half a gigabyte where nothing is kept from an earlier time."""
LINE = re.compile(r"^pip install '\.\[([\w,]+)\]'$", re.MULTILINE)


def run(*command: str | Path, cwd: Path, path: Path | None = None, within: int = WITHIN) -> str:
    """Return what a command printed."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    if path is not None:
        environment["PATH"] = f"{path}{os.pathsep}{environment['PATH']}"
    ran = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=within, check=False)
    assert ran.returncode == 0, f"{command}:\n{ran.stdout[-2000:]}\n{ran.stderr[-4000:]}"
    return ran.stdout


def works(page: str, programs: Path, place: Path) -> None:
    """Run a page with these programs, in an empty directory."""
    work = place / "work"
    work.mkdir(parents=True)
    (place / "steps.json").write_text(json.dumps(steps(ROOT / page)))
    run(programs / "python", RUNNER, place / "steps.json", cwd=work, path=programs, within=1200)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(4000)
def test_i1_i2_readme_works_in_a_fresh_environment(tmp_path: Path) -> None:
    """I1, I2: unpinned, with the extra ``amazon``; then with the newest pyspark, which has no equal client."""
    [named] = LINE.findall((ROOT / "README.md").read_text())
    clone, programs = tmp_path / "clone", tmp_path / "venv" / "bin"
    run("git", "-c", "safe.directory=*", "clone", "--quiet", ROOT, clone, cwd=tmp_path)
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    run(programs / "pip", "install", "--quiet", f".[{named},amazon]", cwd=clone)
    listed = ("airflow", "coordination", "list", "flights", "-o", "json")
    works("README.md", programs, tmp_path / "readme")
    work = tmp_path / "readme" / "work"
    shown = run("env", f"AIRFLOW_HOME={work / 'airflow'}", programs / listed[0], *listed[1:], cwd=work, path=programs)
    assert [row["status"] for row in json.loads(shown[shown.index("[") :])] == ["COMPLETED", "COMPLETED"]
    works("docs/tutorial.md", programs, tmp_path / "tutorial")

    run(programs / "pip", "install", "--quiet", "--upgrade", "pyspark", cwd=tmp_path)
    version = "import importlib.metadata as m; print(m.version('pyspark'), m.version('pyspark-client'))"
    print(run(programs / "python", "-c", version, cwd=tmp_path))
    works("docs/tutorial.md", programs, tmp_path / "newest")
