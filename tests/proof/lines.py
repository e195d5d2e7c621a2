"""A file of lines of JSON to which runs add that may be broken off anywhere, in the middle of a line, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

Line = dict[str, Any]


def add(file: Path, line: Line) -> None:
    """Append a line; what stands before it and was cut off stays a line of its own.

    :param file: made with its first line, and its folder, too.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    was_cut_off = file.exists() and file.read_bytes()[-1:] not in (b"", b"\n")
    with file.open("a") as lines:
        lines.write("\n" * was_cut_off + f"{json.dumps(line)}\n")


def read(file: Path) -> Iterator[Line]:
    """Yield the lines, the oldest first; one that was cut off is left out.

    :param file: need not be there.
    """
    for text in file.read_text().splitlines() if file.exists() else ():
        with suppress(ValueError):
            yield json.loads(text)
