"""Jars count as there only when all of them are, and what is missing is said with the command."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from scripts import java_packages
from scripts.java_packages import DIGESTS, SETS, PackagesError, download, hadoop_version, jars, main

NAME = "dynamodb-local"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for jars."""
    monkeypatch.setattr(java_packages, "JARS", tmp_path / "jars")
    return tmp_path / "jars"


def lay(shelf: Path, description: str) -> Path:
    home = shelf / f"{NAME}-{java_packages.VERSIONS[NAME]()}"
    home.mkdir(parents=True)
    (home / "ivy.xml").write_text(description)
    return home


@pytest.mark.parametrize("name", ["dynamodb-local", "hadoop-aws", "opensearch"])
def test_missing_jars_are_an_error_with_the_command(shelf: Path, name: str) -> None:
    with pytest.raises(PackagesError) as error:
        jars(name)
    home = shelf / f"{name}-{java_packages.VERSIONS[name]()}"
    assert str(error.value) == (f"{home} does not have the jars of {name}. Run: python scripts/java_packages.py {name}")


def test_jars_that_are_there_are_not_downloaded_again(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = lay(shelf, (SETS / f"{NAME}.xml").read_text())
    assert jars(NAME) == download(NAME) == home
    assert capsys.readouterr() == ("", "")


def test_jars_of_another_description_do_not_count(shelf: Path) -> None:
    lay(shelf, "<ivy-module/>")
    with pytest.raises(PackagesError, match=r"does not have the jars of dynamodb-local"):
        jars(NAME)


def test_the_connector_is_of_the_hadoop_inside_pyspark() -> None:
    import pyspark

    inside = Path(pyspark.__file__).parent / f"jars/hadoop-client-api-{hadoop_version()}.jar"
    assert inside.is_file()


@pytest.mark.parametrize("names", [[], ["dynamodb"], ["hadoop-aws", "spark"]], ids=["none", "unknown", "one-unknown"])
def test_an_unknown_set_is_answered_with_the_usage(names: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(names)
    assert end.value.code == 2
    assert f"usage: java_packages.py {'|'.join(java_packages.VERSIONS)} ..." in capsys.readouterr().err


@pytest.mark.dynamodb
def test_a_download_that_fails_says_so_and_leaves_nothing(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9")
    with pytest.raises(PackagesError, match=r"cannot be downloaded. Is there a way to Maven Central\?\n"):
        download(NAME)
    assert list(shelf.iterdir()) == []


@pytest.mark.parametrize("name", java_packages.VERSIONS)
def test_small_x8_every_set_is_written_down_by_its_digests(name: str) -> None:
    """X8: a version's name is no promise of its content."""
    home = f"{name}-{java_packages.VERSIONS[name]()}"
    files = [line.split("/")[1] for line in DIGESTS.read_text().splitlines() if line.split()[1].startswith(f"{home}/")]
    assert [file for file in files if file.endswith(".jar")]


@pytest.mark.parametrize("harm", ["changed", "missing", "more"])
def test_small_x8_what_arrives_otherwise_is_thrown_away(
    shelf: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, harm: str
) -> None:
    """X8: the jar, its name and all that, and the message names it."""
    sums = tmp_path / "sha256sums"
    sums.write_text("")
    monkeypatch.setattr(java_packages, "DIGESTS", sums)

    def arrive(name: str, target: Path, scratch: Path) -> None:
        target.mkdir()
        (target / "server-1.jar").write_bytes(b"a jar")

    monkeypatch.setattr(java_packages, "_resolve", arrive)
    monkeypatch.setenv("WRITE_DIGESTS", "1")
    home = download(NAME)
    monkeypatch.delenv("WRITE_DIGESTS")
    shutil.rmtree(home)
    assert download(NAME) == home
    shutil.rmtree(home)

    written = sums.read_text()
    harmed = {
        "changed": written.replace(hashlib.sha256(b"a jar").hexdigest(), hashlib.sha256(b"another").hexdigest()),
        "missing": written + written.replace("server-1", "library-2"),
        "more": "",
    }
    sums.write_text(harmed[harm])
    named = "library-2.jar" if harm == "missing" else "server-1.jar"
    with pytest.raises(
        PackagesError, match=rf"sha256sums does not say this of {home.name}: {named}\. If that is meant"
    ):
        download(NAME)
    assert list(shelf.iterdir()) == []
