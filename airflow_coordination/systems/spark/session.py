"""The Spark session of a driver, and whether this installation of pyspark can work at all."""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import Distribution, FileHash, PackageNotFoundError, distribution, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from weakref import WeakKeyDictionary

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.systems.objects.storage import check_writable, delete, is_local, join, write_bytes
from airflow_coordination.systems.spark import connect, s3a
from airflow_coordination.systems.spark.error_text import error_text
from airflow_coordination.values.input_errors import SettingsError

_SCALA: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
CLASSIC, CLIENT = "pyspark", "pyspark-client"
_ANY_PYTHON = "python3"
IN_UTF_8 = "Start Spark with a locale of UTF-8, for example LC_ALL=C.UTF-8"


def check_distributions() -> None:
    """Refuse a pyspark whose files pyspark-client has overwritten: the two share one folder.

    Files are compared with what pyspark's own record names, not versions: installed last, pyspark is whole beside any
    client, and most versions of it have no equal one. Only the folder that this process imports is looked at. A driver
    of spark-submit and Spark's Python workers take ``python/lib/pyspark.zip``, which no client touches.

    :raises SettingsError: naming both versions, a file, and the remedy.
    """
    try:
        classic = distribution(CLASSIC)
    except PackageNotFoundError:
        return
    found = find_spec(CLASSIC)
    if found is None or found.origin is None:
        fault = "is installed, and its files are gone: pyspark-client, which shares its folder, was removed"
        raise SettingsError(CLASSIC, classic.version, fault, _again(classic))
    if Path(found.origin).resolve() != Path(str(classic.locate_file(f"{CLASSIC}/__init__.py"))).resolve():
        return
    if foreign := overwritten(classic):
        fault = (
            f"shares its folder with {CLIENT} {installed(CLIENT)}, which has overwritten {len(foreign)} of its files"
        )
        raise SettingsError(CLASSIC, classic.version, f"{fault}, {foreign[0]} for one", _again(classic))


def _again(classic: Distribution) -> str:
    """Return the remedy that there is for every version: what is installed last owns the shared files."""
    return f"Install pyspark last: pip install --force-reinstall --no-deps {CLASSIC}=={classic.version}"


def overwritten(classic: Distribution) -> list[str]:
    """Return those files of pyspark that are pyspark-client's on disk, and differ.

    Only files that the two records tell apart are read, so that an equal pair costs none.
    """
    try:
        theirs = _recorded(distribution(CLIENT))
    except PackageNotFoundError:
        return []
    ours = _recorded(classic)
    differing = sorted(name for name in ours.keys() & theirs.keys() if ours[name].value != theirs[name].value)
    return [name for name in differing if _is(Path(str(classic.locate_file(name))), theirs[name])]


def _recorded(of: Distribution) -> dict[str, FileHash]:
    """Return the hashes that a distribution's record has of its files in pyspark's folder."""
    return {str(file): file.hash for file in of.files or () if file.parts[0] == CLASSIC and file.hash is not None}


