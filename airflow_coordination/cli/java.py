"""The Java of this host that Spark 4 runs on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FITTING: Final = ("17", "21")
"""The versions that Spark 4 runs on."""
_VERSION: Final = re.compile(r'version "(\d+)')
_INSTALLED: Final = Path("/usr/lib/jvm")


def version_of(program: str | Path) -> str | None:
    """Return the main version of a ``java``, ``None`` when it does not tell one."""
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    found = _VERSION.search(said)
    return found[1] if found else None


def fitting_home() -> Path | None:
    """Return the home of a Java that fits: that of ``JAVA_HOME``, of the ``java`` on PATH, or one of the system's."""
    return next((home for home in _homes() if _fits(home / "bin" / "java")), None)


def _homes() -> Iterator[Path]:
    if named := os.environ.get("JAVA_HOME"):
        yield Path(named)
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve().parent.parent
    if _INSTALLED.is_dir():
        yield from sorted(_INSTALLED.iterdir())


def _fits(program: Path) -> bool:
    return os.access(program, os.X_OK) and version_of(program) in FITTING
