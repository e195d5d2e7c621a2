"""The archive of what a driver needs of us (``--py-files``), and its way to the executors of Spark Connect."""

from __future__ import annotations

import hashlib
import io
import os
import re
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any
from weakref import WeakSet

from airflow_coordination.systems.spark.error_text import error_text
from airflow_coordination.values.input_errors import SettingsError

PACKAGE = "airflow_coordination"
NAMED_BY_JOBS = ("spark", "sources")
"""The faces that a job's file imports from. What else a driver needs is what these and the package itself import."""
VENDORED = "vendored"
"""The folder of libraries that a driver's image may lack; used only if it does."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_LEFT_OUT = {"__pycache__", "versions", "tests"}
_IMPORTED = re.compile(rf"^\s*(?:from|import) {PACKAGE}\.(\w+)", re.MULTILINE)


def build_archive(directory: str | os.PathLike[str]) -> Path:
    """Write the archive below ``directory`` and return its path. The same code gives the same file, byte for byte.

    It holds our pure rooms, stores and spark, and fsspec, isodate and tenacity for images that lack them. A driver
    needs pyspark and the store's client library besides.

    :param directory: created if it does not exist; several processes may build there at once.
    """
    content = _content()
    target = Path(directory) / f"{PACKAGE}-{hashlib.sha256(content).hexdigest()[:12]}.zip"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}.part")
        partial.write_bytes(content)
        partial.replace(target)
    return target


def _content() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, source in sorted(_members()):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, source.read_bytes())
    return buffer.getvalue()


def rooms() -> list[str]:
    """Return the rooms and doors that a driver can come to import, inside functions, too."""
    package = files(PACKAGE)
    found, waiting = set[str](), [*NAMED_BY_JOBS, *_IMPORTED.findall((package / "__init__.py").read_text("utf-8"))]
    while waiting:
        room = waiting.pop()
        if room not in found:
            found.add(room)
            code = (source.read_text("utf-8") for name, source in _of(package, room) if name.endswith(".py"))
            waiting += [name for text in code for name in _IMPORTED.findall(text)]
    return sorted(found)


def _members() -> Iterator[tuple[str, Traversable]]:
    package = files(PACKAGE)
    yield f"{PACKAGE}/__init__.py", package / "__init__.py"
    for room in rooms():
        yield from _of(package, room)
    for library in ("fsspec", "isodate", "tenacity"):
        yield from _below(files(library), f"{VENDORED}/{library}")


def _of(package: Traversable, room: str) -> Iterator[tuple[str, Traversable]]:
    """Yield the files of a room, or the one of a door."""
    door = package / f"{room}.py"
    if door.is_file():
        yield f"{PACKAGE}/{room}.py", door
    else:
        yield from _below(package / room, f"{PACKAGE}/{room}")


def _below(directory: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    for entry in directory.iterdir():
        if entry.name in _LEFT_OUT:
            continue
        if entry.is_dir():
            yield from _below(entry, f"{name}/{entry.name}")
        elif entry.name.endswith((".py", ".sql", ".json")):
            yield f"{name}/{entry.name}", entry


_brought: WeakSet[Any] = WeakSet()
_lock = threading.Lock()


def bring(spark: Any) -> None:
    """Add the archive of this package to a session, once; its Python workers find it before what they may have.

    The workers must have pyarrow, and the client libraries of sinks, psycopg for ``PostgresSink``.

    :param spark: a session of Spark Connect.
    :raises SettingsError: when the server does not take it.
    """
    with _lock:
        if spark in _brought:
            return
        with tempfile.TemporaryDirectory() as folder:
            archive = build_archive(folder)
            try:
                spark.addArtifacts(str(archive), pyfile=True)
            except Exception as error:
                remedy = "Let the server take artifacts, or install this package where its executors run"
                problem = f"is not taken by the Spark Connect server: {error_text(error).splitlines()[0][:300]}"
                raise SettingsError("artifact", archive.name, problem, remedy) from error
        _brought.add(spark)
