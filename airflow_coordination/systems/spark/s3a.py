"""Spark and this process on one S3: what is missing is told before the work, what nobody set is set."""

from __future__ import annotations

import logging
from typing import Any, Final
from urllib.parse import urlsplit

from airflow_coordination.systems.objects.storage import s3_endpoint
from airflow_coordination.values.input_errors import SettingsError

SCHEME: Final = "s3a"
CONNECTOR: Final = "org.apache.hadoop:hadoop-aws"
COMMITTER: Final = "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol"
"""Its presence makes Spark (4.1 and later) commit on S3 without copying: it is in spark-hadoop-cloud."""
_OTHER_NAMES: Final = ("s3", "s3n")
"""Names of S3 that some distributions of Spark know and Spark itself does not."""
_CLASS: Final = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_PROPERTIES: Final = "META-INF/maven/org.apache.hadoop/hadoop-aws/pom.properties"

logger = logging.getLogger(__name__)


def prepare(context: Any, address: str) -> None:
    """Let Spark open an ``s3a://`` address where this process opens it; other addresses are left alone.

    Set are ``fs.s3a.endpoint`` and ``fs.s3a.path.style.access``, and only if this process's own client goes to
    another service than Amazon's and nobody set them.

    :param context: the SparkContext.
    :param address: of the output root, or of something below it.
    :raises SettingsError: when the connector is missing or of another version than Hadoop, or when Spark would go
        to another service.
    :raises OutputError: when this process has no client for S3.
    """
    scheme = urlsplit(address).scheme
    hadoop = context._jsc.hadoopConfiguration()
    if scheme in _OTHER_NAMES and hadoop.get(f"fs.{scheme}.impl") is None:
        remedy = f"Write it as {SCHEME}{address.removeprefix(scheme)}"
        raise SettingsError("output_root", address, f"has the scheme {scheme}, which this Spark does not know", remedy)
    if scheme != SCHEME:
        return
    if hadoop.get(f"fs.{SCHEME}.impl") == _CLASS:
        _check_connector(context, hadoop, address)
    _share_endpoint(hadoop, address, s3_endpoint(address))


def warn_of_copies(spark: Any, output_root: str) -> None:
    """Say in the log when Spark will copy each file that it writes below an ``s3a://`` address."""
    protocol = spark.conf.get("spark.sql.sources.commitProtocolClass", None)
    if urlsplit(output_root).scheme == SCHEME and protocol != COMMITTER:
        logger.warning(
            "Spark copies each file twice before it is in %s: %s is not set up. docs/how-to/s3.md says how",
            output_root,
            COMMITTER,
        )


def _check_connector(context: Any, hadoop: Any, address: str) -> None:
    needed = context._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
    remedy = f"Submit with --packages {CONNECTOR}:{needed}"
    loader = hadoop.getClassLoader()
    if loader.getResource(f"{_CLASS.replace('.', '/')}.class") is None:
        raise SettingsError("output_root", address, f"needs {CONNECTOR}, which this Spark does not have", remedy)
    found = _connector_version(context, loader)
    if found not in (None, needed):
        problem = f"would be opened by {CONNECTOR}:{found}, and the Hadoop of this Spark is {needed}"
        raise SettingsError("output_root", address, problem, f"{remedy}, and remove the other")


def _connector_version(context: Any, loader: Any) -> str | None:
    stream = loader.getResourceAsStream(_PROPERTIES)
    if stream is None:
        return None
    properties = context._jvm.java.util.Properties()
    properties.load(stream)
    stream.close()
    version: str | None = properties.getProperty("version")
    return version


def _share_endpoint(hadoop: Any, address: str, own: str) -> None:
    """Give Spark this process's endpoint where it has none of its own, and refuse two different ones."""
    bucket = urlsplit(address).netloc
    sparks = hadoop.get(f"fs.s3a.bucket.{bucket}.endpoint") or hadoop.get("fs.s3a.endpoint") or ""
    if _is_amazon(own) and _is_amazon(sparks):
        return
    if not sparks or "AWS_ENDPOINT_URL" in _source(hadoop, "fs.s3a.endpoint"):
        hadoop.set("fs.s3a.endpoint", own)
    elif _host(sparks) != _host(own):
        raise SettingsError(
            "fs.s3a.endpoint",
            sparks,
            f"is where Spark opens {address}, but this process's own S3 client goes to {own}",
            f"Set AWS_ENDPOINT_URL_S3 to {sparks} where driver, readers and collector run",
        )
    style = "fs.s3a.path.style.access"
    if not hadoop.get(style) or _source(hadoop, style) == "core-default.xml":
        hadoop.set(style, "true")


def _source(hadoop: Any, name: str) -> str:
    """Return who set a setting last, empty if nobody did."""
    sources: list[str] = list(hadoop.getPropertySources(name) or ())
    return sources[-1] if sources else ""


def _host(endpoint: str) -> str:
    return urlsplit(endpoint if "://" in endpoint else f"//{endpoint}").netloc


def _is_amazon(endpoint: str) -> bool:
    """Return whether an endpoint is Amazon's; the empty one is."""
    host = _host(endpoint).partition(":")[0]
    return not host or host.endswith((".amazonaws.com", ".amazonaws.com.cn", ".api.aws"))
