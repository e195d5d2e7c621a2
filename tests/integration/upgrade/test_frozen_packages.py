"""The archives of earlier code are what git has at their commits, as a whole and unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_coordination.stores.sql.schema import SCHEMA_VERSION
from tests.integration.upgrade.frozen_packages import ALL, Frozen
from tests.integration.upgrade.old_worker import OldProcess

EACH = pytest.mark.parametrize("frozen", ALL, ids=lambda frozen: f"schema {frozen.schema}")


@EACH
def test_an_archive_holds_what_its_commit_has(frozen: Frozen) -> None:
    try:
        in_git = frozen.in_git()
    except LookupError as error:
        pytest.skip(f"this clone is shallow: {error}")
    assert list(frozen.kept().items()) == list(in_git.items())


@EACH
def test_an_archive_that_is_another_one_is_refused(
    frozen: Frozen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.integration.upgrade.frozen_packages._FOLDER", tmp_path)
    frozen.archive.write_bytes(b"another one")
    with pytest.raises(AssertionError, match="is another one"):
        frozen.unpack(tmp_path)


@EACH
def test_what_runs_is_the_archive_s_code_with_the_libraries_of_today(frozen: Frozen, tmp_path: Path) -> None:
    process = OldProcess(frozen.unpack(tmp_path), tmp_path / "complaints")
    try:
        assert process.schema == frozen.schema
    finally:
        process.end()


def test_each_is_of_an_earlier_schema() -> None:
    schemas = [each.schema for each in ALL]
    assert [*schemas, SCHEMA_VERSION] == sorted({*schemas, SCHEMA_VERSION})
