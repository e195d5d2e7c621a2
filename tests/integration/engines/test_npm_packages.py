"""Packages count as there only when all of them are, and what is missing is said with the command."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from scripts import npm_packages
from scripts.npm_packages import NAMES, SETS, PackagesError, download, main, node, packages

NAME = "kinesis"
LOCK = SETS / NAME / "package-lock.json"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for packages."""
    monkeypatch.setattr(npm_packages, "PACKAGES", tmp_path / "npm")
    return tmp_path / "npm"


def lay(shelf: Path, lock: str) -> Path:
    home = shelf / NAME
    home.mkdir(parents=True)
    (home / "package-lock.json").write_text(lock)
    return home


def test_missing_packages_are_an_error_with_the_command(shelf: Path) -> None:
    with pytest.raises(PackagesError) as error:
        packages(NAME)
    assert str(error.value) == (
        f"{shelf / NAME} does not have the packages of kinesis. Run: python scripts/npm_packages.py kinesis"
    )


def test_packages_that_are_there_are_not_downloaded_again(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = lay(shelf, LOCK.read_text())
    assert packages(NAME) == download(NAME) == home / "node_modules"
    assert capsys.readouterr() == ("", "")


def test_packages_of_another_lock_do_not_count(shelf: Path) -> None:
    lay(shelf, "{}")
    with pytest.raises(PackagesError, match="does not have the packages of kinesis"):
        packages(NAME)


@pytest.mark.parametrize("name", NAMES)
def test_the_lock_has_a_hash_for_every_package_and_names_no_place(name: str) -> None:
    locked = json.loads((SETS / name / "package-lock.json").read_text())["packages"]
    entries = {place: entry for place, entry in locked.items() if place}
    assert [place for place, entry in entries.items() if not entry.get("integrity", "").startswith("sha512-")] == []
    assert [place for place, entry in entries.items() if "resolved" in entry] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_lock_has_the_versions_that_are_wanted(name: str) -> None:
    described = json.loads((SETS / name / "package.json").read_text())
    wanted = described.get("devDependencies") or described["dependencies"]
    locked = json.loads((SETS / name / "package-lock.json").read_text())["packages"]
    assert {each: locked[f"node_modules/{each}"]["version"] for each in wanted} == wanted


def test_node_is_the_program_itself() -> None:
    assert node().read_bytes()[:4] == b"\x7fELF"
    assert subprocess.run((node(), "--version"), capture_output=True, text=True, check=True).stdout.startswith("v")


@pytest.mark.parametrize("names", [[], ["kafka"], ["kinesis", "kafka"]], ids=["none", "unknown", "one-unknown"])
def test_an_unknown_set_is_answered_with_the_usage(names: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(names)
    assert end.value.code == 2
    assert "usage: npm_packages.py NAME ..., of kinesis and site" in capsys.readouterr().err


@pytest.mark.slow
def test_a_download_that_fails_says_so_and_leaves_nothing(
    shelf: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "empty"))
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    with pytest.raises(PackagesError, match=r"cannot be downloaded. Is there a way to npm's registry\?\n"):
        download(NAME)
    assert list(shelf.iterdir()) == []


@pytest.mark.slow
def test_a_package_of_another_hash_is_refused(shelf: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sets = tmp_path / "sets" / NAME
    sets.mkdir(parents=True)
    (sets / "package.json").write_text((SETS / NAME / "package.json").read_text())
    lock = json.loads(LOCK.read_text())
    lock["packages"]["node_modules/once"]["integrity"] = "sha512-" + "A" * 86 + "=="
    (sets / "package-lock.json").write_text(json.dumps(lock))
    monkeypatch.setattr(npm_packages, "SETS", tmp_path / "sets")
    with pytest.raises(PackagesError, match=r"(?s)cannot be downloaded.*EINTEGRITY"):
        download(NAME)
    assert list(shelf.iterdir()) == []
