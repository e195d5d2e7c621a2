"""Whose SQLite's files are, seen from another user of the same host."""

from __future__ import annotations

import fcntl
import logging
import os
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.sqlite import tighten
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.values.input_errors import SettingsError
from tests.integration.stores.conftest import SOURCE, creation

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


def modes(file: Path) -> dict[str, str]:
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in sorted(file.parent.glob(f"{file.name}*"))}


@pytest.fixture
def wide_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("wide_umask")
def test_b5_all_files_are_this_users_alone(tmp_path: Path) -> None:
    """B5: they were 0644, the queue's 0666 less the umask."""
    store = open_store(f"sqlite:///{tmp_path}/s.db")
    store.setup()
    store.create(creation(["a"]))
    assert modes(tmp_path / "s.db") == dict.fromkeys(["s.db", "s.db-queue", "s.db-shm", "s.db-wal"], "0o600")
    store.close()


def test_b5_files_of_the_version_before_are_tightened(sqlite_store: SqlStore, tmp_path: Path) -> None:
    """B5: also the files beside it, and while another process has them open."""
    sqlite_store.create(creation(["a"]))
    for path in tmp_path.glob("store.db*"):
        path.chmod(0o644)
    again = open_store(f"sqlite:///{tmp_path}/store.db")
    assert again.get(SOURCE, "a") is not None
    assert set(modes(tmp_path / "store.db").values()) == {"0o600"}
    again.close()


def test_b5_a_database_of_a_group_goes_on_to_be_the_groups(sqlite_store: SqlStore, tmp_path: Path) -> None:
    """B5: whoever gave it to a group meant it; everybody else loses it."""
    sqlite_store.create(creation(["a"]))
    (tmp_path / "store.db").chmod(0o664)
    again = open_store(f"sqlite:///{tmp_path}/store.db")
    assert again.get(SOURCE, "a") is not None
    assert set(modes(tmp_path / "store.db").values()) == {"0o660"}
    again.close()


@as_root
def test_b5_another_user_cannot_hold_the_writers_up() -> None:
    """B5: it could open the queue's file for reading and ``flock`` it."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)  # what keeps the other one out must be the file's own mode
        open_store(f"sqlite:///{place}/s.db").setup()
        held = ["flock", "--nonblock", f"{place}/s.db-queue", "true"]
        run = subprocess.run(held, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, check=False)
        assert b"Permission denied" in run.stderr


def test_b5_a_directory_that_everybody_can_write_is_refused(tmp_path: Path) -> None:
    """B5: anybody could put another file in the store's place."""
    tmp_path.chmod(0o777)
    with pytest.raises(SettingsError, match=r"can be written by every user of this host. Use a directory of this user"):
        open_store(f"sqlite:///{tmp_path}/s.db")


def test_b5_a_place_like_tmp_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """B5: others cannot touch our files there, but make their own."""
    tmp_path.chmod(0o1777)
    with caplog.at_level(logging.WARNING):
        open_store(f"sqlite:///{tmp_path}/s.db").setup()
    assert "Every user of this host can make files in" in caplog.text


@as_root
def test_b5_a_file_that_somebody_else_put_there_is_refused(tmp_path: Path) -> None:
    """B5: in a place like ``/tmp`` another user's queue file may lie there first."""
    tmp_path.chmod(0o1777)
    (tmp_path / "s.db-queue").touch()
    os.chown(tmp_path / "s.db-queue", NOBODY, NOBODY)
    with pytest.raises(SettingsError, match=r"s.db-queue belongs to another user \(65534\)"):
        open_store(f"sqlite:///{tmp_path}/s.db")


@as_root
def test_b5_a_directory_of_a_strange_group_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """B5: a group may be meant; it is said."""
    os.chown(tmp_path, os.geteuid(), NOBODY)
    tmp_path.chmod(0o770)
    with caplog.at_level(logging.WARNING):
        open_store(f"sqlite:///{tmp_path}/s.db").setup()
    assert "A group that is not this user's own can write" in caplog.text


def test_b5_a_symlink_in_the_queues_place_is_not_followed(tmp_path: Path) -> None:
    """B5: it could lead to a file of which somebody else holds the lock."""
    (tmp_path / "elsewhere").touch()
    (tmp_path / "s.db-queue").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingsError, match="cannot be opened: Too many levels of symbolic links"):
        open_store(f"sqlite:///{tmp_path}/s.db").setup()
    with (tmp_path / "elsewhere").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_log_that_goes_while_it_is_looked_at_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last process that closes a store deletes it, beside others that open the store."""
    file, log = tmp_path / "c.db", tmp_path / "c.db-wal"
    file.touch(0o644)
    log.touch(0o644)
    look = Path.lstat

    def gone(path: Path) -> os.stat_result:
        if path == log:
            log.unlink()
        return look(path)

    monkeypatch.setattr(Path, "lstat", gone)
    tighten(file)
    assert modes(file) == {"c.db": "0o600"}
