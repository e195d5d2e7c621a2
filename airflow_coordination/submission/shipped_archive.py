"""The archive of our pure rooms that goes along with a submission, made once per process."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

from airflow_coordination.systems.spark.archive import build_archive


@lru_cache(maxsize=1)
def shipped_archive() -> str:
    """Return the path of our pure rooms as an archive, made once per process and removed with it."""
    scratch = tempfile.mkdtemp(prefix="coordination-")
    atexit.register(_remove, scratch, os.getpid())
    return str(build_archive(Path(scratch)))


def _remove(scratch: str, made_by: int) -> None:
    """Remove the archive with the process that made it; a forked child that ends leaves it alone."""
    if os.getpid() == made_by:
        shutil.rmtree(scratch, ignore_errors=True)
