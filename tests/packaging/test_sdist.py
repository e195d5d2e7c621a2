"""The source package has what git has, so that its tests run there (test_release.py runs them)."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

from tests.house.tree import ROOT, tracked_files


def test_the_source_package_has_every_file_that_git_has(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (source,) = tmp_path.iterdir()
    with tarfile.open(source) as archive:
        there = {member.name.partition("/")[2] for member in archive if member.isfile()}
    tracked = {str(path.relative_to(ROOT)) for path in tracked_files()}
    assert {name for name in tracked - there if not name.startswith(".git")} == set()
    assert [name for name in there if name.startswith((".venv/", ".work/", "dist/")) or "__pycache__" in name] == []
