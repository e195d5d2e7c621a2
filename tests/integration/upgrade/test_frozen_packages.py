"""The archives of earlier code are what git has at their commits, as a whole and unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_coordination.stores.sql.schema import SCHEMA_VERSION
from tests.integration.upgrade.frozen_packages import BEFORE, FIRST, Frozen
from tests.integration.upgrade.old_worker import OldProcess

BOTH = pytest.mark.parametrize("frozen", [FIRST, BEFORE], ids=lambda frozen: f"schema {frozen.schema}")


@BOTH
def test_an_archive_holds_what_its_commit_has(frozen: Frozen) -> None:
    try:
        in_git = frozen.in_git()
    except LookupError as error:
        pytest.skip(f"this clone is shallow: {error}")
    assert list(frozen.kept().items()) == list(in_git.items())


@BOTH
def test_an_archive_that_is_another_one_is_refused(
    frozen: Frozen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.integration.upgrade.frozen_packages._FOLDER", tmp_path)
    frozen.archive.write_bytes(b"another one")
    with pytest.raises(AssertionError, match="is another one"):
        frozen.unpack(tmp_path)


@BOTH
def test_what_runs_is_the_archive_s_code_with_the_libraries_of_today(frozen: Frozen, tmp_path: Path) -> None:
    process = OldProcess(frozen.unpack(tmp_path), tmp_path / "complaints")
    try:
        assert process.schema == frozen.schema
    finally:
        process.end()


def test_each_is_of_an_earlier_schema() -> None:
    assert FIRST.schema < BEFORE.schema < SCHEMA_VERSION
