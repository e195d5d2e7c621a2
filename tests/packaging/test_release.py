"""What ``make release`` builds, and what it refuses; the source package that comes of it has tests that run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from airflow_coordination import __version__
from tests.house.tree import ROOT, tracked_files

# What shows that the tree is whole there: the suite's own settings, the walls, the pages, and a room.
FEW = ("tests/house/test_walls.py", "tests/house/test_tested_by.py", "tests/site/test_nav.py", "tests/unit/values")
WHO = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgsign=false")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of one commit that has this tree."""
    place = tmp_path_factory.mktemp("clone")
    for file in tracked_files():
        target = place / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    for command in (("init", "--quiet"), ("add", "--all"), (*WHO, "commit", "--quiet", "--message", "all")):
        subprocess.run(("git", *command), cwd=place, check=True)
    return place


def _release(clone: Path, place: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/release/build.py", str(place)]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def released(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where the two files are, and what was said."""
    place = tmp_path_factory.mktemp("released") / "dist"
    done = _release(clone, place)
    assert done.returncode == 0, done.stdout + done.stderr
    return place, done.stdout


@pytest.mark.slow
@pytest.mark.long
def test_it_builds_both_files_and_says_what_is_left(released: tuple[Path, str], clone: Path) -> None:
    place, said = released
    assert sorted(file.name for file in place.iterdir()) == [
        f"airflow_coordination-{__version__}-py3-none-any.whl",
        f"airflow_coordination-{__version__}.tar.gz",
    ]
    assert len(re.findall(r"^[0-9a-f]{64}  ", said, re.MULTILINE)) == 2
    assert f"before you publish: Tag the commit, and push the tag: git tag v{__version__}" in said
    assert subprocess.run(("git", "tag"), cwd=clone, capture_output=True, text=True, check=True).stdout == ""


@pytest.mark.slow
@pytest.mark.long
def test_the_tests_of_the_source_package_run(released: tuple[Path, str], tmp_path: Path) -> None:
    (source,) = released[0].glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (tree,) = tmp_path.iterdir()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FEW]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    said = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout
    assert re.search(r"\b[1-9]\d+ passed", said.stdout)


@pytest.mark.slow
@pytest.mark.long
def test_what_is_in_no_commit_is_refused(clone: Path, tmp_path: Path) -> None:
    stray = clone / "airflow_coordination" / "stray.py"
    stray.write_text("")
    try:
        done = _release(clone, tmp_path / "dist")
    finally:
        stray.unlink()
    assert done.returncode == 1
    assert "these files are in none:\n?? airflow_coordination/stray.py\nCommit them first." in done.stderr
    assert not (tmp_path / "dist").exists()


def test_nothing_is_left_where_all_was_done(clone: Path) -> None:
    """A published commit has an address, its day and its tag."""

    def left() -> list[str]:
        command = [sys.executable, "-c", "from scripts.release.build import left; print(*left(), sep=chr(10))"]
        return subprocess.run(command, cwd=clone, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]

    project, changes = clone / "pyproject.toml", clone / "CHANGELOG.md"
    kept = project.read_text(), changes.read_text()
    heading = rf"^## \[{re.escape(__version__)}\].*$"
    try:
        project.write_text(re.sub(r'^repository = ".*"$', 'repository = ""', kept[0], flags=re.MULTILINE))
        changes.write_text(re.sub(heading, f"## [{__version__}]", kept[1], flags=re.MULTILINE))
        assert [line.split(":")[0] for line in left()] == [
            "Fill in where the project lives",
            "Give the version its day in CHANGELOG.md",
            "Tag the commit, and push the tag",
        ]
        filled = 'repository = "https://forge.example/it"'
        project.write_text(re.sub(r'^repository = ".*"$', filled, kept[0], flags=re.MULTILINE))
        changes.write_text(re.sub(heading, f"## [{__version__}] - 2027-01-31", kept[1], flags=re.MULTILINE))
        subprocess.run(("git", "tag", f"v{__version__}"), cwd=clone, check=True)
        assert left() == [""]
    finally:
        project.write_text(kept[0])
        changes.write_text(kept[1])
        subprocess.run(("git", "tag", "--delete", f"v{__version__}"), cwd=clone, check=False, capture_output=True)


def test_the_changelog_has_a_part_of_this_version() -> None:
    assert re.search(rf"^## \[{re.escape(__version__)}\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
