"""The logs in which histories are kept: in memory for simulations, in one file per process for real ones."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from airflow_coordination.testing.history.operations import Kind, Operation, Output, Told

Now = Callable[[], float]


class MemoryLog:
    """Keeps operations in a list.

    :param now: seconds since 1970, by a clock that is never ahead of the store's.
    """

    def __init__(self, now: Now = time.time) -> None:
        self._now = now
        self.operations: list[Operation] = []

    def call(
        self, process: str, kind: Kind, key: str, fence: tuple[int, str] | None, given: Mapping[str, Any]
    ) -> Operation:
        """Note a call that is about to be made."""
        made = Operation(len(self.operations), process, kind, key, fence, given, self._now())
        self.operations.append(made)
        return made

    def answer(self, operation: Operation, told: Told, result: Mapping[str, Any]) -> None:
        """Note its answer."""
        operation.told, operation.answered, operation.result = told, self._now(), result


class FileLog(MemoryLog):
    """Appends one line before each call and one after it, each written at once: a killed process leaves its calls.

    :param path: the process's own file.
    """

    def __init__(self, path: Path, now: Now = time.time) -> None:
        super().__init__(now)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._numbers = count()

    def call(
        self, process: str, kind: Kind, key: str, fence: tuple[int, str] | None, given: Mapping[str, Any]
    ) -> Operation:
        """Write a call that is about to be made."""
        made = Operation(next(self._numbers), process, kind, key, fence, given, self._now())
        self._write(made.call())
        return made

    def answer(self, operation: Operation, told: Told, result: Mapping[str, Any]) -> None:
        """Write its answer."""
        super().answer(operation, told, result)
        self._write(operation.answer())

    def _write(self, line: str) -> None:
        os.write(self._file, f"{line}\n".encode())

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def read_logs(paths: Iterable[Path]) -> list[Operation]:
    """Return the operations of all processes in the order of their calls, numbered anew.

    A last line that a kill cut off was never acted upon, so it is left out.
    """
    operations = sorted((made for path in paths for made in _read(path)), key=lambda made: made.invoked)
    for number, made in enumerate(operations):
        made.number = number
    return operations


def _read(path: Path) -> Iterable[Operation]:
    found: dict[int, Operation] = {}
    for line in path.read_text().split("\n")[:-1]:
        number, *rest = json.loads(line)
        if number in found:
            told, answered, key, kind, result = rest
            made = found[number]
            made.told, made.answered, made.key, made.kind = Told(told), answered, key, Kind(kind)
            made.result = _named(result)
        else:
            process, kind, key, fence, given, invoked = rest
            under = (fence[0], fence[1]) if fence else None
            found[number] = Operation(number, process, Kind(kind), key, under, _named(given), invoked)
    return found.values()


def _named(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with blocks as they were before JSON."""
    if "blocks" in fields:
        fields["blocks"] = tuple(Output(*block) for block in fields["blocks"])
    return fields
