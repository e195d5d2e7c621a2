"""What is set for ``s3a://``, and what is refused before any work."""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import s3fs

from airflow_coordination.leases import SettingsError, SourceCoordinator
from airflow_coordination.spark import Complete, drain
from airflow_coordination.stores import open_store
from airflow_coordination.systems.spark.session import check_output_root
from scripts.java_packages import hadoop_version

CLASS, PROPERTIES = (
    "org/apache/hadoop/fs/s3a/S3AFileSystem.class",
    "META-INF/maven/org.apache.hadoop/hadoop-aws/pom.properties",
)


@pytest.fixture
def hadoop(spark) -> Iterator[Any]:
    """Spark's Hadoop configuration, put back afterwards as it was."""
    configuration = spark._jsc.hadoopConfiguration()
    loader = configuration.getClassLoader()
    before = {name: configuration.get(name) for name in ("fs.s3a.endpoint", "fs.s3a.path.style.access")}
    yield configuration
    configuration.setClassLoader(loader)
    for name, value in before.items():
        configuration.unset(name) if value is None else configuration.set(name, value)


def loading(spark, *jars: Path) -> Any:
    """Return a class loader that knows these jars and Java's own classes."""
    jvm = spark._jvm
    addresses = spark.sparkContext._gateway.new_array(jvm.java.net.URL, len(jars))
    for i, jar in enumerate(jars):
        addresses[i] = jvm.java.io.File(str(jar)).toURI().toURL()
    return jvm.java.net.URLClassLoader(addresses, jvm.java.lang.ClassLoader.getPlatformClassLoader())


def test_a_missing_connector_is_named_with_its_version(spark, root, s3, hadoop) -> None:
    hadoop.setClassLoader(loading(spark))
    with pytest.raises(SettingsError) as refused:
        check_output_root(spark, root)
    assert str(refused.value) == (
        f"output_root={root!r}: needs org.apache.hadoop:hadoop-aws, which this Spark does not have. "
        f"Submit with --packages org.apache.hadoop:hadoop-aws:{hadoop_version()}"
    )


def test_a_connector_of_another_version_is_refused(spark, root, s3, hadoop, tmp_path: Path) -> None:
    version = hadoop_version()
    with zipfile.ZipFile(tmp_path / "hadoop-aws-3.3.4.jar", "w") as jar:
        jar.writestr(CLASS, b"")
        jar.writestr(PROPERTIES, "groupId=org.apache.hadoop\nversion=3.3.4\n")
    hadoop.setClassLoader(loading(spark, tmp_path / "hadoop-aws-3.3.4.jar"))
    with pytest.raises(SettingsError) as refused:
        check_output_root(spark, root)
    assert str(refused.value) == (
        f"output_root={root!r}: would be opened by org.apache.hadoop:hadoop-aws:3.3.4, and the Hadoop of this Spark is "
        f"{version}. Submit with --packages org.apache.hadoop:hadoop-aws:{version}, and remove the other"
    )


def test_spark_goes_where_this_process_goes_unless_the_user_said_otherwise(
    spark, root, s3, moto_server, hadoop
) -> None:
    hadoop.unset("fs.s3a.endpoint")
    hadoop.unset("fs.s3a.path.style.access")
    check_output_root(spark, root)
    assert (hadoop.get("fs.s3a.endpoint"), hadoop.get("fs.s3a.path.style.access")) == (moto_server, "true")
    hadoop.set("fs.s3a.endpoint", "http://for-all-services", "Set by Spark on a host from AWS_ENDPOINT_URL")
    check_output_root(spark, root)
    assert hadoop.get("fs.s3a.endpoint") == moto_server
    hadoop.set("fs.s3a.path.style.access", "false")
    hadoop.set("fs.s3a.endpoint", moto_server.removeprefix("http://"))
    check_output_root(spark, root)
    assert hadoop.get("fs.s3a.endpoint") == moto_server.removeprefix("http://")
    assert hadoop.get("fs.s3a.path.style.access") == "false"


@pytest.mark.parametrize("option", ["fs.s3a.endpoint", "fs.s3a.bucket.{}.endpoint"])
def test_two_services_are_refused(spark, root, s3, bucket, moto_server, hadoop, option: str) -> None:
    hadoop.set(option.format(bucket), "minio.example:9000")
    with pytest.raises(SettingsError) as refused:
        check_output_root(spark, root)
    assert str(refused.value) == (
        f"fs.s3a.endpoint='minio.example:9000': is where Spark opens {root}, but this process's own S3 client goes to "
        f"{moto_server}. Set AWS_ENDPOINT_URL_S3 to minio.example:9000 where driver, readers and collector run"
    )


def test_amazons_own_service_needs_no_setting(spark, root, s3, hadoop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3")
    s3fs.S3FileSystem.clear_instance_cache()
    hadoop.set("fs.s3a.endpoint", "s3.eu-west-1.amazonaws.com")
    hadoop.set("fs.s3a.path.style.access", "false")
    check_output_root(spark, root)
    assert hadoop.get("fs.s3a.endpoint") == "s3.eu-west-1.amazonaws.com"
    assert hadoop.get("fs.s3a.path.style.access") == "false"
    hadoop.set("fs.s3a.endpoint", "https://minio.example")
    with pytest.raises(
        SettingsError, match=r"own S3 client goes to https://s3\..*amazonaws\.com\. Set AWS_ENDPOINT_URL_S3"
    ):
        check_output_root(spark, root)


def test_a_name_of_s3_that_spark_does_not_know_is_corrected(spark, bucket) -> None:
    with pytest.raises(SettingsError) as refused:
        check_output_root(spark, f"s3://{bucket}/out")
    assert str(refused.value) == (
        f"output_root='s3://{bucket}/out': has the scheme s3, which this Spark does not know. "
        f"Write it as s3a://{bucket}/out"
    )


def test_without_the_committer_the_log_tells_what_it_costs(spark, root, s3, hadoop, caplog) -> None:
    name = "spark.sql.sources.commitProtocolClass"
    with caplog.at_level(logging.WARNING, "airflow_coordination"):
        check_output_root(spark, root)
        assert caplog.messages == []
        protocol = spark.conf.get(name)
        spark.conf.set(name, "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol")
        try:
            check_output_root(spark, root)
        finally:
            spark.conf.set(name, protocol)
    assert caplog.messages == [
        f"Spark copies each file twice before it is in {root}: "
        "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol is not set up. docs/how-to/s3.md says how"
    ]


def test_an_absent_bucket_fails_the_partition_with_its_address(spark, s3) -> None:
    store = open_store("memory://")
    coordinator = SourceCoordinator(store, source="s", owner="a person")
    coordinator.create_partitions(["p"])

    def main(spark, lease):
        with lease.publish("d") as block:
            spark.range(3).write.parquet(block.path)
        return Complete()

    drained = drain(main, store=store, source="s", spark=spark, output_root="s3a://no-such-bucket/out")
    [(_, error)] = drained.errors
    assert "s3a://no-such-bucket/out" in error
    assert "does not exist (The specified bucket does not exist). Create the bucket or directory" in error