def _is(file: Path, recorded: FileHash) -> bool:
    """Return whether a file has the content of which a record has the hash."""
    if not file.is_file():
        return False
    digest = hashlib.new(recorded.mode, file.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == recorded.value


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
    # A JVM that waits for this driver has its jars: YARN's containers have pyspark as an archive, and no SPARK_HOME.
    served = any(os.environ.get(name) for name in ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"))
    if not served and not jars.is_dir():
        raise SettingsError(
            "pyspark",
            pyspark.__version__,
            "has no jars: this is the client only, which needs a Spark Connect server",
            f"Install {CLASSIC}=={pyspark.__version__}, or set SPARK_REMOTE",
        )
    return SparkSession.builder.getOrCreate()


@contextmanager
def session_here(master: str, name: str, otherwise: str) -> Iterator[Any]:
    """Give a session of this process for one command, and stop it after that.

    :param master: of Spark.
    :param name: of the application.
    :param otherwise: what to do where there is no pyspark, beside installing it.
    :raises SettingsError: where there is none.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        remedy = f"Install airflow-coordination[spark], or {otherwise}"
        raise SettingsError("pyspark", None, "is not installed here", remedy) from None
    spark = SparkSession.builder.master(master).appName(name).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def share_python(spark: Any) -> None:
    """Let Python workers on this machine run this Python where nobody has chosen one.

    Spark's default is the ``python3`` of PATH: not this one in a virtual environment that is not activated, and then
    the work fails for the modules that it lacks.
    """
    context = context_of(spark)
    if context is None or getattr(context, "pythonExec", None) != _ANY_PYTHON:
        return
    if context.master.startswith("local"):
        context.pythonExec = sys.executable


def context_of(spark: Any) -> Any | None:
    """Return the session's SparkContext, ``None`` for Spark Connect."""
    return getattr(spark, "_sc", None)


def check_output_root(spark: Any, output_root: str) -> None:
    """Make sure that Spark writes where this process looks: on the same file system, in the same object store.

    Without a session this process alone writes.

    :raises SettingsError: naming both and the remedy; also for a name that Spark's locale does not have.
    :raises DeploymentError: when this process cannot write there.
    :raises OutputError: when this process has no client for the object store.
    """
    check_writable(output_root)
    if spark is None:
        return
    context = context_of(spark)
    if context is None:
        _check_shared(spark, output_root)
        return
    if not is_local(output_root):
        s3a.prepare(context, output_root)
        s3a.warn_of_copies(spark, output_root)
        return
    if lacking := beyond_locale(spark, output_root):
        raise SettingsError("output_root", output_root, f"has letters that {lacking}", IN_UTF_8)
    default = context._jsc.hadoopConfiguration().get("fs.defaultFS") or "file:///"
    if urlparse(default).scheme != "file":
        raise SettingsError(
            "output_root",
            output_root,
            f"has no scheme, and Spark would write it to {default}",
            "Give it with its scheme",
        )


def _check_shared(spark: Any, output_root: str) -> None:
    """Make sure that the server reads below ``output_root`` what this process writes there.

    Without that the server's files would be found by nobody, and every block would be empty.

    :raises SettingsError: when it does not.
    """
    from pyspark.errors import PySparkException

    probe = join(output_root, f"probe-{secrets.token_hex(8)}.txt")
    write_bytes(probe, b"written by a task, read by its Spark Connect server\n")
    try:
        spark.read.text(probe).collect()
    except PySparkException as error:
        raise SettingsError(
            "output_root",
            output_root,
            f"is not the same place for the Spark Connect server as for this task: {_first_line(error)}",
            "Give storage that both reach, such as s3a://…, and set it up on the server",
        ) from error
    finally:
        delete(probe)


def _first_line(error: BaseException) -> str:
    return error_text(error).splitlines()[0][:300]


def beyond_locale(spark: Any, text: str) -> str:
    """Return why Spark cannot open a file of this name that Python can; empty where it can, and on Spark Connect.

    Java takes the encoding of names from the locale, which is ASCII for C and POSIX; Python takes UTF-8 there.
    """
    context = context_of(spark)
    if context is None or text.isascii():
        return ""
    encoding = context._jvm.java.lang.System.getProperty("sun.jnu.encoding") or "UTF-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return f"Spark's JVM cannot name: the locale it was started with has {encoding}, Python has UTF-8"
    except LookupError:  # Python does not know it: Spark says itself what it cannot open
        return ""
    return ""


def note_on_locale(spark: Any, partition: Partition) -> str:
    """Return a line for the error of a partition that names what this Spark cannot open; else nothing."""
    try:
        lacking = beyond_locale(spark, f"{partition.key} {partition.payload}")
    except Exception:  # whatever py4j raises when nobody answers
        return ""
    return f"\n… its key or payload has letters that {lacking}. {IN_UTF_8}" if lacking else ""


def usable(spark: Any) -> bool:
    """Return whether a session still has a JVM, or a Spark Connect server, that works; who has none needs none."""
    if spark is None:
        return True
    context = context_of(spark)
    if context is None:
        return connect.answers(spark)
    if context._jsc is None:  # stopped from Python
        return False
    try:
        return not _scala(context).isStopped()
    except Exception:  # whatever py4j raises when nobody answers
        return False


def has_jvm(spark: Any) -> bool:
    """Return whether the JVM of a session answers, also where the session was stopped; a server of Connect is none."""
    gateway = getattr(context_of(spark), "_gateway", None)
    try:
        return gateway is None or gateway.jvm.System.nanoTime() is not None
    except Exception:  # whatever py4j raises when nobody answers
        return False


def _scala(context: Any) -> Any:
    """Return the context of Spark itself behind the one for Java; asked for once, as each call is a round trip."""
    if context not in _SCALA:
        _SCALA[context] = context._jsc.sc()
    return _SCALA[context]
