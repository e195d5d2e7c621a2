"""Spark's ``local-cluster`` mode on two hosts: a master and two workers inside the driver's JVM, executors outside.

``local-cluster[…]`` itself puts all workers on one host, where Spark never starts a speculative copy of a task.
"""

from __future__ import annotations

import os

from pyspark import SparkContext
from pyspark.sql import SparkSession

HOSTS = ("127.0.0.1", "127.0.0.2")
CORES = 2


def start(directory: str) -> None:
    """Start the cluster, and the session that :func:`~airflow_coordination.systems.spark.session.driver_session` finds.

    :param directory: where executors work.
    """
    SparkContext._ensure_initialized()
    jvm = SparkContext._jvm
    deploy, option = jvm.org.apache.spark.deploy, jvm.scala.Option
    conf = jvm.org.apache.spark.SparkConf(False).set("spark.master.rest.enabled", "false")
    master = deploy.master.Master.startRpcEnvAndEndpoint(HOSTS[0], 0, 0, conf)
    masters = SparkContext._gateway.new_array(jvm.String, 1)
    masters[0] = url = f"spark://{master._1().address().hostPort()}"
    for number, host in enumerate(HOSTS):
        work = os.path.join(directory, str(number))
        deploy.worker.Worker.startRpcEnvAndEndpoint(
            host, 0, 0, CORES, 1024, masters, work, option.apply(number), conf, option.empty()
        )
    SparkSession.builder.master(url).getOrCreate()
