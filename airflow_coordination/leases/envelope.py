"""What a task hands to its driver on the same host in secret: a file that its user alone can read, read once.

An environment is no place for it: any SQL statement reads the JVM's (``${env:…}``), and Spark's event log keeps what
it read.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Never

from airflow_coordination.values.input_errors import SettingsError

ENVELOPE_VARIABLE: Final = "COORDINATION_ENVELOPE"
"""Names the file."""
LONGEST_DELIVERY: Final = 24 * 3600.0
"""Seconds after which an envelope whose task was killed is removed by the next task on this host."""
_PREFIX: Final = "coordination-envelope-"
_REMEDY: Final = "Submit through LeasedSparkSubmitOperator"


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a driver on this host gets beside its tenure.

    :param store: what opens the store; may hold credentials.
    :param word: marks the lines that the driver means for its task; nobody else knows it.
    """

    store: str = field(repr=False)
    word: str = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """What of the store is secret; not written."""

    def seal(self) -> Path:
        """Write it into a new file of mode 0600 in a directory of mode 0700, and return the file's path."""
        _remove_forgotten()
        path = Path(tempfile.mkdtemp(prefix=_PREFIX)) / "envelope"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump({"store": self.store, "word": self.word}, file)
        return path

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Envelope | None:
        """Read and remove what :meth:`seal` wrote; ``None`` when it was read before.

        :raises SettingsError: when another user could have written or read it, or it is something else.
        """
        try:
            opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _wrong(path, f"cannot be read ({error.strerror})") from None
        with open(opened) as file:
            known = os.fstat(opened)
            if not stat.S_ISREG(known.st_mode) or known.st_uid != os.geteuid() or known.st_mode & 0o077:
                raise _wrong(path, "is no file that this user alone can read")
            text = file.read()
        discard(path)
        try:
            fields = json.loads(text)
            return cls(str(fields["store"]), str(fields["word"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise _wrong(path, "does not hold what a task has written") from None

    def __reduce__(self) -> Never:
        raise TypeError("An Envelope holds secrets and is not pickled; each driver reads its own")


def discard(path: str | os.PathLike[str]) -> None:
    """Remove an envelope with its directory, if it is still there."""
    with suppress(OSError):
        os.unlink(path)
    with suppress(OSError):
        os.rmdir(Path(path).parent)


def _wrong(path: Any, problem: str) -> SettingsError:
    return SettingsError(ENVELOPE_VARIABLE, os.fspath(path), problem, _REMEDY)


def _remove_forgotten() -> None:
    """Remove what tasks have left that were killed before their driver read it, and before they could remove it."""
    before = time.time() - LONGEST_DELIVERY
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            known = folder.lstat()
            if known.st_uid == os.geteuid() and stat.S_ISDIR(known.st_mode) and known.st_mtime < before:
                shutil.rmtree(folder, ignore_errors=True)
