"""Whose SQLite's files are: this user's alone, because whoever can open the queue's file can also hold its lock."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from typing import Final

from airflow_coordination.values.input_errors import SettingsError

PRIVATE: Final = 0o600
_SUFFIXES: Final = ("", "-wal", "-shm", "-journal", "-queue")
_PLACE: Final = "Use a directory of this user's own (chmod 0700)"
_log = logging.getLogger(__name__)


def check_neighbours(file: Path) -> None:
    """Refuse a directory in which another user can put files in the place of ours; warn where one might.

    :raises SettingsError: naming the directory, or the file that belongs to somebody else.
    """
    directory = file.parent.resolve()
    found = directory.stat()
    everybody = bool(found.st_mode & stat.S_IWOTH)
    if everybody and not found.st_mode & stat.S_ISVTX:
        problem = f"its directory {directory} can be written by every user of this host"
        raise SettingsError("store", str(file), problem, _PLACE)
    if everybody:
        _refuse_strangers(file)
        _log.warning("Every user of this host can make files in %s, where the store is. %s.", directory, _PLACE)
    elif found.st_mode & stat.S_IWGRP and found.st_gid != os.getegid():
        _log.warning("A group that is not this user's own can write %s, where the store is. %s.", directory, _PLACE)


def _refuse_strangers(file: Path) -> None:
    for path in _existing(file):
        owner = path.lstat().st_uid
        if owner not in (os.geteuid(), 0):
            problem = f"{path} belongs to another user ({owner}), in a directory that everybody can write"
            raise SettingsError("store", str(file), problem, _PLACE)


def tighten(file: Path) -> None:
    """Take from others what they may do with the store's files, which earlier versions made readable for all.

    A database that its owner made writable for a group goes on to be the group's; its neighbours follow it.
    """
    if not file.exists():
        return
    mode = private_mode(file)
    for path in _existing(file):
        found = path.lstat()
        if found.st_uid == os.geteuid() and stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) != mode:
            path.chmod(mode)


def private_mode(file: Path) -> int:
    """Return the mode of all files of the store whose database is ``file``."""
    shared = file.exists() and file.stat().st_mode & stat.S_IWGRP
    return PRIVATE | 0o060 if shared else PRIVATE


def _existing(file: Path) -> list[Path]:
    paths = [Path(f"{file}{suffix}") for suffix in _SUFFIXES]
    return [path for path in paths if path.exists() or path.is_symlink()]
