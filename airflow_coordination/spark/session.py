"""The Spark session of a driver, and whether this installation of pyspark can work at all."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from weakref import WeakKeyDictionary

from airflow_coordination.leases.errors import SettingsError
from airflow_coordination.outputs.output_root import check_writable
from airflow_coordination.outputs.storage import is_local
from airflow_coordination.spark import connect, s3a

_SCALA: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
CLASSIC, CLIENT = "pyspark", "pyspark-client"


def check_distributions() -> None:
    """Refuse two pyspark distributions of different versions: they share one folder and overwrite each other.

    :raises SettingsError: naming both and the remedy.
    """
    classic, client = installed(CLASSIC), installed(CLIENT)
    if classic and client and classic != client:
        raise SettingsError(
            CLIENT,
            client,
            f"shares its folder with {CLASSIC} {classic}, so that files of both versions are mixed",
            f"Install equal versions: pip install --force-reinstall {CLASSIC}=={classic} {CLIENT}=={classic}",
        )


def installed(distribution: str) -> str | None:
    """Return the version of an installed distribution, ``None`` if it is not."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def driver_session() -> Any:
    """Return the session of this driver, as spark-submit configured it.

    :raises SettingsError: when pyspark cannot make one here, with the remedy.
    """
    check_distributions()
    import pyspark
    from pyspark.sql import SparkSession

    jars = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent) / "jars"
    if not os.environ.get("SPARK_REMOTE") and not jars.is_dir():
        raise SettingsError(
            "pyspark",
            pyspark.__version__,
            "has no jars: this is the client only, which needs a Spark Connect server",
            f"Install {CLASSIC}=={pyspark.__version__}, or set SPARK_REMOTE",
        )
    return SparkSession.builder.getOrCreate()


def context_of(spark: Any) -> Any | None:
    """Return the session's SparkContext, ``None`` for Spark Connect."""
    return getattr(spark, "_sc", None)


def check_output_root(spark: Any, output_root: str) -> None:
    """Make sure that Spark writes where this process looks: on the same file system, in the same object store.

    :raises SettingsError: naming both and the remedy.
    :raises DeploymentError: when this process cannot write there.
    :raises OutputError: when this process has no client for the object store.
    """
    check_writable(output_root)
    context = context_of(spark)
    if context is None:
        connect.check_shared(spark, output_root)
        return
    if not is_local(output_root):
        s3a.prepare(context, output_root)
        s3a.warn_of_copies(spark, output_root)
        return
    default = context._jsc.hadoopConfiguration().get("fs.defaultFS") or "file:///"
    if urlparse(default).scheme != "file":
        raise SettingsError(
            "output_root",
            output_root,
            f"has no scheme, and Spark would write it to {default}",
            "Give it with its scheme",
        )


def usable(spark: Any) -> bool:
    """Return whether a session still has a JVM, or a Spark Connect server, that works."""
    context = context_of(spark)
    if context is None:
        return connect.answers(spark)
    if context._jsc is None:  # stopped from Python
        return False
    try:
        return not _scala(context).isStopped()
    except Exception:  # whatever py4j raises when nobody answers
        return False


def _scala(context: Any) -> Any:
    """Return the context of Spark itself behind the one for Java; asked for once, as each call is a round trip."""
    if context not in _SCALA:
        _SCALA[context] = context._jsc.sc()
    return _SCALA[context]
