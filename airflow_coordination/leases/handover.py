"""The hand-over of a tenure from a task to the Spark driver it starts: by environment, and what is secret by a file.

A driver that runs elsewhere gets its environment by Spark's configuration, which anybody on its hosts can read: so
nothing secret goes that way, and every value is one word that no shell on its way changes.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Never

from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.settings import BALANCE_INTERVAL, DURATIONS, Balancing, Settings

HANDOVER_VARIABLE: Final = "COORDINATION_HANDOVER"
STORE_VARIABLE: Final = "COORDINATION_STORE"
REPORT_MARKER: Final = "[coordination] "
"""Begins the lines on standard output with which a driver says what happened: JSON follows."""

_WORD: Final = "base64:"
_DEFAULTS: Final = Settings()
_NEWER: Final = ("acknowledgment_timeout", "on_negative", "renewals_per_lease", "brake_after", "reassign_grace")
"""Settings that a driver of the version before does not know: they go along only where they say something."""
_BALANCE_TIMES: Final = frozenset({"hand_over_timeout", "balance_interval"})
_NEWER_FIELDS: Final = ("concurrent_leases", "retaken")
"""The same of the hand-over itself: a driver that does not know one refuses the hand-over, and names it."""


def report_marker(word: str | None) -> str:
    """Return what begins the lines that a task obeys: it holds a word that only the task and its driver know.

    :param word: ``None`` where no task reads the lines.
    """
    return REPORT_MARKER if word is None else f"[coordination {word}] "


def as_word(text: str) -> str:
    """Return ``text`` as one word without quotes, blanks, ``$`` and the like: YARN and Kubernetes expand those."""
    return _WORD + base64.urlsafe_b64encode(text.encode()).decode()


def from_word(text: str) -> str:
    """Return what :func:`as_word` made a word of; any other text as it is.

    :raises SettingsError: when the word is damaged.
    """
    if not text.startswith(_WORD):
        return text
    try:
        return base64.urlsafe_b64decode(text.removeprefix(_WORD)).decode()
    except ValueError as error:
        problem, remedy = "is no word that a task has written", "Submit through LeasedSparkSubmitOperator"
        raise SettingsError("driver environment", text, problem, remedy) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """The hand-over to a driver: what it needs to go on with a tenure. Nothing in it is secret.

    :param source: the source's name.
    :param partition_prefix: its prefix, if any.
    :param key: the partition.
    :param fence: the tenure.
    :param owner: the owner's text.
    :param settings: timers and limits.
    :param store_id: the store the task used (promise S18).
    :param output_root: where blocks go, ``None`` if the job publishes nothing through us.
    :param max_leases: how many leases the driver may work through, this one included; ``None`` = all there are.
    :param max_runtime: it starts no further lease after this many seconds; ``None`` = no limit.
    :param task_pid: the task's process on the same host: while it lives, a driver whose JVM dies has failed.
        ``None`` for a driver elsewhere, whose JVM nobody but its cluster ends.
    :param concurrent_leases: how many leases it works under at a time.
    :param balance: how it shares the source with other workers, ``None`` when it does not.
    :param together: for how many leases it calls its function once, ``None`` for one at a time.
    :param retaken: partitions and fences of further tenures that it goes on with, from an earlier try of the task.
    """

    source: str
    partition_prefix: str | None
    key: str
    fence: Fence
    owner: str
    settings: Settings
    store_id: str
    output_root: str | None = None
    max_leases: int | None = 1
    max_runtime: float | None = None
    task_pid: int | None = None
    concurrent_leases: int = 1
    balance: Balancing | None = None
    together: int | None = None
    retaken: tuple[tuple[str, Fence], ...] = ()

    def to_json(self) -> str:
        """Return it as JSON text for the driver's environment."""
        fields = asdict(self)
        fields["fence"] = str(self.fence)
        fields["retaken"] = [(key, str(fence)) for key, fence in self.retaken]
        if self.concurrent_leases == 1 and not self.retaken:
            for name in _NEWER_FIELDS:
                del fields[name]
        if self.together is None:  # a driver with older code refuses what it does not know, by name
            del fields["together"]
        if self.balance is None:
            del fields["balance"]
        else:
            fields["balance"] |= {name: _in_seconds(getattr(self.balance, name)) for name in _BALANCE_TIMES}
            if self.balance.balance_interval == BALANCE_INTERVAL:
                del fields["balance"]["balance_interval"]  # a driver with older code does not know it
        fields["settings"] = _told(fields["settings"])
        return json.dumps(fields)

    @classmethod
    def from_json(cls, text: str) -> HandOver:
        """Return what :meth:`to_json` wrote.

        :raises SettingsError: when ``text`` is something else.
        """
        try:
            fields = json.loads(text)
            settings = fields.pop("settings")
            for name in DURATIONS & settings.keys():
                settings[name] = None if settings[name] is None else timedelta(seconds=settings[name])
            fence = Fence.parse(fields.pop("fence"))
            retaken = tuple((key, Fence.parse(text)) for key, text in fields.pop("retaken", ()))
            return cls(
                fence=fence, settings=Settings(**settings), retaken=retaken, balance=_balancing(fields), **fields
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SettingsError(
                HANDOVER_VARIABLE, text, f"is no hand-over ({error})", "Submit through LeasedSparkSubmitOperator"
            ) from error


def _told(settings: dict[str, Any]) -> dict[str, Any]:
    """Return what a hand-over says of settings."""
    said = (name for name in settings if name not in _NEWER or settings[name] != getattr(_DEFAULTS, name))
    return {name: _in_seconds(settings[name]) for name in said}


def _in_seconds(value: Any) -> Any:
    return value.total_seconds() if isinstance(value, timedelta) else value


def _balancing(fields: dict[str, Any]) -> Balancing | None:
    """Take the balancing out of the fields of a hand-over."""
    given = fields.pop("balance", None)
    if given is None:
        return None
    seconds = given.pop("hand_over_timeout")
    if "balance_interval" in given:
        given["balance_interval"] = timedelta(seconds=given["balance_interval"])
    return Balancing(hand_over_timeout=None if seconds is None else timedelta(seconds=seconds), **given)


ENVELOPE_VARIABLE: Final = "COORDINATION_ENVELOPE"
"""Names the file."""
LONGEST_DELIVERY: Final = 24 * 3600.0
"""Seconds after which an envelope whose task was killed is removed by the next task on this host."""
_PREFIX: Final = "coordination-envelope-"
_REMEDY: Final = "Submit through LeasedSparkSubmitOperator"


@dataclass(frozen=True, slots=True)
class Envelope:
    """The envelope for a driver on this host: what it gets beside its tenure.

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
