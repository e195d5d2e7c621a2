"""Brings this package to the executors of a Spark Connect server, which need it where they work for us."""

from __future__ import annotations

import tempfile
import threading
from typing import Any
from weakref import WeakSet

from airflow_coordination.spark.archive import build_archive
from airflow_coordination.spark.error_text import error_text
from airflow_coordination.values.input_errors import SettingsError

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
